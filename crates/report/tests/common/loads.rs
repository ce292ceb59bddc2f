//! Workloads as served by a device with a closed form: at most 80,000 I/Os and 1 GB per second, each I/O in
//! 100 µs plus its transfer; writes take three times as long.

use super::{direction, environment, head, named, run_document, step};
use iogauge_model::Load;
use iogauge_model::load::{BlockSizes, Pattern};
use iogauge_model::plan::Step;
use iogauge_model::result::{
    CompareFindings, CompareSubject, CompareVerdict, Compared, ComparedFigure, Conclusion,
    Estimate, Figure, HostsCurveFindings, HostsOutcome, HostsPoint, RoundsFindings, RoundsUnit,
    RoundsWindow, RunDocument, SUITE_FORMAT, StepPlace, StepResult, SuiteAsked, SuiteDocument,
    SuiteOutcome, SuiteStepResult, TrackedRounds, Workload,
};
use serde_json::json;

/// Returns a workload with this mix, size and queue depth.
pub fn load(read_percent: u32, block_bytes: u64, iodepth: u32) -> Load {
    let rw = match read_percent {
        100 => Pattern::RandRead,
        0 => Pattern::RandWrite,
        _ => Pattern::RandRw,
    };
    Load { rw, read_percent, block: BlockSizes::fixed(block_bytes), iodepth, ..Load::default() }
}

/// Returns the I/Os per second of a workload, and its mean latency in nanoseconds.
pub fn served(load: &Load) -> (f64, f64) {
    let (bytes, queue_depth) = (load.mean_block_bytes(), f64::from(load.queue_depth()));
    let reads = f64::from(load.read_percent) / 100.0;
    let service = (1e-4 + bytes / 1e9) * (reads + 3.0 * (1.0 - reads));
    let iops = (queue_depth / service).min(80_000.0).min(1e9 / bytes);
    (iops, queue_depth / iops * 1e9)
}

/// Returns the result of a workload.
pub fn measured(load: &Load) -> StepResult {
    let (iops, mean_ns) = served(load);
    let reads = f64::from(load.read_percent) / 100.0;
    let part = |share: f64| {
        let mut direction = direction(iops * share, mean_ns);
        direction.bytes_per_sec = iops * share * load.mean_block_bytes();
        direction.bytes = (direction.bytes_per_sec * 10.0) as u64;
        (share > 0.0).then_some(direction)
    };
    StepResult {
        read: part(reads),
        write: part(1.0 - reads),
        ..step(&load.label(), load.queue_depth())
    }
}

/// Returns a run with a step per workload.
pub fn run_of_loads(loads: &[Load]) -> RunDocument {
    let mut document = run_document(loads.iter().map(measured).collect());
    let asked = loads.iter().map(|load| Step::single(load.clone(), 0, 1_000_000_000));
    document.head.load = Workload::Steps { label: "the load".to_owned(), steps: asked.collect() };
    document
}

/// Returns a run with several sizes at QD 1 and QD 32.
pub fn sizes() -> RunDocument {
    let sizes = [512, 4096, 16_384, 65_536, 262_144, 1 << 20, 4 << 20];
    let loads = [1, 32]
        .into_iter()
        .flat_map(|queue_depth| sizes.map(|bytes| load(100, bytes, queue_depth)));
    run_of_loads(&loads.collect::<Vec<_>>())
}

/// Returns a run with several sizes at several queue depths, some of which violate the limit.
pub fn sizes_and_depths() -> RunDocument {
    let sizes = [4096, 16_384, 65_536, 262_144, 1 << 20];
    let queue_depths = [1, 4, 16, 64, 256];
    let loads = queue_depths
        .into_iter()
        .flat_map(|queue_depth| sizes.map(|bytes| load(0, bytes, queue_depth)));
    run_of_loads(&loads.collect::<Vec<_>>())
}

/// Returns what each round measures: the seven mixes of the SNIA test, with three sizes.
fn accesses() -> impl Iterator<Item = (u32, u64)> {
    let sizes = [1 << 20, 65_536, 4096];
    [100, 95, 65, 50, 35, 5, 0].into_iter().flat_map(move |reads| sizes.map(|bytes| (reads, bytes)))
}

/// Returns a suite of seven rounds: the first two are faster, the last five steady.
pub fn rounds() -> SuiteDocument {
    let faster = |round: u32| if round < 3 { 4.0 / f64::from(round) } else { 1.0 };
    let in_round = |round: u32, (read_percent, bytes): (u32, u64)| {
        let load = load(read_percent, bytes, 8);
        let mut result = measured(&load);
        for direction in result.read.iter_mut().chain(&mut result.write) {
            direction.iops.mean *= faster(round);
            direction.bytes_per_sec *= faster(round);
        }
        let key = format!("{read_percent} {bytes} round {round}");
        suite_step(key, Some(round), load, result)
    };
    let steps = (1..=7).flat_map(|round| accesses().map(move |access| in_round(round, access)));
    let steps: Vec<SuiteStepResult> = steps.collect();
    let tracked = [(0, 4096), (65, 65_536), (100, 1 << 20)].map(|(read_percent, block_bytes)| {
        let (mean, _) = served(&load(read_percent, block_bytes, 8));
        TrackedRounds {
            read_percent,
            block_bytes,
            unit: RoundsUnit::Iops,
            rounds: (1..=7).map(|round| mean * faster(round)).collect(),
            mean: Some(mean),
            range_percent: Some(0.0),
            rise_percent: Some(0.0),
            line: Some([mean, mean]),
            steady: Some(true),
        }
    });
    let findings = RoundsFindings {
        rounds: 7,
        steady: true,
        window: Some(RoundsWindow { first_round: 3, last_round: 7 }),
        tracked: tracked.into(),
    };
    suite(steps, json!(findings))
}

