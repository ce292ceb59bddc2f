//! The first block of a test file: its identity, its size, and how much of it is prefilled.

use super::error::TargetError;
use rustix::rand::{GetRandomFlags, getrandom};
use std::path::Path;

const MAGIC: &[u8; 16] = b"iogauge testfile";
const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 4096;
/// Bytes covered by the checksum, which follows them.
const FIELDS_BYTES: usize = 56;

/// State of a test file, stored in its first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Random identity, repeated in the attribute or side file.
    pub id: u128,
    /// Number of bytes available to workloads, after [`super::BASE_BYTES`].
    pub size_bytes: u64,
    /// Number of these bytes, from the first, that a prefill has written.
    pub prefilled_bytes: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut block = [0; HEADER_BYTES];
        block[..16].copy_from_slice(MAGIC);
        block[16..20].copy_from_slice(&VERSION.to_le_bytes());
        block[24..40].copy_from_slice(&self.id.to_le_bytes());
        block[40..48].copy_from_slice(&self.size_bytes.to_le_bytes());
        block[48..56].copy_from_slice(&self.prefilled_bytes.to_le_bytes());
        let checksum = fnv1a(&block[..FIELDS_BYTES]);
        block[56..64].copy_from_slice(&checksum.to_le_bytes());
        block
    }

    /// Decodes the header in a block; `None` if there is none, or if it is torn or has another version.
    pub(super) fn decode(block: &[u8]) -> Option<Self> {
        let fields = block.get(..FIELDS_BYTES)?;
        let checksum = fnv1a(fields).to_le_bytes();
        let sound = fields.starts_with(MAGIC)
            && fields[16..20] == VERSION.to_le_bytes()
            && *block.get(56..64)? == checksum;
        if !sound {
            return None;
        }
        let header = Self {
            id: u128::from_le_bytes(fields[24..40].try_into().ok()?),
            size_bytes: u64::from_le_bytes(fields[40..48].try_into().ok()?),
            prefilled_bytes: u64::from_le_bytes(fields[48..56].try_into().ok()?),
        };
        (header.prefilled_bytes <= header.size_bytes).then_some(header)
    }

    /// Returns the header of a new file with `size_bytes` usable bytes and a new identity.
    ///
    /// # Errors
    /// Fails if the machine provides no random numbers.
    pub(super) fn new(size_bytes: u64) -> Result<Self, TargetError> {
        Ok(Self { id: random_id()?, size_bytes, prefilled_bytes: 0 })
    }

    /// Returns the content of the attribute or side file that belongs to this header.
    pub(super) fn seal(&self) -> String {
        format!("iogauge {VERSION} {:032x}", self.id)
    }
}

/// FNV-1a, 64 bits. Only used to detect torn headers.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

pub(super) fn random_id() -> Result<u128, TargetError> {
    let mut bytes = [0; 16];
    // Up to 256 bytes are always returned at once; see getrandom(2).
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|errno| TargetError::io(Path::new("getrandom"), "call it", errno))?;
    Ok(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn test_file_headers_round_trip(id: u128, size: u64, part in 0u64..=100) {
            let prefilled_bytes = (u128::from(size) * u128::from(part) / 100) as u64;
            let header = Header { id, size_bytes: size, prefilled_bytes };
            prop_assert_eq!(Header::decode(&header.encode()), Some(header));
        }

        #[test]
        fn flipped_bit_in_test_file_header_is_detected(id: u128, bit in 0usize..512) {
            let header = Header { id, size_bytes: 1 << 30, prefilled_bytes: 1 << 20 };
            let mut block = header.encode();
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Header::decode(&block), None);
        }

        #[test]
        fn decoding_test_file_header_never_panics(block in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut with_magic = MAGIC.to_vec();
            with_magic.extend(&block);
            let _ = Header::decode(&block);
            let _ = Header::decode(&with_magic);
        }
    }
}
