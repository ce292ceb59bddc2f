//! Format of a unit: a header, and the content that it determines.
//!
//! All numbers are little-endian.
//!
//! | bytes | content |
//! |---|---|
//! | 0 – 7 | `IOGverif` |
//! | 8 – 9 | version, 1 |
//! | 10 – 11 | algorithm |
//! | 12 – 15 | length of the unit |
//! | 16 – 23 | run: a number drawn for each step that writes |
//! | 24 – 31 | offset in the file or device |
//! | 32 – 35 | sequence: number of times the run has written the unit, including this one |
//! | 36 – 39 | worker |
//! | 40 – 43 | index of the file or device in the target |
//! | 44 – 47 | zeros |
//! | 48 – 51 | CRC-32C of the preceding bytes |
//! | 52 – | digest of the whole unit, computed with zeros in place of the digest |
//! | rest | content |

use super::digest::{Sum, crc32c, digest};
use crate::offsets::mix64;
use iogauge_model::load::{DataPattern, HEADER_FIXED_BYTES, VerifyAlgorithm};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const MAGIC: &[u8; 8] = b"IOGverif";
const VERSION: u16 = 1;
/// Bytes before the header's own checksum.
const FIELDS_BYTES: usize = 48;
/// Bytes before the digest.
pub(super) const FIXED_BYTES: usize = HEADER_FIXED_BYTES;

/// The write that a unit's content comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Number of the run.
    pub run: u64,
    /// Byte offset in the file or device.
    pub offset_bytes: u64,
    /// Number of times the run has written the unit, including this one, modulo 2³².
    pub sequence: u32,
    /// Worker that wrote it.
    pub worker: u32,
    /// Index of the file or device in the target.
    pub part: u32,
}

/// Format of units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Algorithm that proves the content.
    pub algorithm: VerifyAlgorithm,
    /// Length of a unit, at least 128.
    pub unit_bytes: u32,
    /// Content after the header; `None` for data that neither compresses nor repeats.
    pub pattern: Option<DataPattern>,
    /// Length after which the pattern begins again; 0 for the whole unit.
    pub pattern_interval_bytes: usize,
    /// Offset of the header, which is swapped with the content there: 0, or such that both are apart.
    pub header_offset_bytes: usize,
}

/// State of a unit's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderState {
    /// A valid header, with the number of the bit that had to be corrected first.
    Is { origin: Origin, code: u16, len: u32, bit: Option<u32> },
    /// Starts like a header, but its checksum is wrong.
    Damaged,
    /// Not a header.
    Missing,
}

impl Format {
    /// Returns the offset of the content.
    pub(super) fn content_at(&self) -> usize {
        self.algorithm.header_bytes()
    }

    /// Creates the unit that a write stores. Costs about as much as filling it with random data and computing its
    /// digest.
    ///
    /// # Panics
    /// In debug builds, if `unit` does not have the length of a unit.
    pub fn stamp(&self, unit: &mut [u8], origin: &Origin) {
        self.make(unit, origin);
        self.swap_header(unit);
    }

    /// Moves the header between the start of a unit and its place.
    pub(super) fn swap_header(&self, unit: &mut [u8]) {
        if self.header_offset_bytes > 0 && self.content_at() > 0 {
            let (start, rest) = unit.split_at_mut(self.header_offset_bytes);
            let length = self.content_at();
            start[..length].swap_with_slice(&mut rest[..length]);
        }
    }

