//! Identifies a file by its bytes.

use crate::history::Content;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use xxhash_rust::xxh3::Xxh3;

/// Hashes bytes while they are read: XXH3 (128 bits), and the length. Resistance against deliberate collisions is
/// not needed.
pub(super) struct Fingerprint<'a, R> {
    input: R,
    hash: Xxh3,
    length: u64,
    /// True if the rest is no longer wanted.
    ends: &'a Cell<bool>,
}

impl<'a, R> Fingerprint<'a, R> {
    pub(super) fn new(input: R, ends: &'a Cell<bool>) -> Self {
        Self { input, hash: Xxh3::new(), length: 0, ends }
    }

    pub(super) fn content(&self) -> Content {
        let hash = format!("xxh3-128:{:032x}", self.hash.digest128());
        Content { hash, length: self.length }
    }
}

impl<R: Read> Read for Fingerprint<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ends.get() {
            return Ok(0);
        }
        let taken = self.input.read(buffer)?;
        self.hash.update(&buffer[..taken]);
        self.length += taken as u64;
        Ok(taken)
    }
}

/// Identifies a file's bytes, and rewinds the file.
pub(super) fn content_of(mut file: &File) -> io::Result<Content> {
    let ends = Cell::new(false);
    let mut input = Fingerprint::new(file, &ends);
    let mut buffer = vec![0; super::BUFFER_BYTES];
    while input.read(&mut buffer)? > 0 {}
    let content = input.content();
    io::Seek::rewind(&mut file)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_matches_xxh3_128_of_the_content() {
        let of = |bytes: &[u8]| {
            let ends = Cell::new(false);
            let mut input = Fingerprint::new(bytes, &ends);
            io::copy(&mut input, &mut io::sink()).unwrap();
            input.content().whole()
        };
        // The value that xxhsum -H2 prints.
        assert_eq!(of(b""), "xxh3-128:99aa06d3014798d86001c324468d497f:0");
        assert_ne!(of(b"ab"), of(b"ba"));
    }
}