pub fn suite_step(
    key: String,
    round: Option<u32>,
    load: Load,
    result: StepResult,
) -> SuiteStepResult {
    SuiteStepResult {
        place: StepPlace { key, phase: "rounds".to_owned(), round },
        started: "2026-11-21T10:15:30Z".to_owned(),
        part: 0,
        asked: Step::single(load, 0, 60_000_000_000),
        result: SuiteOutcome::Step(Box::new(result)),
        check: None,
        caveats: Vec::new(),
        interrupted: false,
    }
}

pub fn suite(steps: Vec<SuiteStepResult>, findings: serde_json::Value) -> SuiteDocument {
    SuiteDocument {
        head: head(SUITE_FORMAT, named("/data")),
        suite: SuiteAsked { name: "snia-iops".to_owned(), options: [].into() },
        subjects: Vec::new(),
        setups: Vec::new(),
        steps,
        conclusion: Conclusion { findings, ..Conclusion::default() },
        steps_left: 0,
        resumed: 0,
        interrupted: false,
        caveats: Vec::new(),
        environment: environment(),
    }
}

/// Returns the capacities of 1, 2, 4 and 8 hosts on a target that four of them saturate.
pub fn hosts_curve() -> SuiteDocument {
    let capacities = [(1, 1010.0), (2, 1985.0), (4, 2503.0), (8, 2496.0)];
    let point = |(hosts, iops): (u32, f64)| HostsPoint {
        hosts,
        given: true,
        at_least: false,
        iops: Estimate { mean: iops, ci95: [iops * 0.98, iops * 1.02], n: 40 },
        iops_per_host: iops / f64::from(hosts),
        queue_depth: (iops / 50.0) as u32,
        latency_ns_mean: 19.6e6,
        latency_ns_p99: 31_000_000,
        scaling_efficiency: Some(iops / f64::from(hosts) / 1010.0),
        client_bound: false,
    };
    let hosts_curve = capacities.map(point).to_vec();
    let outcome = HostsOutcome::of(&hosts_curve);
    let findings = HostsCurveFindings { hosts_curve, outcome };
    let mut document = suite(Vec::new(), serde_json::to_value(findings).unwrap());
    document.suite.name = SuiteAsked::HOSTS_CURVE.to_owned();
    document
}

/// Returns a comparison with two turns of each of two targets.
pub fn turns() -> SuiteDocument {
    let load = Load::default();
    let turn = |number: u32, subject: &str| {
        let mut result = measured(&load);
        result.read.iter_mut().for_each(|read| read.service_histogram.record_n(100_000, 1000));
        let mut step = suite_step(String::new(), None, load.clone(), result);
        step.place.key = format!("block 1 turn {number}: {subject}");
        step.place.phase = subject.to_owned();
        step
    };
    let steps = (1..).zip(["A", "B", "B", "A"]).map(|(number, subject)| turn(number, subject));
    let subject = |name: &str, target: &str| CompareSubject {
        name: name.to_owned(),
        about: target.to_owned(),
        target: named(target),
        load: load.clone().into(),
        setup: None,
    };
    SuiteDocument {
        subjects: vec![subject("A", "/data"), subject("B", "/other")],
        steps: steps.collect(),
        ..compared()
    }
}

/// Returns a comparison in which B is worse than A, and C is equivalent to it.
pub fn compared() -> SuiteDocument {
    let one = |subject: &str, verdict, mean: f64, blocks: [f64; 5]| {
        let ratio = Estimate { mean, ci95: [mean * 0.98, mean * 1.02], n: 5 };
        let figure = Figure::Iops;
        Compared {
            subject: subject.to_owned(),
            verdict,
            figures: vec![ComparedFigure {
                figure,
                baseline: 10_000.0,
                subject: 10_000.0 * mean,
                ratio,
            }],
            block_ratios: blocks.map(|difference| mean * difference).to_vec(),
            smallest_difference: Some(0.03),
            blocks_wanted: None,
        }
    };
    let spread = [1.0, 1.012, 0.991, 0.985, 1.01];
    let findings = CompareFindings {
        metric: Figure::Iops,
        margin: 0.05,
        baseline: "A".to_owned(),
        compared: vec![
            one("B", CompareVerdict::Worse, 0.9, spread),
            one("C", CompareVerdict::Equivalent, 1.01, spread),
        ],
        blocks: 5,
        blocks_left_out: 0,
        blocks_most: 30,
    };
    let mut document = suite(Vec::new(), serde_json::to_value(findings).unwrap());
    document.suite.name = SuiteAsked::COMPARE.to_owned();
    document
}
