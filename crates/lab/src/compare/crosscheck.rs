//! Measures one workload with iogauge and with fio in turns, and compares the results.

use crate::error::LabError;
use crate::measure::Watch;
use crate::session;
use crate::session::rig::Rig;
use crate::stats::{paired_ratio, pairs_wanted};
use iogauge_io::pool::fio::FioBinary;
use iogauge_model::limit::Metric;
use iogauge_model::result::{Agreement, Comparison, Figure, Side, StepResult};
use iogauge_model::{Caveat, Step};

/// The plan of a crosscheck.
#[derive(Debug, Clone, PartialEq)]
pub struct CrosscheckPlan {
    /// The workload, with the time of each side in each round.
    pub step: Step,
    /// Number of rounds, at least two.
    pub rounds: u32,
    /// Relative difference up to which figures agree.
    pub tolerance: f64,
}

/// What both sides measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Crosschecked {
    /// The steps in the order in which they ran.
    pub steps: Vec<StepResult>,
    pub sides: Vec<Side>,
    /// Caveats about them, the first of each kind for each side.
    pub caveats: Vec<Caveat>,
    /// True if the user ended it; the last round may then lack a side.
    pub interrupted: bool,
}

/// Measures the rounds on a prepared target. Each round has one step of each side, and the sides
/// take turns in going first, so that slow drift favors neither. The observer gets each step as
/// soon as it is measured.
///
/// # Errors
/// A worker cannot be started, its engine fails, or fio fails.
pub fn measure(
    rig: &mut Rig,
    fio: &FioBinary,
    plan: &CrosscheckPlan,
    watch: &mut Watch<'_>,
) -> Result<Crosschecked, LabError> {
    let mut done = Crosschecked::default();
    let mut seen = Vec::new();
    for round in 0..plan.rounds {
        let order = match round % 2 {
            0 => [Side::Iogauge, Side::Fio],
            _ => [Side::Fio, Side::Iogauge],
        };
        for side in order {
            match side {
                Side::Iogauge => rig.go_alone(),
                Side::Fio => rig.go_via(fio.clone())?,
            }
            let mut step = plan.step.clone();
            let who = match side {
                Side::Iogauge => "iogauge",
                Side::Fio => fio.version(),
            };
            step.label = format!("round {} {who}: {}", round + 1, plan.step.label);
            for job in &mut step.jobs {
                job.load.seed = job.load.seed.wrapping_add(u64::from(round));
            }
            let measured = session::run_on(rig, &step, &[], watch)?;
            for caveat in session::step_caveats(rig, &step, &[], &measured) {
                if !seen.contains(&(side, caveat.code)) {
                    seen.push((side, caveat.code));
                    done.caveats.push(caveat.about(who));
                }
            }
            watch.observer.step(&measured.result);
            done.steps.push(measured.result);
            done.sides.push(side);
            if measured.interrupted {
                done.interrupted = true;
                return Ok(done);
            }
        }
    }
    Ok(done)
}

impl Crosschecked {
    /// Returns the complete rounds, each as iogauge's step and fio's.
    fn rounds(&self) -> Vec<(&StepResult, &StepResult)> {
        let whole =
            if self.interrupted { self.steps.len().saturating_sub(1) } else { self.steps.len() };
        let steps = self.steps[..whole].chunks_exact(2);
        let sides = self.sides.chunks_exact(2);
        steps
            .zip(sides)
            .map(|(steps, sides)| match sides[0] {
                Side::Iogauge => (&steps[0], &steps[1]),
                Side::Fio => (&steps[1], &steps[0]),
            })
            .collect()
    }

    /// Returns the number of complete rounds.
    #[must_use]
    pub fn whole_rounds(&self) -> u64 {
        self.rounds().len() as u64
    }

    /// Compares the figures of both sides. Omits figures for which a round has too few I/Os.
    #[must_use]
    pub fn compare(&self, tolerance: f64) -> Vec<Comparison> {
        let rounds = self.rounds();
        let of = |figure: &Figure| {
            let value = |step: &StepResult| value(step, *figure);
            let pairs = rounds.iter().map(|(own, fio)| Some((value(own)?, value(fio)?)));
            compare(*figure, &pairs.collect::<Option<Vec<_>>>()?, tolerance)
        };
        Figure::ALL.iter().filter_map(of).collect()
    }
}

