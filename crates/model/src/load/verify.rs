//! Verification of written data: fio's `verify` and related options.

use super::{DataPattern, EngineKind, Load, LoadError, Modifier};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Length of a header without its digest.
pub const HEADER_FIXED_BYTES: usize = 52;
/// Smallest unit: room for the longest header, which has a digest of 64 bytes.
const LEAST_UNIT_BYTES: u64 = 128;

/// How the content of a unit is verified: fio's `verify`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyAlgorithm {
    /// CRC-32C (Castagnoli), in hardware if the processor supports it.
    #[default]
    Crc32c,
    /// CRC-32 (ISO-HDLC).
    Crc32,
    /// CRC-64 (NVMe).
    Crc64,
    /// CRC-16 (T10 DIF).
    Crc16,
    /// XXH3, 64 bits.
    Xxhash,
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    #[serde(rename = "sha3-224")]
    Sha3_224,
    /// SHA3-256.
    #[serde(rename = "sha3-256")]
    Sha3_256,
    /// SHA3-384.
    #[serde(rename = "sha3-384")]
    Sha3_384,
    /// SHA3-512.
    #[serde(rename = "sha3-512")]
    Sha3_512,
    /// Only the header.
    Meta,
    /// No header: all bytes are those of a repeated pattern.
    Pattern,
    /// A header, and the bytes of a repeated pattern after it.
    #[serde(rename = "pattern_hdr")]
    PatternHeader,
}

/// Properties of an algorithm.
#[derive(Debug)]
pub struct AlgorithmInfo {
    pub algorithm: VerifyAlgorithm,
    /// The name in fio.
    pub name: &'static str,
    /// Length of the digest; 0 if there is none.
    pub digest_bytes: usize,
    /// Number of the algorithm in unit headers. It never changes.
    pub code: u16,
}

const fn row(
    algorithm: VerifyAlgorithm,
    name: &'static str,
    digest_bytes: usize,
    code: u16,
) -> AlgorithmInfo {
    AlgorithmInfo { algorithm, name, digest_bytes, code }
}

impl VerifyAlgorithm {
    /// All algorithms.
    pub const ALL: &[AlgorithmInfo] = &[
        row(Self::Crc32c, "crc32c", 4, 1),
        row(Self::Crc32, "crc32", 4, 2),
        row(Self::Crc64, "crc64", 8, 3),
        row(Self::Crc16, "crc16", 2, 4),
        row(Self::Xxhash, "xxhash", 8, 5),
        row(Self::Md5, "md5", 16, 6),
        row(Self::Sha1, "sha1", 20, 7),
        row(Self::Sha256, "sha256", 32, 8),
        row(Self::Sha512, "sha512", 64, 9),
        row(Self::Sha3_224, "sha3-224", 28, 10),
        row(Self::Sha3_256, "sha3-256", 32, 11),
        row(Self::Sha3_384, "sha3-384", 48, 12),
        row(Self::Sha3_512, "sha3-512", 64, 13),
        row(Self::Meta, "meta", 0, 14),
        row(Self::Pattern, "pattern", 0, 15),
        row(Self::PatternHeader, "pattern_hdr", 0, 16),
    ];

    /// Returns true if all content is that of the pattern.
    #[must_use]
    pub fn needs_pattern(self) -> bool {
        matches!(self, Self::Pattern | Self::PatternHeader)
    }

    /// Returns the length of a unit's header; 0 if it has none.
    #[must_use]
    pub fn header_bytes(self) -> usize {
        if self == Self::Pattern { 0 } else { HEADER_FIXED_BYTES + self.info().digest_bytes }
    }

    /// Returns the table row of the algorithm.
    #[must_use]
    pub fn info(self) -> &'static AlgorithmInfo {
        // A test checks that every algorithm has a row; the default is never used.
        Self::ALL.iter().find(|row| row.algorithm == self).unwrap_or(&Self::ALL[0])
    }
}

impl fmt::Display for VerifyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.info().name)
    }
}

impl FromStr for VerifyAlgorithm {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        // fio's name for the same in hardware.
        let word = if text == "crc32c-intel" { "crc32c" } else { text };
        Self::ALL.iter().find(|row| row.name == word).map(|row| row.algorithm).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|row| row.name).collect();
            LoadError::new("verify", format!("\"{text}\" is not one of {}", words.join(", ")))
        })
    }
}

