//! Block sizes: one size, one size per direction, a split by share, or a range.

use super::LoadError;
use crate::units::{Bytes, parse_size_bytes, size_word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest block of an I/O. One system call transfers slightly less than 2 GiB.
const LARGEST_BYTES: u64 = 1 << 30;

/// Block sizes of one direction.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BlockSplit(Sizes);

#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
enum Sizes {
    /// Pairs of size in bytes and share in percent. The shares sum to 100.
    Shares(Vec<(u64, u32)>),
    Range(BlockRange),
}

/// A range of equally likely block sizes: the smallest one plus any whole number of steps, up to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BlockRange {
    pub least_bytes: u64,
    /// No block is larger. A block has this size if a whole number of steps reaches it.
    pub most_bytes: u64,
    /// Distance between sizes: the smallest size, or 1 if blocks are unaligned.
    pub step_bytes: u64,
}

impl BlockRange {
    /// Number of sizes.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.most_bytes - self.least_bytes) / self.step_bytes + 1
    }

    /// Largest size that occurs. It may be smaller than `most_bytes`.
    #[must_use]
    pub fn largest_bytes(&self) -> u64 {
        self.least_bytes + (self.count() - 1) * self.step_bytes
    }
}

impl BlockSplit {
    /// Creates a single size for all I/Os.
    #[must_use]
    pub fn fixed(size_bytes: u64) -> Self {
        Self(Sizes::Shares(vec![(size_bytes, 100)]))
    }

    /// Returns the sizes with their shares in percent; empty for a range.
    #[must_use]
    pub fn entries(&self) -> &[(u64, u32)] {
        match &self.0 {
            Sizes::Shares(entries) => entries,
            Sizes::Range(_) => &[],
        }
    }

    /// Returns the range, if the sizes are one.
    #[must_use]
    pub fn range(&self) -> Option<BlockRange> {
        match &self.0 {
            Sizes::Shares(_) => None,
            Sizes::Range(range) => Some(*range),
        }
    }

    /// Mean size of an I/O.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        match &self.0 {
            Sizes::Shares(entries) => {
                entries.iter().map(|(size, share)| *size as f64 * f64::from(*share) / 100.0).sum()
            }
            Sizes::Range(range) => (range.least_bytes + range.largest_bytes()) as f64 / 2.0,
        }
    }

    /// Formats the sizes as a range: `4k-64k`; a single size as `4k-4k`.
    fn range_word(&self) -> String {
        let ends = self.range().map(|range| (range.least_bytes, range.most_bytes));
        let (least, most) = ends.unwrap_or_else(|| {
            let size = self.sizes().next().unwrap_or(0);
            (size, size)
        });
        format!("{}-{}", size_word(least), size_word(most))
    }

    /// Formats the sizes as a split: `4k/60:64k/40`.
    fn split_word(&self) -> String {
        let entry = |(size, share): &(u64, u32)| format!("{}/{share}", size_word(*size));
        self.entries().iter().map(entry).collect::<Vec<_>>().join(":")
    }

    /// Returns each size that occurs; for a range, the smallest and the largest.
    fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let ends = self.range().map(|range| [range.least_bytes, range.largest_bytes()]);
        self.entries().iter().map(|(size, _)| *size).chain(ends.into_iter().flatten())
    }

    /// Parses a value of fio's `bsrange`: `4k-64k` are multiples of 4k.
    ///
    /// # Errors
    /// If a size is invalid or the first exceeds the second.
    pub fn parse_range(text: &str) -> Result<Self, LoadError> {
        let fail = |reason: String| LoadError::new("bsrange", reason);
        let (least, most) = text
            .split_once('-')
            .ok_or_else(|| fail(format!("\"{text}\" is not two sizes; hint: use 4k-64k")))?;
        let (least_bytes, most_bytes) = (parse_block_size(least)?, parse_block_size(most)?);
        if least_bytes > most_bytes {
            return Err(fail("the first size is larger than the second".to_owned()));
        }
        if least_bytes == most_bytes {
            return Ok(Self::fixed(least_bytes));
        }
        let range = BlockRange { least_bytes, most_bytes, step_bytes: least_bytes };
        Ok(Self(Sizes::Range(range)))
    }

    /// Changes a range to contain every size between its ends.
    fn unaligned(self) -> Self {
        match self.0 {
            Sizes::Range(range) => Self(Sizes::Range(BlockRange { step_bytes: 1, ..range })),
            shares @ Sizes::Shares(_) => Self(shares),
        }
    }

    /// Parses a value of fio's `bssplit`: `4k/60:8k/30:64k`. Entries without a share divide the rest equally.
    ///
    /// # Errors
    /// If a size or share is invalid, or if the shares do not sum to 100.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        let fail = |reason: String| LoadError::new("bssplit", reason);
        let mut entries = Vec::new();
        for entry in text.split(':') {
            let (size, share) = match entry.split_once('/') {
                Some((size, "")) => (size, None),
                Some((size, share)) => {
                    let share =
                        share.parse::<u32>().ok().filter(|s| *s <= 100).ok_or_else(|| {
                            fail(format!("\"{share}\" is not a share from 0 to 100"))
                        })?;
                    (size, Some(share))
                }
                None => (entry, None),
            };
            entries.push((parse_block_size(size)?, share));
        }
        let given: u32 = entries.iter().filter_map(|(_, share)| *share).sum();
        let open = entries.iter().filter(|(_, share)| share.is_none()).count() as u32;
        if given > 100 || (open == 0 && given != 100) {
            return Err(fail(format!("the shares sum to {given}, not 100")));
        }
        let rest = 100 - given;
        let mut opened = 0;
        let split = entries
            .into_iter()
            .map(|(size, share)| {
                let share = share.unwrap_or_else(|| {
                    opened += 1;
                    // The first entries get the remainder of the division.
                    rest / open + u32::from(opened <= rest % open)
                });
                (size, share)
            })
            .filter(|(_, share)| *share > 0)
            .collect();
        Ok(Self(Sizes::Shares(split)))
    }
}

