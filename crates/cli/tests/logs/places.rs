//! Where logs are written, and what they never replace.

use super::common::fio::{fio, job_file};
use super::common::{Done, EIGHT, Place};
use super::{log, logs};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

const SHORT: [&str; 6] = ["run", EIGHT, "--number_ios=30", "--ramp-time=0", "-q", "--history=none"];

/// Runs a short workload with one more option.
fn run(place: &Place, option: &str) -> Done {
    place.run(&[&SHORT[..], &[option]].concat())
}

/// A file of two jobs, the second of which runs after the first.
fn two_jobs(place: &Place) {
    let text = "[global]\nsize=1m\nbs=4k\nioengine=psync\nrw=randread\nnumber_ios=10\n\
                write_bw_log\n[my job]\nfilename=f\nnumjobs=2\n\
                [a/b]\nstonewall\nfilename=g\nrw=write\nwrite_lat_log=logs/x\n";
    job_file(place, text);
}

#[test]
fn job_files_get_the_names_that_fio_gives() {
    let place = Place::new();
    fs::create_dir(place.work().join("logs")).unwrap();
    two_jobs(&place);
    let done = place.run(&["run", "a.fio"]).ends(0);
    assert_eq!(logs(&place), ["a_b_bw.3.log", "my job_bw.1.log", "my job_bw.2.log"]);
    let beside = super::common::names(&place.work().join("logs"));
    assert_eq!(beside, ["x_clat.3.log", "x_lat.3.log"]);
    assert!(done.stderr.contains("log logs/x_lat.3.log"), "{}", done.stderr);
    assert_eq!(log(&place, "my job_bw.2.log").len(), 10);
    let first = fs::metadata(place.work().join("logs/x_lat.3.log")).unwrap();
    // The next run replaces the logs, whichever program does the I/O.
    let mut ways = vec![&["run", "a.fio", "-q"][..]];
    if fio("job_files_get_the_names_that_fio_gives") {
        ways.push(&["run", "a.fio", "-q", "--via=fio"]);
    }
    for line in ways {
        place.run(line).ends(0);
        assert_eq!(log(&place, "logs/x_lat.3.log").len(), 10);
        let second = fs::metadata(place.work().join("logs/x_lat.3.log")).unwrap();
        assert_ne!(first.ino(), second.ino(), "{line:?}");
    }
}

#[test]
fn one_log_has_the_lines_of_all_workers() {
    let place = Place::new();
    let text = "[global]\nsize=1m\nbs=4k\nioengine=psync\nrw=randread\nnumber_ios=10\n\
                write_lat_log=p\nper_job_logs=0\n[a]\nfilename=f\nnumjobs=2\n\
                [b]\nstonewall\nfilename=f\n";
    job_file(&place, text);
    place.run(&["run", "a.fio", "-q"]).ends(0);
    assert_eq!(logs(&place), ["p_clat.log", "p_lat.log"]);
    assert_eq!(log(&place, "p_lat.log").len(), 30);
    place.run(&["run", "a.fio", "-q"]).ends(0);
    assert_eq!(log(&place, "p_lat.log").len(), 30, "a run does not append to another's log");
}

/// A blocking engine has a thread for each outstanding I/O, and fio a job.
#[test]
fn each_thread_of_a_blocking_engine_has_its_own_log() {
    let place = Place::new();
    let load = ["--ioengine=psync", "--iodepth=2", "--numjobs=2", "--direct=0", "--size=1m"];
    let line = ["run", ".", "--number_ios=20", "--ramp-time=0", "-q", "--write_iops_log=p"];
    place.run(&[&line[..], &load].concat()).ends(0);
    let names: Vec<String> = (1..=4).map(|n| format!("p_iops.{n}.log")).collect();
    assert_eq!(logs(&place), names);
    assert_eq!(names.iter().map(|name| log(&place, name).len()).sum::<usize>(), 40);
}

#[test]
fn only_logs_and_empty_files_are_replaced() {
    let place = Place::new();
    let path = place.work().join("p_bw.1.log");
    for old in ["", "1, 2, 0, 4096, 0\n"] {
        fs::write(&path, old).unwrap();
        run(&place, "--write_bw_log=p").ends(0);
        assert_eq!(log(&place, "p_bw.1.log").len(), 30);
    }
    for precious in ["precious\n", "1, 2, 0, 4096, 0\nprecious", "1,2,0,4096,0\n"] {
        fs::write(&path, precious).unwrap();
        let refused = run(&place, "--write_bw_log=p").ends(3).stderr;
        assert!(refused.contains("p_bw.1.log exists, and it is not a log\nhint: "), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), precious);
    }
    fs::write(place.work().join("precious"), "").unwrap();
    symlink("precious", place.work().join("l_bw.1.log")).unwrap();
    let refused = run(&place, "--write_bw_log=l").ends(3).stderr;
    assert!(refused.contains("symbolic link"), "{refused}");
    fs::create_dir(place.work().join("d_bw.1.log")).unwrap();
    run(&place, "--write_bw_log=d").ends(3);
}

