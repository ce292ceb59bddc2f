//! `verify`: whether the target keeps what is written to it.
//!
//! Rounds write every block once and read every block back. A block contains its offset, its round,
//! the worker that wrote it, and a checksum. A wrong block is therefore classified: flipped bits,
//! torn, of another offset, of an earlier round, or of no round. The step that writes a round is
//! saved once its fsync has returned, and thereby records what was acknowledged. A run that is
//! resumed after its process or the machine was killed first checks that all acknowledged data is
//! present.

mod rounds;

use super::plan::{SuiteStep, Work};
use super::{CaveatFilter, DRAWN, Needs, Site, Suite, SuiteError, SuiteOptions};
use crate::session::{HostsUsed, Region};
use iogauge_model::load::{BlockSizes, Load, Pattern, Verify, VerifyAlgorithm, VerifyRound};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::{Conclusion, SuiteStepResult};
use iogauge_model::units::{Bytes, parse_count, size_word};
use iogauge_model::{Caveat, CaveatCode, Step};
use rounds::{RoundsDone, Stage};

/// Maximum number of rounds.
const MOST_ROUNDS: u32 = 1000;

/// The suite with its options.
#[derive(Debug)]
struct Rounds {
    rounds: u32,
    block_bytes: u64,
    rw: Pattern,
    queue_depth: u32,
    algorithm: VerifyAlgorithm,
    seed: u64,
    size_bytes: Option<u64>,
}

pub(super) fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let rw: Pattern = options.parsed("rw")?.unwrap_or(Pattern::RandWrite);
    if !matches!(rw, Pattern::Write | Pattern::RandWrite) {
        let reason = format!("{rw} does not write every block; hint: use randwrite or write");
        return Err(SuiteError::option("rw", reason));
    }
    let algorithm: VerifyAlgorithm = options.parsed("algorithm")?.unwrap_or_default();
    if algorithm == VerifyAlgorithm::Pattern {
        let reason = "pattern cannot tell one block from another; hint: use crc32c";
        return Err(SuiteError::option("algorithm", reason));
    }
    let seed = match options.text("seed").filter(|text| *text != DRAWN) {
        Some(text) => {
            parse_count(text).map_err(|error| SuiteError::option("seed", error.to_string()))?
        }
        None => 0,
    };
    Ok(Box::new(Rounds {
        rounds: options.count("rounds", MOST_ROUNDS)?.unwrap_or(3),
        block_bytes: options.size_bytes("bs")?.unwrap_or(4096),
        rw,
        queue_depth: options.count("iodepth", 4096)?.unwrap_or(32),
        algorithm,
        seed,
        size_bytes: options.size_bytes("size")?,
    }))
}

impl Suite for Rounds {
    fn needs(&self) -> Needs {
        Needs { size_bytes: self.size_bytes, writes: true, ..Needs::default() }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        if !site.takes(self.block_bytes) {
            let reason = format!(
                "{} is not a multiple of {}, the smallest I/O around the page cache",
                size_word(self.block_bytes),
                Bytes(site.block_bytes.into())
            );
            return Err(SuiteError::option("bs", reason));
        }
        let parts = self.part_bytes(site);
        if let Some(small) = parts.iter().find(|bytes| **bytes < self.block_bytes) {
            let reason = format!("the target has only {}", Bytes(*small));
            return Err(SuiteError::option("bs", reason));
        }
        let round = |number| {
            [Stage::Write(number), Stage::Read(number)].map(|stage| self.step(site, stage))
        };
        let steps: Vec<SuiteStep> = (1..=self.rounds).flat_map(round).collect();
        for job in steps.iter().take(2).flat_map(|step| step.asked().jobs) {
            job.load.validate().map_err(|error| SuiteError::Unfit {
                suite: "verify".to_owned(),
                reason: error.to_string(),
            })?;
        }
        Ok(steps)
    }

    /// Ends the suite at the first wrong block or failed I/O, so that the blocks can be inspected.
    fn wants(&self, _site: &Site, _step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        let faults = |result: &iogauge_model::result::StepResult| {
            result.corrupted() > 0 || result.errors() > 0
        };
        !done.iter().filter_map(SuiteStepResult::step).any(faults)
    }

    /// Omits caveats about speed, which do not concern the data.
    fn caveat_filter<'a>(
        &'a self,
        _site: &'a Site,
        _steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
        Box::new(|caveat, _| matches!(caveat.code, CaveatCode::IoErrors | CaveatCode::Interrupted))
    }

    /// Omits the caveat of a volatile cache: each round ends with a flush, and the suite itself
    /// tests for lost data.
    fn keeps_target_caveat(&self, caveat: &Caveat) -> bool {
        caveat.code != CaveatCode::VolatileWriteCache
    }

    /// Returns a check if the last written round was also read back: the next round may have been
    /// interrupted.
    fn before_going_on(&self, site: &Site, done: &[SuiteStepResult]) -> Option<SuiteStep> {
        let last = |stage: fn(u32) -> Stage| {
            let is_done = |number: &u32| {
                let key = stage(*number).key();
                done.iter().any(|step| step.place.key == key)
            };
            (1..=self.rounds).rev().find(is_done)
        };
        let written = last(Stage::Write)?;
        if last(Stage::Read) != Some(written) {
            // The next step reads it back, which checks the same.
            return None;
        }
        let checks = done.iter().filter(|step| Stage::is_check(&step.place.key)).count();
        Some(self.step(site, Stage::Check { number: checks as u32 + 1, round: written }))
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let of_host =
            self.part_bytes(site).iter().map(|bytes| bytes / self.block_bytes).sum::<u64>();
        // Each host has files of its own.
        let blocks = of_host * u64::from(site.hosts);
        let done = RoundsDone { blocks, block_bytes: self.block_bytes, rounds: self.rounds, steps };
        (done.conclusion(), Vec::new())
    }
}

