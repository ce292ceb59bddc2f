//! `iocost`: the six coefficients of the linear model of the kernel's blk-iocost.
//!
//! Loads and times are those of tools/cgroup/iocost_coef_gen.py of Linux, which calls fio: `rbps` and `wbps` are
//! sequential I/O of 128 MiB one at a time, the others I/O of 4 KiB at queue depth 64, each for 120 s without a ramp.

use super::{Figure, SMALL_BYTES, Unit, concerns, conclude};
use crate::suite::kit::block_fits;
use crate::suite::{CaveatFilter, Needs, Site, Suite, SuiteError, SuiteOptions, SuiteStep};
use iogauge_model::Caveat;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::result::{Conclusion, SuiteStepResult};

const PURPOSE: &str = "io.cost.model";
/// Queue depth of each worker of I/O of 4 KiB.
const SMALL_DEPTH: u32 = 64;

#[derive(Debug)]
struct IoCost {
    large_bytes: u64,
    workers: u32,
    runtime_ns: u64,
    size_bytes: Option<u64>,
}

pub(in crate::suite) fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    Ok(Box::new(IoCost {
        large_bytes: options.size_bytes("bs")?.unwrap_or(128 << 20),
        workers: options.count("numjobs", 1024)?.unwrap_or(1),
        runtime_ns: options.duration_ns("seconds")?.unwrap_or(120_000_000_000),
        size_bytes: options.size_bytes("size")?,
    }))
}

impl IoCost {
    fn figures(&self, site: &Site) -> Vec<Figure> {
        let figure = |name, unit, rw, block_bytes, iodepth| Figure {
            name,
            unit,
            load: Load {
                rw,
                block: BlockSizes::fixed(block_bytes),
                iodepth,
                numjobs: self.workers,
                ..site.load()
            },
            ramp_ns: 0,
            runtime_ns: self.runtime_ns,
        };
        let large = |name, rw| figure(name, Unit::Bytes, rw, self.large_bytes, 1);
        let small = |name, rw| figure(name, Unit::Ios, rw, SMALL_BYTES, SMALL_DEPTH);
        vec![
            large("rbps", Pattern::Read),
            small("rseqiops", Pattern::Read),
            small("rrandiops", Pattern::RandRead),
            large("wbps", Pattern::Write),
            small("wseqiops", Pattern::Write),
            small("wrandiops", Pattern::RandWrite),
        ]
    }
}

impl Suite for IoCost {
    fn needs(&self) -> Needs {
        Needs { size_bytes: self.size_bytes, writes: true, ..Needs::default() }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        block_fits(site, "bs", self.large_bytes)?;
        if !site.takes(SMALL_BYTES) {
            let reason = format!(
                "the model has I/O of 4 KiB, and the block of the target has {} bytes; hint: use another target",
                site.block_bytes
            );
            return Err(SuiteError::Unfit { suite: "iocost".to_owned(), reason });
        }
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
