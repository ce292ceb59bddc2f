//! Files, logs and directories of fio's runs for iogauge: which are made, and which are not.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::fio::{document, fake, fio, job_file, program};
use common::{Place, eventually, kill_both, names, skip};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a value for `--via`: a program that reports 50 reads and then runs a script.
fn fake_that_read(place: &Place, script: &str) -> String {
    fake(place, &format!("cat <<'END'\n{}END\n{script}", document(50, 100, "")))
}

/// Returns the directory for temporary files of a place's commands.
fn temporary(place: &Place) -> PathBuf {
    let directory = place.work().join("tmp");
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn bytes(document: &Value) -> u64 {
    let step = &document["steps"][0];
    ["read", "write"].iter().filter_map(|direction| step[direction]["bytes"].as_u64()).sum()
}

/// fio recreates a file that is shorter than its job needs. It is not allowed to, so each file must have the right
/// size.
#[test]
fn files_have_the_sizes_that_fio_requires() {
    if !fio("files_have_the_sizes_that_fio_requires") {
        return;
    }
    for (text, moved) in [
        ("nrfiles=3\nrw=write\nsize=1m", 3 * 85 * 4096),
        ("nrfiles=3\nrw=write\nsize=1m\nbs=1k", 3 * 341 * 1024),
        ("nrfiles=3\nrw=write\nsize=1m\noffset=64k", 3 * 85 * 4096),
        ("nrfiles=3\nrw=randread\nfilesize=1000001", 3 * 244 * 4096),
        ("filename=f\nrw=write\nfilesize=1m\noffset=64k", (1 << 20) - (64 << 10)),
        ("filename=f\nrw=write\nsize=1000001\nbs=512", 1953 * 512),
        ("filename=f:g\nrw=write\nsize=1000001\nnumjobs=2", 2 * 2 * 122 * 4096),
        ("nrfiles=3\nrw=write\nsize=1m\nnumjobs=2\noffset_increment=16k", 2 * 3 * 85 * 4096),
    ] {
        let place = Place::new();
        job_file(&place, &format!("[global]\ngroup_reporting\n[j]\n{text}\n"));
        for via in [&["--via=fio"][..], &[]] {
            let line = [&["run", "a.fio", "--json", "-q"][..], via].concat();
            assert_eq!(bytes(&place.run(&line).ends(0).json()), moved, "{text}, {via:?}");
        }
    }
    let place = Place::new();
    let typed = ["run", ".", "--via=fio", "--size=1000001", "--rw=write", "--direct=0", "-q"];
    place.run(&[&typed[..], &["--runtime=200ms", "--ramp_time=0"]].concat()).ends(0);
}

/// The alternative to a refused option works.
#[test]
fn suggested_alternatives_to_refused_options_work() {
    if !fio("suggested_alternatives_to_refused_options_work") {
        return;
    }
    let place = Place::new();
    place.run(&["prepare", "x", "--size=1m", "-q"]).ends(0);
    for (refused, instead) in [
        ("create_only=1", ""),
        ("fill_device=1", "size=2m"),
        ("file_append=1", "offset=1m\nsize=1m"),
        ("write_iolog=log", "write_lat_log=log\nlog_offset=1"),
        ("unlink_each_loop=1", "unlink=1"),
    ] {
        let text = "[j]\nfilename=x\nsize=1m\nrw=write\n";
        job_file(&place, &format!("{text}{refused}\n"));
        let line = ["run", "a.fio", "--via=fio", "-q"];
        let told = place.run(&line).ends(3).stderr;
        assert!(told.contains("\nhint: ") && !told.contains("has not checked"), "{told}");
        job_file(&place, &format!("{text}{instead}\n"));
        place.run(&line).ends(0);
    }
    assert_eq!(place.names(), ["a.fio", "log_clat.1.log", "log_lat.1.log", "log_slat.1.log"]);
    let log = std::fs::read_to_string(place.work().join("log_lat.1.log")).unwrap();
    assert_eq!(log.lines().count(), 256);
}

#[test]
fn no_file_is_created_in_dev() {
    const TEST: &str = "no_file_is_created_in_dev";
    let name = format!("/dev/iogauge-test-{}", std::process::id());
    let place = Place::new();
    let with_fio = fio(TEST);
    job_file(&place, &format!("[a]\nfilename={name}\nsize=1m\n"));
    let typed = ["run", &name, "--size=1m", "--direct=0", "-q"];
    let mut lines = vec![vec!["run", "a.fio", "-q"], typed.to_vec(), vec!["run", "/dev", "-q"]];
    if with_fio {
        lines.extend([
            vec!["run", "a.fio", "-q", "--via=fio"],
            [&typed[..], &["--via=fio"]].concat(),
        ]);
    }
    for line in lines {
        let told = place.run(&line).ends(3).stderr;
        assert!(told.contains("no such device") && told.contains("hint: "), "{told}");
        assert!(!Path::new(&name).exists(), "{line:?}");
    }
    // A file system that is mounted below /dev may be used.
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return skip(TEST, "there is no /dev/shm");
    }
    let memory = tempfile::tempdir_in(memory).unwrap();
    let file = memory.path().join("f");
    let prefix = memory.path().join("log");
    let text = format!("[a]\nfilename={}\nsize=1m\n", file.display());
    job_file(&place, &text);
    place.run(&["run", "a.fio", "-q"]).ends(0);
    if !with_fio {
        return;
    }
    job_file(&place, &format!("{text}write_bw_log={}\n", prefix.display()));
    place.run(&["run", "a.fio", "-q", "--via=fio"]).ends(0);
    assert_eq!(names(memory.path()), ["f", "log_bw.1.log"]);
    // The option gives only the beginning of a log's name, so no log goes to /dev/null.
    let before = names(Path::new("/dev"));
    job_file(&place, "[a]\nfilename=f\nsize=1m\nwrite_bw_log=/dev/null\n");
    let told = place.run(&["run", "a.fio", "-q", "--via=fio"]).ends(3).stderr;
    assert!(told.contains("/dev/null_bw.1.log") && told.contains("hint: "), "{told}");
    let made: Vec<String> =
        names(Path::new("/dev")).into_iter().filter(|n| !before.contains(n)).collect();
    assert!(!made.iter().any(|name| name.starts_with("null")), "{made:?}");
}

