//! The rungs as a table and in sentences.

use super::rung::{End, Rung};
use super::{Ladder, key};
use iogauge_model::result::{Cell, Table};
use iogauge_model::units::{Count, Latency};

impl Ladder {
    pub(super) fn table(&self, rungs: &[Rung]) -> Table {
        let title = format!("{} {} by users", self.load.rw, self.load.block);
        let mut table = Table::new(
            title,
            &[
                "users",
                "IOPS",
                "±",
                "bandwidth",
                "mean",
                "p95",
                "p99",
                "max",
                "growth",
                "per user",
                "#limit",
            ],
        );
        for (index, rung) in rungs.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|index| rungs.get(index));
            let percent = |share: f64| Cell::Percent(share * 100.0);
            table.row([
                Cell::Count(u64::from(rung.users)),
                Cell::Iops(rung.iops.mean),
                if rung.iops.n < 2 { Cell::Empty } else { percent(rung.iops.relative_error()) },
                Cell::BytesPerSec(rung.bytes_per_sec),
                Cell::LatencyNs(rung.mean_ns),
                Cell::LatencyNs(rung.p95_ns as f64),
                Cell::LatencyNs(rung.p99_ns as f64),
                Cell::LatencyNs(rung.max_ns as f64),
                before.map_or(Cell::Empty, |before| percent(rung.growth_from(before))),
                percent(rung.per_user(&rungs[0])),
                Cell::Text(if rung.broken.is_none() { "kept" } else { "broken" }.to_owned()),
            ]);
        }
        let first = self.users[0];
        let each = if first == 1 { "one user alone".to_owned() } else { format!("{first} users") };
        table.notes.push(format!(
            "growth: of the IOPS since the rung before, where 100 % keep pace with the users; per user: \
             IOPS of each, 100 % being those of {each}."
        ));
        table
    }

    pub(super) fn verdict(
        &self,
        rungs: &[Rung],
        chosen: Option<&Rung>,
        end: Option<End>,
    ) -> Vec<String> {
        let Some(last) = rungs.last() else { return vec!["Nothing was measured.".to_owned()] };
        let Some(chosen) = chosen else { return vec![never(last)] };
        let mut sentences = vec![format!(
            "Count on {} IOPS with {} at a mean latency of {}: {}.",
            Count(chosen.iops.mean.round()),
            key(chosen.users),
            Latency(chosen.mean_ns),
            reason(rungs, chosen, last, end)
        )];
        if let Some(linear) = self.linear_to(rungs) {
            sentences.push(if linear.users == rungs[0].users {
                "IOPS do not grow with the users from the first rung on: I/Os wait for each other."
                    .to_owned()
            } else {
                format!(
                    "Up to {} IOPS grow with the users; from there on I/Os wait for each other.",
                    key(linear.users)
                )
            });
        }
        if chosen.users > rungs[0].users {
            sentences.push(format!(
                "Each of {} gets {:.0} % of the IOPS that {} had.",
                key(chosen.users),
                chosen.per_user(&rungs[0]) * 100.0,
                if rungs[0].users == 1 {
                    "one alone".to_owned()
                } else {
                    format!("each of {}", rungs[0].users)
                }
            ));
        }
        if end == Some(End::Growth) {
            let limits: Vec<String> = self.limits.iter().map(ToString::to_string).collect();
            sentences.push(format!(
                "The limit {} still holds with {}; --growth 0 goes on until it breaks.",
                limits.join(", "),
                key(last.users)
            ));
        }
        sentences
    }
}

/// No rung keeps the limits.
fn never(first: &Rung) -> String {
    let Some((limit, value_ns)) = first.broken else { return "Nothing was measured.".to_owned() };
    let verb = if first.users == 1 { "breaks" } else { "break" };
    format!(
        "Even {} {verb} the limit {limit}: {} is {}, at {} IOPS.",
        key(first.users),
        limit.statistic(),
        Latency(value_ns),
        Count(first.iops.mean)
    )
}

/// Why there is nothing more to count on.
fn reason(rungs: &[Rung], chosen: &Rung, last: &Rung, end: Option<End>) -> String {
    match (end, rungs) {
        (Some(End::Limit(limit, value_ns)), _) => format!(
            "with {} {} is {}, which breaks the limit {limit}",
            key(last.users),
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
                key(last.users),
                before.users,
                Latency(last.mean_ns)
            )
        }
        (Some(_), _) if last.users == chosen.users => {
            "no limit broke, and IOPS grew up to this last rung".to_owned()
        }
        (Some(_), _) => {
            format!("no limit broke up to {}, and IOPS grew no further", key(last.users))
        }
        (None, _) => format!("the ladder was left at {}", key(last.users)),
    }
}
