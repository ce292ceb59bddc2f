//! Checks of combinations of options.

use super::{Distribution, Load, LoadError, Logs, Modifier, SteadyState};

fn fail(option: &'static str, reason: impl Into<String>) -> Result<(), LoadError> {
    Err(LoadError::new(option, reason))
}

impl Load {
    /// Checks combinations of options.
    ///
    /// # Errors
    /// The first invalid combination, with its option.
    pub fn validate(&self) -> Result<(), LoadError> {
        self.check_mix()?;
        self.check_concurrency()?;
        self.check_order()?;
        self.check_blocks()?;
        self.content.check()?;
        if self.buffer_pattern.is_some() && self.content.dedupe_percent > 0 {
            let reason = "every write repeats it; hint: leave out dedupe_percentage";
            return Err(LoadError::new("buffer_pattern", reason));
        }
        self.check_verify()?;
        self.check_logs()?;
        self.check_steady_state()?;
        self.check_extent()
    }

    fn check_logs(&self) -> Result<(), LoadError> {
        let Some(logs) = &self.logs else { return Ok(()) };
        if logs.histogram.is_some() && logs.histogram_window_ms == 0 {
            let reason = "has no effect without log_hist_msec; hint: use log_hist_msec=1000, too";
            return fail("write_hist_log", reason);
        }
        if logs.coarseness > Logs::MOST_COARSE {
            let reason = format!("must be between 0 and 6, not {}", logs.coarseness);
            return fail("log_hist_coarseness", reason);
        }
        Ok(())
    }

    fn check_steady_state(&self) -> Result<(), LoadError> {
        let Some(steady) = &self.steady_state else { return Ok(()) };
        if steady.interval_ns < SteadyState::LEAST_INTERVAL_NS {
            return fail("steadystate_check_interval", "must be at least 100ms");
        }
        if steady.window_ns / steady.interval_ns < 2 {
            let reason = format!(
                "must be at least two intervals of {} s, the time between two measurements",
                steady.interval_ns as f64 / 1e9
            );
            return fail("steadystate_duration", reason);
        }
        Ok(())
    }

    fn check_mix(&self) -> Result<(), LoadError> {
        if self.read_percent > 100 {
            return fail("rwmixread", format!("{} is over 100", self.read_percent));
        }
        if self.fsync_every > 0 && self.fdatasync_every > 0 {
            return fail("fdatasync", "cannot be used with fsync; hint: use one of them");
        }
        if self.dependent && !self.rw.is_random() {
            return fail("dependent", "needs random offsets; hint: use --rw=randrw");
        }
        if self.dependent && self.block.read != self.block.write {
            return fail("dependent", "needs one block size for reads and writes");
        }
        Ok(())
    }

    fn check_concurrency(&self) -> Result<(), LoadError> {
        if self.iodepth == 0 || self.iodepth > 65_536 {
            return fail("iodepth", format!("must be between 1 and 65536, not {}", self.iodepth));
        }
        if self.numjobs == 0 || self.numjobs > 4096 {
            return fail("numjobs", format!("must be between 1 and 4096, not {}", self.numjobs));
        }
        if !(-20..=19).contains(&self.nice) {
            return fail("nice", format!("must be between -20 and 19, not {}", self.nice));
        }
        if let Some(thinktime) = self.thinktime {
            if thinktime.blocks == 0 {
                return fail("thinktime_blocks", "0 never pauses; hint: use 1 or more");
            }
            if thinktime.pause_ns == 0 {
                return fail("thinktime", "0 is not a pause; hint: use 100us, or no thinktime");
            }
        }
        if let Some(arrivals) = self.arrivals
            && !(arrivals.rate_iops > 0.0 && arrivals.rate_iops <= 1e9)
        {
            return fail(
                "rate_iops",
                format!("must be between 1 and 1g, not {}", arrivals.rate_iops),
            );
        }
        let (min, max) = (self.batch.complete_min, self.batch.complete_max);
        if min == 0 || min > self.iodepth {
            let reason = format!("must be between 1 and iodepth ({}), not {min}", self.iodepth);
            return fail("iodepth_batch_complete_min", reason);
        }
        if max != 0 && max < min {
            let reason = format!("must be at least iodepth_batch_complete_min ({min}), not {max}");
            return fail("iodepth_batch_complete_max", reason);
        }
        Ok(())
    }

