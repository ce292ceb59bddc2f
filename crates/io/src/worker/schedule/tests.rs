use super::*;
use ArrivalProcess::{Linear, Poisson};

/// An uptime of years, in which fractions of nanoseconds must not get lost.
const BASE_NS: u64 = 1 << 58;

fn schedule(process: ArrivalProcess, seed: u64, rate: f64) -> Arc<Schedule> {
    let schedule = Arc::new(Schedule::new(process, seed, BASE_NS));
    schedule.restart(Some(rate), BASE_NS);
    schedule
}

fn arrivals(schedule: &Arc<Schedule>, count: usize) -> Vec<u64> {
    let mut pacer = Pacer::new(schedule.clone(), None);
    (0..count).map(|_| pacer.take_due(u64::MAX - 1).unwrap()).collect()
}

#[test]
fn mean_arrival_rates_are_exact() {
    for rate in [7.0, 1e3, 1e6, 3e6] {
        let times = arrivals(&schedule(Linear, 9, rate), 1_000_000);
        let got = 999_999.0 * 1e9 / (times[999_999] - times[0]) as f64;
        assert!((got / rate - 1.0).abs() < 1e-5, "linear {rate}: {got}");
        // The mean of n exponential gaps has a relative standard error of 1/√n, here 5·10⁻⁴.
        let total: u64 = (0..4)
            .map(|seed| {
                let schedule = schedule(Poisson, seed, rate);
                let first = schedule.position();
                (0..1_000_000).fold(first, |at, _| schedule.after(at)) - first
            })
            .sum();
        let got = 4e6 * 1e9 * 256.0 / total as f64;
        assert!((got / rate - 1.0).abs() < 1.5e-3, "poisson {rate}: {got}");
    }
}

#[test]
fn rounding_of_poisson_gaps_is_unbiased() {
    // The same draws, with and without rounding: at any rate, their sums agree to within 10⁻⁴.
    for rate in [1e3, 1e6, 3e6] {
        let schedule = schedule(Poisson, 5, rate);
        let gap = 1e9 / rate * 256.0;
        let (mut at, mut exact, first) = (schedule.position(), 0.0, schedule.position());
        for _ in 0..1_000_000 {
            exact -= schedule.draw(at).ln() * gap;
            at = schedule.after(at);
        }
        let rounded = (at - first) as f64;
        assert!((rounded / exact - 1.0).abs() < 1e-5, "{rate}: {rounded} {exact}");
    }
}

#[test]
fn linear_arrivals_are_evenly_spaced() {
    let times = arrivals(&schedule(Linear, 9, 1000.0), 100);
    assert!(times.windows(2).all(|w| (999_999..=1_000_001).contains(&(w[1] - w[0]))));
    assert!((BASE_NS..=BASE_NS + 1_000_001).contains(&times[0]));
}

#[test]
fn poisson_gaps_are_exponential_and_independent() {
    let n = 100_000;
    let times = arrivals(&schedule(Poisson, 9, 1000.0), n + 1);
    let mut gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
    let mean = gaps.iter().sum::<f64>() / n as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n as f64;
    let neighbours = gaps.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>();
    let correlation = neighbours / n as f64 / variance;
    assert!((mean - 1.0).abs() < 0.015, "{mean}");
    assert!((variance - 1.0).abs() < 0.04, "{variance}");
    assert!(correlation.abs() < 4.0 / (n as f64).sqrt(), "{correlation}");
    // Kolmogorov-Smirnov: one seed in a thousand exceeds 1.95/√n.
    gaps.sort_unstable_by(f64::total_cmp);
    let distance = gaps.iter().enumerate().map(|(rank, gap)| {
        let share = (rank as f64 + 0.5) / n as f64;
        (1.0 - (-gap).exp() - share).abs()
    });
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 1.95 / (n as f64).sqrt(), "{distance}");
}

#[test]
fn arrival_schedule_depends_only_on_seed() {
    for process in [Linear, Poisson] {
        let of = |seed| arrivals(&schedule(process, seed, 5e4), 1000);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }
}

#[test]
fn workers_share_arrivals_without_loss() {
    let shared = schedule(Poisson, 1, 1e6);
    let alone = arrivals(&schedule(Poisson, 1, 1e6), 40_000);
    let mut taken: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| arrivals(&shared, 10_000))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    taken.sort_unstable();
    assert_eq!(taken, alone);
}

