//! The place of a database, in a canonical form.

use iogauge_db::{BACKENDS, DbUrl};
use std::path::{Path, PathBuf};

/// Returns the place of a URL: for a directory, its absolute path without links, `.` and `..`,
/// whether it exists or not; for a server or an instance, the text as typed.
#[must_use]
pub fn place(url: &DbUrl) -> String {
    if BACKENDS.iter().any(|backend| backend.name == url.backend && !backend.is_directory) {
        url.place.clone()
    } else {
        real(Path::new(&url.place))
    }
}

/// Resolves links in the existing part of a path and appends the rest.
fn real(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let real: PathBuf = match found {
        Some((part, real)) => {
            let rest = path.strip_prefix(part).unwrap_or(Path::new(""));
            real.components().chain(rest.components()).collect()
        }
        None => path,
    };
    real.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        place(&text.parse().unwrap())
    }

    #[test]
    fn path_variants_of_a_directory_resolve_identically() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap().display().to_string();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("d"), dir.path().join("link")).unwrap();
        let d = format!("{base}/d");
        for typed in ["d", "d/", "./d", "d/../d", "link", "link/."] {
            assert_eq!(of(&format!("sqlite:{base}/{typed}?cache=1m")), d, "{typed}");
        }
        assert_eq!(of(&format!("gtm:{base}/link/gone/")), format!("{d}/gone"));
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(of("rocksdb:gone"), here.join("gone").display().to_string());
        assert_eq!(of("postgres://me@host:5432/x?reads=auto"), "//me@host:5432/x");
    }
}
