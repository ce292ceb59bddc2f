//! The installation of GT.M on this machine.

use std::path::{Path, PathBuf};

/// Returns why GT.M cannot be used here; `None` if it can.
pub fn absent() -> Option<String> {
    find().is_none().then(|| {
        "there is no GT.M on this machine; hint: install Debian's package fis-gtm, or gtm_dist naming \
         the directory that mumps is in"
            .to_owned()
    })
}

/// Returns the directory that contains `mumps` and `mupip`: `gtm_dist`, or the directory of a package.
pub fn find() -> Option<PathBuf> {
    let told = std::env::var_os("gtm_dist").map(PathBuf::from);
    let packaged = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = packaged
        .flat_map(|triplet| subfolders(&triplet.path().join("fis-gtm")))
        .chain(subfolders(Path::new("/usr/lib/fis-gtm")))
        .chain(subfolders(Path::new("/opt")))
        .chain(subfolders(Path::new("/opt/fis-gtm")))
        .collect();
    // Prefers the newest version.
    places.sort();
    told.into_iter().chain(places.into_iter().rev()).find(|place| is_one(place))
}

fn subfolders(path: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn is_one(place: &Path) -> bool {
    ["mumps", "mupip"].iter().all(|program| place.join(program).is_file())
}
