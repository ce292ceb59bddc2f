//! One rung of the ladder, compared with others.

use crate::suite::kit::{Row, broken, counted, iops};
use iogauge_model::Limit;
use iogauge_model::result::{Estimate, StepResult};

/// Rungs with at least this share of the highest IOPS are equally good; the one with the fewest
/// users is chosen.
const AS_GOOD: f64 = 0.95;

/// The reason why the ladder ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// The last rung breaks a limit, whose statistic has this value in nanoseconds.
    Limit(Limit, f64),
    /// The last rung adds too few IOPS.
    Growth,
    /// There are no more rungs.
    Top,
}

impl End {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Limit(..) => "limit",
            Self::Growth => "growth",
            Self::Top => "users",
        }
    }
}

/// The figures of one number of users.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rung {
    pub(super) users: u32,
    pub(super) iops: Estimate,
    pub(super) row: Row,
    pub(super) p95_ns: u64,
    pub(super) broken: Option<(Limit, f64)>,
}

impl Rung {
    pub(super) fn of(users: u32, step: &StepResult, limits: &[Limit]) -> Option<Self> {
        Some(Self {
            users,
            iops: iops(step),
            row: Row::of(counted(users, "user"), step)?,
            p95_ns: step.service_histogram().percentile_ns(95.0),
            broken: broken(step, limits),
        })
    }

    /// Returns the growth of the IOPS since a rung, divided by the growth of the users.
    pub(super) fn growth_from(&self, before: &Self) -> f64 {
        self.growth(before, self.iops.mean, before.iops.mean)
    }

    /// Returns the upper bound of that growth, by the confidence intervals of both rungs.
    pub(super) fn growth_at_most(&self, before: &Self) -> f64 {
        self.growth(before, self.iops.ci95[1], before.iops.ci95[0].max(f64::MIN_POSITIVE))
    }

    fn growth(&self, before: &Self, iops: f64, iops_before: f64) -> f64 {
        let users = f64::from(self.users) / f64::from(before.users);
        (iops / iops_before - 1.0) / (users - 1.0)
    }

    /// Returns the IOPS per user relative to another rung.
    pub(super) fn per_user(&self, first: &Self) -> f64 {
        let each = |rung: &Self| rung.iops.mean / f64::from(rung.users);
        each(self) / each(first)
    }
}

/// Returns the rung to plan with: of those that meet the limits and are as good as the highest, the
/// one with the fewest users.
pub(super) fn chosen(rungs: &[Rung]) -> Option<&Rung> {
    let kept = || rungs.iter().filter(|rung| rung.broken.is_none());
    let most = kept().map(|rung| rung.iops.mean).fold(0.0, f64::max);
    kept().find(|rung| rung.iops.mean >= AS_GOOD * most)
}
