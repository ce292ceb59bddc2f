//! The load as typed, and as it will run.

use clap::{Args, Parser};
use iogauge_fio::job::foreign_engine;
use iogauge_lab::engine;
use iogauge_model::load::options::{Dialect, Value, Wrong};
use iogauge_model::load::{
    ArrivalProcess, Arrivals, Batch, BlockSizes, Content, CpuPolicy, Cpus, Distribution,
    EngineKind, Load, LoadError, Pattern, Rw, Sequencer, SyncMode, Thinktime, Verify,
    VerifyAlgorithm, VerifyPattern,
};
use iogauge_model::units::{parse_count, parse_duration_ns, parse_size_bytes};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};

/// Load options with fio's names. Omitted options have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// read, write, randread, randwrite, readwrite or randrw [default: randread]. randread:8 issues 8 I/Os
    /// from each random offset; read:64k skips 64 KiB after each I/O
    #[arg(long, visible_alias = "readwrite", value_name = "PATTERN[:N]")]
    pub rw: Option<Rw>,
    /// Offsets of the I/Os counted by randread:N: sequential or identical [default: sequential]
    #[arg(long, value_name = "KIND")]
    pub rw_sequencer: Option<Sequencer>,
    /// Share of reads in a mixed pattern [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = whole_percent)]
    pub rwmixread: Option<u32>,
    /// Share of writes in a mixed pattern
    #[arg(long, value_name = "PERCENT", value_parser = whole_percent, conflicts_with = "rwmixread")]
    pub rwmixwrite: Option<u32>,
    /// Block size, or READ,WRITE [default: 4k]
    #[arg(long, visible_alias = "blocksize", value_name = "SIZE", value_parser = BlockSizes::parse_bs)]
    pub bs: Option<BlockSizes>,
    /// Block sizes and their shares in percent, as in 4k/60:64k/40
    #[arg(long, value_name = "SPLIT", conflicts_with = "bs", value_parser = BlockSizes::parse_bssplit)]
    pub bssplit: Option<BlockSizes>,
    /// Range of block sizes; each multiple of the first is equally likely
    #[arg(long, visible_alias = "blocksize-range", value_name = "SIZE-SIZE", conflicts_with_all = ["bs", "bssplit"], value_parser = BlockSizes::parse_bsrange)]
    pub bsrange: Option<BlockSizes>,
    /// Use any size within --bsrange, not only multiples of the first
    #[arg(long, visible_alias = "blocksize-unaligned", value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub bs_unaligned: Option<bool>,
    /// Alignment of random offsets [default: the smallest block size]
    #[arg(long, visible_alias = "ba", value_name = "SIZE", value_parser = parse_size_bytes)]
    pub blockalign: Option<u64>,
    /// I/Os that each worker keeps outstanding [default: 1]
    #[arg(long, value_name = "N")]
    pub iodepth: Option<u32>,
    /// Number of workers [default: 1]
    #[arg(long, value_name = "N")]
    pub numjobs: Option<u32>,
    /// io_uring, libaio, psync, mmap or null [default: io_uring]
    #[arg(long, value_name = "NAME", value_parser = engine_word)]
    pub ioengine: Option<EngineKind>,
    /// Bypass the page cache [default: 1]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub direct: Option<bool>,
    /// Bytes of the target to use; also the size of a new test file
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub size: Option<u64>,
    /// First byte of the target to use; --size counts from there [default: 0]
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub offset: Option<u64>,
    /// Offset between the regions of successive jobs; without it random jobs share one region and
    /// sequential jobs divide it
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub offset_increment: Option<u64>,
    /// random, zipf:1.2, pareto:0.2, normal:20, zoned:60/10:30/20:10/70 [default: random]
    #[arg(long, value_name = "KIND")]
    pub random_distribution: Option<Distribution>,
    /// 0 covers every block once before repeating any [default: 1]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub norandommap: Option<bool>,
    /// Dependent I/O: read a block, change it, write it back, continue; iodepth is the number of chains
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub dependent: Option<bool>,
    /// Synchronous writes: none, dsync or sync [default: none]
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "sync")]
    pub sync: Option<SyncMode>,
    /// Call fsync after every N writes [default: 0, never]
    #[arg(long, value_name = "N")]
    pub fsync: Option<u32>,
    /// Call fdatasync after every N writes [default: 0, never]
    #[arg(long, value_name = "N")]
    pub fdatasync: Option<u32>,
    /// Call fsync at the end of the job [default: 0]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub end_fsync: Option<bool>,
    /// Think time of each worker after its I/Os; microseconds if no unit is given
    #[arg(long, value_name = "TIME", value_parser = short_time)]
    pub thinktime: Option<u64>,
    /// I/Os between two think times; also the most outstanding then [default: 1]
    #[arg(long, value_name = "N")]
    pub thinktime_blocks: Option<u32>,
    /// Delay before the job starts; not measured
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub startdelay: Option<u64>,
    /// I/Os to start per second, even if the target falls behind (open loop)
    #[arg(long, value_name = "RATE", value_parser = parse_count)]
    pub rate_iops: Option<u64>,
    /// Bytes to start per second, even if the target falls behind (open loop)
    #[arg(long, value_name = "SIZE", conflicts_with = "rate_iops", value_parser = parse_size_bytes)]
    pub rate: Option<u64>,
    /// Arrival process: linear or poisson [default: linear]
    #[arg(long, value_name = "KIND")]
    pub rate_process: Option<ArrivalProcess>,
    /// Most I/Os to submit in one call [default: 0, all that are ready]
    #[arg(long, visible_alias = "iodepth-batch", value_name = "N")]
    pub iodepth_batch_submit: Option<u32>,
    /// Fewest completions to reap in one call [default: 1]
    #[arg(long, visible_alias = "iodepth-batch-complete", value_name = "N")]
    pub iodepth_batch_complete_min: Option<u32>,
    /// Most completions to reap in one call [default: 0: one while the device is the bottleneck, otherwise all]
    #[arg(long, value_name = "N")]
    pub iodepth_batch_complete_max: Option<u32>,
    /// Stop each job after N I/Os
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub number_ios: Option<u64>,
    /// Stop each job after SIZE bytes
    #[arg(long, visible_alias = "io-limit", value_name = "SIZE", value_parser = parse_size_bytes)]
    pub io_size: Option<u64>,
    /// Seed of the random offsets, mix and arrivals [default: 1]
    #[arg(long, value_name = "N")]
    pub randseed: Option<u64>,
    /// 0 uses a new seed for each run [default: 1]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub randrepeat: Option<bool>,
    /// Accepted for compatibility with fio: one seed drives all random choices
    #[arg(long, hide = true, value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub allrandrepeat: Option<bool>,
    /// Compressible share of the written data; that share is zeros [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = whole_percent)]
    pub buffer_compress_percentage: Option<u32>,
    /// Unit of compressible data: random bytes, then zeros; 0 means a whole block [default: 512]
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub buffer_compress_chunk: Option<u64>,
    /// Share of the writes that repeat earlier data [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = whole_percent)]
    pub dedupe_percentage: Option<u32>,
    /// Write verifiable data and read it back: crc32c, crc32, crc64, crc16, xxhash, md5, sha1, sha256,
    /// sha512, sha3-256, meta or pattern. A workload that only reads verifies existing data
    #[arg(long, value_name = "KIND")]
    pub verify: Option<VerifyAlgorithm>,
    /// 0 skips reading the data back; a later run can verify it [default: 1]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub do_verify: Option<bool>,
    /// Bytes covered by each verification header [default: the common divisor of all block sizes]
    #[arg(long, value_name = "SIZE", value_parser = parse_size_bytes)]
    pub verify_interval: Option<u64>,
    /// Data written after each header: 0xaa55, or "text" in quotes [default: random]
    #[arg(long, value_name = "BYTES")]
    pub verify_pattern: Option<VerifyPattern>,
    /// Stop at the first verification failure [default: 0]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub verify_fatal: Option<bool>,
    /// Write nothing; verify what a run with the same options wrote [default: 0]
    #[arg(long, value_name = "0|1", value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub verify_only: Option<bool>,
    /// Accepted for compatibility with fio: every write has its own data
    #[arg(long, hide = true, value_parser = flag, num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub refill_buffers: Option<bool>,
    /// Processors the workers may run on: 0,5,8-15
    #[arg(long, value_name = "LIST")]
    pub cpus_allowed: Option<Cpus>,
    /// shared, or split, which gives each worker one processor [default: shared]
    #[arg(long, value_name = "POLICY")]
    pub cpus_allowed_policy: Option<CpuPolicy>,
    /// Added to the nice value of the workers, -20 to 19 [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nice: Option<i32>,
}

