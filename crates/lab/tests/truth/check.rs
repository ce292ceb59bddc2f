//! Checks of requirements that are off the truth by a known share: how often the verdict is wrong, how long it takes.

use super::{on_all_processors, seeds};
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::CheckPlan;
use iogauge_lab::session::check::check;
use iogauge_lab::{Interrupt, Region, Rig, session};
use iogauge_model::limit::{Metric, Side};
use iogauge_model::load::{ArrivalProcess, Arrivals, EngineKind, Load};
use iogauge_model::result::{CheckVerdict, DirectionResult};
use iogauge_model::{Limit, RequiredRate, Step};
use iogauge_test_support::mmc::Queue;

/// By how much the requirement is off the truth.
const OFF: [f64; 3] = [0.03, 0.05, 0.10];
/// Maximum percentage of wrong verdicts.
const WRONG: f64 = 5.0;
/// Length of the measurement that a truth is from, in seconds. Noise must be slow against nothing in it.
const LONG_SECONDS: u64 = 2000;
/// More seeds take long and add little.
const MOST_SEEDS: usize = 200;

/// What is required.
enum What {
    /// The statistic at a rate, in an open loop.
    Latency { rate_iops: f64, metric: Metric },
    /// The IOPS at a queue depth, in a closed loop.
    Iops { queue_depth: u32 },
    /// The highest rate, in an open loop.
    Rate,
}

struct Device {
    name: &'static str,
    device: &'static str,
    what: What,
    /// A closed form; `None` to measure for a long time.
    truth: Option<fn() -> f64>,
    /// True if noise is fast against the time that a check takes: verdicts must be right then. For other devices their
    /// share is only reported.
    is_fast: bool,
}

const P99: Metric = Metric::Percentile(99.0);
const EIGHT: Queue = Queue { servers: 8, service: 1e-3 };

const fn latency(
    name: &'static str,
    device: &'static str,
    rate_iops: f64,
    metric: Metric,
) -> Device {
    Device { name, device, what: What::Latency { rate_iops, metric }, truth: None, is_fast: true }
}

fn devices() -> Vec<Device> {
    let plain = "channels=8,service=1ms";
    vec![
        Device {
            truth: Some(|| EIGHT.mean(6000.0) * 1e9),
            ..latency("exponential, mean", plain, 6000.0, Metric::Mean)
        },
        Device {
            truth: Some(|| EIGHT.percentile(6000.0, 99.0) * 1e9),
            ..latency("exponential, p99", plain, 6000.0, P99)
        },
        Device {
            what: What::Iops { queue_depth: 16 },
            truth: Some(|| 8000.0),
            ..latency("exponential, IOPS", plain, 0.0, P99)
        },
        Device {
            what: What::Rate,
            truth: Some(|| 8000.0),
            ..latency("exponential, rate", plain, 0.0, P99)
        },
        latency("lognormal, mean", "channels=8,service=1ms,dist=lognormal:1", 6000.0, Metric::Mean),
        latency("lognormal, p99", "channels=8,service=1ms,dist=lognormal:1", 6000.0, P99),
        Device {
            is_fast: false,
            ..latency(
                "10 % noise over 0.5 s, p99",
                "channels=8,service=1ms,noise=10%:500ms",
                5000.0,
                P99,
            )
        },
        latency(
            "late I/Os in bursts of 0.3 s, p99",
            "channels=8,service=1ms,late=1.5%:40ms:300ms",
            6000.0,
            P99,
        ),
        latency(
            "stalls of 100 ms each second, p99",
            "channels=8,service=1ms,gc=every:1s,stall:100ms",
            6000.0,
            P99,
        ),
        // The noise exceeds the spare capacity about once in two minutes. These queues decide p99 and the mean.
        Device {
            is_fast: false,
            ..latency(
                "the same near the capacity, p99",
                "channels=8,service=1ms,noise=10%:500ms",
                6000.0,
                P99,
            )
        },
        Device {
            is_fast: false,
            ..latency(
                "the same near the capacity, mean",
                "channels=8,service=1ms,noise=10%:500ms",
                6000.0,
                Metric::Mean,
            )
        },
        Device {
            is_fast: false,
            ..latency(
                "neighbour 50 %, 2 s, p99",
                "channels=8,service=1ms,neighbour=50%:2s",
                3000.0,
                P99,
            )
        },
        Device {
            is_fast: false,
            ..latency(
                "late I/Os in bursts of 5 s, p99",
                "channels=8,service=1ms,late=3%:25ms:5s",
                6000.0,
                P99,
            )
        },
    ]
}

