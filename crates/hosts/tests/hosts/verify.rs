//! Verification and logs on hosts in one process.

use super::*;
use iogauge_lab::session::hosts::HostPlan;
use iogauge_model::Step;
use iogauge_model::load::{BlockSizes, Logs, Verify, VerifyAlgorithm};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::{VerifyEnd, VerifyFault, VerifyResult};
use std::os::unix::fs::FileExt;

const BLOCK: u64 = 4096;
/// Blocks that each host writes.
const BLOCKS: u64 = 512;

fn writing() -> Intent {
    Intent { writes: true, ..intent() }
}

fn verified(rw: Pattern, number_ios: Option<u64>) -> Load {
    let (block, verify) = (BlockSizes::fixed(BLOCK), Verify::with(VerifyAlgorithm::Crc32c));
    Load { rw, block, iodepth: 6, number_ios, verify: Some(verify), ..Load::default() }
}

/// A step of one job, as a plan.
fn plan(load: Load) -> Vec<(Step, Vec<Region>)> {
    let jobs = vec![Job { name: "a".to_owned(), load }];
    let step = Step { label: "a".to_owned(), jobs, ramp_ns: 0, runtime_ns: LONGEST_NS };
    vec![(step, Vec::new())]
}

/// The workers of a step on all hosts, once they have ended.
struct Ended {
    window: Window,
    found_fatal: bool,
    results: Vec<(String, VerifyResult)>,
}

impl Run {
    fn start_step(&self, own: &mut Member, load: Load, step: Option<usize>) -> Box<dyn WorkerPool> {
        let jobs = vec![(load, Region::All)];
        let starting = Starting::new(jobs, 6, vec![Sharing::Own]).of_step(step);
        let parts = Parts::equal(self.leader.number());
        own.begin(&starting.shared_out(&parts)[0]).unwrap();
        self.leader.start(&starting, &parts, &|part| own.pool(part)).unwrap()
    }

    /// Runs a step until its workers have ended, lets `meanwhile` happen, and reads back.
    fn step(
        &self,
        own: &mut Member,
        load: Load,
        step: Option<usize>,
        meanwhile: impl FnOnce(),
    ) -> Ended {
        let mut pool = self.start_step(own, load, step);
        let (begin, mut window) = (Instant::now(), Window::default());
        while !pool.finished() {
            pool.advance(20_000_000).unwrap();
            window.append(&pool.take_window().unwrap());
            assert!(begin.elapsed() < Duration::from_secs(60), "the workers do not end");
        }
        let found_fatal = pool.found_fatal();
        window.append(&pool.stop().unwrap());
        pool.finish_logs();
        drop(pool);
        meanwhile();
        let skipped = found_fatal.then_some(VerifyEnd::Fatal);
        let read_back = |stop: &Interrupt| Ok(own.read_back(skipped, stop)?.unwrap_or_default());
        let interrupt = Interrupt::default();
        let results = self.leader.read_back(skipped, &interrupt, Box::new(read_back)).unwrap();
        Ended { window, found_fatal, results }
    }
}

/// Changes a byte of a host's file.
fn corrupt(directory: &Path, host: u32) {
    let path = directory.join(format!("iogauge-host-{host}.dat"));
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, MIB + 1000).unwrap();
    file.write_all_at(&[!byte[0]], MIB + 1000).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn each_host_verifies_what_it_has_written() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let mut own = run.ready(directory.path(), writing()).unwrap();
    let load = verified(Pattern::Write, Some(BLOCKS));
    let ended = run.step(&mut own, load.clone(), None, || {});
    assert_eq!((ended.window.ios(), ended.results.len()), (3 * BLOCKS, 3));
    for (host, result) in &ended.results {
        let figures = (result.units, result.bytes, result.corrupted, result.end);
        assert_eq!(figures, (BLOCKS, BLOCKS * BLOCK, 0, VerifyEnd::Complete), "{host}");
        assert_eq!(result.read.as_ref().unwrap().bytes, BLOCKS * BLOCK);
    }
    let ended = run.step(&mut own, load, None, || corrupt(directory.path(), 2));
    let corrupted: Vec<u64> = ended.results.iter().map(|(_, result)| result.corrupted).collect();
    assert_eq!(corrupted, [0, 1, 0]);
    let (host, result) = &ended.results[1];
    assert_eq!(*host, run.leader.names()[1]);
    let found = &result.findings[0];
    assert!(found.path.ends_with("iogauge-host-2.dat"), "{found:?}");
    assert_eq!(found.offset_bytes, MIB);
    assert!(matches!(found.reason, VerifyFault::Corrupt { differing_bytes: 1, .. }), "{found:?}");
    run.end();
}

