//! Verification of a step's data: the ledger that its workers keep, and the read-back after they
//! end.

use crate::error::LabError;
use crate::measure::{TICK_NS, Watch};
use crate::observe::{Phase, Status};
use crate::session::region::Region;
use crate::session::rig::Rig;
use crate::session::verify_states::StepStates;
use iogauge_io::engine::Files;
use iogauge_io::verify::check::{Check, CheckJob, CheckReads};
use iogauge_io::verify::{BadUnit, Findings, JobVerify, Ledger, MOST_FINDINGS, Writer};
use iogauge_model::Step;
use iogauge_model::load::Load;
use iogauge_model::result::{
    DirectionResult, Estimate, LatencySummary, VerifyEnd, VerifyFinding, VerifyJobResult,
    VerifyResult,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for reads in flight to end after an interrupt.
const MOST_PATIENCE: Duration = Duration::from_secs(3);

/// What the jobs of a step need to verify their data.
#[derive(Debug)]
pub(crate) struct Checks {
    findings: Arc<Findings>,
    /// One for each job; `None` for jobs that do not verify.
    pub(crate) jobs: Vec<Option<Arc<JobVerify>>>,
}

/// Checks that no job of a step overwrites data that another one verifies, and that each job verifies units of the
/// form in which they were written.
///
/// # Errors
/// The first jobs that conflict, or a state with other units.
pub fn check_together(
    rig: &Rig,
    step: &Step,
    regions: &[Region],
    states: &StepStates,
) -> Result<(), LabError> {
    Checks::of(rig, &Region::of_jobs(step, regions), states).map(drop)
}

impl Checks {
    /// Returns what these jobs need; `None` if none of them verifies.
    pub(crate) fn of(
        rig: &Rig,
        jobs: &[(Load, Region)],
        states: &StepStates,
    ) -> Result<Option<Self>, LabError> {
        if jobs.iter().all(|(load, _)| load.verify.is_none()) {
            return Ok(None);
        }
        rig.check_keeps_data()?;
        rig.check_not_overwritten(jobs)?;
        let parts: Vec<_> = jobs.iter().map(|(_, region)| rig.extents_on(region)).collect();
        let both = jobs.iter().zip(&parts);
        let writers: Vec<_> = both.map(|((load, _), parts)| Writer { load, parts }).collect();
        let ledger = Ledger::new(&writers)?;
        let findings = Arc::new(Findings::new(jobs.len()));
        let job = |(index, writer): (usize, &Writer<'_>)| {
            let job = JobVerify::of(index, writer.load, writer.parts, &ledger, &findings);
            job.map(|job| states.lend(index, job).map(Arc::new)).transpose()
        };
        let jobs = writers.iter().enumerate().map(job).collect::<Result<_, _>>()?;
        Ok(Some(Self { findings, jobs }))
    }

    /// Reads back what the jobs have written, for jobs that want it, and returns all findings,
    /// including those of the jobs' own reads. A step that has ended as `skipped` is not read back.
    pub(crate) fn read_back(
        &self,
        rig: &Rig,
        jobs: &[(Load, Region)],
        skipped: Option<VerifyEnd>,
        watch: &mut Watch<'_>,
    ) -> Result<VerifyResult, LabError> {
        let wants = |load: &Load| load.verify.as_ref().is_some_and(|verify| verify.reads_back);
        let all = jobs.iter().zip(&self.jobs).enumerate();
        let writes: Vec<_> = all.filter(|(_, ((load, _), _))| load.writes()).collect();
        let verifying = writes.iter().filter_map(|(number, ((load, region), verify))| {
            verify.as_ref().map(|verify| (*number, load, region, verify.clone()))
        });
        let (mut check, mut numbers) = (Vec::new(), Vec::new());
        for (number, load, region, verify) in verifying.clone().filter(|(_, load, ..)| wants(load))
        {
            let files: Files = rig.files_to_read(load, region)?;
            check.push(CheckJob { load: load.clone(), files, verify });
            numbers.push(number);
        }
        let begun = Instant::now();
        let reads = !check.is_empty();
        let nothing_asked = !reads && verifying.clone().next().is_some();
        let (end, done) = if let Some(end) = skipped {
            (end, Vec::new())
        } else if self.findings.is_over() {
            (VerifyEnd::Fatal, Vec::new())
        } else if nothing_asked {
            (VerifyEnd::NotAsked, Vec::new())
        } else if !reads {
            (VerifyEnd::Complete, Vec::new())
        } else {
            self.drive(check, watch)?
        };
        let seconds = if reads { begun.elapsed().as_secs_f64() } else { 0.0 };
        let mut total = CheckReads::default();
        done.iter().for_each(|own| total.add(own));
        let mut of_jobs: Vec<VerifyJobResult> = (0..jobs.len())
            .map(|job| VerifyJobResult { corrupted: self.findings.corrupted_of(job), read: None })
            .collect();
        for (number, own) in numbers.into_iter().zip(done) {
            of_jobs[number].read = direction(own, seconds);
        }
        // Those of a single job are the totals.
        let of_jobs = if jobs.len() > 1 { of_jobs } else { Vec::new() };
        let read = direction(total, seconds);
        Ok(VerifyResult { seconds, read, jobs: of_jobs, ..self.result(rig, jobs, end) })
    }

    fn drive(
        &self,
        jobs: Vec<CheckJob>,
        watch: &mut Watch<'_>,
    ) -> Result<(VerifyEnd, Vec<CheckReads>), LabError> {
        let unit_bytes = jobs.first().map_or(0, |job| job.load.verify_unit_bytes());
        let queue_depth = jobs.iter().map(|job| job.load.queue_depth()).sum();
        let begun = Instant::now();
        let check = Check::start(jobs)?;
        let mut interrupted = None;
        // A short check ends before the first tick.
        let mut pause = Duration::from_millis(1);
        while !check.is_over() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_nanos(TICK_NS));
            if watch.interrupt.is_set() {
                check.stop();
                if interrupted.get_or_insert_with(Instant::now).elapsed() > MOST_PATIENCE {
                    // The result is kept even if the last reads do not return.
                    check.leave();
                    return Ok((VerifyEnd::Interrupted, Vec::new()));
                }
            }
            let (done, total) = (check.done_units(), check.total_units());
            let bytes_per_sec =
                (done * unit_bytes) as f64 / begun.elapsed().as_secs_f64().max(1e-9);
            let left_bytes = (total.saturating_sub(done) * unit_bytes) as f64;
            watch.observer.status(&Status {
                phase: Phase::Checking {
                    done_bytes: done * unit_bytes,
                    total_bytes: total * unit_bytes,
                },
                queue_depth,
                iops: 0.0,
                bytes_per_sec,
                by_direction: [0.0; 2],
                latency_mean_ns: 0.0,
                limits: &[],
                left_ns: (done > 0).then(|| (left_bytes / bytes_per_sec * 1e9) as u64),
                total_ns: None,
            });
        }
        let reads = check.finish()?;
        let end = if interrupted.is_some() {
            VerifyEnd::Interrupted
        } else if self.findings.is_over() {
            VerifyEnd::Fatal
        } else {
            VerifyEnd::Complete
        };
        Ok((end, reads))
    }

    fn result(&self, rig: &Rig, jobs: &[(Load, Region)], end: VerifyEnd) -> VerifyResult {
        let verifies = jobs.iter().filter_map(|(load, _)| load.verify.as_ref());
        let mut algorithms: Vec<String> = verifies.map(|v| v.algorithm.to_string()).collect();
        algorithms.dedup();
        let paths = rig.paths();
        let finding = |found: BadUnit| VerifyFinding {
            host: None,
            path: paths
                .get(found.part as usize)
                .map_or_else(|| rig.text().to_owned(), |path| path.display().to_string()),
            offset_bytes: found.offset_bytes,
            length_bytes: found.len.into(),
            reason: found.fault,
        };
        let totals = self.findings.totals();
        VerifyResult {
            algorithm: algorithms.join(", "),
            units: totals.units,
            bytes: totals.bytes,
            unjudged: totals.unjudged,
            unwritten: totals.unwritten,
            jobs: Vec::new(),
            corrupted: totals.corrupted,
            seconds: 0.0,
            read: None,
            end,
            findings: self.findings.first().into_iter().map(finding).collect(),
        }
    }
}

