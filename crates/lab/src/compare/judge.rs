//! Ratios of subjects, block by block, and the verdict on them.

use crate::stats::{Looks, Spread};
use iogauge_model::result::{CompareVerdict, Compared, ComparedFigure, Estimate, Figure};

/// Minimum number of blocks: with fewer, a standard deviation says next to nothing.
pub const LEAST_BLOCKS: u64 = 3;
/// Maximum number of blocks, for which the looks at the data are planned.
pub const MOST_BLOCKS: u64 = 200;
/// Minimum number of saved runs on each side for a verdict.
pub const LEAST_RUNS: usize = 5;
/// An interval whose ends are further from its mean than by this ratio is none: it comes of too few blocks, and says
/// nothing.
const LARGEST_RATIO: f64 = 10.0;
/// Smallest differences above this are not told.
const LARGEST_DIFFERENCE: f64 = 1.0;
/// Error over all looks and subjects together.
pub(super) const ALPHA: f64 = 0.05;

/// The rule that decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The figure that decides.
    pub metric: Figure,
    /// Relative difference up to which subjects are equivalent, from 0 to less than 1.
    pub margin: f64,
    /// The looks at the blocks.
    pub looks: Looks,
}

impl Rule {
    /// Makes a rule for this many subjects beside the baseline. The data is looked at after each block from the third
    /// one, and after `most` blocks for the last time. All intervals together have 95 % confidence: subjects share the
    /// error equally (Bonferroni).
    #[must_use]
    pub fn new(metric: Figure, margin: f64, others: usize, most: u64) -> Self {
        let looks = Looks::new(LEAST_BLOCKS, most, ALPHA / others.max(1) as f64);
        Self { metric, margin, looks }
    }
}

/// The logarithms of a figure in a block: of the baseline and of a subject, each averaged over its turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) baseline: f64,
    pub(super) subject: f64,
}

/// Returns the interval of the mean difference, and the ratio of the figures.
fn ratio(pairs: &[Pair], looks: &Looks) -> Option<(ComparedRatio, Spread)> {
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.subject - pair.baseline).collect();
    let spread = Spread::of(&differences)?;
    // That of a few observations that are alike may be of any width.
    let is_telling =
        |log: &Estimate| log.ci95.iter().all(|end| (end - log.mean).abs() <= LARGEST_RATIO.ln());
    let log = looks.mean(&differences).filter(is_telling);
    let ratio = match log {
        Some(log) => Estimate { mean: log.mean.exp(), ci95: log.ci95.map(f64::exp), n: log.n },
        // Without an interval.
        None => Estimate { n: 1, ..Estimate::exact(spread.mean.exp()) },
    };
    Some((ComparedRatio { log, ratio }, spread))
}

struct ComparedRatio {
    /// `None` if there is no interval yet.
    log: Option<Estimate>,
    ratio: Estimate,
}

/// Returns one figure of a subject and of the baseline; `None` without blocks.
pub(super) fn figure(figure: Figure, pairs: &[Pair], looks: &Looks) -> Option<ComparedFigure> {
    let (found, _) = ratio(pairs, looks)?;
    let mean =
        |of: fn(&Pair) -> f64| (pairs.iter().map(of).sum::<f64>() / pairs.len() as f64).exp();
    Some(ComparedFigure {
        figure,
        baseline: mean(|pair| pair.baseline),
        subject: mean(|pair| pair.subject),
        ratio: found.ratio,
    })
}

/// Compares a subject with the baseline. `pairs` returns the blocks of a figure, or `None` if a turn lacks it.
pub(super) fn compared(
    subject: &str,
    rule: &Rule,
    pairs: impl Fn(Figure) -> Option<Vec<Pair>>,
) -> Compared {
    let figures = Figure::ALL.iter().filter_map(|name| figure(*name, &pairs(*name)?, &rule.looks));
    let deciding = pairs(rule.metric).unwrap_or_default();
    let (verdict, smallest_difference, blocks_wanted) = decided(rule, &deciding);
    Compared {
        subject: subject.to_owned(),
        verdict,
        figures: figures.collect(),
        block_ratios: deciding.iter().map(|pair| (pair.subject - pair.baseline).exp()).collect(),
        smallest_difference,
        blocks_wanted,
    }
}

/// Returns the verdict on a subject over these blocks.
pub(super) fn verdict_on(rule: &Rule, pairs: &[Pair]) -> CompareVerdict {
    let log = ratio(pairs, &rule.looks).and_then(|(found, _)| found.log);
    log.map_or(CompareVerdict::Undecided, |log| verdict(rule.metric, rule.margin, &log))
}