/// How and when written data is verified.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Verify {
    /// How the content of a unit is verified.
    pub algorithm: VerifyAlgorithm,
    /// Greatest length of a unit, which has its own header: fio's `verify_interval`. The length is the greatest
    /// up to this that divides all block sizes; `None` for no such limit. A pattern without headers has none.
    pub interval_bytes: Option<u64>,
    /// Offset of the header in its unit, 0 for its start: fio's `verify_offset`. The header is swapped with
    /// the data there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub header_offset_bytes: u64,
    /// Data after the headers; `None` for data that neither compresses nor repeats.
    pub pattern: Option<DataPattern>,
    /// Length after which the pattern begins again, with the offset there: fio's `verify_pattern_interval`.
    /// 0 for the whole unit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pattern_interval_bytes: u64,
    /// Reads of written blocks while the workload goes on; `None` for none before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<VerifyBacklog>,
    /// True if a workload that writes reads everything back after its writes: fio's `do_verify`.
    pub reads_back: bool,
    /// True if the workload ends at the first unit with wrong data: fio's `verify_fatal`.
    pub fatal: bool,
    /// True if nothing is written: the workload reads and checks what an earlier run with the same workload
    /// wrote. fio's `verify_only`.
    pub only: bool,
    /// The file with what was written, if one is written or read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<VerifyState>,
    /// The round that the workload belongs to, if several rounds write the same range; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<VerifyRound>,
}

/// When a worker reads back what it has written, before it goes on: fio's `verify_backlog`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyBacklog {
    /// Number of writes after which it does, from 1 to [`Self::MOST_WRITES`].
    pub writes: u32,
    /// Number of these writes that it reads back, from 1; the others are verified at the end. fio's
    /// `verify_backlog_batch`.
    pub batch: u32,
}

impl VerifyBacklog {
    /// A worker remembers this many writes at most.
    pub const MOST_WRITES: u32 = 1 << 16;
}

/// A file with what a workload has written, for a later run that verifies it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyState {
    /// Name of the job, which is part of the file's name.
    pub name: String,
    /// True if a workload that writes saves the state: fio's `verify_state_save`.
    pub saves: bool,
    /// True if a workload that only reads verifies what the state contains: fio's `verify_state_load`.
    pub loads: bool,
}

/// One of several rounds, each of which writes every unit once.
///
/// A workload that writes stores both numbers in the headers, the round's number as the first sequence
/// number. A workload that only reads accepts units of this round or of a later round of the same run: data
/// acknowledged before must be there, and data in flight afterwards may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyRound {
    /// A number that all rounds share and that no other data there ever had.
    pub run: u64,
    /// Number of the round, from 1.
    pub number: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl Verify {
    /// Creates the usual verification: reads data back after the writes, and reports every error.
    #[must_use]
    pub fn with(algorithm: VerifyAlgorithm) -> Self {
        Self {
            algorithm,
            interval_bytes: None,
            header_offset_bytes: 0,
            pattern: None,
            pattern_interval_bytes: 0,
            backlog: None,
            reads_back: true,
            fatal: false,
            only: false,
            state: None,
            round: None,
        }
    }
}

impl VerifyState {
    /// Returns the name of the file as in fio. `thread` is the number of the job's first clone in the run, from 0, and
    /// `host` that of one of several hosts, from 1.
    #[must_use]
    pub fn file_name(&self, thread: u32, host: Option<u32>) -> String {
        let place = host.map_or_else(|| "local".to_owned(), |number| format!("host-{number}"));
        format!("{place}-{}-{thread}-verify.state", self.name.replace('/', "."))
    }
}

impl Load {
    /// Returns the length of a verification unit, which has its own header. All blocks are whole units.
    #[must_use]
    pub fn verify_unit_bytes(&self) -> u64 {
        let grain = self.grain_bytes();
        // Without headers, a pattern fills whole blocks.
        let headed = self.verify.as_ref().filter(|v| v.algorithm != VerifyAlgorithm::Pattern);
        let interval = headed.and_then(|verify| verify.interval_bytes);
        match interval {
            Some(interval) if interval < grain => greatest_divisor(grain, interval),
            _ => grain,
        }
    }

    /// Returns the greatest common divisor of all offsets (relative to the first) and lengths of the
    /// workload.
    fn grain_bytes(&self) -> u64 {
        let skip = match self.modifier {
            Modifier::Skip(bytes) => bytes.unsigned_abs(),
            _ => 0,
        };
        let ranges = [self.block.read.range(), self.block.write.range()];
        let steps = ranges.into_iter().flatten().map(|range| range.step_bytes);
        let aligned = self.blockalign_bytes.filter(|_| self.rw.is_random());
        let apart = self.offset_increment_bytes.filter(|_| self.numjobs > 1);
        let others = [skip, aligned.unwrap_or(0), apart.unwrap_or(0)];
        self.block.sizes().chain(steps).chain(others).fold(0, common_divisor)
    }

