//! The verdict: the report in sentences.

use super::BestWorst;
use super::report::Report;
use crate::suite::kit::{NOTHING, capitalized, counted, listed};
use iogauge_model::result::Search;
use iogauge_model::units::{Bandwidth, Bytes, Count};

impl Report<'_> {
    pub(super) fn verdict(&self, suite: &BestWorst) -> Vec<String> {
        let first = self.both_ends(suite);
        let mut sentences = vec![first.unwrap_or_else(|| NOTHING.to_owned())];
        sentences.extend(self.mixed.map(|search| {
            let found = count_on(search, "");
            format!("With 30 % writes among them {found}.")
        }));
        sentences.extend(self.steadiness(suite));
        sentences.extend(self.together());
        sentences.extend(self.dependents());
        sentences
    }

    /// Returns the sentence with best case, worst case and capacity, as far as they were measured.
    fn both_ends(&self, suite: &BestWorst) -> Option<String> {
        let best = match (self.most_bytes(), self.most_iops()) {
            (Some(bytes), Some(figure)) => {
                Some(format!("at its best {} and {} IOPS", Bandwidth(bytes), rate(figure.all.iops)))
            }
            (Some(bytes), None) => Some(format!("at its best {}", Bandwidth(bytes))),
            _ => None,
        };
        let worst = self.least_iops().map(|figure| {
            let fewer = match self.ratio() {
                Some(ratio) if ratio >= 1.05 => format!("; the best is {ratio:.1} times as high"),
                Some(ratio) if ratio < 1.0 => {
                    "; that is more than the best: something slowed the best case down, so repeat the suite".to_owned()
                }
                _ => String::new(),
            };
            format!("at its worst {} IOPS ({}{fewer})", rate(figure.all.iops), figure.key)
        });
        let count = self.reads.map(|search| {
            count_on(search, &format!(" of random {} reads", Bytes(suite.block_bytes)))
        });
        let ends = [best, worst].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let parts: Vec<String> =
            [ends, count.unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| capitalized(&parts.join("; ")) + ".")
    }

    fn steadiness(&self, suite: &BestWorst) -> Option<String> {
        if suite.read_only {
            return Some(
                "Nothing was written (--read-only): the worst is that of reads, in the state the target \
                 was in."
                    .to_owned(),
            );
        }
        let count = self.round_count();
        let written = format!("in which {} its size was written", times(self.rewritten));
        match self.steady {
            Some((last, _)) => {
                Some(format!("The target was steady after {last} rounds, {written}."))
            }
            None if count >= suite.rounds => Some(format!(
                "The target was not steady after {count} rounds, {written}: its worst case may be lower."
            )),
            None => None,
        }
    }

    fn together(&self) -> Option<String> {
        let (reads, writes) = self.hybrid.as_ref()?;
        Some(format!(
            "A reader and a writer at the same time get {} and {} IOPS.",
            rate(reads.iops.mean),
            rate(writes.iops.mean)
        ))
    }

    fn dependents(&self) -> Option<String> {
        let (one, all) = (self.chains.first()?, self.chains.last()?);
        let mut text = format!(
            "Where each block is written back before the next is read, one user makes {} updates/s of two \
             I/Os each, {:.0} % of the {} IOPS of {} that do not wait",
            rate(one.updates_per_sec),
            200.0 * one.updates_per_sec / all.independent_iops,
            rate(all.independent_iops),
            if all.users == 1 { "I/Os".to_owned() } else { counted(all.users, "user") }
        );
        if all.users > one.users {
            text.push_str(&format!(
                "; {} such users make {} updates/s",
                all.users,
                rate(all.updates_per_sec)
            ));
        }
        text.push('.');
        Some(text)
    }
}

/// Example: `you can count on 30,100 IOPS (29,900 to 30,300) of random 4 KiB reads under mean <= 10
/// ms`.
fn count_on(search: &Search, what: &str) -> String {
    let limits = listed(&search.limits, ", ");
    let iops = &search.answer.iops;
    if !search.answer.met {
        let rate = rate(iops.mean);
        return format!("not even {rate} IOPS{what}, one I/O at a time, keep the limit {limits}");
    }
    if !search.answer.is_given() {
        return format!(
            "it is undecided whether {} IOPS{what} keep the limit {limits}",
            rate(iops.mean)
        );
    }
    let at_least = if search.answer.stopped_by.is_early() { "at least " } else { "" };
    format!(
        "you can count on {at_least}{} IOPS ({} to {}){what} under {limits}",
        rate(iops.mean),
        rate(iops.ci95[0]),
        rate(iops.ci95[1])
    )
}

fn rate(iops: f64) -> Count {
    Count(if iops >= 100.0 { iops.round() } else { iops })
}

/// Examples: `33 % of`, `2.5 times`.
fn times(rewritten: f64) -> String {
    if rewritten < 1.0 {
        format!("{:.0} % of", rewritten * 100.0)
    } else {
        format!("{rewritten:.1} times")
    }
}