#[test]
fn unusable_places_are_reported_before_anything_is_written() {
    let place = Place::new();
    for (prefix, code, fact) in [
        ("missing/p", 2, "there is no directory missing for logs\nhint: mkdir -p missing"),
        ("missing/", 2, "is a directory"),
        ("/dev/p", 3, "among devices"),
        ("/proc/self/p", 3, "among devices or files of the kernel"),
        ("", 2, "needs a value"),
    ] {
        let option = format!("--write_lat_log={prefix}");
        let line = ["run", ".", "--size=1m", "--number_ios=9", "-q", &option];
        let told = place.run(&line).ends(code).stderr;
        assert!(told.contains(fact), "{told}");
        assert_eq!(place.names(), [""; 0], "{prefix}");
    }
}

/// Runs a command in a shell that may open few files.
fn with_few_descriptors(place: &Place, line: &[&str]) -> Done {
    let command = place.command(line);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -n 512; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.current_dir(place.work());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell.output().unwrap().into()
}

#[test]
fn too_many_logs_are_refused() {
    let place = Place::new();
    let line = [&SHORT[..], &["--numjobs=400", "--write_lat_log=p"]].concat();
    let told = with_few_descriptors(&place, &line).ends(2).stderr;
    assert!(told.contains("ulimit -n") && told.contains("hint: use per_job_logs=0"), "{told}");
    assert_eq!(logs(&place), [""; 0]);
    with_few_descriptors(&place, &[&line[..], &["--per_job_logs=0"]].concat()).ends(0);
    assert_eq!(log(&place, "p_lat.log").len(), 400 * 30);
}

#[test]
fn only_run_writes_logs() {
    let place = Place::new();
    let log = "--write_lat_log=p";
    for line in [
        &["find", EIGHT, log, "-q"][..],
        &["crosscheck", ".", log, "-q"],
        &["run", ".", "--size=1m", log, "--via=fio", "-q"],
        &["run", EIGHT, "--log_avg_msec=10", "-q"],
        &["run", EIGHT, "--write_hist_log=p", "-q"],
        &["run", EIGHT, "--job", "rw=read write_lat_log", "-q"],
    ] {
        let told = place.run(line).ends(2).stderr;
        assert!(told.contains("\nhint: "), "{told}");
    }
    job_file(&place, "[a]\nfilename=f\nsize=1m\nwrite_lat_log=p\n");
    for line in [&["find", "a.fio", "-q"], &["suite", "a.fio", "-q"]] {
        let told = place.run(line).ends(2).stderr;
        assert!(told.contains("writes no logs\nhint: "), "{told}");
    }
    fs::write(
        place.work().join("own.toml"),
        "seconds = 1\n[[step]]\nname = \"one\"\nwrite_lat_log = \"p\"\n",
    )
    .unwrap();
    let told = place.run(&["suite", "./own.toml", EIGHT, "-q"]).ends(2).stderr;
    assert!(told.contains("only iogauge run can do this\nhint: "), "{told}");
    assert_eq!(place.names(), ["a.fio", "own.toml"]);
}

#[test]
fn printed_job_file_has_the_options_of_logs() {
    let place = Place::new();
    let options = ["--write_lat_log=p", "--log_avg_msec=500", "--log_offset=1"];
    let line = ["run", ".", "--size=1m", "--print-fio", "--per_job_logs=0"];
    let text = place.run(&[&line[..], &options].concat()).ends(0).stdout;
    for option in ["write_lat_log=p", "log_avg_msec=500", "log_offset=1", "per_job_logs=0"] {
        assert!(text.lines().any(|line| line == option), "{text}");
    }
    let told = place.run(&[&line[..], &["--write_bw_log=a#b"]].concat()).ends(2).stderr;
    assert!(told.contains("a#b"), "{told}");
}

#[test]
fn interrupted_run_keeps_its_logs() {
    let place = Place::new();
    fs::write(place.work().join("p_lat.1.log"), "9, 9, 0, 4096, 0\n").unwrap();
    let line = ["run", ".", "--size=1m", "--direct=0", "--ioengine=psync", "--runtime=60"];
    let more = ["--rate_iops=200", "--ramp-time=0", "-q", "--write_lat_log=p", "--log_avg_msec=50"];
    let mut command = place.command(&[&line[..], &more].concat());
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(log(&place, "p_lat.1.log")[0].time_ms, 9, "a log appears as a whole");
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let done = Done::from(child.wait_with_output().unwrap());
    done.ends(130);
    assert!(log(&place, "p_lat.1.log").len() > 5);
}
