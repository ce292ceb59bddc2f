//! Comparisons of devices whose true difference is known.
//!
//! A device with as many I/Os outstanding as channels does channels / service time I/Os per second, so the ratio of two
//! devices that differ only in their service time is that of the service times, whatever varies both alike.

use super::{on_all_processors, seeds};
use iogauge_io::targets::Intent;
use iogauge_lab::compare::{Comparison, Rule, Subject};
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::session::trace::Tracing;
use iogauge_lab::suite::{self, Ground, Site, Suite, SuiteStep, Work};
use iogauge_lab::{Interrupt, LabError, Rig};
use iogauge_model::Step;
use iogauge_model::load::{EngineKind, Load, Pattern};
use iogauge_model::result::{CompareFindings, CompareVerdict, Compared, Figure, SuiteStepResult};

/// Maximum number of blocks.
const BLOCKS: u64 = 20;
const TURN_NS: u64 = 1_000_000_000;
const SERVICE_US: f64 = 8000.0;
const CHANNELS: u32 = 8;

/// A kind of device.
#[derive(Debug, Clone, Copy)]
struct Device {
    name: &'static str,
    /// What varies.
    varies: &'static str,
    /// True for two devices that vary each by itself, false for two loads on one.
    are_two: bool,
    /// True if what varies is as slow as a block, so that the table only shows how often a verdict is wrong.
    is_slow: bool,
}

const fn one(name: &'static str, varies: &'static str) -> Device {
    Device { name, varies, are_two: false, is_slow: false }
}

const fn two(name: &'static str, varies: &'static str, is_slow: bool) -> Device {
    Device { name, varies, are_two: true, is_slow }
}

const DEVICES: [Device; 10] = [
    one("exponential", "dist=exp"),
    one("lognormal", "dist=lognormal:1.0"),
    one("bursts of 3 s", "dist=exp,neighbour=40%:3s"),
    one("bursts of 30 s", "dist=exp,neighbour=40%:30s"),
    one("noise of 5 %", "dist=exp,noise=5%:1s"),
    one("drift of 0.5 % a second", "dist=exp,fade=0.5"),
    two("two, exponential", "dist=exp", false),
    two("two, bursts of 0.3 s", "dist=exp,neighbour=40%:300ms", false),
    two("two, bursts of 5 s", "dist=exp,neighbour=40%:5s", true),
    two("two, bursts of 30 s", "dist=exp,neighbour=40%:30s", true),
];

/// One device, or two.
struct Devices(Vec<Rig>);

impl Ground for Devices {
    fn run(
        &mut self,
        step: &SuiteStep,
        _: Option<&mut Tracing>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<SuiteStepResult>, LabError> {
        let own = usize::from(step.place.phase == "B");
        let Self(rigs) = self;
        if rigs.len() == 2 {
            // Time passes on the other one as well.
            rigs[1 - own].run(step, None, watch)?;
        }
        let last = rigs.len() - 1;
        rigs[own.min(last)].run(step, None, watch)
    }
}

/// Compares with something that does more IOPS by the share `difference`: reads with writes of one device, or two
/// devices.
fn compare(device: Device, difference: f64, margin: f64, seed: u64) -> Compared {
    let rig = |service_us: f64, more: &str, number: u64| {
        let varies = device.varies;
        let seed = seed * 2 + number;
        let text =
            format!("sim:channels={CHANNELS},service={service_us:.3}us{more},{varies},seed={seed}");
        Rig::open(&text, Intent::default()).expect("a device")
    };
    let faster_us = SERVICE_US / (1.0 + difference);
    let rigs = match device.are_two {
        true => vec![rig(SERVICE_US, "", 0), rig(faster_us, "", 1)],
        false => vec![rig(SERVICE_US, &format!(",write_service={faster_us:.3}us"), 0)],
    };
    let site = Site::of(&rigs[0], EngineKind::Sim);
    let subject = |name: &str, rw| {
        let (engine, iodepth, seed) = (EngineKind::Sim, CHANNELS, seed * 1000);
        let load = Load { engine, iodepth, seed, rw, ..Load::default() };
        let work = Work::Step(Step::single(load, 0, TURN_NS));
        Subject { name: name.to_owned(), about: String::new(), work }
    };
    let second = if device.are_two { Pattern::RandRead } else { Pattern::RandWrite };
    let comparison = Comparison {
        subjects: vec![subject("A", Pattern::RandRead), subject("B", second)],
        baseline: 0,
        rule: Rule::new(Figure::Iops, margin, 1, BLOCKS),
        seed,
    };
    let plan = comparison.plan(&site).expect("a plan");
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let mut ground = Devices(rigs);
    let ran = suite::run(&mut ground, &comparison, &site, &plan, Vec::new(), None, watch)
        .expect("turns in virtual time");
    let found = CompareFindings::of(&ran.conclusion.findings).expect("findings");
    found.compared[0].clone()
}

/// Comparisons of one device with one that differs by a known share.
struct Trials {
    name: &'static str,
    difference: f64,
    margin: f64,
    found: Vec<Compared>,
}

impl Trials {
    fn run(device: Device, difference: f64, margin: f64, trials: usize) -> Self {
        // Other random numbers for each difference.
        let first = (difference * 1000.0) as u64 * 100_000;
        let found = on_all_processors(trials, |trial| {
            compare(device, difference, margin, first + trial as u64 + 1)
        });
        Self { name: device.name, difference, margin, found }
    }

