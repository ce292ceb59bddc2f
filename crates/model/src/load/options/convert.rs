//! Converts typed options to a workload.

use super::typed::{Rates, Typed};
use super::value::Span;
use super::{LoadOption, row};
use crate::load::{
    Arrivals, Batch, BlockSizes, BlockSplit, Distribution, EngineKind, Load, LoadError, Modifier,
    RatedDirection, Thinktime, Verify, VerifyAlgorithm, VerifyBacklog, VerifyState,
};
use std::hash::{BuildHasher, RandomState};

impl BlockSizes {
    /// Parses a value of `bs`: `4k`, or `4k,8k` for reads and writes.
    ///
    /// # Errors
    /// If a size is invalid.
    pub fn parse_bs(text: &str) -> Result<Self, LoadError> {
        Self::typed(row("bs"), text)
    }

    /// Parses a value of `bssplit`: `4k/60:64k/40`, or two splits separated by a comma for reads and writes.
    ///
    /// # Errors
    /// If a size or share is invalid.
    pub fn parse_bssplit(text: &str) -> Result<Self, LoadError> {
        Self::typed(row("bssplit"), text)
    }

    /// Parses a value of `bsrange`: `4k-64k`, or two ranges separated by a comma for reads and writes.
    ///
    /// # Errors
    /// If a range is invalid.
    pub fn parse_bsrange(text: &str) -> Result<Self, LoadError> {
        Self::typed(row("bsrange"), text)
    }

    fn typed(row: &'static LoadOption, text: &str) -> Result<Self, LoadError> {
        Typed::iogauge().with([(row, Some(text))].into_iter()).map(|typed| typed.block())
    }
}

impl Typed {
    /// Returns the block sizes of reads and writes.
    #[must_use]
    pub fn block(&self) -> BlockSizes {
        let split = |direction: usize| {
            let fixed = || BlockSplit::fixed(self.block_bytes[direction]);
            self.split[direction].clone().unwrap_or_else(fixed)
        };
        let block = BlockSizes { read: split(0), write: split(1) };
        if self.bs_unaligned { block.unaligned() } else { block }
    }

    /// Returns the workload without arrivals, range (offset and size), and amount.
    #[must_use]
    pub fn shape(&self) -> Load {
        Load {
            modifier: self.rw_number.map_or(Modifier::None, |rw| rw.modifier(self.rw_sequencer)),
            block: self.block(),
            coverage: self.plain.coverage
                || (self.is_lfsr
                    && self.plain.rw.is_random()
                    && self.plain.distribution == Distribution::Uniform),
            thinktime: (self.thinktime_ns > 0).then_some(Thinktime {
                pause_ns: self.thinktime_ns,
                blocks: self.thinktime_blocks,
            }),
            batch: Batch {
                submit: self.batch_submit.unwrap_or(0),
                complete_min: self.batch_complete_min.unwrap_or(1),
                complete_max: self.batch_complete_max.unwrap_or(0),
            },
            verify: self.verify(),
            logs: self.logs.named(self.name.as_deref().unwrap_or_default()),
            steady_state: (self.steady_state.window_ns > 0).then(|| self.steady_state.clone()),
            ..self.plain.clone()
        }
    }

    fn verify(&self) -> Option<Verify> {
        // As in fio, a pattern alone is one with headers.
        let is_pattern = self.verify_pattern.is_some() && !self.has("verify");
        let of_pattern = is_pattern.then_some(VerifyAlgorithm::PatternHeader);
        self.verify.or(of_pattern).map(|algorithm| Verify {
            algorithm,
            interval_bytes: self.verify_interval,
            header_offset_bytes: self.verify_offset,
            pattern: self.verify_pattern.clone(),
            pattern_interval_bytes: self.verify_pattern_interval,
            backlog: (self.verify_backlog > 0 && self.do_verify).then(|| VerifyBacklog {
                writes: self.verify_backlog,
                batch: self.verify_backlog_batch.unwrap_or(self.verify_backlog),
            }),
            reads_back: self.do_verify,
            fatal: self.verify_fatal,
            round: None,
            only: self.verify_only,
            state: self.verify_state(self.name.as_deref().unwrap_or(self.plain.rw.as_str())),
        })
    }

    /// Returns the verify state of a job of this name.
    #[must_use]
    pub fn verify_state(&self, name: &str) -> Option<VerifyState> {
        let (saves, loads) = (self.verify_state_save, self.verify_state_load);
        (saves || loads).then(|| VerifyState { name: name.to_owned(), saves, loads })
    }

