//! Tests fio as a worker pool, with shell scripts in place of fio that print its JSON documents.

use crate::threads::alone;
use iogauge_fio::job::{FioJobs, MemorySource};
use iogauge_io::pool::WorkerPool;
use iogauge_io::pool::fio::{FioBinary, FioError, FioPool, FioWork, ForeignJob, Handed, Span};
use iogauge_io::worker::WorkerError;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A script in place of fio. Each document counts 100 ms and 100 I/Os of 1 ms per unit of `depth`, the last `iodepth`
/// of the job file.
struct Player {
    dir: TempDir,
}

impl Player {
    fn new(body: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo fio-3.99; exit 0; fi\n\
             depth=$(sed -n 's/^iodepth=//p' | tail -1)\n\
             echo $$ $depth >> {}/started\nn=0\n\
             print() {{\n\
             n=$((n + 100 * depth)); ms=$((ms + 100))\n\
             printf '{{\\n  \"jobs\" : [\\n    {{ \"jobname\" : \"a\", \"read\" : {{ \"io_bytes\" : %d, \
             \"io_kbytes\" : 1, \"total_ios\" : %d, \"runtime\" : %d, \"lat_ns\" : {{ \"min\" : 900000, \
             \"max\" : 1100000, \"mean\" : 1000000, \"stddev\" : 1, \"bins\" : {{ \"1003520\" : %d }} }} \
             }} }}\\n  ]\\n}}\\n' $((n * 4096)) $n $ms $n\n}}\n{body}\n",
            dir.path().display()
        );
        let path = dir.path().join("fio");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn binary(&self) -> FioBinary {
        FioBinary::find(&self.dir.path().join("fio")).unwrap()
    }

    fn start(&self, span: Span) -> Result<FioPool, WorkerError> {
        let source = MemorySource::default().file("a", "[a]\nioengine=null\nsize=1m\n");
        let jobs = FioJobs::read(Path::new("a"), &source).unwrap();
        let job = ForeignJob { jobs, paths: Vec::new(), synchronous: false };
        // The scripts record their start in a file outside fio's directory, which confinement would forbid.
        let handed = Handed::default().held_by_guards_alone();
        FioPool::start(self.binary(), FioWork::Foreign(job), span, handed)
    }

    /// Returns the `/proc` directory and queue depth of each process that was started.
    fn started(&self) -> Vec<(PathBuf, u32)> {
        let text = std::fs::read_to_string(self.dir.path().join("started")).unwrap();
        let each = |line: &str| {
            let (pid, queue_depth) = line.split_once(' ').unwrap();
            (Path::new("/proc").join(pid), queue_depth.parse().unwrap())
        };
        text.lines().map(each).collect()
    }
}

const FOR_EVER: &str = "trap 'print; exit 128' INT\nwhile :; do print; sleep 0.05; done";

#[test]
fn changing_queue_depth_restarts_fio_without_losing_ios() {
    // Other tests count the threads of this process.
    let _alone = alone();
    let player = Player::new(FOR_EVER);
    let mut pool = player.start(Span::Open).unwrap();
    let mut total = 0;
    for _ in 0..3 {
        pool.advance(1).unwrap();
        total += pool.take_window().unwrap().ios();
    }
    assert!(total >= 300 && total % 100 == 0, "{total}");
    let ended = pool.set_queue_depth(4).unwrap();
    assert_eq!(total + ended.ios() + pool.take_window().unwrap().ios(), pool.live().ios);
    pool.advance(1).unwrap();
    let window = pool.take_window().unwrap();
    // 400 I/Os of 1 ms in 0.1 s.
    assert!((window.queue_depth() - 4.0).abs() < 0.05, "{}", window.queue_depth());
    assert!((window.iops() - 4000.0).abs() < 1.0, "{}", window.iops());
    assert_eq!((pool.workers(), pool.finished(), pool.drained()), (1, false, true));
    let started = player.started();
    assert_eq!(started.iter().map(|(_, queue_depth)| *queue_depth).collect::<Vec<_>>(), [1, 4]);
    assert!(!started[0].0.exists() && started[1].0.exists());
    drop(pool);
    assert!(!started[1].0.exists(), "fio is left behind");
}

