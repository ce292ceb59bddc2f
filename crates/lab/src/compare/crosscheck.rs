//! iogauge compared with fio, the baseline, at one load. Each figure has a verdict of its own.

use super::figures::{mean_log, of_step};
use super::judge::{Pair, Rule, compared};
use super::schedule::schedule;
use crate::error::LabError;
use crate::measure::Watch;
use crate::session;
use crate::session::rig::Rig;
use crate::stats::Looks;
use iogauge_io::pool::fio::FioBinary;
use iogauge_model::result::{Agreement, CompareVerdict, Comparison, Figure, Side, StepResult};
use iogauge_model::{Caveat, Step};

/// The subjects, the baseline first.
const SIDES: [Side; 2] = [Side::Fio, Side::Iogauge];
/// Turns in a round.
const TURNS: usize = 2 * SIDES.len();

/// The plan of a crosscheck.
#[derive(Debug, Clone, PartialEq)]
pub struct CrosscheckPlan {
    /// The workload, with the time of each turn.
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

/// Measures the rounds on a prepared target. Each round has two turns of each side, in a random order and then in the
/// reverse order, so that drift favors neither. The observer gets each step as soon as it is measured.
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
    let seed = plan.step.jobs.first().map_or(0, |job| job.load.seed);
    for (number, turn) in (0u64..).zip(schedule(SIDES.len(), plan.rounds, seed)) {
        let side = SIDES[turn.subject];
        let who = match side {
            Side::Iogauge => {
                rig.go_alone();
                "iogauge"
            }
            Side::Fio => {
                rig.go_via(fio.clone())?;
                fio.version()
            }
        };
        let mut step = plan.step.clone();
        step.label = format!("round {} {who}: {}", turn.block + 1, plan.step.label);
        for job in &mut step.jobs {
            job.load.seed = job.load.seed.wrapping_add(number);
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
            break;
        }
    }
    Ok(done)
}

impl Crosschecked {
    /// Returns the complete rounds, each as its turns.
    fn rounds(&self) -> impl Iterator<Item = Vec<(Side, &StepResult)>> {
        let cut = usize::from(self.interrupted);
        let turns: Vec<_> = self.sides.iter().copied().zip(&self.steps).collect();
        let whole = (turns.len() - cut.min(turns.len())) / TURNS;
        let rounds: Vec<_> = turns.chunks_exact(TURNS).take(whole).map(<[_]>::to_vec).collect();
        rounds.into_iter()
    }

    /// Returns the number of complete rounds.
    #[must_use]
    pub fn whole_rounds(&self) -> u64 {
        self.rounds().count() as u64
    }

    /// Compares the figures of both sides. Omits figures for which a turn has too few I/Os.
    #[must_use]
    pub fn compare(&self, tolerance: f64) -> Vec<Comparison> {
        let of = |figure: &Figure| {
            let pair = |turns: Vec<(Side, &StepResult)>| {
                let mean = |side| {
                    let own = turns.iter().filter(|turn| turn.0 == side);
                    // fio reports service times.
                    mean_log(own.map(|(_, step)| of_step(step, &step.service_histogram(), *figure)))
                };
                Some(Pair { baseline: mean(Side::Fio)?, subject: mean(Side::Iogauge)? })
            };
            compare(*figure, &self.rounds().map(pair).collect::<Option<Vec<_>>>()?, tolerance)
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

fn compare(figure: Figure, pairs: &[Pair], tolerance: f64) -> Option<Comparison> {
    let rounds = pairs.len() as u64;
    let looks = Looks::new(rounds, rounds, 0.05);
    let rule = Rule { metric: figure, margin: tolerance, looks };
    let found = compared("iogauge", &rule, |of| (of == figure).then(|| pairs.to_vec()));
    let ratio = found.figure(figure)?.ratio;
    Some(Comparison {
        figure,
        iogauge: median(pairs.iter().map(|pair| pair.subject.exp())),
        fio: median(pairs.iter().map(|pair| pair.baseline.exp())),
        ratio,
        verdict: match found.verdict {
            CompareVerdict::Equivalent => Agreement::Agree,
            CompareVerdict::Better | CompareVerdict::Worse => Agreement::Differ,
            CompareVerdict::Undecided => Agreement::CannotTell,
        },
        rounds_wanted: found.blocks_wanted.map(|more| rounds + more),
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Comparison {
        let pair = |(own, fio): &(f64, f64)| Pair { baseline: fio.ln(), subject: own.ln() };
        compare(Figure::Iops, &pairs.iter().map(pair).collect::<Vec<_>>(), 0.05).unwrap()
    }

    #[test]
    fn crosscheck_verdict_follows_confidence_interval() {
        let same = of(&[(1000.0, 1001.0), (1003.0, 1000.0), (998.0, 999.0)]);
        assert_eq!((same.verdict, same.rounds_wanted), (Agreement::Agree, None));
        assert!((same.iogauge - 1000.0).abs() < 1e-6 && (same.fio - 1000.0).abs() < 1e-6);
        let other = of(&[(1000.0, 801.0), (1003.0, 800.0), (998.0, 799.0)]);
        assert_eq!(other.verdict, Agreement::Differ);
        let wide = of(&[(1000.0, 900.0), (900.0, 1000.0), (1000.0, 990.0)]);
        assert_eq!(wide.verdict, Agreement::CannotTell);
        assert!(wide.rounds_wanted > Some(3), "{wide:?}");
        assert_eq!(of(&[(1.0, 1.0)]).verdict, Agreement::CannotTell);
        assert_eq!(compare(Figure::Iops, &[], 0.05), None);
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