/// Block sizes of reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BlockSizes {
    pub read: BlockSplit,
    pub write: BlockSplit,
}

fn parse_block_size(text: &str) -> Result<u64, LoadError> {
    let size = parse_size_bytes(text).map_err(|e| LoadError::new("bs", e.to_string()))?;
    if size == 0 || size > LARGEST_BYTES {
        return Err(LoadError::new(
            "bs",
            format!("must be between 1 byte and 1 GiB, not \"{text}\""),
        ));
    }
    Ok(size)
}

impl BlockSizes {
    /// Returns the option that sets these sizes, and its value: `bs=4k,1m` if each direction has one size,
    /// `bsrange=4k-64k` if a direction has a range, otherwise `bssplit=4k/60:64k/40`.
    #[must_use]
    pub fn as_option(&self) -> (&'static str, String) {
        let directions = [&self.read, &self.write];
        let text = |word: fn(&BlockSplit) -> String| {
            let [read, write] = directions.map(word);
            if read == write { read } else { format!("{read},{write}") }
        };
        if directions.iter().any(|split| split.range().is_some()) {
            ("bsrange", text(BlockSplit::range_word))
        } else if directions.iter().all(|split| split.entries().len() == 1) {
            ("bs", text(|split| split.sizes().map(size_word).collect()))
        } else {
            ("bssplit", text(BlockSplit::split_word))
        }
    }

    /// Creates a single size for both directions.
    #[must_use]
    pub fn fixed(size_bytes: u64) -> Self {
        Self { read: BlockSplit::fixed(size_bytes), write: BlockSplit::fixed(size_bytes) }
    }

    /// Changes ranges to contain every size between their ends: fio's `bs_unaligned`.
    #[must_use]
    pub fn unaligned(self) -> Self {
        Self { read: self.read.unaligned(), write: self.write.unaligned() }
    }

    /// True if sizes need not be a multiple of anything.
    #[must_use]
    pub fn is_unaligned(&self) -> bool {
        [&self.read, &self.write].iter().any(|s| s.range().is_some_and(|r| r.step_bytes == 1))
    }

    /// Returns each size that occurs; for a range, the smallest and the largest.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.read.sizes().chain(self.write.sizes())
    }

    /// Returns the largest size that occurs.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.sizes().max().unwrap_or(0)
    }

    /// Returns the alignment of offsets: the smallest size that occurs, as in fio's `blockalign`.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        self.sizes().min().unwrap_or(1)
    }

    /// Returns the size of all I/Os, if there is only one.
    #[must_use]
    pub fn single(&self) -> Option<u64> {
        let first = self.sizes().next()?;
        self.sizes().all(|size| size == first).then_some(first)
    }
}