#[test]
fn fio_with_own_runtime_is_summarized_by_last_document() {
    // Other tests count the threads of this process.
    let _alone = alone();
    let player = Player::new("print; sleep 0.15; print; print");
    let mut pool = player.start(Span::Own).unwrap();
    assert!(pool.keeps_its_time());
    let mut total = 0;
    while !pool.finished() {
        pool.advance(1).unwrap();
        total += pool.take_window().unwrap().ios();
    }
    let whole = pool.summed_up().unwrap();
    assert_eq!((total, whole.ios()), (300, 300));
    assert_eq!((whole.seconds(), whole.service().max_ns()), (0.3, 1_100_000));
}

#[test]
fn fio_messages_are_reported_if_there_are_no_results() {
    // Other tests count the threads of this process.
    let _alone = alone();
    let refused = Player::new("echo 'fio: no such engine' >&2; exit 1");
    let error = refused.start(Span::Open).unwrap_err();
    assert!(matches!(&error, WorkerError::Fio(fio) if fio.is_usage()), "{error}");
    assert!(error.to_string().contains("fio: no such engine"), "{error}");
    let silent = Player::new("echo hello");
    let mute = silent.start(Span::Open).unwrap_err();
    assert!(matches!(&mute, WorkerError::Fio(FioError::Mute { said, .. }) if said == "hello"));
    let player = Player::new("kill -KILL $$");
    let mut killed = player.start(Span::Own).unwrap();
    let error = loop {
        if let Err(error) = killed.advance(1) {
            break error;
        }
        assert!(!killed.finished(), "it was killed");
    };
    assert!(matches!(error, WorkerError::Fio(FioError::Ended { .. })), "{error}");
    let none = FioBinary::find(Path::new("/no/such/fio")).unwrap_err();
    assert!(matches!(none, FioError::Binary { .. }) && none.is_usage());
}

/// Runs a pool to the end of its own runtime, and returns its I/Os, errors and losses.
fn to_the_end(pool: &mut FioPool) -> (u64, u64, Vec<String>) {
    let (mut ios, mut errors) = (0, 0);
    while !pool.finished() {
        pool.advance(1).unwrap();
        let window = pool.take_window().unwrap();
        ios += window.ios();
        errors += window.errors();
    }
    let last = pool.stop().unwrap();
    (ios + last.ios(), errors + last.errors(), pool.losses())
}

#[test]
fn results_of_a_killed_or_stopped_fio_are_kept() {
    // Other tests count the threads of this process.
    let _alone = alone();
    for (body, word) in [
        ("print; sleep 0.2; kill -KILL $$", "signal: 9"),
        ("print; sleep 0.2; kill -STOP $$", "stopped"),
        // Its child is stopped, and it waits for the child.
        ("print; sleep 100 & kill -STOP $!; while :; do sleep 0.1; done", "stopped"),
        ("print; while :; do sleep 0.1; done", "nothing more"),
        ("print; sleep 0.2; echo broken >&2; exit 3", "exit status: 3): broken"),
    ] {
        let player = Player::new(body);
        let begin = Instant::now();
        let (ios, errors, losses) = to_the_end(&mut player.start(Span::Own).unwrap());
        assert_eq!((ios, errors, losses.len()), (100, 1, 1), "{body}: {losses:?}");
        assert!(losses[0].contains(word), "{}", losses[0]);
        // The timeout for a stopped process is much shorter, but a loaded machine is slow.
        assert!(begin.elapsed() < Duration::from_secs(30), "{body}: {:?}", begin.elapsed());
        assert!(!player.started()[0].0.exists(), "{body}: fio is left behind");
    }
}

#[test]
fn leftover_fio_children_do_not_block_and_are_killed() {
    // Other tests count the threads of this process.
    let _alone = alone();
    // The child has its own session and fio's output, like the processes of fio's jobs.
    let player = Player::new(
        "print; setsid sh -c 'echo $$ > child; exec sleep 300' & sleep 0.5; print; cp child $0.child",
    );
    let begin = Instant::now();
    let (ios, errors, losses) = to_the_end(&mut player.start(Span::Own).unwrap());
    assert_eq!((ios, errors, losses.len()), (200, 0, 0), "{losses:?}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    let said = std::fs::read_to_string(player.dir.path().join("fio.child")).unwrap();
    let stat = Path::new("/proc").join(said.trim()).join("stat");
    // A killed process remains a zombie until its new parent reaps it.
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z "));
    while lives() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{} is left behind", stat.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn version_check_does_not_wait_for_inherited_stdout() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("fio");
    std::fs::write(&path, "#!/bin/sh\nsleep 20 &\necho fio-3.99\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let begin = Instant::now();
    assert_eq!(FioBinary::find(&path).unwrap().version(), "fio-3.99");
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}