impl Rounds {
    /// Returns the used bytes of each part.
    fn part_bytes(&self, site: &Site) -> Vec<u64> {
        let most = self.size_bytes.unwrap_or(u64::MAX);
        site.part_bytes.iter().map(|bytes| *bytes.min(&most)).collect()
    }

    /// Returns a step with a job for each part, on whole blocks.
    fn step(&self, site: &Site, stage: Stage) -> SuiteStep {
        let part_bytes = self.part_bytes(site);
        let parts = part_bytes.len();
        let jobs = part_bytes.iter().enumerate().map(|(part, bytes)| {
            let load = self.load(site, stage, bytes - bytes % self.block_bytes);
            Job { name: format!("part {}", part + 1), load }
        });
        let jobs: Vec<Job> = jobs.collect();
        let label = match jobs.as_slice() {
            [job, others @ ..] if !others.is_empty() => {
                format!("{} on {parts} parts", job.load.label())
            }
            [job, ..] => job.load.label(),
            [] => String::new(),
        };
        let step = Step { label, jobs, ramp_ns: 0, runtime_ns: LONGEST_NS };
        let regions = (0..parts).map(|part| Region::Parts(vec![part])).collect();
        SuiteStep {
            place: stage.place(),
            work: Work::Step(step),
            regions,
            sums_up: false,
            hosts: HostsUsed::All,
        }
    }

    fn load(&self, site: &Site, stage: Stage, size_bytes: u64) -> Load {
        let writes = matches!(stage, Stage::Write(_));
        let number = stage.round();
        let parts = site.part_bytes.len() as u32;
        let verify = Verify {
            reads_back: false,
            round: Some(VerifyRound { run: self.seed, number }),
            ..Verify::with(self.algorithm)
        };
        Load {
            rw: if writes { self.rw } else { Pattern::Read },
            block: BlockSizes::fixed(self.block_bytes),
            coverage: writes && self.rw.is_random(),
            iodepth: self.queue_depth.div_ceil(parts.max(1)).max(1),
            size_bytes: Some(size_bytes),
            io_size_bytes: Some(size_bytes),
            end_fsync: writes,
            verify: Some(verify),
            // Each round has its own order.
            seed: self.seed.wrapping_add(u64::from(number)),
            ..site.load()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SiteKind, made_up};
    use super::*;

    fn site(part_bytes: &[u64]) -> Site {
        made_up::site(SiteKind::Files, part_bytes)
    }

    fn suite(typed: &[(&str, &str)]) -> Result<Box<dyn Suite>, SuiteError> {
        made_up::build("verify", typed)
    }

    #[test]
    fn each_verify_round_covers_all_parts_and_is_numbered() {
        let suite = suite(&[("seed", "7"), ("rounds", "2")]).unwrap();
        let plan = suite.plan(&site(&[1 << 20, 10_000])).unwrap();
        let keys: Vec<&str> = plan.iter().map(|step| step.place.key.as_str()).collect();
        assert_eq!(keys, ["write 1", "read 1", "write 2", "read 2"]);
        let jobs = plan[2].asked().jobs;
        assert_eq!((jobs.len(), plan[2].regions.len()), (2, 2));
        assert_eq!(jobs[1].load.io_size_bytes, Some(8192));
        assert!(jobs[0].load.coverage && jobs[0].load.end_fsync);
        let round = VerifyRound { run: 7, number: 2 };
        assert_eq!(jobs[0].load.verify.as_ref().unwrap().round, Some(round));
        assert!(!plan[3].writes() && !plan[3].asked().jobs[0].load.coverage);
        assert_eq!(plan[2].cost().written_bytes, Some((1 << 20) + 8192));
    }

    #[test]
    fn verify_suite_rejects_invalid_options() {
        for (typed, word) in [
            (("rw", "randread"), "randwrite or write"),
            (("algorithm", "pattern"), "crc32c"),
            (("rounds", "0"), "between 1 and 1000"),
            (("seed", "x"), "--seed"),
        ] {
            let error = suite(&[typed]).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        for (bs, word) in [("700", "multiple of 512"), ("2m", "has only 1 MiB")] {
            let error = suite(&[("bs", bs)]).unwrap().plan(&site(&[1 << 20])).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