    fn check_order(&self) -> Result<(), LoadError> {
        if self.coverage && self.distribution != Distribution::Uniform {
            return fail(
                "norandommap",
                "norandommap=0 cannot be used with random_distribution; hint: use --norandommap=1",
            );
        }
        let (random, wanted) = match self.modifier {
            Modifier::None => return Ok(()),
            Modifier::Skip(_) => (false, "bytes to skip need a sequential pattern"),
            Modifier::Sequential(ios) | Modifier::Identical(ios) if ios < 2 => {
                return fail("rw", format!("must have at least 2 I/Os per offset, not {ios}"));
            }
            Modifier::Sequential(_) | Modifier::Identical(_) => {
                (true, "several I/Os per offset need a random pattern")
            }
        };
        if random != self.rw.is_random() {
            return fail("rw", wanted);
        }
        if matches!(self.modifier, Modifier::Sequential(_)) && self.coverage {
            return fail(
                "norandommap",
                "norandommap=0 cannot be used with several blocks per offset; hint: use --norandommap=1",
            );
        }
        if random && self.blockalign_bytes.is_some() {
            return fail("blockalign", "cannot be used with several I/Os per offset");
        }
        Ok(())
    }

    fn check_blocks(&self) -> Result<(), LoadError> {
        let unaligned = |size: &u64| self.direct && !size.is_multiple_of(512);
        if let Some(size) = self.block.sizes().find(unaligned) {
            return fail(
                "bs",
                format!(
                    "{size} is not a multiple of 512, as direct I/O requires; hint: use --direct=0"
                ),
            );
        }
        if self.direct && self.block.is_unaligned() {
            return fail(
                "bs_unaligned",
                "direct I/O requires multiples of 512; hint: use --direct=0",
            );
        }
        if let Some(align) = self.blockalign_bytes {
            if align == 0 || unaligned(&align) {
                let reason = format!("{align} is not a multiple of 512, as direct I/O requires");
                return fail("blockalign", reason);
            }
            if self.coverage && self.rw.is_random() {
                return fail(
                    "blockalign",
                    "cannot be used with norandommap=0, which has its own alignment",
                );
            }
        }
        if let Modifier::Skip(bytes) = self.modifier
            && unaligned(&bytes.unsigned_abs())
        {
            let reason = format!("{bytes} is not a multiple of 512, as direct I/O requires");
            return fail("rw", reason);
        }
        Ok(())
    }