#[test]
fn each_idle_worker_reserves_a_different_arrival() {
    let shared = schedule(Poisson, 1, 1000.0);
    let mut order = arrivals(&schedule(Poisson, 1, 1000.0), 3);
    let (mut a, mut b) = (Pacer::new(shared.clone(), None), Pacer::new(shared.clone(), None));
    assert_eq!((a.reserve(), a.reserve()), (Some(order[0]), Some(order[0])));
    assert_eq!(b.reserve(), Some(order[1]));
    assert_eq!(a.take_due(order[0] - 1), None);
    assert_eq!(a.take_due(order[1]), Some(order[0]));
    assert_eq!(a.take_due(order[2] - 1), None);
    assert_eq!((a.due_ns(), b.due_ns()), (Some(order[2]), Some(order[1])));
    // A restart cancels reservations.
    shared.restart(Some(1000.0), order[0]);
    b.review(1);
    order = arrivals(&shared, 1);
    assert_ne!(b.due_ns(), Some(order[0]));
    assert!(b.due_ns() > Some(order[0]));
}

#[test]
fn due_arrivals_are_counted_across_all_workers() {
    for process in [Linear, Poisson] {
        let schedule = schedule(process, 2, 1e4);
        let (start, until_ns) = (schedule.position(), BASE_NS + 100_000_000);
        let times = arrivals(&schedule, 2000);
        let due = times.iter().filter(|t| **t <= until_ns).count() as u64;
        let early = schedule.count_due(start, BASE_NS + 37_000_000);
        let late = schedule.count_due(early.next, until_ns);
        assert_eq!((early.taken + late.taken, early.waiting, late.waiting), (due, 0, 0));
        assert!(schedule.time_ns(late.next) > until_ns);
        let untouched = super::tests::schedule(process, 2, 1e4);
        assert_eq!(
            untouched.count_due(start, until_ns),
            Due { taken: 0, waiting: due, next: start }
        );
    }
}

#[test]
fn backlog_counts_due_arrivals() {
    let schedule = schedule(Poisson, 2, 1e4);
    let first = schedule.time_ns(schedule.position());
    assert_eq!((schedule.backlog(first - 1), schedule.backlog(first)), (0, 1));
    let second = BASE_NS + 1_000_000_000;
    let due = schedule.count_due(schedule.position(), second).waiting;
    let about = schedule.backlog(second);
    assert!((about as f64 / due as f64 - 1.0).abs() < 0.05, "{about} {due}");
    // A backlog of a hundred million is not counted one by one.
    let late = schedule.count_due(schedule.position(), BASE_NS + (10_000_000_000_000)).waiting;
    assert!((late as f64 / 1e8 - 1.0).abs() < 0.001, "{late}");
}

#[test]
fn zero_rate_has_no_arrivals_and_closed_loop_is_always_due() {
    let schedule = schedule(Linear, 9, 0.0);
    let mut pacer = Pacer::new(schedule.clone(), None);
    assert_eq!((pacer.due_ns(), pacer.reserve(), pacer.take_due(u64::MAX - 1)), (None, None, None));
    assert_eq!((pacer.backlog(u64::MAX - 1), pacer.is_closed_loop()), (0, false));
    schedule.restart(None, BASE_NS);
    assert_eq!((pacer.take_due(BASE_NS), pacer.reserve()), (Some(BASE_NS), None));
    assert_eq!((pacer.due_ns(), pacer.is_closed_loop()), (None, true));
    assert_eq!((pacer.backlog(u64::MAX - 1), schedule.count_due(0, u64::MAX - 1).waiting), (0, 0));
}

#[test]
fn direction_without_a_rate_takes_all_other_room() {
    let schedule = Arc::new(Schedule::new(ArrivalProcess::Linear, 1, BASE_NS));
    let mut pacer = Pacer::new(schedule.clone(), Some(RatedDirection::Write));
    let first = schedule.restart(Some(1000.0), BASE_NS);
    let due_ns = schedule.time_ns(first);
    assert_eq!(pacer.take(due_ns - 1), Some((due_ns - 1, Some(Op::Read))));
    assert_eq!(pacer.take(due_ns + 5), Some((due_ns, Some(Op::Write))));
    assert_eq!(pacer.take(due_ns + 5), Some((due_ns + 5, Some(Op::Read))));
    assert!(pacer.is_closed_loop());
}
