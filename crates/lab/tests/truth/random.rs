//! Random devices and limits whose capacity has a closed form: what a search claims must be true for any of them.
//!
//! Closed loop: up to one I/O per channel, latencies are service times; with more, IOPS do not rise. So the capacity is
//! that of all channels, or no queue depth keeps the limit. Open loop: Erlang's formula for exponential service.

use super::{on_all_processors, seeds};
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::{SearchOutcome, SearchPlan};
use iogauge_lab::{Interrupt, Rig, session};
use iogauge_model::load::{ArrivalProcess, EngineKind, Load};
use iogauge_model::result::{Search, StoppedBy};
use iogauge_test_support::mmc::Queue;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// Maximum number of I/Os in a search. More take long and add nothing.
const MOST_IOS: f64 = 1e6;
/// Number of searches of each loop per requested seed.
const SEARCHES_PER_SEED: usize = 25;
/// A claim is wrong if the true capacity lies outside its CI and differs from it by more than this.
const TOLERANCE: f64 = 0.03;
/// An answer that is off by this factor is far off.
const FAR: f64 = 1.5;
/// Maximum percentage of searches whose claim is wrong, and far off. The intervals are 95 % intervals.
const WRONG: f64 = 5.0;
const FAR_OFF: f64 = 1.0;
/// With a budget of at least `AMPLE_SECONDS`, and a bound that differs by at least the factor `CLEAR` from what one I/O
/// takes, this share of the searches must answer.
const AMPLE_SECONDS: f64 = 20.0;
const CLEAR: f64 = 1.5;
const TOLD: f64 = 0.9;

#[derive(Debug, Clone, Copy)]
enum Service {
    Constant,
    Exponential,
    Lognormal(f64),
}

/// Percentage, and the quantile of the standard normal distribution.
const PERCENTILES: [(f64, f64); 3] = [(95.0, 1.644_854), (99.0, 2.326_348), (99.9, 3.090_232)];

/// A search of a device.
#[derive(Debug, Clone)]
struct Case {
    channels: u32,
    service_us: u64,
    service: Service,
    /// Index in [`PERCENTILES`]; `None` for a mean.
    percentile: Option<usize>,
    bound_us: u64,
    budget_ms: u64,
    open_loop: bool,
    seed: u64,
}

/// Returns a number from 0 to 1.
fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns a number between two, uniform on a logarithmic scale.
fn between(random: &mut impl Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(unit(random))
}

fn one_of<T: Copy>(random: &mut impl Rng, of: &[T]) -> T {
    of[(random.next_u64() % of.len() as u64) as usize]
}