/// Combines the verdicts of all figures.
#[must_use]
pub fn verdict(figures: &[Comparison]) -> Agreement {
    let is = |verdict| move |comparison: &Comparison| comparison.verdict == verdict;
    if figures.iter().any(is(Agreement::Differ)) {
        Agreement::Differ
    } else if !figures.is_empty() && figures.iter().all(is(Agreement::Agree)) {
        Agreement::Agree
    } else {
        Agreement::CannotTell
    }
}

fn compare(figure: Figure, pairs: &[(f64, f64)], tolerance: f64) -> Option<Comparison> {
    let ratio = paired_ratio(pairs)?;
    let bounds = [1.0 - tolerance, 1.0 + tolerance];
    let [low, high] = ratio.ci95;
    let verdict = if ratio.n < 2 {
        Agreement::CannotTell
    } else if low >= bounds[0] && high <= bounds[1] {
        Agreement::Agree
    } else if high < bounds[0] || low > bounds[1] {
        Agreement::Differ
    } else {
        Agreement::CannotTell
    };
    let undecided = verdict == Agreement::CannotTell;
    Some(Comparison {
        figure,
        iogauge: median(pairs.iter().map(|pair| pair.0)),
        fio: median(pairs.iter().map(|pair| pair.1)),
        ratio,
        verdict,
        rounds_wanted: undecided.then(|| pairs_wanted(&ratio, bounds)).flatten(),
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// Returns a figure of a step; `None` if it has too few I/Os.
fn value(step: &StepResult, figure: Figure) -> Option<f64> {
    let latencies = step.service_histogram();
    let percentile = |percent: f64| {
        let enough = latencies.count() >= Metric::Percentile(percent).samples_wanted();
        enough.then(|| latencies.percentile_ns(percent) as f64)
    };
    match figure {
        Figure::Iops => (step.seconds > 0.0).then(|| step.ios() as f64 / step.seconds),
        Figure::LatencyNsMean => (latencies.count() > 0).then(|| latencies.mean_ns()),
        Figure::LatencyNsP50 => percentile(50.0),
        Figure::LatencyNsP99 => percentile(99.0),
        Figure::LatencyNsP999 => percentile(99.9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Comparison {
        compare(Figure::Iops, pairs, 0.05).unwrap()
    }

    #[test]
    fn crosscheck_verdict_follows_confidence_interval() {
        let same = of(&[(1000.0, 1001.0), (1003.0, 1000.0), (998.0, 999.0)]);
        assert_eq!((same.verdict, same.rounds_wanted), (Agreement::Agree, None));
        assert_eq!((same.iogauge, same.fio), (1000.0, 1000.0));
        let other = of(&[(1000.0, 801.0), (1003.0, 800.0), (998.0, 799.0)]);
        assert_eq!(other.verdict, Agreement::Differ);
        let wide = of(&[(1000.0, 900.0), (900.0, 1000.0), (1000.0, 990.0)]);
        assert_eq!(wide.verdict, Agreement::CannotTell);
        assert!(wide.rounds_wanted > Some(3), "{wide:?}");
        assert_eq!(of(&[(1.0, 1.0)]).verdict, Agreement::CannotTell);
        assert_eq!(compare(Figure::Iops, &[(0.0, 1.0)], 0.05), None);
    }

    #[test]
    fn one_differing_figure_makes_the_verdict_differ() {
        let figure = |verdict| Comparison { verdict, ..of(&[(1.0, 1.0), (1.0, 1.0)]) };
        use Agreement::{Agree, CannotTell, Differ};
        let all = |verdicts: &[Agreement]| {
            verdict(&verdicts.iter().map(|v| figure(*v)).collect::<Vec<_>>())
        };
        assert_eq!(all(&[Agree, Agree]), Agree);
        assert_eq!(all(&[Agree, CannotTell, Differ]), Differ);
        assert_eq!(all(&[Agree, CannotTell]), CannotTell);
        assert_eq!(all(&[]), CannotTell);
    }
}