impl fmt::Display for BlockSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(range) = self.range() {
            let (least, most) = (Bytes(range.least_bytes), Bytes(range.largest_bytes()));
            let kind = if range.step_bytes == 1 { " unaligned" } else { "" };
            return write!(f, "{least}–{most}{kind}");
        }
        if let [(size, _)] = self.entries() {
            return write!(f, "{}", Bytes(*size));
        }
        for (index, (size, share)) in self.entries().iter().enumerate() {
            let separator = if index == 0 { "" } else { ":" };
            write!(f, "{separator}{}/{share}", Bytes(*size))?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.read == self.write {
            write!(f, "{}", self.read)
        } else {
            write!(f, "{},{}", self.read, self.write)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bssplit_distributes_the_remaining_percentage() {
        let split = BlockSplit::parse("4k/60:8k/:64k").unwrap();
        assert_eq!(split.entries(), &[(4096, 60), (8192, 20), (65536, 20)]);
        let split = BlockSplit::parse("4k:8k:16k").unwrap();
        assert_eq!(split.entries().iter().map(|e| e.1).sum::<u32>(), 100);
        assert!(BlockSplit::parse("4k/60:8k/30").is_err());
        assert!(BlockSplit::parse("4k/60:8k/50").is_err());
        assert!(BlockSplit::parse("4k/x").is_err());
    }

    #[test]
    fn read_and_write_block_sizes_may_differ() {
        let sizes = BlockSizes::parse_bs("4k,64k").unwrap();
        assert_eq!((sizes.largest(), sizes.alignment(), sizes.single()), (65536, 4096, None));
        assert_eq!(BlockSizes::parse_bs("8k").unwrap().single(), Some(8192));
        assert_eq!(sizes.to_string(), "4 KiB,64 KiB");
        assert!(BlockSizes::parse_bs("0").is_err());
        assert!(BlockSizes::parse_bs("2g").is_err());
    }

    #[test]
    fn bsrange_contains_multiples_of_its_minimum() {
        let sizes = BlockSizes::parse_bsrange("4k-64k,1k-10k").unwrap();
        let (read, write) = (sizes.read.range().unwrap(), sizes.write.range().unwrap());
        assert_eq!((read.count(), read.largest_bytes()), (16, 65536));
        assert_eq!((write.count(), write.largest_bytes()), (10, 10240));
        assert_eq!((sizes.largest(), sizes.alignment(), sizes.single()), (65536, 1024, None));
        assert_eq!(sizes.to_string(), "4 KiB–64 KiB,1 KiB–10 KiB");
        let odd = BlockSizes::parse_bsrange("4k-10k").unwrap();
        assert_eq!((odd.largest(), odd.read.mean_bytes()), (8192, 6144.0));
        assert!(!odd.is_unaligned());
        let odd = odd.unaligned();
        assert_eq!((odd.largest(), odd.read.range().unwrap().count()), (10240, 6145));
        assert!(odd.is_unaligned());
        assert_eq!(BlockSizes::parse_bsrange("8k-8k").unwrap(), BlockSizes::fixed(8192));
        for text in ["4k", "8k-4k", "0-4k", "4k-2g", "4k-8k-16k", "-"] {
            assert!(BlockSizes::parse_bsrange(text).is_err(), "{text}");
        }
        assert_eq!(BlockSplit::parse("4k/75:8k/25").unwrap().mean_bytes(), 5120.0);
    }

    #[test]
    fn stored_block_sizes_round_trip() {
        for sizes in [
            BlockSizes::fixed(4096),
            BlockSizes::parse_bssplit("4k/60:64k/40,8k").unwrap(),
            BlockSizes::parse_bsrange("4k-64k,1k-9k").unwrap().unaligned(),
        ] {
            let text = serde_json::to_string(&sizes).unwrap();
            assert_eq!(serde_json::from_str::<BlockSizes>(&text).unwrap(), sizes, "{text}");
        }
        // The format of versions without ranges.
        let split: BlockSplit = serde_json::from_str("[[4096,60],[65536,40]]").unwrap();
        assert_eq!(split, BlockSplit::parse("4k/60:64k/40").unwrap());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9kmg/:,. -]{0,24}") {
            let _ = BlockSizes::parse_bs(&text);
            if let Ok(sizes) = BlockSizes::parse_bsrange(&text) {
                prop_assert!(sizes.alignment() > 0 && sizes.alignment() <= sizes.largest());
                prop_assert!(sizes.unaligned().largest() <= LARGEST_BYTES);
            }
            if let Ok(split) = BlockSizes::parse_bssplit(&text) {
                prop_assert_eq!(split.read.entries().iter().map(|e| e.1).sum::<u32>(), 100);
            }
        }
    }
}
