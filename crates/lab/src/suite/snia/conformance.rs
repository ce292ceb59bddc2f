//! Checks whether a run conforms to the specification.

use super::super::{Site, SiteKind};
use super::settings::Settings;
use iogauge_model::load::EngineKind;
use iogauge_model::result::SuiteStepResult;
use iogauge_model::units::{Bytes, Count};

/// The specification.
const SPECIFICATION: &str = "SNIA PTS 2.0.2";

/// Reasons why a run does not conform; empty if it does, as far as iogauge can check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conformance {
    pub reasons: Vec<String>,
}

impl Conformance {
    /// Returns the reasons that all tests share, from target, options and steps.
    pub fn of(settings: &Settings, site: &Site, steps: &[SuiteStepResult]) -> Self {
        let mut found = Self::default();
        found.target(settings, site);
        if !settings.purged {
            found.because("no purge was stated (--purged)");
        }
        if settings.scale > 1.0 {
            let seconds = settings.minute_ns() as f64 / 1e9;
            found.because(format!("--scale shortened each minute to {seconds} s"));
        }
        if steps.iter().any(|step| step.part > 0) {
            found.because("it was interrupted and resumed");
        }
        let errors: u64 = steps.iter().filter_map(|step| step.step()).map(|s| s.errors()).sum();
        if errors > 0 {
            found.because(format!("{} I/Os failed", Count(errors as f64)));
        }
        found
    }

    fn target(&mut self, settings: &Settings, site: &Site) {
        let of_size = settings.size_bytes.filter(|_| !site.whole_devices);
        match (site.kind, of_size) {
            _ if site.engine == EngineKind::Null => self.because("engine null issues no I/O"),
            (SiteKind::Simulated, _) => self.because("the device is simulated"),
            (SiteKind::Files, _) => self.because("the target is a file, not a block device"),
            (SiteKind::Devices, Some(_)) => {
                let used = Bytes(site.size_bytes());
                self.because(format!("--size used only {used} of the device"));
            }
            (SiteKind::Devices, None) if !site.whole_devices => {
                self.because("the target is not a whole block device");
            }
            (SiteKind::Devices, None) => {}
        }
        if site.part_bytes.len() > 1 {
            let parts = site.part_bytes.len();
            self.because(format!("the target has {parts} parts, and the test needs one device"));
        }
    }

    /// Adds a reason: a clause without a full stop.
    pub fn because(&mut self, reason: impl Into<String>) {
        self.reasons.push(reason.into());
    }

    /// Returns its sentence in the verdict.
    pub fn sentence(&self) -> String {
        if self.reasons.is_empty() {
            return format!("The run conforms to {SPECIFICATION}, as far as iogauge can tell.");
        }
        format!("The run does not conform to {SPECIFICATION}: {}.", self.reasons.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{settings, site};
    use super::*;

    fn reasons(settings: Settings, site: &Site) -> String {
        Conformance::of(&settings, site, &[]).sentence()
    }

    #[test]
    fn purged_whole_device_conforms_to_pts() {
        let text = reasons(settings(), &site());
        assert_eq!(text, "The run conforms to SNIA PTS 2.0.2, as far as iogauge can tell.");
        // A size that covers the whole target changes nothing.
        let all = Settings { size_bytes: Some(1 << 40), ..settings() };
        assert_eq!(reasons(all, &site()), text);
    }

    #[test]
    fn each_conformance_violation_is_reported() {
        let part = Site { whole_devices: false, ..site() };
        let sized = Settings { size_bytes: Some(1 << 30), ..settings() };
        let cases = [
            (Settings { purged: false, ..settings() }, site(), "no purge"),
            (
                Settings { scale: 60.0, ..settings() },
                site(),
                "--scale shortened each minute to 1 s",
            ),
            (settings(), part.clone(), "not a whole block device"),
            (sized, part.clone(), "--size used only 1 TiB"),
            (settings(), Site { kind: SiteKind::Files, ..part.clone() }, "a file"),
            (settings(), Site { kind: SiteKind::Simulated, ..part }, "simulated"),
            (settings(), Site { engine: EngineKind::Null, ..site() }, "engine null"),
            (settings(), Site { part_bytes: vec![1 << 40; 2], ..site() }, "2 parts"),
        ];
        for (settings, site, reason) in cases {
            let found = Conformance::of(&settings, &site, &[]);
            assert!(found.reasons.len() == 1 && found.reasons[0].contains(reason), "{found:?}");
        }
    }
}