/// Sums up the results of several hosts, given with their names.
pub(super) fn sum(results: Vec<(String, VerifyResult)>) -> VerifyResult {
    let mut sum = VerifyResult { end: VerifyEnd::Complete, ..VerifyResult::default() };
    let mut findings = Vec::new();
    let (mut read, mut reads_of_jobs) = (CheckReads::default(), Vec::new());
    for (host, result) in results {
        sum.algorithm = result.algorithm;
        sum.units += result.units;
        sum.bytes += result.bytes;
        sum.unjudged += result.unjudged;
        sum.unwritten += result.unwritten;
        sum.corrupted += result.corrupted;
        sum.seconds = sum.seconds.max(result.seconds);
        sum.end = worse(sum.end, result.end);
        add_reads(&mut read, result.read.as_deref());
        sum.jobs.resize(result.jobs.len(), VerifyJobResult::default());
        reads_of_jobs.resize_with(result.jobs.len(), CheckReads::default);
        for (job, of_host) in result.jobs.iter().enumerate() {
            sum.jobs[job].corrupted += of_host.corrupted;
            add_reads(&mut reads_of_jobs[job], of_host.read.as_deref());
        }
        let found = result.findings.into_iter().enumerate();
        findings.extend(
            found.map(|(number, found)| {
                (number, VerifyFinding { host: Some(host.clone()), ..found })
            }),
        );
    }
    sum.read = direction(read, sum.seconds);
    for (job, reads) in sum.jobs.iter_mut().zip(reads_of_jobs) {
        job.read = direction(reads, sum.seconds);
    }
    // The first ones of each host, so that none is hidden by another.
    findings.sort_by_key(|(number, _)| *number);
    findings.truncate(MOST_FINDINGS);
    sum.findings = findings.into_iter().map(|(_, found)| found).collect();
    sum.findings.sort_by(|a, b| {
        (&a.host, &a.path, a.offset_bytes).cmp(&(&b.host, &b.path, b.offset_bytes))
    });
    sum
}