fn whole_percent(text: &str) -> Result<u32, String> {
    text.trim_end_matches('%')
        .parse::<u32>()
        .ok()
        .filter(|percent| *percent <= 100)
        .ok_or_else(|| format!("\"{text}\" is not a whole percentage from 0 to 100"))
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("\"{text}\" is not 0 or 1")),
    }
}

/// An engine.
pub(super) fn engine_word(text: &str) -> Result<EngineKind, Wrong> {
    EngineKind::parse(text, Dialect::Iogauge)
}

fn short_time(text: &str) -> Result<u64, Wrong> {
    Value { text: Some(text), dialect: Dialect::Iogauge }.duration_ns(1e3)
}

/// A job typed as one text: `rw=write bs=128k`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct JobText {
    #[command(flatten)]
    load: LoadArgs,
}

impl LoadArgs {
    /// These options, changed by those of a job text.
    ///
    /// # Errors
    /// clap's error for the first option that is wrong.
    pub fn with_job(&self, text: &str) -> Result<Self, clap::Error> {
        self.with_words(text.split_whitespace().map(|word| OsString::from(format!("--{word}"))))
    }

    /// These options, changed by others, each a word with its dashes.
    ///
    /// # Errors
    /// As [`Self::with_job`].
    pub fn with_words(
        &self,
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let mut job = JobText { load: self.clone() };
        job.try_update_from(super::with_dashes(words.into_iter()))?;
        Ok(job.load)
    }

