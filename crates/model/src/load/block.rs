//! Block sizes: one, one per direction, or a split by weight.

use super::LoadError;
use crate::units::{Bytes, parse_size_bytes, size_word};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest block an I/O may have: what one system call moves at most is just under 2 GiB.
const LARGEST_BYTES: u64 = 1 << 30;

/// Block sizes of one direction with their shares in percent, which sum to 100.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSplit(Vec<(u64, u32)>);

impl BlockSplit {
    /// One size for every I/O.
    #[must_use]
    pub fn fixed(size_bytes: u64) -> Self {
        Self(vec![(size_bytes, 100)])
    }

    /// The sizes with their shares in percent.
    #[must_use]
    pub fn entries(&self) -> &[(u64, u32)] {
        &self.0
    }

    /// Reads `4k/60:8k/30:64k` as fio's `bssplit` does: entries without a share divide what the
    /// others leave.
    ///
    /// # Errors
    /// Where a size or share is wrong or shares exceed 100.
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
            return Err(fail(format!("the shares in \"{text}\" sum to {given}, not 100")));
        }
        let rest = 100 - given;
        let mut opened = 0;
        let split = entries
            .into_iter()
            .map(|(size, share)| {
                let share = share.unwrap_or_else(|| {
                    opened += 1;
                    // The first of the open ones take what does not divide evenly.
                    rest / open + u32::from(opened <= rest % open)
                });
                (size, share)
            })
            .filter(|(_, share)| *share > 0)
            .collect();
        Ok(Self(split))
    }
}

/// Block sizes of both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSizes {
    /// Sizes of reads.
    pub read: BlockSplit,
    /// Sizes of writes.
    pub write: BlockSplit,
}

fn parse_block_size(text: &str) -> Result<u64, LoadError> {
    let size = parse_size_bytes(text).map_err(|e| LoadError::new("bs", e.to_string()))?;
    if size == 0 || size > LARGEST_BYTES {
        return Err(LoadError::new("bs", format!("\"{text}\" is not from 1 byte to 1 GiB")));
    }
    Ok(size)
}

impl BlockSizes {
    /// The option that asks for them, with its value: `bs=4k,1m` where each direction has one size,
    /// else `bssplit=4k/60:64k/40`.
    #[must_use]
    pub fn as_option(&self) -> (&'static str, String) {
        let fixed = |split: &BlockSplit| match split.entries() {
            [(size, _)] => Some(size_word(*size)),
            _ => None,
        };
        let split = |split: &BlockSplit| {
            let entry = |(size, share): &(u64, u32)| format!("{}/{share}", size_word(*size));
            split.entries().iter().map(entry).collect::<Vec<_>>().join(":")
        };
        let both = |read: String, write: String| {
            if read == write { read } else { format!("{read},{write}") }
        };
        match (fixed(&self.read), fixed(&self.write)) {
            (Some(read), Some(write)) => ("bs", both(read, write)),
            _ => ("bssplit", both(split(&self.read), split(&self.write))),
        }
    }

    /// One size for both directions.
    #[must_use]
    pub fn fixed(size_bytes: u64) -> Self {
        Self { read: BlockSplit::fixed(size_bytes), write: BlockSplit::fixed(size_bytes) }
    }

    /// Reads fio's `bs`: `4k`, or `4k,8k` for reads and writes.
    ///
    /// # Errors
    /// Where a size is wrong.
    pub fn parse_bs(text: &str) -> Result<Self, LoadError> {
        let (read, write) = Self::directions(text);
        let read_bytes = parse_block_size(read)?;
        let write_bytes = if write.is_empty() { read_bytes } else { parse_block_size(write)? };
        Ok(Self { read: BlockSplit::fixed(read_bytes), write: BlockSplit::fixed(write_bytes) })
    }

    /// Reads fio's `bssplit`: `4k/60:64k/40`, or two of them with a comma for reads and writes.
    ///
    /// # Errors
    /// Where a size or share is wrong.
    pub fn parse_bssplit(text: &str) -> Result<Self, LoadError> {
        let (read, write) = Self::directions(text);
        let read = BlockSplit::parse(read)?;
        let write = if write.is_empty() { read.clone() } else { BlockSplit::parse(write)? };
        Ok(Self { read, write })
    }

    fn directions(text: &str) -> (&str, &str) {
        text.split_once(',').map_or((text, ""), |(read, write)| (read, write))
    }

    /// Every size that occurs.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.read.entries().iter().chain(self.write.entries()).map(|(size, _)| *size)
    }

    /// The largest size that occurs.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.sizes().max().unwrap_or(0)
    }

    /// The size offsets are aligned to: the smallest that occurs, as fio's `blockalign` has it.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        self.sizes().min().unwrap_or(1)
    }

    /// The one size of every I/O, where there is only one.
    #[must_use]
    pub fn single(&self) -> Option<u64> {
        let first = self.sizes().next()?;
        self.sizes().all(|size| size == first).then_some(first)
    }
}

impl fmt::Display for BlockSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(size, _)] = self.0.as_slice() {
            return write!(f, "{}", Bytes(*size));
        }
        for (index, (size, share)) in self.0.iter().enumerate() {
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
    fn splits_share_out_what_is_left() {
        let split = BlockSplit::parse("4k/60:8k/:64k").unwrap();
        assert_eq!(split.entries(), &[(4096, 60), (8192, 20), (65536, 20)]);
        let split = BlockSplit::parse("4k:8k:16k").unwrap();
        assert_eq!(split.entries().iter().map(|e| e.1).sum::<u32>(), 100);
        assert!(BlockSplit::parse("4k/60:8k/30").is_err());
        assert!(BlockSplit::parse("4k/60:8k/50").is_err());
        assert!(BlockSplit::parse("4k/x").is_err());
    }

    #[test]
    fn directions_may_differ() {
        let sizes = BlockSizes::parse_bs("4k,64k").unwrap();
        assert_eq!((sizes.largest(), sizes.alignment(), sizes.single()), (65536, 4096, None));
        assert_eq!(BlockSizes::parse_bs("8k").unwrap().single(), Some(8192));
        assert_eq!(sizes.to_string(), "4 KiB,64 KiB");
        assert!(BlockSizes::parse_bs("0").is_err());
        assert!(BlockSizes::parse_bs("2g").is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9kmg/:,. -]{0,24}") {
            let _ = BlockSizes::parse_bs(&text);
            if let Ok(split) = BlockSizes::parse_bssplit(&text) {
                prop_assert_eq!(split.read.entries().iter().map(|e| e.1).sum::<u32>(), 100);
            }
        }
    }
}