    pub(super) fn check_verify(&self) -> Result<(), LoadError> {
        let Some(verify) = &self.verify else { return Ok(()) };
        let fail = |option, reason: String| Err(LoadError::new(option, reason));
        let no = |reason: &str| fail("verify", reason.to_owned());
        match self.engine {
            EngineKind::Null => return no("engine null stores nothing that could be read back"),
            EngineKind::Sim if self.writes() && (verify.reads_back || verify.backlog.is_some()) => {
                return no("a simulated device does not support it; hint: use a file");
            }
            _ => {}
        }
        if self.dependent {
            return no("a dependent write goes back to the block just read; right: rw=randrw");
        }
        if !self.content.is_random() {
            let right = "what is written is what verifying needs; hint: use one of the two";
            let compresses = self.content.compress_percent > 0;
            let option =
                if compresses { "buffer_compress_percentage" } else { "dedupe_percentage" };
            return fail(option, right.to_owned());
        }
        if verify.algorithm.needs_pattern() && verify.pattern.is_none() {
            let reason =
                format!("{} needs one; hint: use --verify_pattern=0xaa55", verify.algorithm);
            return fail("verify", reason);
        }
        if self.buffer_pattern.is_some() {
            let reason = "verify writes its own data; hint: use --verify_pattern instead";
            return fail("buffer_pattern", reason.to_owned());
        }
        self.check_only(verify)?;
        if verify.state.as_ref().is_some_and(|state| state.loads) && self.writes() {
            let reason = "a job that writes does not verify what an earlier one wrote; hint: use --verify_only, too";
            return fail("verify_state_load", reason.to_owned());
        }
        let (unit, grain) = (self.verify_unit_bytes(), self.grain_bytes());
        if unit < LEAST_UNIT_BYTES && grain >= LEAST_UNIT_BYTES {
            let reason = format!(
                "blocks and their places are multiples of {grain} bytes, which no length from \
                 {LEAST_UNIT_BYTES} bytes up to this divides"
            );
            return fail("verify_interval", reason);
        }
        if unit < LEAST_UNIT_BYTES {
            let reason = format!(
                "blocks and their places have only {} in common, and a header takes up to \
                 {LEAST_UNIT_BYTES} bytes",
                Bytes(unit)
            );
            return no(&reason);
        }
        let (header, offset) = (verify.algorithm.header_bytes() as u64, verify.header_offset_bytes);
        if offset > 0 && !(header..=unit - header).contains(&offset) {
            let reason = format!(
                "must be 0 or between {header} and {}: a header has {header} bytes and is swapped with \
                 other data of its {unit} bytes",
                unit - header
            );
            return fail("verify_offset", reason);
        }
        Ok(())
    }

    /// Checks that `verify_only` would read exactly what the earlier run wrote.
    fn check_only(&self, verify: &Verify) -> Result<(), LoadError> {
        let fail = |reason: &str| Err(LoadError::new("verify_only", reason));
        if !verify.only || !self.rw.writes() {
            return Ok(());
        }
        if !self.is_counted() {
            return fail(
                "a load that ends by time does not say what it wrote; hint: use --io_size or \
                 --number_ios, with the value of the run that wrote",
            );
        }
        let draws = self.rw.is_random() && !self.coverage;
        if draws && self.engine.is_synchronous() && self.iodepth > 1 {
            return fail(
                "workers that share their I/Os draw others each time; hint: use --iodepth=1, or \
                 --norandommap=0",
            );
        }
        Ok(())
    }
}