    fn check_extent(&self) -> Result<(), LoadError> {
        if self.number_ios == Some(0) {
            return fail("number_ios", "0 measures nothing; hint: use 1 or more");
        }
        if self.io_size_bytes == Some(0) {
            return fail("io_size", "0 measures nothing; hint: use a block or more");
        }
        let block = self.block.largest();
        if let Some(size) = self.size_bytes.filter(|size| *size < block) {
            let reason = format!("must be at least one block of {block} bytes, not {size}");
            return fail("size", reason);
        }
        let (offset, increment) = (self.offset_bytes, self.offset_increment_bytes);
        if self.direct && !offset.is_multiple_of(512) {
            let reason = format!("{offset} is not a multiple of 512, as direct I/O requires");
            return fail("offset", reason);
        }
        if let Some(increment) = increment.filter(|bytes| self.direct && !bytes.is_multiple_of(512))
        {
            let reason = format!("{increment} is not a multiple of 512, as direct I/O requires");
            return fail("offset_increment", reason);
        }
        // The last job starts at the highest offset.
        let last = increment.unwrap_or(0).checked_mul(self.numjobs.saturating_sub(1).into());
        let end = last
            .and_then(|last| offset.checked_add(last))
            .and_then(|begin| begin.checked_add(self.size_bytes.unwrap_or(0)));
        if end.is_none() {
            return fail("offset_increment", "the last job would start beyond the largest offset");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Batch, BlockSizes, Content, Pattern, Thinktime};

    fn thinking(pause_ns: u64, blocks: u32) -> Load {
        Load { thinktime: Some(Thinktime { pause_ns, blocks }), ..Load::default() }
    }

    fn writing(content: Content) -> Load {
        Load { content, ..Load::default() }
    }

    #[test]
    fn invalid_load_error_names_the_option() {
        let good = Load::default();
        assert_eq!(good.validate(), Ok(()));
        let wrong = [
            (Load { iodepth: 0, ..good.clone() }, "iodepth"),
            (Load { numjobs: 0, ..good.clone() }, "numjobs"),
            (Load { read_percent: 101, ..good.clone() }, "rwmixread"),
            (Load { block: BlockSizes::fixed(1000), ..good.clone() }, "bs"),
            (Load { dependent: true, rw: Pattern::Read, ..good.clone() }, "dependent"),
            (
                Load { coverage: true, distribution: Distribution::Zipf(1.2), ..good.clone() },
                "norandommap",
            ),
            (
                Load { batch: Batch { complete_min: 8, ..Batch::default() }, ..good.clone() },
                "iodepth_batch_complete_min",
            ),
            (Load { modifier: Modifier::Skip(4096), ..good.clone() }, "rw"),
            (Load { modifier: Modifier::Identical(1), ..good.clone() }, "rw"),
            (Load { modifier: Modifier::Sequential(8), rw: Pattern::Read, ..good.clone() }, "rw"),
            (Load { modifier: Modifier::Skip(100), rw: Pattern::Read, ..good.clone() }, "rw"),
            (
                Load { modifier: Modifier::Sequential(8), coverage: true, ..good.clone() },
                "norandommap",
            ),
            (
                Load {
                    modifier: Modifier::Sequential(8),
                    blockalign_bytes: Some(512),
                    ..good.clone()
                },
                "blockalign",
            ),
            (Load { blockalign_bytes: Some(0), ..good.clone() }, "blockalign"),
            (Load { blockalign_bytes: Some(100), ..good.clone() }, "blockalign"),
            (Load { blockalign_bytes: Some(512), coverage: true, ..good.clone() }, "blockalign"),
            (
                Load {
                    block: BlockSizes::parse_bsrange("4k-8k").unwrap().unaligned(),
                    ..good.clone()
                },
                "bs_unaligned",
            ),
            (Load { fsync_every: 8, fdatasync_every: 8, ..good.clone() }, "fdatasync"),
            (Load { nice: 20, ..good.clone() }, "nice"),
            (writing(Content { dedupe_percent: 101, ..good.content }), "dedupe_percentage"),
            (
                writing(Content { compress_percent: 101, ..good.content }),
                "buffer_compress_percentage",
            ),
            (thinking(0, 1), "thinktime"),
            (thinking(1000, 0), "thinktime_blocks"),
            (Load { number_ios: Some(0), ..good.clone() }, "number_ios"),
            (Load { io_size_bytes: Some(0), ..good.clone() }, "io_size"),
            (Load { size_bytes: Some(4095), ..good.clone() }, "size"),
            (Load { offset_bytes: 100, ..good.clone() }, "offset"),
            (Load { offset_increment_bytes: Some(100), ..good.clone() }, "offset_increment"),
            (
                Load { offset_increment_bytes: Some(1 << 62), numjobs: 5, ..good.clone() },
                "offset_increment",
            ),
        ];
        for (load, option) in wrong {
            assert_eq!(load.validate().unwrap_err().option, option);
        }
    }
}