impl Case {
    fn draw(seed: u64, open_loop: bool) -> Self {
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed * 2 + u64::from(open_loop));
        let channels = between(random, 1.0, 17.0) as u32;
        let budget_seconds = between(random, 1.0, 60.0);
        let least_us = f64::from(channels) * budget_seconds / MOST_IOS * 1e6;
        let service_us = between(random, least_us.max(20.0), 50_000.0) as u64;
        let all = [
            Service::Exponential,
            Service::Constant,
            Service::Lognormal(0.5),
            Service::Lognormal(1.0),
            Service::Lognormal(1.5),
        ];
        let service = if open_loop { Service::Exponential } else { one_of(random, &all) };
        let percentile = one_of(random, &[None, None, Some(0), Some(1), Some(2)]);
        let case = Self {
            channels,
            service_us,
            service,
            percentile,
            bound_us: 0,
            budget_ms: (budget_seconds * 1e3) as u64,
            open_loop,
            seed,
        };
        let bound_us = case.alone_us() * between(random, 0.7, 20.0);
        Self { bound_us: bound_us as u64, ..case }
    }

    /// Returns the limit's statistic of the service times, in microseconds.
    fn alone_us(&self) -> f64 {
        let mean = self.service_us as f64;
        let Some((percent, normal)) = self.percentile.map(|at| PERCENTILES[at]) else {
            return mean;
        };
        match self.service {
            Service::Constant => mean,
            Service::Exponential => -(1.0 - percent / 100.0).ln() * mean,
            Service::Lognormal(sigma) => (sigma * normal - sigma * sigma / 2.0).exp() * mean,
        }
    }

    /// Returns the highest IOPS that keep the limit; 0 if none do.
    fn truth(&self) -> f64 {
        let service = self.service_us as f64 / 1e6;
        if self.alone_us() > self.bound_us as f64 {
            return 0.0;
        }
        if !self.open_loop {
            return f64::from(self.channels) / service;
        }
        let queue = Queue { servers: self.channels, service };
        let bound = self.bound_us as f64 / 1e6;
        queue.highest_rate(|rate| match self.percentile {
            None => queue.mean(rate) <= bound,
            Some(at) => queue.longer_than(rate, bound) <= 1.0 - PERCENTILES[at].0 / 100.0,
        })
    }

    fn device(&self) -> String {
        let Self { channels, service_us, seed, .. } = self;
        let service = match self.service {
            Service::Constant => "const".to_owned(),
            Service::Exponential => "exp".to_owned(),
            Service::Lognormal(sigma) => format!("lognormal:{sigma}"),
        };
        format!("sim:channels={channels},service={service_us}us,dist={service},seed={seed}")
    }

    fn limit(&self) -> String {
        let statistic = match self.percentile {
            None => "mean".to_owned(),
            Some(at) => format!("p{}", PERCENTILES[at].0),
        };
        format!("{statistic}<={}us", self.bound_us)
    }

    /// Returns the command that a user would type.
    fn command(&self) -> String {
        let open_loop = if self.open_loop { " --open-loop" } else { "" };
        let (device, limit) = (self.device(), self.limit());
        format!("find {device} --limit '{limit}' --budget {}ms{open_loop}", self.budget_ms)
    }

    fn find(&self) -> SearchOutcome {
        let rig = Rig::open(&self.device(), Intent::default()).expect("a device");
        let load = Load { engine: EngineKind::Sim, ..Load::default() };
        let plan = SearchPlan {
            limits: vec![self.limit().parse().expect("a limit")],
            budget_ns: self.budget_ms * 1_000_000,
            open_loop: self.open_loop.then_some(ArrivalProcess::Poisson),
            ..SearchPlan::default()
        };
        let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
        session::find(&rig, &load, &plan, watch).expect("a search in virtual time").outcome
    }

    /// Returns true if a search has enough time to answer and the bound is not close to what one I/O takes.
    fn is_clear(&self) -> bool {
        let off = self.alone_us() / self.bound_us as f64;
        let ios = f64::from(self.channels) / self.service_us as f64 * self.budget_ms as f64 * 1e3;
        let wanted = self.percentile.map_or(1.0, |at| 1.0 / (1.0 - PERCENTILES[at].0 / 100.0));
        self.budget_ms as f64 / 1e3 >= AMPLE_SECONDS
            && ios >= 1000.0 * wanted
            && !(1.0 / CLEAR..CLEAR).contains(&off)
    }
}

/// Verdict on the claim of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Right,
    /// It claims nothing.
    Open,
    TooHigh,
    TooLow,
    /// There is a capacity, and the search denies it.
    Denied,
    /// There is no capacity, and the search gives one.
    Promised,
}

struct Outcome {
    verdict: Verdict,
    is_far: bool,
    is_over_budget: bool,
}

fn judge(case: &Case, found: &SearchOutcome) -> Outcome {
    let (answer, truth) = (&found.search.answer, case.truth());
    // If too little is known for an interval, none is claimed.
    let [low, high] = if answer.iops.n < 2 { [0.0, f64::INFINITY] } else { answer.iops.ci95 };
    let is_high = low > truth && answer.iops.mean > truth * (1.0 + TOLERANCE);
    let is_low = high < truth && answer.iops.mean < truth * (1.0 - TOLERANCE);
    let verdict = match answer.stopped_by {
        StoppedBy::Unattainable if truth > 0.0 => Verdict::Denied,
        StoppedBy::Unattainable => Verdict::Right,
        _ if !answer.is_given() => Verdict::Open,
        _ if truth == 0.0 => Verdict::Promised,
        _ if is_high => Verdict::TooHigh,
        // The answer is a lower bound.
        StoppedBy::Budget => Verdict::Right,
        _ if is_low => Verdict::TooLow,
        _ => Verdict::Right,
    };
    let is_off = !(1.0 / FAR..=FAR).contains(&(answer.iops.mean / truth));
    let is_wrong = !matches!(verdict, Verdict::Right | Verdict::Open);
    let is_over_budget = found.search.measured_seconds * 1e3 > case.budget_ms as f64 * 1.01;
    if std::env::var_os("IOGAUGE_TRUTH_EACH").is_some()
        && (verdict != Verdict::Right || is_over_budget)
    {
        let Search { answer, measured_seconds, .. } = &found.search;
        println!(
            "{verdict:?}: {}: {:?} {:.1} {:?} of {truth:.1} by {:?} in {measured_seconds:.2} s",
            case.command(),
            answer.stopped_by,
            answer.iops.mean,
            answer.iops.ci95.map(|end| (end * 10.0).round() / 10.0),
            answer.limits.first().map(|l| (l.value_ns, l.n)),
        );
    }
    Outcome { verdict, is_far: is_wrong && is_off, is_over_budget }
}