    /// Creates the unit with its header at the start.
    pub(super) fn make(&self, unit: &mut [u8], origin: &Origin) {
        debug_assert_eq!(unit.len(), self.unit_bytes as usize);
        self.fill(unit, origin);
        if self.algorithm == VerifyAlgorithm::Pattern {
            return;
        }
        let mut put = |at: usize, bytes: &[u8]| unit[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(10, &self.algorithm.info().code.to_le_bytes());
        put(12, &self.unit_bytes.to_le_bytes());
        put(16, &origin.run.to_le_bytes());
        put(24, &origin.offset_bytes.to_le_bytes());
        put(32, &origin.sequence.to_le_bytes());
        put(36, &origin.worker.to_le_bytes());
        put(40, &origin.part.to_le_bytes());
        put(44, &[0; 4]);
        let own = crc32c(&unit[..FIELDS_BYTES]);
        unit[FIELDS_BYTES..FIXED_BYTES].copy_from_slice(&own.to_le_bytes());
        let content_at = self.content_at();
        unit[FIXED_BYTES..content_at].fill(0);
        let sum = digest(self.algorithm, unit);
        unit[FIXED_BYTES..content_at].copy_from_slice(&sum[..content_at - FIXED_BYTES]);
    }

    /// Writes the content after the header. A pattern starts at the start of the unit; what the header covers of
    /// it is lost.
    fn fill(&self, unit: &mut [u8], origin: &Origin) {
        let content_at = self.content_at();
        match &self.pattern {
            Some(pattern) => {
                let interval = match self.pattern_interval_bytes {
                    0 => unit.len(),
                    interval => interval,
                };
                let offsets = (origin.offset_bytes..).step_by(interval);
                for (part, offset) in unit.chunks_mut(interval).zip(offsets) {
                    pattern.fill(part, offset);
                }
            }
            None => {
                let place = mix64(origin.offset_bytes ^ mix64(u64::from(origin.part)));
                let seed = mix64(origin.run ^ mix64(place ^ u64::from(origin.sequence)));
                Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut unit[content_at..]);
            }
        }
    }

    /// Returns true if the digest in the unit is correct. Leaves the unit unchanged.
    pub(super) fn digest_is_right(&self, unit: &mut [u8]) -> bool {
        let place = FIXED_BYTES..self.content_at().max(FIXED_BYTES);
        let mut stored: Sum = [0; 64];
        stored[..place.len()].copy_from_slice(&unit[place.clone()]);
        unit[place.clone()].fill(0);
        let sum = digest(self.algorithm, unit);
        unit[place.clone()].copy_from_slice(&stored[..place.len()]);
        sum == stored
    }
}

/// Reads the header of a unit of at least 128 bytes. Finds and corrects a single wrong bit in it, so that the rest can
/// be checked.
pub(super) fn head(unit: &[u8]) -> HeaderState {
    let Some(fields) = unit.first_chunk::<FIXED_BYTES>() else { return HeaderState::Missing };
    if is_whole(fields) {
        return read(fields, None);
    }
    let magic_bits = fields.iter().zip(MAGIC).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    if magic_bits > 1 {
        return HeaderState::Missing;
    }
    let mut tried = *fields;
    for bit in 0..FIXED_BYTES as u32 * 8 {
        let (byte, mask) = (bit as usize / 8, 1 << (bit % 8));
        tried[byte] ^= mask;
        if is_whole(&tried) {
            return read(&tried, Some(bit));
        }
        tried[byte] ^= mask;
    }
    HeaderState::Damaged
}

/// Returns true if the fields are those of a header and their checksum is correct.
fn is_whole(fields: &[u8; FIXED_BYTES]) -> bool {
    let version = u16::from_le_bytes([fields[8], fields[9]]);
    fields.starts_with(MAGIC)
        && version == VERSION
        && crc32c(&fields[..FIELDS_BYTES]).to_le_bytes() == fields[FIELDS_BYTES..]
}