    /// Returns the arrivals from `rate` or `rate_iops`, and the percentage of reads that results.
    ///
    /// # Errors
    /// If both options are set.
    pub fn arrivals(&self) -> Result<(Option<Arrivals>, u32), LoadError> {
        let is_set = |rates: &Rates| rates.both.is_some() || rates.each.iter().any(Option::is_some);
        let block = self.block();
        let each = |rates: &Rates, [read, write]: [f64; 2]| {
            let [reads, writes] = rates.each.map(|rate| rate.map(|rate| rate as f64));
            [reads.map(|rate| rate / read), writes.map(|rate| rate / write)]
        };
        let (option, both, rates) = if is_set(&self.rate_iops) {
            let both = self.rate_iops.both.map(|rate| rate as f64);
            ("rate_iops", both, each(&self.rate_iops, [1.0; 2]))
        } else {
            let mean = Load { block: block.clone(), ..self.shape() }.mean_block_bytes();
            let both = self.rate.both.map(|rate| rate as f64 / mean);
            let means = [block.read.mean_bytes(), block.write.mean_bytes()];
            ("rate", both, each(&self.rate, means))
        };
        if option == "rate_iops" && is_set(&self.rate) {
            return Err(LoadError::new(
                "rate",
                "cannot be used with rate_iops; hint: use one of them",
            ));
        }
        let (rate_iops, read_percent) = match (self.plain.rw.reads(), self.plain.rw.writes(), rates)
        {
            _ if both.is_some() => (both, self.plain.read_percent),
            (true, false, [read, _]) => (read, self.plain.read_percent),
            (false, true, [_, write]) => (write, self.plain.read_percent),
            (_, _, [None, None]) => (None, self.plain.read_percent),
            (_, _, [Some(read), Some(write)]) => {
                let total = read + write;
                (Some(total), (read / total * 100.0).round() as u32)
            }
            (_, _, [Some(rate), None]) | (_, _, [None, Some(rate)]) => {
                (Some(rate), self.plain.read_percent)
            }
        };
        let only = match rates {
            _ if both.is_some() || !self.plain.rw.is_mixed() => None,
            [Some(_), None] => Some(RatedDirection::Read),
            [None, Some(_)] => Some(RatedDirection::Write),
            _ => None,
        };
        let process = self.rate_process;
        Ok((rate_iops.map(|rate_iops| Arrivals { rate_iops, process, only }), read_percent))
    }

    /// True if an option is a percentage of the file size, which must then be known.
    #[must_use]
    pub fn has_shares(&self) -> bool {
        self.size.into_iter().chain([self.offset, self.offset_increment]).any(Span::is_share)
    }

    /// Returns the first byte that a clone may access in a file of `whole_bytes`.
    #[must_use]
    pub fn offset_bytes(&self, whole_bytes: u64, clone: u32) -> u64 {
        let step = if self.offset_align > 0 { self.offset_align } else { self.block().alignment() };
        let bytes = |span: Span| match (span, span.of(whole_bytes)) {
            (Span::Bytes(_), bytes) => bytes,
            (_, bytes) => bytes.checked_next_multiple_of(step.max(1)).unwrap_or(bytes),
        };
        let increment = bytes(self.offset_increment).saturating_mul(u64::from(clone));
        bytes(self.offset).saturating_add(increment)
    }

    /// Returns the bytes of a span: a percentage is rounded down to whole blocks, a number of bytes is
    /// unchanged.
    #[must_use]
    pub fn blocks_of(&self, span: Span, whole_bytes: u64) -> u64 {
        match (span, span.of(whole_bytes)) {
            (Span::Bytes(_), bytes) => bytes,
            (_, bytes) => bytes - bytes % self.block().alignment().max(1),
        }
    }

    /// Returns the bytes that the target needs for `size` after the last offset; `None` for all there are.
    #[must_use]
    pub fn target_bytes(&self) -> Option<u64> {
        let clone = self.plain.numjobs.saturating_sub(1);
        let size = self.size.map(Span::bytes).filter(|bytes| *bytes > 0).or(self.file_size)?;
        Some(size.saturating_add(self.offset_bytes(0, clone)))
    }

    /// Returns the workload for a target whose parts have these sizes. Without parts, percentages are left
    /// out. `engine` is the engine chosen for the target.
    ///
    /// # Errors
    /// If options contradict each other.
    pub fn load(&self, engine: EngineKind, parts_bytes: &[u64]) -> Result<Load, LoadError> {
        self.check_companions()?;
        let whole = parts_bytes.first().copied();
        if let Some(whole) = whole.filter(|_| self.has_shares())
            && parts_bytes.iter().any(|bytes| *bytes != whole)
        {
            let reason = "a percentage needs files of one size; hint: use bytes";
            return Err(LoadError::new("size", reason));
        }
        let within = whole.unwrap_or(0);
        let size_bytes = self.size.or(self.file_size.map(Span::Bytes));
        let size_bytes = size_bytes.filter(|size| whole.is_some() || !size.is_share());
        let offset_bytes = self.offset_bytes(within, 0);
        let mut load = Load { engine, seed: self.seed(), ..self.shape() };
        load.offset_bytes = offset_bytes;
        load.offset_increment_bytes =
            self.has("offset_increment").then(|| self.offset_bytes(within, 1) - offset_bytes);
        load.size_bytes = size_bytes.map(|size| self.blocks_of(size, within));
        load.number_ios = self.number_ios;
        let all: u64 = parts_bytes.iter().map(|bytes| bytes - offset_bytes.min(*bytes)).sum();
        let amount = self.io_size.filter(|amount| whole.is_some() || !amount.is_share());
        load.io_size_bytes = amount.map(|amount| {
            let bytes = amount.of(load.size_bytes.unwrap_or(all));
            bytes.saturating_mul(self.loops.max(1))
        });
        (load.arrivals, load.read_percent) = self.arrivals()?;
        load.validate()?;
        Ok(load)
    }

    /// Returns the seed: the one typed, the fixed default, or, if runs are not to repeat, a random one of 53
    /// bits, which JSON readers without integers preserve.
    fn seed(&self) -> u64 {
        self.randseed.unwrap_or_else(|| match self.randrepeat || self.allrandrepeat {
            true => Load::default().seed,
            false => RandomState::new().hash_one(0) >> 11,
        })
    }
}