    fn share(&self, verdicts: &[CompareVerdict]) -> f64 {
        let has = |compared: &&Compared| verdicts.contains(&compared.verdict);
        self.found.iter().filter(has).count() as f64 / self.found.len() as f64
    }

    /// Share of comparisons whose interval contains the true ratio.
    fn coverage(&self) -> f64 {
        let covered = self.found.iter().filter(|compared| {
            compared.figure(Figure::Iops).is_some_and(|figure| {
                let [low, high] = figure.ratio.ci95;
                (low..=high).contains(&(1.0 + self.difference))
            })
        });
        covered.count() as f64 / self.found.len() as f64
    }

    fn blocks(&self) -> f64 {
        let blocks: usize = self.found.iter().map(|compared| compared.block_ratios.len()).sum();
        blocks as f64 / self.found.len() as f64
    }

    /// Median of the smallest difference that comparisons with all blocks detect.
    fn smallest_difference(&self) -> Option<f64> {
        let whole = self.found.iter().filter(|c| c.block_ratios.len() as u64 == BLOCKS);
        let mut all: Vec<f64> = whole.filter_map(|c| c.smallest_difference).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    }

    fn print(&self) {
        use CompareVerdict::{Better, Equivalent, Undecided, Worse};
        println!(
            "| {} | {:.1} % | {:.0} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} | {:.1} % |",
            self.name,
            self.difference * 100.0,
            self.margin * 100.0,
            self.share(&[Equivalent]) * 100.0,
            self.share(&[Better]) * 100.0,
            self.share(&[Worse]) * 100.0,
            self.share(&[Undecided]) * 100.0,
            self.blocks(),
            self.coverage() * 100.0
        );
    }
}

/// Returns the largest share of `trials` that an event of probability 5 % has in 99.9 % of cases, about.
fn five_percent(trials: usize) -> f64 {
    0.05 + 3.1 * (0.05 * 0.95 / trials as f64).sqrt()
}

fn head() {
    println!(
        "| device | difference | margin | equivalent | better | worse | undecided | blocks | coverage |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
}

#[test]
fn equal_devices_are_rarely_told_apart() {
    use CompareVerdict::{Better, Worse};
    // `make truth` has 1,000 trials.
    let trials = seeds() * 5 / 2;
    head();
    let mut all = Vec::new();
    for device in DEVICES {
        let name = device.name;
        let found = Trials::run(device, 0.0, 0.0, trials);
        found.print();
        if device.is_slow {
            continue;
        }
        if trials >= 100 {
            let wrong = found.share(&[Better, Worse]);
            assert!(wrong <= five_percent(trials), "{name}: {wrong}");
        }
        all.push(found.share(&[Better, Worse]));
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!(mean <= five_percent(trials * all.len()), "{all:?}");
}

#[test]
fn detectable_difference_is_detected_in_four_of_five_comparisons() {
    use CompareVerdict::{Better, Undecided, Worse};
    let trials = seeds();
    head();
    for device in DEVICES.into_iter().filter(|device| !device.is_slow) {
        let name = device.name;
        let equal = Trials::run(device, 0.0, 0.0, trials.min(100));
        let Some(smallest) = equal.smallest_difference() else { continue };
        let found = Trials::run(device, smallest, 0.0, trials);
        found.print();
        let (better, wrong) = (found.share(&[Better]), found.share(&[Worse]));
        let least = 0.8 - 3.0 * (0.8 * 0.2 / trials as f64).sqrt();
        assert!(better >= least && wrong <= five_percent(trials), "{name}: {better} {wrong}");
        assert!(found.share(&[Undecided]) <= 1.0 - least, "{name}");
    }
}

#[test]
fn known_differences_have_the_right_verdict() {
    use CompareVerdict::{Better, Equivalent, Worse};
    let is_full = seeds() >= 50;
    let trials = if is_full { seeds() / 4 } else { 3 };
    let cases: &[(f64, f64)] = match is_full {
        true => &[
            (0.01, 0.0),
            (0.02, 0.0),
            (0.05, 0.0),
            (0.1, 0.0),
            (0.0, 0.05),
            (0.02, 0.05),
            (0.1, 0.05),
        ],
        false => &[(0.1, 0.0), (0.0, 0.05)],
    };
    head();
    for device in DEVICES.into_iter().filter(|device| !device.is_slow) {
        let name = device.name;
        for (difference, margin) in cases {
            let found = Trials::run(device, *difference, *margin, trials);
            found.print();
            let wrong = match difference > margin {
                true => found.share(&[Worse, Equivalent]),
                false if *difference == *margin => 0.0,
                false => found.share(&[Worse, Better]),
            };
            assert!(wrong <= five_percent(trials), "{name} {difference} {margin}: {wrong}");
        }
    }
}