/// Returns the greatest divisor of `number` that is at most `most`; 0 if none of them is as long as a unit.
fn greatest_divisor(number: u64, most: u64) -> u64 {
    let fewest_parts = number.div_ceil(most.max(1));
    let mut parts = fewest_parts..=number / LEAST_UNIT_BYTES;
    parts.find(|parts| number.is_multiple_of(*parts)).map_or(0, |parts| number / parts)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{BlockSizes, Content, Pattern};

    fn checked(algorithm: VerifyAlgorithm) -> Load {
        let verify = Some(Verify::with(algorithm));
        Load { rw: Pattern::RandWrite, verify, ..Load::default() }
    }

    #[test]
    fn verify_algorithm_names_round_trip() {
        for row in VerifyAlgorithm::ALL {
            assert_eq!(row.name.parse(), Ok(row.algorithm));
            assert_eq!(row.algorithm.to_string(), row.name);
            assert_eq!(row.algorithm.info().code, row.code);
            assert!(VerifyAlgorithm::ALL.iter().filter(|r| r.code == row.code).count() == 1);
            let stored = serde_json::to_value(row.algorithm).unwrap();
            assert_eq!(stored, row.name);
        }
        assert_eq!("crc32c-intel".parse(), Ok(VerifyAlgorithm::Crc32c));
        let message = "crc7".parse::<VerifyAlgorithm>().unwrap_err().to_string();
        assert!(message.contains("crc32c, crc32"), "{message}");
    }

    #[test]
    fn verify_unit_is_greatest_common_block_divisor() {
        let unit = |bs: &str, rw: &str| {
            let rw: crate::load::Rw = rw.parse().unwrap();
            let block = BlockSizes::parse_bssplit(bs).unwrap();
            let modifier = rw.modifier(crate::load::Sequencer::Sequential);
            Load { rw: rw.pattern, modifier, block, ..checked(VerifyAlgorithm::Crc32c) }
                .verify_unit_bytes()
        };
        assert_eq!(unit("4k", "write"), 4096);
        assert_eq!(unit("8k/50:12k/50", "randwrite"), 4096);
        assert_eq!(unit("16k", "write:1k"), 1024);
    }

    #[test]
    fn unverifiable_load_error_names_the_option() {
        let good = checked(VerifyAlgorithm::Crc32c);
        assert_eq!(good.validate(), Ok(()));
        let with = |change: &dyn Fn(&mut Verify)| {
            let mut load = good.clone();
            load.verify.iter_mut().for_each(change);
            load
        };
        let wrong = [
            (Load { engine: EngineKind::Null, ..good.clone() }, "verify"),
            (Load { engine: EngineKind::Sim, ..good.clone() }, "verify"),
            (Load { dependent: true, rw: Pattern::RandRw, ..good.clone() }, "verify"),
            (
                Load {
                    content: Content { dedupe_percent: 10, ..Content::default() },
                    ..good.clone()
                },
                "dedupe_percentage",
            ),
            (checked(VerifyAlgorithm::Pattern), "verify"),
            (checked(VerifyAlgorithm::PatternHeader), "verify"),
            (Load { buffer_pattern: Some(DataPattern::zeros()), ..good.clone() }, "buffer_pattern"),
            (with(&|verify| verify.header_offset_bytes = 55), "verify_offset"),
            (with(&|verify| verify.header_offset_bytes = 4096 - 55), "verify_offset"),
            (with(&|verify| verify.interval_bytes = Some(127)), "verify_interval"),
            (with(&|verify| verify.interval_bytes = Some(0)), "verify_interval"),
            (with(&|verify| verify.only = true), "verify_only"),
            (Load { direct: false, block: BlockSizes::fixed(100), ..good.clone() }, "verify"),
        ];
        for (load, option) in wrong {
            assert_eq!(load.validate().unwrap_err().option, option, "{load:?}");
        }
        for offset in [0, 56, 1024, 4096 - 56] {
            let load = with(&|verify| verify.header_offset_bytes = offset);
            assert_eq!(load.validate(), Ok(()), "{offset}");
        }
        let pattern = with(&|verify| {
            verify.algorithm = VerifyAlgorithm::Pattern;
            verify.pattern = Some(DataPattern::zeros());
            verify.interval_bytes = Some(2222);
        });
        assert_eq!((pattern.validate(), pattern.verify_unit_bytes()), (Ok(()), 4096));
        let whole = with(&|verify| verify.interval_bytes = Some(8192));
        assert_eq!((whole.validate(), whole.verify_unit_bytes()), (Ok(()), 4096));
        for (interval, unit) in [(4095, 2048), (2222, 2048), (2048, 2048), (1000, 512), (128, 128)]
        {
            let load = with(&|verify| verify.interval_bytes = Some(interval));
            assert_eq!((load.validate(), load.verify_unit_bytes()), (Ok(()), unit), "{interval}");
        }
        let again = Load { number_ios: Some(8), ..with(&|verify| verify.only = true) };
        assert_eq!(again.validate(), Ok(()));
        assert!(!again.writes() && good.writes());
    }
}
