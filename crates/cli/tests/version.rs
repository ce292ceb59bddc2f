//! `iogauge --version`, and where the build finds the commit.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "its main function is for cargo")]
#[path = "../build.rs"]
mod build;
mod common;

use build::{commit, watched};
use common::Place;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const NONE: [&Path; 0] = [];
const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

/// Runs git, and returns what it prints if it succeeds.
fn try_git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let mut command = Command::new("git");
    command.args(identity).args(arguments).current_dir(directory);
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[track_caller]
fn git(directory: &Path, arguments: &[&str]) -> String {
    try_git(directory, arguments).unwrap_or_else(|| panic!("git {arguments:?} failed"))
}

/// A workspace with one package in a directory of its own.
struct Workspace {
    top: PathBuf,
    dir: TempDir,
}

impl Workspace {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("workspace");
        fs::create_dir_all(top.join("crates/cli/src/args")).unwrap();
        for file in
            ["Cargo.toml", "README.md", "crates/cli/src/lib.rs", "crates/cli/src/args/mod.rs"]
        {
            fs::write(top.join(file), "first").unwrap();
        }
        Self { top, dir }
    }

    fn in_git() -> Self {
        let new = Self::new();
        new.git(&["init", "--quiet", "--initial-branch=main"]);
        new.git(&["add", "."]);
        new.commits();
        new
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.top, arguments)
    }

    fn commits(&self) {
        self.git(&["commit", "--quiet", "--allow-empty", "--message=a"]);
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])[..12].to_owned()
    }

    fn package(&self) -> PathBuf {
        self.top.join("crates/cli")
    }

    #[track_caller]
    fn says(&self, text: &str) {
        assert_eq!(commit(&self.package(), None).unwrap().as_deref(), Some(text));
    }

    #[track_caller]
    fn says_nothing(&self) {
        assert_eq!(commit(&self.package(), None), Ok(None));
    }
}

#[test]
fn version_names_the_commit_and_the_build() {
    let place = Place::new();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let top = try_git(&workspace, &["rev-parse", "--show-toplevel"]);
    let own = top.is_some_and(|top| Path::new(&top).canonicalize().unwrap() == workspace);
    let hash = match option_env!("IOGAUGE_COMMIT") {
        Some(given) => Some(given.to_owned()).filter(|given| !given.is_empty()),
        None if own => try_git(&workspace, &["rev-parse", "HEAD"]),
        None => None,
    };
    let version = concat!("iogauge ", env!("CARGO_PKG_VERSION"));
    let expected = match hash {
        Some(hash) => format!("{version} ({:.12}", hash),
        None => version.to_owned(),
    };
    let short = place.run(&["-V"]).ends(0).stdout;
    let rest = short.trim_end().strip_prefix(&expected).unwrap_or_else(|| panic!("{short}"));
    let rests: &[&str] = if expected == version { &[""] } else { &[")", ", modified)"] };
    assert!(rests.contains(&rest), "{short}");

    let long = place.run(&["--version"]).ends(0).stdout;
    let lines: Vec<&str> = long.lines().collect();
    let [first, features, target, profile] = lines[..] else { panic!("{long}") };
    assert_eq!(first, short.trim_end());
    let rocksdb = iogauge_db::backend::backend("rocksdb").is_ok();
    assert_eq!(features, if rocksdb { "features: png, rocksdb" } else { "features: png" });
    assert!(target.starts_with(&format!("target: {}-", std::env::consts::ARCH)), "{long}");
    let debug = cfg!(debug_assertions);
    assert_eq!(profile, if debug { "profile: debug" } else { "profile: release" });
}

#[test]
fn commit_is_that_of_the_own_repository() {
    let workspace = Workspace::in_git();
    workspace.says(&workspace.head());
    // Files that the binary is not built from do not count.
    fs::write(workspace.top.join("README.md"), "second").unwrap();
    fs::write(workspace.top.join("crates/cli/src/notes"), "not in git").unwrap();
    workspace.says(&workspace.head());
    for file in ["Cargo.toml", "crates/cli/src/args/mod.rs"] {
        fs::write(workspace.top.join(file), "second").unwrap();
        workspace.says(&(workspace.head() + ", modified"));
        workspace.git(&["add", "."]);
        workspace.says(&(workspace.head() + ", modified"));
        workspace.commits();
        workspace.says(&workspace.head());
    }

    let tree = workspace.dir.path().join("tree");
    workspace.git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    workspace.commits();
    let first = workspace.git(&["rev-parse", "HEAD~"]);
    assert_eq!(commit(&tree.join("crates/cli"), None).unwrap().unwrap(), first[..12]);
}