fn read(fields: &[u8; FIXED_BYTES], bit: Option<u32>) -> HeaderState {
    let long = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&fields[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let word = |at: usize| (long(at - 4) >> 32) as u32;
    let origin = Origin {
        run: long(16),
        offset_bytes: long(24),
        sequence: word(32),
        worker: word(36),
        part: word(40),
    };
    HeaderState::Is {
        origin,
        code: u16::from_le_bytes([fields[10], fields[11]]),
        len: word(12),
        bit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn format(algorithm: VerifyAlgorithm) -> Format {
        let pattern = algorithm.needs_pattern().then(|| "0xaa555a".parse().unwrap());
        Format {
            algorithm,
            unit_bytes: 512,
            pattern,
            pattern_interval_bytes: 0,
            header_offset_bytes: 0,
        }
    }

    fn algorithms() -> impl Strategy<Value = VerifyAlgorithm> {
        (0..VerifyAlgorithm::ALL.len()).prop_map(|index| VerifyAlgorithm::ALL[index].algorithm)
    }

    prop_compose! {
        fn origins()(
            run: u64, offset_bytes: u64, sequence: u32, worker: u32, part: u32,
        ) -> Origin {
            Origin { run, offset_bytes, sequence, worker, part }
        }
    }

    #[test]
    fn pattern_starts_at_the_beginning_of_each_unit() {
        let plain = format(VerifyAlgorithm::Pattern);
        let headed = Format { pattern: plain.pattern.clone(), ..format(VerifyAlgorithm::Md5) };
        let origin = Origin { run: 1, offset_bytes: 0, sequence: 1, worker: 0, part: 0 };
        let (mut a, mut b) = ([0; 512], [0; 512]);
        plain.stamp(&mut a, &origin);
        headed.stamp(&mut b, &origin);
        assert_eq!(a[..4], [0xaa, 0x55, 0x5a, 0xaa]);
        assert_eq!(a[headed.content_at()..], b[headed.content_at()..]);
    }

    #[test]
    fn pattern_has_the_offset_of_each_interval() {
        let format = Format {
            pattern: Some("0xff%o".parse().unwrap()),
            pattern_interval_bytes: 100,
            ..format(VerifyAlgorithm::Pattern)
        };
        let origin = Origin { run: 1, offset_bytes: 0x1000, sequence: 1, worker: 0, part: 0 };
        let mut unit = [0; 512];
        format.stamp(&mut unit, &origin);
        assert_eq!(unit[..10], [0xff, 0, 0x10, 0, 0, 0, 0, 0, 0, 0xff]);
        assert_eq!(unit[99..103], [0xff, 0xff, 0x64, 0x10]);
        assert_eq!(unit[500..503], [0xff, 0xf4, 0x11]);
    }

    #[test]
    fn header_offset_swaps_header_and_content() {
        let plain = format(VerifyAlgorithm::Md5);
        let format = Format { header_offset_bytes: 200, ..plain.clone() };
        let origin = Origin { run: 1, offset_bytes: 0, sequence: 1, worker: 0, part: 0 };
        let (mut a, mut b) = (vec![0; 512], vec![0; 512]);
        plain.stamp(&mut a, &origin);
        format.stamp(&mut b, &origin);
        assert_eq!((&a[..68], &a[200..268]), (&b[200..268], &b[..68]));
        assert_eq!(a[268..], b[268..]);
        format.swap_header(&mut b);
        assert_eq!(a, b);
    }

    proptest! {
        #[test]
        fn verify_headers_round_trip(algorithm in algorithms(), origin in origins()) {
            prop_assume!(algorithm != VerifyAlgorithm::Pattern);
            let format = format(algorithm);
            let mut unit = vec![0; 512];
            format.stamp(&mut unit, &origin);
            let (code, len) = (algorithm.info().code, 512);
            prop_assert_eq!(head(&unit), HeaderState::Is { origin, code, len, bit: None });
            let before = unit.clone();
            prop_assert!(format.digest_is_right(&mut unit));
            prop_assert_eq!(unit, before);
        }

        #[test]
        fn flipped_bit_in_verified_unit_is_detected(
            algorithm in algorithms(), origin in origins(), bit in 0u32..512 * 8,
        ) {
            prop_assume!(algorithm.info().digest_bytes > 0);
            let format = format(algorithm);
            let mut unit = vec![0; 512];
            format.stamp(&mut unit, &origin);
            unit[bit as usize / 8] ^= 1 << (bit % 8);
            prop_assert!(!format.digest_is_right(&mut unit), "{}", algorithm);
            let HeaderState::Is { origin: read, bit: found, .. } = head(&unit) else {
                return Err(TestCaseError::fail("no header"));
            };
            prop_assert_eq!(read, origin);
            prop_assert_eq!(found, Some(bit).filter(|bit| *bit < FIXED_BYTES as u32 * 8));
        }

        #[test]
        fn different_writes_differ_in_every_word(a in origins(), b in origins()) {
            let same_place = a.run == b.run && a.offset_bytes == b.offset_bytes;
            prop_assume!(!(same_place && a.sequence == b.sequence && a.part == b.part));
            let format = format(VerifyAlgorithm::Crc32c);
            let (mut one, mut other) = (vec![0; 512], vec![0; 512]);
            format.stamp(&mut one, &a);
            format.stamp(&mut other, &b);
            let words = one[64..].chunks(8).zip(other[64..].chunks(8));
            prop_assert!(words.filter(|(one, other)| one == other).count() < 2);
        }

        #[test]
        fn reading_arbitrary_verify_header_never_panics(unit in prop::collection::vec(any::<u8>(), 128)) {
            prop_assert_eq!(head(&unit), HeaderState::Missing);
        }
    }
}
