//! The version, and what the binary was built from and with.

use iogauge_lab::db::FEATURES;

/// The version and, if it is known, the commit.
pub const SHORT: &str = env!("IOGAUGE_VERSION");

/// Returns the short form, and the features of the build, its target triple and its profile.
pub fn long(own: &[&str]) -> String {
    let png: &[&str] = if cfg!(feature = "png") { &["png"] } else { &[] };
    let features = [png, FEATURES, own].concat();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    let (target, profile) = (env!("IOGAUGE_TARGET"), env!("IOGAUGE_PROFILE"));
    format!("{SHORT}\nfeatures: {features}\ntarget: {target}\nprofile: {profile}")
}