    /// Bytes the target has to have for `--size` behind the last offset; `None` for all there are.
    pub fn target_bytes(&self) -> Option<u64> {
        let jobs_behind = u64::from(self.numjobs.unwrap_or(1).saturating_sub(1));
        let last = self.offset_increment.unwrap_or(0).saturating_mul(jobs_behind);
        let begin = last.saturating_add(self.offset.unwrap_or(0));
        self.size.map(|size| size.saturating_add(begin))
    }

    /// Direction and order.
    pub fn pattern(&self) -> Pattern {
        self.rw.map_or(Load::default().rw, |rw| rw.pattern)
    }

    fn block(&self) -> Option<BlockSizes> {
        let sizes = self.bsrange.clone().or_else(|| self.bssplit.clone());
        let sizes = sizes.or_else(|| self.bs.clone())?;
        Some(if self.bs_unaligned.unwrap_or(false) { sizes.unaligned() } else { sizes })
    }

    /// Options that mean nothing without another one.
    fn check_companions(&self) -> Result<(), LoadError> {
        let lone = |option, reason: &str| Err(LoadError { option, reason: reason.to_owned() });
        if self.thinktime_blocks.is_some() && self.thinktime.is_none() {
            return lone("thinktime_blocks", "there is no pause; hint: use --thinktime=1ms, too");
        }
        if self.cpus_allowed_policy.is_some() && self.cpus_allowed.is_none() {
            return lone("cpus_allowed_policy", "hint: use --cpus_allowed=0-3, too");
        }
        for (option, typed) in [
            ("do_verify", self.do_verify.is_some()),
            ("verify_interval", self.verify_interval.is_some()),
            ("verify_pattern", self.verify_pattern.is_some()),
            ("verify_fatal", self.verify_fatal.is_some()),
            ("verify_only", self.verify_only.is_some()),
        ] {
            if typed && self.verify.is_none() {
                return lone(option, "nothing is checked; hint: use --verify=crc32c, too");
            }
        }
        Ok(())
    }