/// Returns the end of a verification on two hosts. Wrong data counts more than an interrupt.
pub(super) fn worse(a: VerifyEnd, b: VerifyEnd) -> VerifyEnd {
    use VerifyEnd::{Complete, Fatal, Interrupted, NotAsked};
    let order = [Complete, NotAsked, Interrupted, Fatal];
    let worst = order.into_iter().rev().find(|end| [a, b].contains(end));
    worst.unwrap_or(a)
}

fn add_reads(sum: &mut CheckReads, of_host: Option<&DirectionResult>) {
    if let Some(read) = of_host {
        sum.ios += read.ios;
        sum.bytes += read.bytes;
        sum.service.merge(&read.service_histogram);
    }
}

/// Returns the figures of reads, which took this long together; `None` if there were none.
fn direction(reads: CheckReads, seconds: f64) -> Option<Box<DirectionResult>> {
    let CheckReads { ios, bytes, service } = reads;
    if ios == 0 {
        return None;
    }
    let per_sec = |count: u64| count as f64 / seconds.max(1e-9);
    Some(Box::new(DirectionResult {
        ios,
        bytes,
        errors: 0,
        short: 0,
        iops: Estimate::exact(per_sec(ios)),
        bytes_per_sec: per_sec(bytes),
        service_ns: LatencySummary::of(&service, [service.mean_ns(); 2]),
        response_ns: None,
        service_histogram: service,
        response_histogram: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::result::VerifyFault;

    fn of_host(wrong: u64, end: VerifyEnd) -> VerifyResult {
        let mut reads = CheckReads { ios: 10, bytes: 40_960, ..CheckReads::default() };
        reads.service.record_n(1000 * (wrong + 1), 10);
        let finding = |block: u64| VerifyFinding {
            host: None,
            path: "/t".to_owned(),
            offset_bytes: block * 4096,
            length_bytes: 4096,
            reason: VerifyFault::HeaderDamaged,
        };
        VerifyResult {
            algorithm: "crc32c".to_owned(),
            units: 10,
            bytes: 40_960,
            corrupted: wrong,
            seconds: 2.0,
            read: direction(reads, 2.0),
            end,
            findings: (0..wrong.min(16)).map(finding).collect(),
            ..VerifyResult::default()
        }
    }

    #[test]
    fn results_of_hosts_are_summed_and_no_host_hides_another() {
        let results = [(0, VerifyEnd::Complete), (40, VerifyEnd::Complete), (2, VerifyEnd::Fatal)];
        let named = results.iter().zip(["a", "b", "c"]);
        let sum = sum(named.map(|((n, end), host)| (host.to_owned(), of_host(*n, *end))).collect());
        assert_eq!((sum.units, sum.bytes, sum.corrupted), (30, 122_880, 42));
        assert_eq!((sum.seconds, sum.end), (2.0, VerifyEnd::Fatal));
        let read = sum.read.unwrap();
        assert_eq!((read.ios, read.bytes, read.bytes_per_sec), (30, 122_880, 61_440.0));
        assert_eq!(read.service_histogram.max_ns(), 41_000);
        let of =
            |host: &str| sum.findings.iter().filter(|f| f.host.as_deref() == Some(host)).count();
        assert_eq!((sum.findings.len(), of("b"), of("c")), (16, 14, 2));
    }

    #[test]
    fn worst_end_of_hosts_counts() {
        use VerifyEnd::{Complete, Fatal, Interrupted, NotAsked};
        assert_eq!(worse(Complete, Interrupted), Interrupted);
        assert_eq!(worse(Fatal, Interrupted), Fatal);
        assert_eq!(worse(NotAsked, NotAsked), NotAsked);
        assert_eq!(worse(Complete, Complete), Complete);
    }
}