/// Returns the verdict, the smallest difference that as many blocks detect, and how many more would decide.
fn decided(rule: &Rule, pairs: &[Pair]) -> (CompareVerdict, Option<f64>, Option<u64>) {
    let Some((_, spread)) = ratio(pairs, &rule.looks) else {
        return (CompareVerdict::Undecided, None, None);
    };
    let verdict = verdict_on(rule, pairs);
    // What all blocks are judged by.
    let level = rule.looks.level(rule.looks.most());
    let smallest = level.and_then(|level| spread.smallest_difference(level));
    let wanted = level.and_then(|level| spread.wanted(bounds(rule.margin), level));
    let more = wanted.map(|wanted| wanted - spread.n);
    let more = more.filter(|_| verdict == CompareVerdict::Undecided);
    let smallest = smallest.map(|log| log.exp() - 1.0).filter(|it| *it <= LARGEST_DIFFERENCE);
    (verdict, smallest, more)
}

/// Returns the ends of a margin around a ratio of 1, as logarithms.
fn bounds(margin: f64) -> [f64; 2] {
    [(1.0 - margin).ln(), (1.0 + margin).ln()]
}

/// Judges the interval of a ratio's logarithm.
pub(super) fn verdict(metric: Figure, margin: f64, log: &Estimate) -> CompareVerdict {
    let ([low, high], [least, most]) = (log.ci95, bounds(margin));
    let is_higher_better = metric == Figure::Iops;
    if low >= least && high <= most {
        CompareVerdict::Equivalent
    } else if high < least || low > most {
        match (low > most) == is_higher_better {
            true => CompareVerdict::Better,
            false => CompareVerdict::Worse,
        }
    } else {
        CompareVerdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared_of(metric: Figure, margin: f64, ratios: &[f64]) -> Compared {
        let rule = Rule::new(metric, margin, 1, 20);
        let pairs: Vec<Pair> =
            ratios.iter().map(|ratio| Pair { baseline: 0.0, subject: ratio.ln() }).collect();
        compared("B", &rule, |figure| (figure == metric).then(|| pairs.clone()))
    }

    fn verdict_of(metric: Figure, margin: f64, ratios: &[f64]) -> CompareVerdict {
        compared_of(metric, margin, ratios).verdict
    }

    #[test]
    fn verdict_follows_the_interval_and_the_margin() {
        use CompareVerdict::{Better, Equivalent, Undecided, Worse};
        let near = [1.001, 0.999, 1.0, 1.002, 0.998, 1.0, 1.001, 0.999];
        let more: Vec<f64> = near.iter().map(|ratio| ratio * 1.2).collect();
        let less: Vec<f64> = near.iter().map(|ratio| ratio * 0.9).collect();
        let (iops, p99) = (Figure::Iops, Figure::LatencyNsP99);
        assert_eq!(verdict_of(iops, 0.05, &near), Equivalent);
        assert_eq!(verdict_of(iops, 0.0, &near), Undecided);
        assert_eq!(verdict_of(iops, 0.05, &more), Better);
        assert_eq!(verdict_of(p99, 0.05, &more), Worse);
        assert_eq!(verdict_of(iops, 0.05, &less), Worse);
        assert_eq!(verdict_of(p99, 0.05, &less), Better);
        // 20 % more is neither within nor beyond a margin of 20 %.
        assert_eq!(verdict_of(iops, 0.2, &more), Undecided);
        // Two blocks have no interval yet.
        assert_eq!(verdict_of(iops, 0.05, &more[..2]), Undecided);
        assert_eq!(verdict_of(iops, 0.05, &[]), Undecided);
        // A large difference is as clear as a small one.
        let slow: Vec<f64> = near.iter().map(|ratio| ratio * 0.004).collect();
        let fast: Vec<f64> = near.iter().map(|ratio| ratio * 400.0).collect();
        assert_eq!(verdict_of(iops, 0.05, &slow), Worse);
        assert_eq!(verdict_of(iops, 0.5, &fast), Better);
        assert_eq!(compared_of(iops, 0.05, &fast).figures[0].ratio.n, 8);
        // An interval that is too wide is none.
        let found = compared_of(iops, 0.05, &[1.0, 10.0, 100.0]);
        assert_eq!((found.figures[0].ratio.n, found.smallest_difference), (1, None));
        // Simulated devices without any noise.
        assert_eq!(verdict_of(iops, 0.0, &[1.0; 3]), Equivalent);
        assert_eq!(verdict_of(iops, 0.0, &[1.01; 3]), Better);
    }

    #[test]
    fn undecided_comparison_tells_what_would_decide() {
        let found = compared_of(Figure::Iops, 0.0, &[1.05, 0.97, 1.02, 1.04, 0.99]);
        assert_eq!(found.verdict, CompareVerdict::Undecided);
        let (smallest, more) = (found.smallest_difference.unwrap(), found.blocks_wanted.unwrap());
        assert!(smallest > 0.05 && more > 5, "{found:?}");
        let decided = compared_of(Figure::Iops, 0.0, &[1.5, 1.51, 1.49, 1.5, 1.5]);
        assert_eq!(decided.blocks_wanted, None);
        assert!(decided.smallest_difference.unwrap() < 0.2, "{decided:?}");
    }
}
