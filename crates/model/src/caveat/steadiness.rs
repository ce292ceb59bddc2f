//! Facts about performance that drifted or shifted while it was measured.

use super::command::Command;
use super::{Caveat, CaveatCode};
use crate::units::Count;

/// A performance shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// When the shift was detected, in seconds since the measurement began.
    pub at_seconds: f64,
    pub before_iops: f64,
    pub after_iops: f64,
}

/// A fact about how steady the figures were.
#[derive(Debug, Clone, PartialEq)]
pub enum SteadinessFact {
    /// The IOPS of a step rose or fell by this share of their mean.
    Drift {
        rise: f64,
    },
    /// The IOPS were not steady during the confirmation; `ci95` is their confidence interval.
    UnsteadyAnswer {
        ci95: [f64; 2],
        seconds: f64,
    },
    /// A larger queue depth gave fewer IOPS than a smaller one: IOPS and queue depth before and after.
    SearchDrift {
        before: (f64, u32),
        after: (f64, u32),
    },
    /// Shifts during a step, at least one.
    Shifts(Vec<Shift>),
    SearchShift(Shift),
    /// Rounds that did not reach a steady state. `moves` describes by how much each figure moved.
    Rounds {
        first: u32,
        last: u32,
        moves: String,
    },
    /// A job that was to attain a steady state did not: its value of `steadystate`, and the criterion at the end if a
    /// window was complete.
    NotAttained {
        sought: String,
        at_end: Option<String>,
    },
    /// Rounds of random writes that did not bring the target to a steady state.
    NeverSteady {
        rounds: u32,
    },
}

impl SteadinessFact {
    pub(super) fn caveat(&self, command: Command) -> Caveat {
        let iops = command.words().iops();
        let later = command.longer_and_later();
        let watch = format!("{later}, and check what else uses the device");
        let lasting = format!("{later} to measure the performance that lasts");
        let (code, message, hint) = match self {
            Self::Drift { rise } => {
                let moved = if *rise < 0.0 { "fell" } else { "rose" };
                let percent = rise.abs() * 100.0;
                let message = format!(
                    "the {iops} {moved} by {percent:.0} % of their mean from beginning to end"
                );
                (CaveatCode::NotSteady, message, watch)
            }
            Self::UnsteadyAnswer { ci95: [low, high], seconds } => {
                let message = format!(
                    "the {iops} drifted or jumped by more than a tenth while the answer was confirmed \
                     ({} to {} at 95 % in {seconds:.1} s)",
                    Count(*low),
                    Count(*high)
                );
                (CaveatCode::NotSteady, message, watch)
            }
            Self::SearchDrift { before, after } => search_drift(*before, *after, command),
            Self::SearchShift(Shift { at_seconds, before_iops, after_iops }) => {
                let why = if after_iops < before_iops {
                    "burst credits ran out, a cache filled, throttling began, or a neighbour came"
                } else {
                    "a neighbour left, or a background task ended"
                };
                let message = format!(
                    "the target gave {} {iops} until {at_seconds:.1} s into the search and {} from then \
                     on: {why}; the answer is the later one",
                    Count(*before_iops),
                    Count(*after_iops),
                );
                (CaveatCode::PerformanceShift, message, lasting)
            }
            Self::Shifts(shifts) => (CaveatCode::PerformanceShift, shifted(shifts, iops), lasting),
            Self::Rounds { first, last, moves } => (
                CaveatCode::NotSteady,
                format!("in rounds {first} to {last} {moves}; up to 20 % and 10 % are steady"),
                "check what else uses the device, and repeat".to_owned(),
            ),
            Self::NotAttained { sought, at_end } => {
                let why = at_end.as_ref().map_or_else(
                    || "no window was complete".to_owned(),
                    |at_end| format!("{at_end} at the end"),
                );
                let message = format!("the steady state {sought} was not attained: {why}");
                (CaveatCode::NotSteady, message, command.longer().to_owned())
            }
            Self::NeverSteady { rounds } => (
                CaveatCode::NotSteady,
                format!(
                    "{rounds} rounds of random writes did not bring the target to a steady state"
                ),
                "use more --rounds, or longer ones with --round".to_owned(),
            ),
        };
        Caveat::new(code, message, hint)
    }
}

fn search_drift(
    (before_iops, before): (f64, u32),
    (after_iops, after): (f64, u32),
    command: Command,
) -> (CaveatCode, String, String) {
    let (iops, at_before, at_after) =
        (command.words().iops(), command.words().at(before), command.words().at(after));
    let of_database = matches!(command, Command::DbFind | Command::DbBeside);
    let more = if of_database { "more processes reduce" } else { "a larger queue depth reduces" };
    let message = format!(
        "the target gave {} {iops} {at_after}, after {} {at_before}: it became slower during the \
         search, unless {more} its throughput",
        Count(after_iops),
        Count(before_iops)
    );
    let hint = if of_database {
        "iogauge db run with --runtime=10m, with the processes of the answer, shows which"
    } else {
        "iogauge run with --runtime=10m, at the queue depth of the answer, shows which"
    };
    (CaveatCode::NotSteady, message, hint.to_owned())
}

fn shifted(shifts: &[Shift], iops: &str) -> String {
    if let [Shift { at_seconds, before_iops, after_iops }] = shifts {
        return format!(
            "after {at_seconds:.1} s the {iops} went from {} to {} and stayed there: burst credits ran \
             out, a cache filled, throttling began, or another user of the device came or went",
            Count(*before_iops),
            Count(*after_iops)
        );
    }
    let change =
        |shift: &Shift| format!("{} after {:.1} s", Count(shift.after_iops), shift.at_seconds);
    let changes: Vec<String> = shifts.iter().map(change).collect();
    let begin = Count(shifts.first().map_or(0.0, |first| first.before_iops));
    format!("the {iops} went from {begin} to {}", changes.join(", then to "))
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<SteadinessFact> {
    let shift = Shift { at_seconds: 1.0, before_iops: 2.0, after_iops: 1.0 };
    vec![
        SteadinessFact::Drift { rise: -0.2 },
        SteadinessFact::UnsteadyAnswer { ci95: [1.0, 2.0], seconds: 1.0 },
        SteadinessFact::SearchDrift { before: (2.0, 1), after: (1.0, 2) },
        SteadinessFact::Shifts(vec![shift]),
        SteadinessFact::Shifts(vec![shift, shift]),
        SteadinessFact::SearchShift(shift),
        SteadinessFact::Rounds { first: 1, last: 5, moves: "reads rose by 30 %".to_owned() },
        SteadinessFact::NotAttained { sought: "iops:5%".to_owned(), at_end: None },
        SteadinessFact::NotAttained {
            sought: "bw_slope:1m".to_owned(),
            at_end: Some("1.5m".to_owned()),
        },
        SteadinessFact::NeverSteady { rounds: 25 },
    ]
}
