//! Data that a simulated device keeps.

use std::collections::HashMap;

const PAGE_BYTES: u64 = 4096;

/// Data written, by file and 4 KiB page.
#[derive(Debug, Default)]
pub(crate) struct Pages(HashMap<(u32, u64), Box<[u8]>>);

impl Pages {
    /// Keeps written data.
    pub(crate) fn write(&mut self, file: u32, offset_bytes: u64, data: &[u8]) {
        for piece in pieces(offset_bytes, data.len()) {
            let page = self
                .0
                .entry((file, piece.page))
                .or_insert_with(|| vec![0; PAGE_BYTES as usize].into_boxed_slice());
            page[piece.within..piece.within + piece.len]
                .copy_from_slice(&data[piece.at..piece.at + piece.len]);
        }
    }

    /// Reads back written data; zeros where nothing was written.
    pub(crate) fn read(&self, file: u32, offset_bytes: u64, data: &mut [u8]) {
        for piece in pieces(offset_bytes, data.len()) {
            let data = &mut data[piece.at..piece.at + piece.len];
            match self.0.get(&(file, piece.page)) {
                Some(page) => {
                    data.copy_from_slice(&page[piece.within..piece.within + piece.len]);
                }
                None => data.fill(0),
            }
        }
    }
}

/// The part of an I/O that lies in one page.
struct PagePart {
    page: u64,
    /// Offset in the page.
    within: usize,
    /// Offset in the I/O's data.
    at: usize,
    len: usize,
}

/// Splits an I/O at page boundaries.
fn pieces(offset_bytes: u64, len: usize) -> impl Iterator<Item = PagePart> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < len).then(|| {
            let from = offset_bytes + at as u64;
            let within = (from % PAGE_BYTES) as usize;
            let piece_len = (PAGE_BYTES as usize - within).min(len - at);
            let piece = PagePart { page: from / PAGE_BYTES, within, at, len: piece_len };
            at += piece_len;
            piece
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn simulated_pages_return_written_data(
            writes in prop::collection::vec((0usize..20_000, 1usize..9_000, 1u8..), 1..12),
            (from, len) in (0usize..20_000, 1usize..9_000),
        ) {
            let mut flat = vec![0; 40_000];
            let mut pages = Pages::default();
            for (from, len, byte) in writes {
                flat[from..from + len].fill(byte);
                pages.write(0, from as u64, &vec![byte; len]);
                pages.write(1, from as u64, &vec![!byte; len]);
            }
            let mut back = vec![0xee; len];
            pages.read(0, from as u64, &mut back);
            prop_assert_eq!(&back[..], &flat[from..from + len]);
        }
    }
}