fn claims_are_true(open_loop: bool) {
    let count = seeds() * SEARCHES_PER_SEED;
    let first: u64 = std::env::var("IOGAUGE_TRUTH_FIRST").map_or(0, |text| text.parse().unwrap());
    let outcomes = on_all_processors(count, |seed| {
        let case = Case::draw(first + seed as u64, open_loop);
        (case.is_clear(), judge(&case, &case.find()))
    });
    let share = |of: &dyn Fn(&(bool, Outcome)) -> bool| {
        outcomes.iter().filter(|outcome| of(outcome)).count() as f64 * 100.0 / count as f64
    };
    let mut verdicts = BTreeMap::<Verdict, usize>::new();
    outcomes.iter().for_each(|(_, outcome)| *verdicts.entry(outcome.verdict).or_default() += 1);
    let wrong = share(&|(_, o)| !matches!(o.verdict, Verdict::Right | Verdict::Open));
    let (far, over) = (share(&|(_, o)| o.is_far), share(&|(_, o)| o.is_over_budget));
    let clear: Vec<_> = outcomes.iter().filter(|(is_clear, _)| *is_clear).collect();
    let told = clear.iter().filter(|(_, outcome)| outcome.verdict == Verdict::Right).count();
    println!(
        "{count} random devices, {}: {verdicts:?}, wrong {wrong:.1} %, far off {far:.1} %, over budget {over:.1} %, {told} of {} clear",
        if open_loop { "open loop" } else { "closed loop" },
        clear.len(),
    );
    assert!(wrong <= WRONG && far <= FAR_OFF, "{wrong} % wrong, {far} % far off");
    assert!(told as f64 >= TOLD * clear.len() as f64, "{told} of {} answered", clear.len());
}

#[test]
fn closed_loop_claims_are_true_for_random_devices() {
    claims_are_true(false);
}

#[test]
fn open_loop_claims_are_true_for_random_devices() {
    claims_are_true(true);
}

/// A case with a mean or a percentile in which a search once made a false claim.
const fn once(
    (channels, service_us, service): (u32, u64, Service),
    (percentile, bound_us): (Option<usize>, u64),
    (budget_ms, open_loop): (u64, bool),
    seed: u64,
) -> Case {
    Case { channels, service_us, service, percentile, bound_us, budget_ms, open_loop, seed }
}

#[test]
fn previously_false_claims_do_not_regress() {
    use Service::{Exponential, Lognormal};
    let cases = [
        // The closed-loop search had no time to find what the device gives.
        once((8, 50, Exponential), (None, 100), (3_000, true), 145_251),
        // By chance, a few dozen I/Os kept what no load keeps.
        once((1, 10_000, Exponential), (None, 9_000), (10_000, true), 6),
        // Chance broke the limit at queue depth 2.
        once((16, 3_000, Lognormal(1.5)), (None, 3_600), (3_000, false), 139_244),
        once((2, 10_000, Exponential), (None, 11_000), (10_000, false), 3),
        // A window without I/Os broke the limit.
        once((1, 100_000, Lognormal(1.5)), (Some(2), 150_000), (3_000, false), 95_730),
        once((4, 200_000, Exponential), (None, 5_000_000), (10_000, false), 984_608),
    ];
    for case in cases {
        let found = case.find();
        let verdict = judge(&case, &found).verdict;
        assert!(matches!(verdict, Verdict::Right | Verdict::Open), "{verdict:?} {found:?}");
    }
}