    fn content(&self) -> Content {
        let defaults = Content::default();
        let chunk = self.buffer_compress_chunk.map(|bytes| u32::try_from(bytes).unwrap_or(0));
        Content {
            compress_percent: self.buffer_compress_percentage.unwrap_or(0),
            // A chunk beyond every block is the block.
            compress_chunk_bytes: chunk.unwrap_or(defaults.compress_chunk_bytes),
            dedupe_percent: self.dedupe_percentage.unwrap_or(0),
        }
    }

    fn verify(&self) -> Option<Verify> {
        self.verify.map(|algorithm| Verify {
            algorithm,
            interval_bytes: self.verify_interval,
            pattern: self.verify_pattern.clone(),
            reads_back: self.do_verify.unwrap_or(true),
            fatal: self.verify_fatal.unwrap_or(false),
            round: None,
            only: self.verify_only.unwrap_or(false),
        })
    }

    /// The seed: the one typed, that of every run, or where runs are not to repeat a new one, which
    /// readers of JSON that know no integers keep.
    fn seed(&self) -> u64 {
        let repeats = self.randrepeat.unwrap_or(true) || self.allrandrepeat.unwrap_or(false);
        self.randseed.unwrap_or_else(|| {
            if repeats { Load::default().seed } else { RandomState::new().hash_one(0) >> 11 }
        })
    }

    /// The load these options mean; `engine` is what was chosen for the target.
    ///
    /// # Errors
    /// Options that do not go together.
    pub fn load(&self, engine: EngineKind) -> Result<Load, LoadError> {
        let defaults = Load::default();
        self.check_companions()?;
        let mut load = Load {
            rw: self.pattern(),
            modifier: self
                .rw
                .map_or(defaults.modifier, |rw| rw.modifier(self.rw_sequencer.unwrap_or_default())),
            read_percent: self
                .rwmixread
                .or(self.rwmixwrite.map(|writes| 100 - writes))
                .unwrap_or(defaults.read_percent),
            block: self.block().unwrap_or(defaults.block),
            blockalign_bytes: self.blockalign,
            distribution: self.random_distribution.clone().unwrap_or(defaults.distribution),
            coverage: !self.norandommap.unwrap_or(true),
            dependent: self.dependent.unwrap_or(false),
            direct: self.direct.unwrap_or(true),
            sync: self.sync.unwrap_or_default(),
            fsync_every: self.fsync.unwrap_or(0),
            fdatasync_every: self.fdatasync.unwrap_or(0),
            end_fsync: self.end_fsync.unwrap_or(false),
            startdelay_ns: self.startdelay.unwrap_or(0),
            own_time: None,
            invalidate: false,
            percentiles: Vec::new(),
            thinktime: self
                .thinktime
                .filter(|ns| *ns > 0)
                .map(|pause_ns| Thinktime { pause_ns, blocks: self.thinktime_blocks.unwrap_or(1) }),
            iodepth: self.iodepth.unwrap_or(1),
            numjobs: self.numjobs.unwrap_or(1),
            arrivals: None,
            batch: Batch {
                submit: self.iodepth_batch_submit.unwrap_or(0),
                complete_min: self.iodepth_batch_complete_min.unwrap_or(1),
                complete_max: self.iodepth_batch_complete_max.unwrap_or(0),
            },
            offset_bytes: self.offset.unwrap_or(0),
            offset_increment_bytes: self.offset_increment,
            size_bytes: self.size,
            number_ios: self.number_ios,
            io_size_bytes: self.io_size,
            engine,
            content: self.content(),
            verify: self.verify(),
            cpus: self.cpus_allowed.clone(),
            cpu_policy: self.cpus_allowed_policy.unwrap_or_default(),
            nice: self.nice.unwrap_or(0),
            seed: self.seed(),
        };
        let of_bytes = self.rate.map(|bytes| bytes as f64 / load.mean_block_bytes());
        load.arrivals = self.rate_iops.map(|rate| rate as f64).or(of_bytes).map(|rate_iops| {
            Arrivals { rate_iops, process: self.rate_process.unwrap_or_default() }
        });
        load.validate()?;
        Ok(load)
    }
}
