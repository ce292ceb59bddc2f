//! The format of `mupip load -format=binary`: records in blocks as in the tree, which load several times faster than
//! text.
//!
//! A file consists of a head (two parts) and blocks. Each part and each block is preceded by its length in two bytes. A
//! block consists of records: the record length and the number of key bytes shared with the previous record, in two
//! bytes each; the rest of the key; the value. Numbers are little-endian.

use crate::error::DbError;

/// Maximum content of a block, in bytes.
const BLOCK_BYTES: usize = 8150;
/// Size of a record's head, in bytes.
const RECORD_HEAD: usize = 4;

/// Builds blocks from the records of one global.
#[derive(Debug)]
pub struct Extract {
    name: Vec<u8>,
    done: Vec<u8>,
    block: Vec<u8>,
    key: Vec<u8>,
    last_key: Vec<u8>,
}

impl Extract {
    /// Creates an empty extract for a global with this name.
    pub fn new(name: &str) -> Self {
        let mut bytes = name.as_bytes().to_vec();
        bytes.push(0);
        let (done, block) = (Vec::with_capacity(1 << 17), Vec::with_capacity(BLOCK_BYTES));
        Self { name: bytes, done, block, key: Vec::new(), last_key: Vec::new() }
    }

    /// Adds a record. Subscripts must be in ascending order.
    pub fn push(&mut self, subscript: u64, value: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(&self.name);
        number(subscript, &mut self.key);
        self.key.extend_from_slice(&[0, 0]);
        if self.block.len() + RECORD_HEAD + self.key.len() + value.len() > BLOCK_BYTES {
            self.end_block();
        }
        // The first record of a block has its complete key.
        let same = if self.block.is_empty() {
            0
        } else {
            self.key.iter().zip(&self.last_key).take_while(|(a, b)| a == b).count()
        };
        let rest = &self.key[same..];
        let length = RECORD_HEAD + rest.len() + value.len();
        self.block.extend_from_slice(&(length as u16).to_le_bytes());
        self.block.extend_from_slice(&(same as u16).to_le_bytes());
        self.block.extend_from_slice(rest);
        self.block.extend_from_slice(value);
        std::mem::swap(&mut self.key, &mut self.last_key);
    }

    /// Ends the current block.
    pub fn end_block(&mut self) {
        if !self.block.is_empty() {
            self.done.extend_from_slice(&(self.block.len() as u16).to_le_bytes());
            self.done.append(&mut self.block);
        }
    }

    /// Returns the complete blocks, which the caller may take.
    pub fn done(&mut self) -> &mut Vec<u8> {
        &mut self.done
    }
}

/// Appends a whole number as a subscript of a key: the exponent, then two digits per byte, plus one so that no byte is
/// zero. Trailing zeros are omitted.
fn number(value: u64, key: &mut Vec<u8>) {
    let mut digits = [0u8; 22];
    let mut count = 0;
    let mut rest = value;
    while rest > 0 {
        digits[count] = (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    if count == 0 {
        key.push(0x80);
        return;
    }
    key.push(0xbe + count as u8);
    digits[..count].reverse();
    let zeros = digits[..count].iter().rev().take_while(|digit| **digit == 0).count();
    for pair in digits[..(count - zeros).next_multiple_of(2)].chunks(2) {
        key.push((pair[0] << 4 | pair[1]) + 1);
    }
}

/// Records of the sample that [`head`] uses to check the format.
pub const SAMPLE: [(u64, &str); 5] =
    [(1, "a"), (12, "bc"), (100, ""), (100_001, "d"), (1_234_567_890, "e")];

/// Returns the head of an extract of [`SAMPLE`] written by GT.M. The rest must equal what this module writes.
///
/// # Errors
/// Fails if this GT.M writes another format.
pub fn head(sample: &[u8], name: &str) -> Result<Vec<u8>, DbError> {
    let mut at = 0;
    for _ in 0..2 {
        let length =
            sample.get(at..at + 2).map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])));
        at += 2 + length;
    }
    let mut ours = Extract::new(name);
    for (subscript, value) in SAMPLE {
        ours.push(subscript, value.as_bytes());
    }
    ours.end_block();
    match sample.split_at_checked(at) {
        Some((head, blocks)) if blocks == ours.done().as_slice() => Ok(head.to_vec()),
        _ => Err(DbError::Failed(
            "this GT.M writes its binary extracts in another form; hint: use GT.M V7".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_gtm_subscripts() {
        let expected: [(u64, &[u8]); 8] = [
            (1, &[0xbf, 0x11]),
            (10, &[0xc0, 0x11]),
            (99, &[0xc0, 0x9a]),
            (123, &[0xc1, 0x13, 0x31]),
            (1_001, &[0xc2, 0x11, 0x02]),
            (120_000, &[0xc4, 0x13]),
            (100_001, &[0xc4, 0x11, 0x01, 0x02]),
            (1_234_567, &[0xc5, 0x13, 0x35, 0x57, 0x71]),
        ];
        for (value, bytes) in expected {
            let mut key = Vec::new();
            number(value, &mut key);
            assert_eq!(key, bytes, "{value}");
        }
    }

    #[test]
    fn unknown_extract_formats_are_rejected() {
        for sample in [&b""[..], &[4, 0, 1, 2], &[0; 200]] {
            assert!(head(sample, "RanFiller").is_err());
        }
    }
}