#[test]
fn log_name_conflict_does_not_lose_the_result() {
    let place = Place::new();
    let temporary = temporary(&place);
    let taken = place.work().join("x_bw.1.log");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.05; done", taken.display());
    let via =
        fake_that_read(&place, &format!("echo a > log0_bw.1.log\necho b > log0_bw.2.log\n{wait}"));
    job_file(&place, "[a]\nrw=read\nsize=1m\nfilename=f\nwrite_bw_log=x\n");
    let mut command = place.command(&["run", "a.fio", "--via", &via, "-q", "--json"]);
    let child = command.env("TMPDIR", &temporary).spawn().unwrap();
    let log = |name: &String| temporary.join(name).join("log0_bw.2.log").exists();
    eventually(|| names(&temporary).iter().any(log));
    std::fs::write(&taken, "another's").unwrap();
    let done = common::Done::from(child.wait_with_output().unwrap()).ends(1);
    assert_eq!(done.json()["steps"][0]["read"]["ios"], 50);
    assert!(
        done.stderr.contains("x_bw.1.log") && done.stderr.contains("is lost"),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "another's");
    assert_eq!(std::fs::read_to_string(place.work().join("x_bw.2.log")).unwrap(), "b\n");
    place.run(&["history", "show"]).ends(0);
    assert_eq!(names(&temporary), [""; 0]);
}

