//! What the hosts do once the workers have ended: read back what was written, give logs their names, and remove files.
//!
//! A lost host takes nothing from the others: what they have found and logged is kept.

use crate::act::wait_until;
use crate::leader::{AHEAD_NS, Followers, Leader, PATIENCE};
use crate::message::{Order, Report};
use iogauge_io::clock::Clock;
use iogauge_lab::error::LabError;
use iogauge_lab::observe::Interrupt;
use iogauge_lab::session::hosts::ReadBack;
use iogauge_lab::session::made_files::MadeFiles;
use iogauge_model::result::{VerifyEnd, VerifyResult};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time between two looks for reports.
const LOOK: Duration = Duration::from_millis(50);
/// Time for reads that are outstanding when a host is to stop.
const STOPPING: Duration = Duration::from_secs(5);

/// Reads back on all hosts; see [`iogauge_lab::session::hosts::Hosts::read_back`].
pub(crate) fn read_back(
    leader: &Leader,
    skipped: Option<VerifyEnd>,
    interrupt: &Interrupt,
    own: ReadBack<'_>,
) -> Result<Vec<(String, VerifyResult)>, LabError> {
    let at_ns = Clock::get().now_ns() + AHEAD_NS;
    let order = |_, at_ns| Order::ReadBack { skipped, at_ns };
    let number = {
        let mut followers = leader.lock();
        let ranks = followers.ranks();
        followers.order_at(&ranks, at_ns, order)
    };
    wait_until(at_ns);
    let (stop, own_end) = (Interrupt::default(), OnceLock::new());
    let (own, reports) = std::thread::scope(|scope| {
        let gathering = scope.spawn(|| {
            let mut followers = leader.lock();
            Gathering { followers: &mut followers, number, reports: BTreeMap::new() }
                .until_read(interrupt, &stop, &own_end)
        });
        let own = own(&stop);
        let end = own.as_ref().map_or(VerifyEnd::Interrupted, |result| result.end);
        let _ = own_end.set(end);
        let reports = gathering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (own, reports)
    });
    let names = leader.lock().names().to_vec();
    let mut results = vec![(names[0].clone(), own?)];
    for (rank, report) in reports {
        let host = names[rank].clone();
        match report {
            Report::Verified(result) => results.extend(result.map(|result| (host, *result))),
            Report::Refused { kind, message } => {
                return Err(LabError::OnHost { host, kind, message });
            }
            _ => {}
        }
    }
    Ok(results)
}

/// Gives the logs of the followers their names; see [`iogauge_lab::session::hosts::Hosts::commit`].
pub(crate) fn commit(leader: &Leader, complete: bool) -> MadeFiles {
    let mut followers = leader.lock();
    let number = followers.order_all(|_| Order::Commit { complete });
    let reports =
        Gathering { followers: &mut followers, number, reports: BTreeMap::new() }.within(PATIENCE);
    let mut all = MadeFiles::default();
    for (rank, report) in reports {
        let host = &followers.names()[rank];
        match report {
            Report::Made(mut made) => {
                made.wrong.iter_mut().for_each(|line| *line = format!("host {host}: {line}"));
                all.add(made);
            }
            Report::Refused { message, .. } => all.wrong.push(format!("host {host}: {message}")),
            _ => {}
        }
    }
    all
}

/// Removes what the followers made; see [`iogauge_lab::session::hosts::Hosts::remove`].
pub(crate) fn remove(leader: &Leader, paths: Option<&[PathBuf]>) -> Result<Vec<String>, LabError> {
    let mut followers = leader.lock();
    let number = followers.order_all(|_| Order::Remove(paths.map(<[_]>::to_vec)));
    let reports =
        Gathering { followers: &mut followers, number, reports: BTreeMap::new() }.within(PATIENCE);
    followers.refusal(&reports)?;
    let lines = reports.into_iter().flat_map(|(rank, report)| match report {
        Report::Removed(lines) => {
            let host = &followers.names()[rank];
            lines.into_iter().map(|line| format!("host {host}: {line}")).collect()
        }
        _ => Vec::new(),
    });
    Ok(lines.collect())
}

/// The reports of the followers on an order, by rank.
struct Gathering<'a> {
    followers: &'a mut Followers,
    number: u64,
    reports: BTreeMap<usize, Report>,
}

impl Gathering<'_> {
    /// Returns a follower that is not lost and has not reported.
    fn missing(&self) -> Option<usize> {
        let lost = self.followers.lost().map(|lost| &lost.host);
        let is_missing = |rank: &usize| {
            !self.reports.contains_key(rank) && lost != Some(&self.followers.names()[*rank])
        };
        self.followers.ranks().into_iter().find(is_missing)
    }

    fn take(&mut self) {
        match self.followers.take(LOOK) {
            Some((from, report)) if report.number == self.number => {
                self.reports.insert(from, report.content);
            }
            _ => {}
        }
    }

    /// Waits for the reports this long. A follower that does not report is lost.
    fn within(mut self, patience: Duration) -> BTreeMap<usize, Report> {
        let begin = Instant::now();
        while let Some(rank) = self.missing() {
            if begin.elapsed() >= patience {
                self.followers.lose(rank, "it lives, but does not do what was ordered".to_owned());
                break;
            }
            self.take();
        }
        self.reports
    }

    /// Waits until all hosts have read back, and stops them if one of them cannot go on or need not.
    fn until_read(
        mut self,
        interrupt: &Interrupt,
        stop: &Interrupt,
        own_end: &OnceLock<VerifyEnd>,
    ) -> BTreeMap<usize, Report> {
        let ends_all = |end: &VerifyEnd| matches!(end, VerifyEnd::Fatal | VerifyEnd::Interrupted);
        while self.missing().is_some() || own_end.get().is_none() {
            self.take();
            let ends_here = |report: &Report| match report {
                Report::Verified(result) => result.as_ref().is_some_and(|own| ends_all(&own.end)),
                _ => true,
            };
            if interrupt.is_set()
                || self.followers.lost().is_some()
                || own_end.get().is_some_and(ends_all)
                || self.reports.values().any(ends_here)
            {
                stop.set();
                self.followers.order_all(|_| Order::Stop { in_hurry: true });
                return self.within(STOPPING);
            }
        }
        self.reports
    }
}
