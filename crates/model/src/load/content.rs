//! The data of writes: fio's `buffer_compress_percentage` and `dedupe_percentage`.

use super::LoadError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The data of writes. By default it neither compresses nor repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Content {
    /// Percentage of each chunk that is zeros, or the pattern of `buffer_pattern`, after random data.
    pub compress_percent: u32,
    /// Length of a chunk in bytes, fio's `buffer_compress_chunk`. 0 for the whole block.
    pub compress_chunk_bytes: u32,
    /// Percentage of writes that repeat the data of the last write with new data.
    pub dedupe_percent: u32,
}

impl Default for Content {
    fn default() -> Self {
        Self { compress_percent: 0, compress_chunk_bytes: 512, dedupe_percent: 0 }
    }
}

impl Content {
    /// True if the data neither compresses nor repeats.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.compress_percent == 0 && self.dedupe_percent == 0
    }

    pub(super) fn check(&self) -> Result<(), LoadError> {
        for (option, percent) in [
            ("buffer_compress_percentage", self.compress_percent),
            ("dedupe_percentage", self.dedupe_percent),
        ] {
            if percent > 100 {
                return Err(LoadError::new(option, format!("{percent} is over 100")));
            }
        }
        Ok(())
    }
}
