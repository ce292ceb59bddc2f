//! `seastar`: the four figures of Seastar's `io_properties.yaml`.
//!
//! Loads, times and queue depths are those of iotune (apps/iotune/iotune.cc of Seastar): sequential I/O of 1 MiB with
//! 4 outstanding for each disk; random I/O with the sum of the disks' `nr_requests` outstanding, at most 128 in each of
//! its shards, of which there is one per processor, and 128 if sysfs does not show it. 70 % of the time is for the
//! sequential writes, and 10 % for each of the others.

use super::{Figure, SMALL_BYTES, Unit, concerns, conclude};
use crate::suite::kit::block_fits;
use crate::suite::{
    CaveatFilter, Needs, Site, SiteKind, Suite, SuiteError, SuiteOptions, SuiteStep,
};
use iogauge_model::Caveat;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::result::{Conclusion, SuiteStepResult};

const PURPOSE: &str = "io_properties.yaml";
/// Block size of sequential I/O.
const LARGE_BYTES: u64 = 1 << 20;
/// Sequential I/Os outstanding for each disk.
const LARGE_DEPTH: u32 = 4;
/// Largest queue depth of random I/O per processor.
const MOST_DEPTH: u32 = 128;
/// Time before each measurement.
const RAMP_NS: u64 = 10_000_000;

#[derive(Debug)]
struct Seastar {
    duration_ns: u64,
    /// As typed.
    queue_depth: Option<u32>,
    size_bytes: Option<u64>,
}

pub(in crate::suite) fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let duration_ns = options.duration_ns("duration")?.unwrap_or(120_000_000_000);
    if duration_ns < 1_000_000_000 {
        return Err(SuiteError::option(
            "duration",
            "too short to measure in; hint: use 1s or more",
        ));
    }
    Ok(Box::new(Seastar {
        duration_ns,
        queue_depth: options.count("iodepth", 65_536)?,
        size_bytes: options.size_bytes("size")?,
    }))
}

impl Seastar {
    /// Returns the workers of random I/O, and the queue depth of each.
    fn concurrency(&self, site: &Site) -> (u32, u32) {
        let shards = match site.kind {
            SiteKind::Simulated => 1,
            SiteKind::Files | SiteKind::Devices => site.processors,
        };
        let most = u64::from(MOST_DEPTH * shards);
        let usual = match site.requests {
            0 => MOST_DEPTH,
            requests => requests.min(most) as u32,
        };
        let queue_depth = self.queue_depth.unwrap_or(usual);
        let workers = shards.min(queue_depth);
        (workers, queue_depth / workers)
    }

    fn figures(&self, site: &Site) -> Vec<Figure> {
        let figure = |name, unit, load, percent| Figure {
            name,
            unit,
            load,
            ramp_ns: RAMP_NS,
            runtime_ns: self.duration_ns / 100 * percent,
        };
        let sequential = |rw| Load {
            rw,
            block: BlockSizes::fixed(LARGE_BYTES),
            iodepth: LARGE_DEPTH * site.disks,
            ..site.load()
        };
        let (numjobs, iodepth) = self.concurrency(site);
        let block = BlockSizes::fixed(SMALL_BYTES.max(u64::from(site.block_bytes)));
        let random = |rw| Load { rw, block: block.clone(), iodepth, numjobs, ..site.load() };
        vec![
            figure("write_bandwidth", Unit::Bytes, sequential(Pattern::Write), 70),
            figure("read_bandwidth", Unit::Bytes, sequential(Pattern::Read), 10),
            figure("write_iops", Unit::Ios, random(Pattern::RandWrite), 10),
            figure("read_iops", Unit::Ios, random(Pattern::RandRead), 10),
        ]
    }
}

impl Suite for Seastar {
    fn needs(&self) -> Needs {
        Needs { size_bytes: self.size_bytes, writes: true, ..Needs::default() }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        block_fits(site, "size", LARGE_BYTES)?;
        Ok(self.figures(site).iter().map(Figure::step).collect())
    }

    fn caveat_filter<'a>(
        &'a self,
        _site: &'a Site,
        _steps: &'a [SuiteStepResult],
    ) -> CaveatFilter<'a> {
        Box::new(concerns)
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        (conclude(PURPOSE, &self.figures(site), steps), Vec::new())
    }
}