#[test]
fn fatal_wrong_data_on_one_host_ends_all() {
    let directory = tempfile::tempdir().unwrap();
    let run = Run::of(3);
    let mut own = run.ready(directory.path(), writing()).unwrap();
    run.step(&mut own, verified(Pattern::Write, Some(BLOCKS)), None, || {});
    corrupt(directory.path(), 3);
    let mut endless = verified(Pattern::RandRead, None);
    endless.size_bytes = Some(2 * MIB);
    endless.verify.iter_mut().for_each(|verify| verify.fatal = true);
    let ended = run.step(&mut own, endless, None, || {});
    assert!(ended.found_fatal);
    let corrupted: Vec<u64> = ended.results.iter().map(|(_, result)| result.corrupted).collect();
    assert!(corrupted[0] == 0 && corrupted[1] == 0 && corrupted[2] > 0, "{corrupted:?}");
    assert!(ended.results.iter().all(|(_, result)| result.end == VerifyEnd::Fatal));
    run.end();
}

#[test]
fn hosts_do_not_verify_what_others_overwrite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shared.dat");
    let wanted = Wanted::All(writing());
    let opening = Opening { text: file.display().to_string(), wanted };
    let mut own = Member::open(opening.for_host(1, 3)).unwrap();
    let begun = |own: &mut Member, load: Load| {
        own.begin(&Starting::new(vec![(load, Region::All)], 6, Vec::new()))
    };
    let error = begun(&mut own, verified(Pattern::RandRw, None)).unwrap_err();
    let words = "all hosts write ";
    assert!(error.is_usage() && error.to_string().contains(words), "{error}");
    assert!(error.to_string().contains("; hint: use a directory"), "{error}");
    // Reading is no harm.
    begun(&mut own, verified(Pattern::Read, None)).unwrap();
}

fn logged(prefix: &Path, number_ios: u64) -> Load {
    let latency = Some(prefix.display().to_string());
    let logs = Some(Logs { latency, ..Logs::default() });
    Load { logs, verify: None, ..verified(Pattern::RandRead, Some(number_ios)) }
}

#[test]
fn each_host_logs_the_ios_of_its_own_workers() {
    let directory = tempfile::tempdir().unwrap();
    let (prefix, run) = (directory.path().join("x"), Run::of(3));
    let mut own = run.ready(directory.path(), intent()).unwrap();
    let load = logged(&prefix, 300);
    let names = run.leader.names();
    own.check(&HostPlan::of_each(&plan(load.clone()), &names)[0]).unwrap();
    run.leader.check(&plan(load.clone())).unwrap();
    let ended = run.step(&mut own, load, Some(0), || {});
    let log = |kind: &str, host: &str| directory.path().join(format!("x_{kind}.1.log.{host}"));
    assert!(!log("lat", &names[1]).exists(), "logs appear when the run ends");
    let mut made = own.commit(true);
    made.add(run.leader.commit(true));
    assert!(made.logs.len() == 6 && made.wrong.is_empty(), "{made:?}");
    for host in &names {
        for kind in ["lat", "clat"] {
            let path = log(kind, host);
            assert!(made.logs.contains(&path), "{made:?}");
            assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 300);
        }
    }
    assert_eq!(ended.window.ios(), 3 * 300);
    run.end();
}

#[test]
fn foreign_file_in_place_of_a_log_refuses_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let (prefix, run) = (directory.path().join("x"), Run::of(3));
    run.ready(directory.path(), intent()).unwrap();
    let foreign = directory.path().join(format!("x_clat.1.log.{}", run.leader.names()[2]));
    std::fs::write(&foreign, "a letter\n").unwrap();
    let error = run.leader.check(&plan(logged(&prefix, 1))).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("x_clat.1.log."), "{error}");
    run.end();
    assert_eq!(std::fs::read_to_string(foreign).unwrap(), "a letter\n");
}