/// Response times of a step, in a long measurement.
fn measured(device: &Device, rate_iops: f64, metric: Metric) -> f64 {
    let runs = on_all_processors(2, |seed| {
        let rig =
            Rig::open(&format!("sim:{},seed={}", device.device, 1000 + seed), Intent::default());
        let arrivals = Some(Arrivals { rate_iops, process: ArrivalProcess::Poisson, only: None });
        let load = Load {
            engine: EngineKind::Sim,
            arrivals,
            iodepth: 16_384,
            seed: 1000 + seed as u64,
            ..Load::default()
        };
        let step = Step::single(load, 2_000_000_000, LONG_SECONDS * 500_000_000);
        let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
        let found = session::run_on(&rig.unwrap(), &step, &[Region::All], watch).unwrap();
        let DirectionResult { response_histogram, .. } = found.result.read.unwrap();
        response_histogram.unwrap()
    });
    let mut all = runs[0].clone();
    all.merge(&runs[1]);
    metric.of(&all)
}

#[derive(Clone, Copy)]
struct Outcome {
    verdict: CheckVerdict,
    seconds: f64,
}

/// Checks a requirement that is met by `off`, or not if it is below 0.
fn checked(device: &Device, truth: f64, off: f64, seed: usize) -> Outcome {
    let rig =
        Rig::open(&format!("sim:{},seed={}", device.device, seed + 1), Intent::default()).unwrap();
    let load = Load { engine: EngineKind::Sim, seed: seed as u64 + 1, ..Load::default() };
    let poisson = Some(ArrivalProcess::Poisson);
    let (required_iops, arrivals, queue_depth, limits) = match device.what {
        What::Latency { rate_iops, metric } => {
            let bound_ns = (truth * (1.0 + off)) as u64;
            let limit = Limit { each: false, side: Side::Any, metric, bound_ns };
            (rate_iops, poisson, 16_384, vec![limit])
        }
        What::Iops { queue_depth } => (truth * (1.0 - off), None, queue_depth, Vec::new()),
        What::Rate => (truth * (1.0 - off), poisson, 16_384, Vec::new()),
    };
    let plan = CheckPlan {
        required: RequiredRate::Iops(required_iops),
        required_iops,
        arrivals,
        queue_depth,
        limits,
        budget_ns: 60_000_000_000,
        max_starvation: 0.05,
    };
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let found = check(&rig, &load, &plan, watch).unwrap();
    Outcome { verdict: found.check.verdict, seconds: found.check.seconds }
}

struct Row {
    off: f64,
    outcomes: Vec<Outcome>,
}

impl Row {
    fn percent(&self, verdict: CheckVerdict) -> f64 {
        let count = self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count();
        count as f64 * 100.0 / self.outcomes.len() as f64
    }

    fn wrong(&self) -> f64 {
        self.percent(if self.off > 0.0 { CheckVerdict::Fail } else { CheckVerdict::Pass })
    }

    fn seconds(&self) -> f64 {
        let mut all: Vec<f64> = self.outcomes.iter().map(|outcome| outcome.seconds).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }
}

fn rows(device: &Device, truth: f64, offs: &[f64], seeds: usize) -> Vec<Row> {
    let row = |off: f64| {
        let outcomes = on_all_processors(seeds, |seed| checked(device, truth, off, seed));
        Row { off, outcomes }
    };
    offs.iter().map(|off| row(*off)).collect()
}

fn print(device: &Device, truth: f64, rows: &[Row]) {
    for row in rows {
        println!(
            "| {} | {truth:.0} | {:+.0} % | {:.1} | {:.1} | {:.1} |",
            device.name,
            row.off * 100.0,
            row.wrong(),
            row.percent(CheckVerdict::Undecided),
            row.seconds()
        );
    }
}

/// Returns what is wrong with the verdicts of a device.
fn faults(device: &Device, rows: &[Row]) -> Vec<String> {
    let fault = |row: &&Row| {
        let n = row.outcomes.len() as f64;
        // This bound fails for 1 of 10,000 good checks.
        let slack = 4.0 * (0.05 * 0.95 / n).sqrt() * 100.0;
        device.is_fast && row.wrong() > WRONG + slack
    };
    let wrong = rows.iter().filter(fault);
    wrong
        .map(|row| {
            format!("{}: {:+.0} %: {:.1} % wrong", device.name, row.off * 100.0, row.wrong())
        })
        .collect()
}

#[test]
fn verdicts_of_checks_are_rarely_wrong() {
    let seeds = seeds().min(MOST_SEEDS);
    // A quick run has few seeds, and no time for long measurements.
    let is_quick = seeds < 50;
    let only = std::env::var("IOGAUGE_TRUTH_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    println!(
        "| device | truth | off | wrong, % | undecided, % | median s |\n|---|---|---|---|---|---|"
    );
    for device in devices().iter().filter(|device| device.name.contains(&only)) {
        let truth = match (&device.truth, &device.what) {
            (Some(truth), _) => truth(),
            (None, _) if is_quick => continue,
            (None, What::Latency { rate_iops, metric }) => measured(device, *rate_iops, *metric),
            (None, What::Iops { .. } | What::Rate) => panic!("{} has no truth", device.name),
        };
        let offs: Vec<f64> = match is_quick {
            true => vec![-0.10, 0.10],
            false => OFF.iter().flat_map(|off| [-off, *off]).collect(),
        };
        let rows = rows(device, truth, &offs, seeds);
        print(device, truth, &rows);
        wrong.extend(faults(device, &rows));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
