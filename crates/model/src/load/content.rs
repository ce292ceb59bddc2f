//! What is written: fio's `buffer_compress_percentage` and `dedupe_percentage`.

use super::LoadError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the data of writes is like. By default it neither compresses nor repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Content {
    /// Share of each chunk that is zeros, behind random data, in percent.
    pub compress_percent: u32,
    /// Length of a chunk in bytes: fio's `buffer_compress_chunk`; 0 for the whole block.
    pub compress_chunk_bytes: u32,
    /// Share of the writes whose data repeats that of the last write whose data was new, in percent.
    pub dedupe_percent: u32,
}

impl Default for Content {
    fn default() -> Self {
        Self { compress_percent: 0, compress_chunk_bytes: 512, dedupe_percent: 0 }
    }
}

impl Content {
    /// True where data neither compresses nor repeats.
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