#[test]
fn commit_of_a_repository_around_the_sources_is_not_used() {
    let workspace = Workspace::new();
    workspace.says_nothing();
    let around = workspace.dir.path();
    git(around, &["init", "--quiet"]);
    git(around, &["add", "."]);
    git(around, &["commit", "--quiet", "--message=a"]);
    workspace.says_nothing();
    // A repository without a commit.
    workspace.git(&["init", "--quiet"]);
    workspace.says_nothing();
}

#[test]
fn commit_of_a_package_and_of_a_packager_comes_first() {
    let workspace = Workspace::in_git();
    let info = workspace.package().join(".cargo_vcs_info.json");
    for (dirty, text) in
        [("", "0123456789ab"), (",\n    \"dirty\": true", "0123456789ab, modified")]
    {
        let git = format!("{{\n    \"sha1\": \"{HASH}\"{dirty}\n  }}");
        fs::write(&info, format!("{{\n  \"git\": {git},\n  \"path_in_vcs\": \"crates/cli\"\n}}"))
            .unwrap();
        workspace.says(text);
    }
    let given = |text: &str| commit(&workspace.package(), Some(text));
    assert_eq!(given(&HASH.to_uppercase()), Ok(Some("0123456789AB".to_owned())));
    assert_eq!(given("89abcde"), Ok(Some("89abcde".to_owned())));
    assert_eq!(given(""), Ok(None));
    for wrong in ["main", "0123\n4567", "v0.1.0-3-g89abcde"] {
        assert!(given(wrong).unwrap_err().contains("IOGAUGE_COMMIT"), "{wrong}");
    }
}

/// Returns the watched files that changed since the time, as cargo finds out.
fn changed_since(before: &[(PathBuf, Vec<String>)]) -> Vec<&Path> {
    let changed = before.iter().filter(|(path, state)| state_of(path) != *state);
    changed.map(|(path, _)| path.as_path()).collect()
}

/// Returns names and times of a file or of everything in a directory; nothing if it is gone.
fn state_of(path: &Path) -> Vec<String> {
    let Ok(facts) = fs::metadata(path) else { return Vec::new() };
    let mut state = vec![format!("{} {:?}", path.display(), facts.modified().unwrap())];
    for entry in fs::read_dir(path).into_iter().flatten() {
        state.extend(state_of(&entry.unwrap().path()));
    }
    state.sort();
    state
}

#[test]
fn moves_of_the_commit_and_of_sources_are_noticed() {
    let workspace = Workspace::in_git();
    let tree = workspace.dir.path().join("tree");
    workspace.git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    for top in [&workspace.top, &tree] {
        let package = top.join("crates/cli");
        let moves: [(&str, &dyn Fn()); 6] = [
            ("a commit", &|| drop(git(top, &["commit", "-q", "--allow-empty", "-m", "a"]))),
            ("a first commit after packing", &|| {
                drop(git(top, &["commit", "-q", "--allow-empty", "-m", "a"]));
            }),
            ("a reset", &|| drop(git(top, &["reset", "-q", "--soft", "HEAD~"]))),
            ("a detached head", &|| drop(git(top, &["checkout", "-q", "--detach"]))),
            ("a commit without a branch", &|| {
                drop(git(top, &["commit", "-q", "--allow-empty", "-m", "a"]));
            }),
            ("a source", &|| fs::write(top.join("crates/cli/src/args/mod.rs"), "third").unwrap()),
        ];
        for (number, (name, act)) in moves.iter().enumerate() {
            if number == 1 {
                git(top, &["pack-refs", "--all"]);
            }
            let watched = watched(&package);
            let state = |path: &PathBuf| (path.clone(), state_of(path));
            let before: Vec<_> = watched.iter().map(state).collect();
            assert!(before.iter().all(|(_, state)| !state.is_empty()), "{watched:?}");
            // What does not change the commit runs nothing again.
            commit(&package, None).unwrap();
            fs::write(top.join("README.md"), name).unwrap();
            git(top, &["add", "README.md"]);
            assert_eq!(changed_since(&before), NONE, "before {name}");
            std::thread::sleep(std::time::Duration::from_millis(20));
            act();
            assert_ne!(changed_since(&before), NONE, "{name}: {watched:?}");
        }
    }
}
