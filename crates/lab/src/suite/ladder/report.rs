//! The table and the verdict of the rungs.

use super::Ladder;
use super::rung::{End, Rung};
use crate::suite::kit::{NOTHING, counted, listed, table, whole, words};
use iogauge_model::result::{Cell, Table};
use iogauge_model::units::{Count, Latency};

/// A share of the first rung's IOPS per user above which more users help each other, or the first rung is wrong.
const MORE: f64 = 1.1;

impl Ladder {
    pub(super) fn table(&self, rungs: &[Rung]) -> Table {
        let title = format!("{} {} by users", self.load().rw, self.load().block);
        let percent = |share: f64| Cell::Percent(share * 100.0);
        let rows = rungs.iter().enumerate();
        let mut table = table(
            title,
            rows.map(|(index, rung)| (rung, index.checked_sub(1).and_then(|i| rungs.get(i)))),
            &[
                ("users", &|(rung, _)| Cell::Count(rung.users.into())),
                ("IOPS", &|(rung, _)| Cell::Iops(rung.iops.mean)),
                ("±", &|(rung, _)| match rung.iops.n {
                    0 | 1 => Cell::Empty,
                    _ => percent(rung.iops.relative_error()),
                }),
                ("bandwidth", &|(rung, _)| rung.row.bandwidth()),
                ("mean", &|(rung, _)| rung.row.mean()),
                ("p95", &|(rung, _)| Cell::LatencyNs(rung.p95_ns as f64)),
                ("p99", &|(rung, _)| rung.row.p99()),
                ("max", &|(rung, _)| rung.row.max()),
                ("growth", &|(rung, before)| match before {
                    Some(before) => percent(rung.growth_from(before)),
                    None => Cell::Empty,
                }),
                ("per user", &|(rung, _)| percent(rung.per_user(&rungs[0]))),
                ("#limit", &|(rung, _)| {
                    words(if rung.broken.is_none() { "kept" } else { "broken" })
                }),
            ],
        );
        let first = self.own.steps[0].load().numjobs;
        let each = if first == 1 { "one user alone".to_owned() } else { counted(first, "user") };
        table.notes.push(format!(
            "growth: increase of the IOPS over the row above, in percent of the increase of the users; per user: IOPS \
             of each user, 100 % being those of {each}."
        ));
        if rungs.iter().any(|rung| rung.per_user(&rungs[0]) > MORE) {
            table.notes.push(format!(
                "per user above 100 %: {each} had fewer IOPS than its share of more users. Usual causes are processors \
                 that save power between single I/Os, or something else that slowed down the first rung."
            ));
        }
        table
    }

    pub(super) fn verdict(
        &self,
        rungs: &[Rung],
        chosen: Option<&Rung>,
        end: Option<End>,
    ) -> Vec<String> {
        let Some(last) = rungs.last() else { return vec![NOTHING.to_owned()] };
        let Some(chosen) = chosen else { return vec![never(last)] };
        let mut sentences = vec![format!(
            "Count on {} IOPS with {} at a mean latency of {}: {}.",
            whole(chosen.iops.mean),
            counted(chosen.users, "user"),
            Latency(chosen.row.all.mean_ns),
            reason(rungs, chosen, last, end)
        )];
        if let Some(linear) = self.linear_to(rungs) {
            sentences.push(if linear.users == rungs[0].users {
                "IOPS do not grow with the users from the first rung on: I/Os queue.".to_owned()
            } else {
                format!(
                    "Up to {}, IOPS grow with the users; above that, I/Os queue.",
                    counted(linear.users, "user")
                )
            });
        }
        if chosen.users > rungs[0].users {
            sentences.push(format!(
                "Each of {} gets {:.0} % of the IOPS that {} had.",
                counted(chosen.users, "user"),
                chosen.per_user(&rungs[0]) * 100.0,
                if rungs[0].users == 1 {
                    "one alone".to_owned()
                } else {
                    format!("each of {}", rungs[0].users)
                }
            ));
        }
        if end == Some(End::Growth) {
            sentences.push(format!(
                "The limit {} is kept with {}; --growth 0 continues until it is broken.",
                listed(&self.limits, ", "),
                counted(last.users, "user")
            ));
        }
        sentences
    }
}

/// Returns the verdict if no rung meets the limits.
fn never(first: &Rung) -> String {
    let Some((limit, value_ns)) = first.broken else { return NOTHING.to_owned() };
    let verb = if first.users == 1 { "breaks" } else { "break" };
    format!(
        "Even {} {verb} the limit {limit}: {} is {}, at {} IOPS.",
        counted(first.users, "user"),
        limit.statistic(),
        Latency(value_ns),
        Count(first.iops.mean)
    )
}

/// Returns the reason for the IOPS to plan with.
fn reason(rungs: &[Rung], chosen: &Rung, last: &Rung, end: Option<End>) -> String {
    match (end, rungs) {
        (Some(End::Limit(limit, value_ns)), _) => format!(
            "with {} {} is {}, which breaks the limit {limit}",
            counted(last.users, "user"),
            limit.statistic(),
            Latency(value_ns)
        ),
        (Some(End::Growth), [.., before, _]) => {
            let more = (last.iops.mean / before.iops.mean - 1.0) * 100.0;
            let brings = match more {
                more if more >= 0.5 => format!("{more:.0} % more IOPS"),
                more if more > -0.5 => "no more IOPS".to_owned(),
                more => format!("{:.0} % fewer IOPS", -more),
            };
            format!(
                "{} bring {brings} than {}, at a mean of {}",
                counted(last.users, "user"),
                before.users,
                Latency(last.row.all.mean_ns)
            )
        }
        (Some(_), _) if last.users == chosen.users => {
            "no limit broke, and IOPS grew up to this last rung".to_owned()
        }
        (Some(_), _) => {
            format!(
                "no limit broke up to {}, and IOPS grew no further",
                counted(last.users, "user")
            )
        }
        (None, _) => format!("the run ended at {}", counted(last.users, "user")),
    }
}
