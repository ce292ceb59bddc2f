//! Records what the binary is built from and for: `iogauge --version` prints it.
//!
//! The same sources give the same text on every machine: it contains no time, path or host name.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that the binaries are built from. For git, `*` also stands for several directories.
const SOURCES: [&str; 5] =
    ["Cargo.toml", "Cargo.lock", "crates/*/Cargo.toml", "crates/*/build.rs", "crates/*/src/*"];

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let given = env::var("IOGAUGE_COMMIT").ok();
    println!("cargo:rerun-if-env-changed=IOGAUGE_COMMIT");
    for path in watched(&package) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let commit = match commit(&package, given.as_deref())? {
        Some(commit) => format!(" ({commit})"),
        None => String::new(),
    };
    println!("cargo:rustc-env=IOGAUGE_VERSION={}{commit}", env::var("CARGO_PKG_VERSION")?);
    println!("cargo:rustc-env=IOGAUGE_TARGET={}", env::var("TARGET")?);
    println!("cargo:rustc-env=IOGAUGE_PROFILE={}", env::var("PROFILE")?);
    Ok(())
}

/// Returns the first 12 digits of the commit that the sources are from, and whether they differ from it. Looks at what
/// a packager has given, at what cargo packed with the sources, and at git.
///
/// # Errors
/// What was given is neither empty nor a commit.
pub fn commit(package: &Path, given: Option<&str>) -> Result<Option<String>, String> {
    if let Some(given) = given {
        return match short(given) {
            Some(commit) => Ok(Some(commit)),
            None if given.is_empty() => Ok(None),
            None => Err(format!("IOGAUGE_COMMIT is not the hash of a commit: {given:?}")),
        };
    }
    let packed = fs::read_to_string(package.join(".cargo_vcs_info.json")).ok();
    Ok(packed.map_or_else(|| commit_of_git(package), |packed| commit_of_package(&packed)))
}

/// Returns the commit in `{"git": {"sha1": "...", "dirty": true}, ...}`.
fn commit_of_package(packed: &str) -> Option<String> {
    let hash = packed.split_once("\"sha1\"")?.1.split('"').nth(1)?;
    Some(marked(short(hash)?, packed.contains("\"dirty\": true")))
}

/// Returns the commit of the workspace's own repository.
fn commit_of_git(package: &Path) -> Option<String> {
    let top = repository(package)?;
    let hash = short(&git(&top, &["rev-parse", "HEAD"])?)?;
    // Without optional locks, this leaves the index as it is.
    let options = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    let changed = git(&top, &[&options[..], &SOURCES].concat())?;
    Some(marked(hash, !changed.is_empty()))
}

/// Returns the top of the workspace if it is also the top of a repository. Another repository may contain an unpacked
/// archive of the sources.
fn repository(package: &Path) -> Option<PathBuf> {
    let workspace = package.join("../..").canonicalize().ok()?;
    let top = git(&workspace, &["rev-parse", "--show-toplevel"])?;
    (Path::new(&top).canonicalize().ok()? == workspace).then_some(workspace)
}

fn marked(commit: String, differs: bool) -> String {
    if differs { commit + ", modified" } else { commit }
}

fn short(hash: &str) -> Option<String> {
    let is_hash = (7..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| hash.chars().take(12).collect())
}

/// Returns what git prints, or nothing if it fails or is not installed.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory);
    // A hook of git sets these for its own repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}

/// Returns the files and directories that exist and whose change may change the commit. cargo would run this program
/// each time for one that does not exist.
pub fn watched(package: &Path) -> Vec<PathBuf> {
    let Some(top) = repository(package) else {
        let packed = [".cargo_vcs_info.json", "build.rs"].map(|name| package.join(name));
        return packed.into_iter().filter(|path| path.exists()).collect();
    };
    let mut paths: Vec<PathBuf> = ["Cargo.toml", "Cargo.lock"].map(|name| top.join(name)).into();
    for package in fs::read_dir(top.join("crates")).into_iter().flatten().flatten() {
        paths.extend(["Cargo.toml", "build.rs", "src"].map(|name| package.path().join(name)));
    }
    let in_git =
        |name: &str| git(&top, &["rev-parse", "--git-path", name]).map(|path| top.join(path));
    paths.extend(["HEAD", "packed-refs", "reftable"].into_iter().filter_map(in_git));
    // A branch that is packed gets a file of its own with its next commit.
    let branch = git(&top, &["symbolic-ref", "--quiet", "HEAD"]);
    let file = branch.and_then(|branch| in_git(&branch));
    let nearest = file.iter().flat_map(|file| file.ancestors()).find(|path| path.exists());
    paths.extend(nearest.map(Path::to_path_buf));
    paths.retain(|path| path.exists());
    paths
}