#[test]
fn next_run_removes_temporary_files_of_a_killed_run() {
    let place = Place::new();
    let temporary = temporary(&place);
    let precious = temporary.join("iogauge-fio-0123456789abcdef");
    std::fs::create_dir(&precious).unwrap();
    std::fs::set_permissions(&precious, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(precious.join("precious"), "x").unwrap();
    job_file(&place, "[a]\nrw=read\nsize=1m\nfilename=f\n");
    let start = |via: &str| {
        let mut command = place.command(&["run", "a.fio", "--via", via, "-q", "--json"]);
        command.env("TMPDIR", &temporary).spawn().unwrap()
    };
    let via = fake_that_read(&place, "touch begun\nexec sleep 60");
    let mut killed = start(&via);
    let begun = |name: &String| temporary.join(name).join("begun").exists();
    eventually(|| names(&temporary).iter().any(begun));
    let left = names(&temporary).into_iter().find(begun).unwrap();
    // Nothing of a running run is removed.
    let quick = fake_that_read(&place, "");
    let done = common::Done::from(start(&quick).wait_with_output().unwrap());
    assert!(temporary.join(&left).join("begun").exists(), "{}", done.stderr);
    kill_both(&mut killed);
    let works = |process: std::fs::DirEntry| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|at| at == temporary.join(&left))
    };
    eventually(|| !std::fs::read_dir("/proc").unwrap().flatten().any(works));
    assert!(temporary.join(&left).exists());
    common::Done::from(start(&quick).wait_with_output().unwrap()).ends(0);
    assert_eq!(names(&temporary), ["iogauge-fio-0123456789abcdef"]);
    assert!(precious.join("precious").exists());
}

/// Any program may call itself fio. It is asked for its version before anything else.
#[test]
fn program_cannot_write_during_the_version_check() {
    const TEST: &str = "program_cannot_write_during_the_version_check";
    let place = Place::new();
    let doctor = place.run(&["doctor", ".", "--json"]).json();
    let protection = doctor["machine"]["protection"].as_str().unwrap().to_owned();
    if protection.starts_with("none") {
        return skip(TEST, &protection);
    }
    let early = place.work().join("early");
    std::fs::create_dir(&early).unwrap();
    let canary = place.work().join("canary");
    std::fs::write(&canary, "alive").unwrap();
    let at = canary.display();
    let script =
        format!("echo dead > '{at}'\nrm -f '{at}'\ntouch '{at}.new'\necho fio-3.99\nexit 1");
    let fake = program(&early, "fio", &script);
    let path = format!("{}:{}", early.display(), std::env::var("PATH").unwrap());
    let small = ["--size=1m", "--direct=0", "--runtime=200ms", "--ramp_time=0"];
    for line in [&["run", ".", "--via=fio"][..], &["crosscheck", "."]] {
        let output = place.command(&[line, &small].concat()).env("PATH", &path).output().unwrap();
        assert!(!output.status.success());
        // This program was asked for its version.
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("fio-3.99"), "{told}");
        assert_eq!(std::fs::read_to_string(&canary).unwrap(), "alive", "{line:?}");
        assert!(!place.names().contains(&"canary.new".to_owned()), "{line:?}");
    }
    // Without protection, the program does all of that.
    Command::new(fake).output().unwrap();
    assert!(!canary.exists() && place.names().contains(&"canary.new".to_owned()));
}

#[test]
fn overlong_names_cause_short_error_messages() {
    let place = Place::new();
    let long = "a".repeat(5000);
    let with_fio = fio("overlong_names_cause_short_error_messages");
    for text in [
        format!("[{long}]\nsize=1m\n"),
        format!("[a]\nfilename={long}\nsize=1m\n"),
        format!("[a]\nsize=1m\n{long}=1\n"),
        format!("[a]\nsize=1m\nrw={long}\n"),
        format!("[a]\nsize=1m\nwait_for={long}\n"),
    ] {
        job_file(&place, &text);
        for via in [&[][..], &["--via=fio"]] {
            if !via.is_empty() && !with_fio {
                continue;
            }
            let told = place.run(&[&["run", "a.fio", "-q"][..], via].concat()).ends(2).stderr;
            assert!(told.len() < 1000 && told.contains("letters)"), "{told}");
            crate::common::assert_one_message(&told);
        }
    }
    let told = place.run(&["run", &long, "-q"]).ends(2).stderr;
    assert!(told.len() < 1000 && told.contains("shorter"), "{told}");
}
