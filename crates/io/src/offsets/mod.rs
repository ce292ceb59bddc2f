//! Offsets of I/Os: every pattern, over one or several parts of a target.

mod ios_per_offset;
mod permutation;
mod random_map;
mod skewed;

pub use permutation::Permutation;
pub(crate) use permutation::mix64;
pub use skewed::{Normal, Pareto, Zipf};
pub(crate) use skewed::{below, unit};

use iogauge_model::load::{Distribution, Load, Modifier};
use iogauge_model::units::Bytes;
use ios_per_offset::Bursts;
use rand_core::Rng;
use random_map::RandomMap;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The range of one part of the target that a load may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte, from the start of the file or device.
    pub base_bytes: u64,
    pub size_bytes: u64,
}

/// Why there is no room for a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OffsetError {
    #[error(
        "no block of {block_bytes} bytes fits in the {size_bytes} bytes of the target after offset \
         {offset_bytes}; hint: use a larger --size, or a smaller --bs or --offset"
    )]
    NoRoom { size_bytes: u64, offset_bytes: u64, block_bytes: u64 },
    #[error(
        "visiting each of {blocks} blocks once with I/Os of several sizes takes {} of memory, more than {}; hint: use \
         norandommap=1, or a smaller --size",
        Bytes(blocks / 8),
        Bytes(MOST_MAPPED_BLOCKS / 8)
    )]
    TooManyBlocks { blocks: u64 },
}

/// Maximum number of blocks of a random map, which then takes 1 GiB.
const MOST_MAPPED_BLOCKS: u64 = 1 << 33;

/// Positions shared by the workers of one job: the sequential position of each direction, and the progress of a
/// coverage pass.
#[derive(Debug, Default)]
pub struct SharedPosition {
    read: AtomicU64,
    write: AtomicU64,
    covered: AtomicU64,
    random_map: OnceLock<Arc<RandomMap>>,
}

/// Place of one I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPlace {
    /// Index of the target's part, from 0.
    pub part: u32,
    /// Byte offset in the file or device of that part.
    pub offset_bytes: u64,
    /// Size of the I/O. Less than requested only in a coverage pass over blocks of several sizes, where as much is
    /// used as the pass has not visited.
    pub len_bytes: u64,
}

/// How block numbers are chosen.
#[derive(Debug)]
enum Order {
    Sequential {
        lane: Lane,
    },
    /// Sequential, but skips this many blocks after each I/O. A negative number goes back.
    Skipping {
        lane: Lane,
        skip: i64,
    },
    Bursts(Box<Bursts>),
    Uniform,
    Covering {
        permutation: Permutation,
        passes_key: u64,
    },
    /// Covers the range with I/Os of several sizes: each uses only blocks that the pass has not visited.
    CoveringSizes(Arc<RandomMap>),
    Zipf {
        ranks: Zipf,
        scatter: Permutation,
    },
    Pareto {
        ranks: Pareto,
        scatter: Permutation,
    },
    Normal(Normal),
    Zoned(Vec<ZoneBlocks>),
}

/// The range of blocks that one sequential stream covers.
#[derive(Debug, Clone, Copy)]
struct Lane {
    first: u64,
    blocks: u64,
}

/// Order of a sequential stream over several parts: row by row, a row being one block of each part that is long enough.
#[derive(Debug)]
struct Stripes {
    /// Numbers of the parts, the longest first.
    parts: Vec<usize>,
    /// The rows of equal length together.
    bands: Vec<Band>,
}

/// Rows of equal length.
#[derive(Debug)]
struct Band {
    /// Number of its first block in the order of the stream.
    first: u64,
    first_row: u64,
    /// Number of parts that are long enough.
    parts: u64,
}

#[derive(Debug)]
struct ZoneBlocks {
    /// Draws from 0..1 below this go here, unless they are below that of the previous zone.
    access_below: f64,
    first: u64,
    blocks: u64,
}

/// Draws places for one worker. Offsets are multiples of the alignment from the start of each part. By default, the
/// alignment is the smallest block size. No I/O extends beyond the end of its part.
#[derive(Debug)]
pub struct OffsetSource {
    parts: Vec<Extent>,
    /// Number of aligned offsets in each part at which the smallest I/O fits. The code calls these blocks. They are
    /// blocks if the smallest I/O is as large as the alignment.
    part_blocks: Vec<u64>,
    /// First block number of each part, then the total number of blocks.
    first_block: Vec<u64>,
    alignment_bytes: u64,
    /// Size of the smallest I/O; for sequential streams, the alignment.
    least_bytes: u64,
    blocks: u64,
    /// For sequential streams over several parts, which take turns at them, so that several devices work as one.
    stripes: Option<Stripes>,
    order: Order,
    position: Arc<SharedPosition>,
}

impl OffsetSource {
    /// Creates a source for a worker of stream `stream` of the load's `numjobs`. The workers of a stream share
    /// `position`. `parts` are the whole parts; the load's own offset and size narrow them.
    ///
    /// # Errors
    /// If the stream's range of the target contains no block, or too many for a random map.
    pub fn new(
        load: &Load,
        parts: &[Extent],
        stream: u32,
        position: Arc<SharedPosition>,
    ) -> Result<Self, OffsetError> {
        let parts = narrow(load, parts, stream)?;
        let (alignment_bytes, least_bytes) = grid(load, parts.len());
        let skips = matches!(load.modifier, Modifier::Skip(_));
        let striped = !load.rw.is_random() && parts.len() > 1 && !skips;
        let positions = |part: &Extent| (part.size_bytes - least_bytes) / alignment_bytes + 1;
        let part_blocks: Vec<u64> = parts.iter().map(positions).collect();
        let mut first_block = vec![0];
        for blocks in &part_blocks {
            let last = first_block.last().copied().unwrap_or(0);
            first_block.push(last + blocks);
        }
        let stripes = striped.then(|| Stripes::of(&part_blocks));
        let blocks = first_block.last().copied().unwrap_or(0);
        let order = order(load, blocks, alignment_bytes, stream, &position)?;
        Ok(Self {
            parts,
            part_blocks,
            first_block,
            alignment_bytes,
            least_bytes,
            blocks,
            stripes,
            order,
            position,
        })
    }

    /// Returns the size of the range of all parts, in bytes.
    #[must_use]
    pub fn range_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.size_bytes).sum()
    }

    /// Returns the place of the next I/O of `len` bytes.
    #[inline(always)]
    pub fn next(&mut self, random: &mut impl Rng, len: u64, write: bool) -> IoPlace {
        // With a single block size, the usual case, no division is needed. It would cost as much as the draw.
        let span = if len == self.least_bytes {
            1
        } else {
            1 + (len - self.least_bytes).div_ceil(self.alignment_bytes)
        };
        let block = match &self.order {
            Order::Uniform => below(random, self.blocks),
            Order::Sequential { lane } => {
                let cursor = if write { &self.position.write } else { &self.position.read };
                lane.first + next_in_lane(cursor, lane.blocks, span)
            }
            Order::CoveringSizes(map) => return self.unvisited(map, random, len, span),
            other => self.draw(other, random, span, write),
        };
        self.place(block, span, len)
    }

    /// Returns the place of an I/O in a coverage pass with several sizes: as in fio, at a random block or, if the pass
    /// has visited that, at the next one that it has not.
    #[inline(never)]
    fn unvisited(&self, map: &RandomMap, random: &mut impl Rng, len: u64, span: u64) -> IoPlace {
        loop {
            // An I/O visits a block at least, so a pass has at most as many I/Os as blocks.
            let pass = self.position.covered.fetch_add(1, Ordering::Relaxed) / self.blocks;
            let Some(block) = map.unvisited(below(random, self.blocks), pass) else {
                let next_pass = (pass + 1) * self.blocks;
                self.position.covered.fetch_max(next_pass, Ordering::Relaxed);
                continue;
            };
            let end = self.first_block[self.part_of(block) + 1];
            let visited = map.visit(block, span.min(end - block), pass);
            if visited > 0 {
                let whole = visited == span;
                let len = if whole { len } else { visited * self.alignment_bytes };
                return self.place(block, 1, len);
            }
        }
    }

    #[inline(never)]
    fn draw(&self, order: &Order, random: &mut impl Rng, span: u64, write: bool) -> u64 {
        match order {
            Order::Bursts(bursts) => bursts
                .next(span, write, self.blocks, |starts| self.draw(starts, random, span, write)),
            Order::Skipping { lane, skip } => {
                let cursor = if write { &self.position.write } else { &self.position.read };
                next_skipping(cursor, *lane, *skip, span)
            }
            Order::Covering { permutation, passes_key } => {
                let index = self.position.covered.fetch_add(1, Ordering::Relaxed);
                let (pass, index) = (index / self.blocks, index % self.blocks);
                if pass == 0 {
                    permutation.apply(index)
                } else {
                    // Each further pass has another order; a rotation keeps it a bijection.
                    let shift = mix64(passes_key ^ pass) % self.blocks;
                    permutation.apply(
                        ((u128::from(index) + u128::from(shift)) % u128::from(self.blocks)) as u64,
                    )
                }
            }
            Order::Zipf { ranks, scatter } => scatter.apply(ranks.rank(random)),
            Order::Pareto { ranks, scatter } => scatter.apply(ranks.rank(random)),
            Order::Normal(normal) => normal.position(random),
            Order::Zoned(zones) => {
                let draw = unit(random);
                let zone = zones.iter().find(|z| draw < z.access_below).or(zones.last());
                zone.map_or(0, |z| z.first + below(random, z.blocks))
            }
            Order::Uniform | Order::Sequential { .. } | Order::CoveringSizes(_) => {
                below(random, self.blocks)
            }
        }
    }

    #[inline(always)]
    fn place(&self, block: u64, span: u64, len_bytes: u64) -> IoPlace {
        let (part, block) = if self.parts.len() == 1 {
            (0, block)
        } else if let Some(stripes) = &self.stripes {
            stripes.place(block)
        } else {
            let part = self.part_of(block);
            (part, block - self.first_block[part])
        };
        let extent = &self.parts[part];
        let last = self.part_blocks[part].saturating_sub(span);
        IoPlace {
            part: part as u32,
            offset_bytes: extent.base_bytes + block.min(last) * self.alignment_bytes,
            len_bytes,
        }
    }

    fn part_of(&self, block: u64) -> usize {
        self.first_block.partition_point(|first| *first <= block) - 1
    }

    /// Returns the number of parts.
    #[must_use]
    pub fn parts(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Returns the number of aligned blocks that the source covers.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }
}

impl Stripes {
    /// Returns the order of parts with these numbers of blocks.
    fn of(part_blocks: &[u64]) -> Self {
        let mut parts: Vec<usize> = (0..part_blocks.len()).collect();
        parts.sort_by_key(|part| Reverse(part_blocks[*part]));
        let (mut first, mut first_row) = (0, 0);
        let mut bands = Vec::new();
        for number in (0..parts.len()).rev() {
            let end_row = part_blocks[parts[number]];
            if end_row > first_row {
                let count = number as u64 + 1;
                bands.push(Band { first, first_row, parts: count });
                first += (end_row - first_row) * count;
                first_row = end_row;
            }
        }
        Self { parts, bands }
    }

    /// Returns the part with a block of the stream, and the block's number there.
    fn place(&self, block: u64) -> (usize, u64) {
        let band = &self.bands[self.bands.partition_point(|band| band.first <= block) - 1];
        let within = block - band.first;
        (self.parts[(within % band.parts) as usize], band.first_row + within / band.parts)
    }
}

/// Advances a sequential position by `span` blocks. Wraps around if the rest is too short.
#[inline(always)]
fn next_in_lane(cursor: &AtomicU64, blocks: u64, span: u64) -> u64 {
    let position = cursor.fetch_add(span, Ordering::Relaxed);
    let usable = blocks - blocks % span;
    if usable == 0 { 0 } else { position % usable }
}

/// Advances a sequential position by a block of `span` and the blocks skipped after it. Wraps around at the end.
fn next_skipping(cursor: &AtomicU64, lane: Lane, skip: i64, span: u64) -> u64 {
    let stride = skip.saturating_add_unsigned(span);
    let last = lane.blocks.saturating_sub(span);
    let position = match stride.unsigned_abs() {
        0 => 0,
        step => {
            let passed = cursor.fetch_add(step, Ordering::Relaxed);
            (passed % ((last / step + 1) * step)).min(last)
        }
    };
    lane.first + if stride < 0 { last - position } else { position }
}

/// Returns the alignment of offsets, and the smallest size of an I/O.
fn grid(load: &Load, parts: usize) -> (u64, u64) {
    let least = load.block.alignment();
    if load.rw.is_random() {
        return (load.blockalign_bytes.unwrap_or(least), least);
    }
    let step = match load.modifier {
        Modifier::Skip(bytes) => common_divisor(least, bytes.unsigned_abs()),
        // A stream over several parts alternates between them block by block; single bytes would be too small for that.
        _ if load.block.is_unaligned() && parts == 1 => 1,
        _ => least,
    };
    (step, step)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Returns the range of each part that a stream may access.
fn narrow(load: &Load, parts: &[Extent], stream: u32) -> Result<Vec<Extent>, OffsetError> {
    let block_bytes = load.block.largest();
    let increment = load.offset_increment_bytes.unwrap_or(0);
    let offset_bytes = load.offset_bytes + increment * u64::from(stream);
    parts
        .iter()
        .map(|part| {
            let left = part.size_bytes.saturating_sub(offset_bytes);
            let size_bytes = load.size_bytes.map_or(left, |size| size.min(left));
            if size_bytes < block_bytes {
                return Err(OffsetError::NoRoom { size_bytes, offset_bytes, block_bytes });
            }
            Ok(Extent { base_bytes: part.base_bytes + offset_bytes, size_bytes })
        })
        .collect()
}

fn order(
    load: &Load,
    blocks: u64,
    alignment_bytes: u64,
    stream: u32,
    position: &SharedPosition,
) -> Result<Order, OffsetError> {
    // Streams with their own offsets share no range.
    let apart = load.offset_increment_bytes.is_some();
    if !load.rw.is_random() {
        let largest_span = load.block.largest().div_ceil(alignment_bytes).max(1);
        // Each stream has its own range, unless the target is too small for that.
        let share = blocks / u64::from(load.numjobs.max(1));
        let lane = if share >= largest_span && !apart {
            Lane { first: share * u64::from(stream), blocks: share }
        } else {
            Lane { first: 0, blocks }
        };
        return Ok(match load.modifier {
            Modifier::Skip(bytes) => Order::Skipping { lane, skip: bytes / alignment_bytes as i64 },
            _ => Order::Sequential { lane },
        });
    }
    // Workers of one pass agree on its order. A stream with its own offset has its own pass.
    let own_order = if apart { u64::from(stream) << 32 } else { 0 };
    let scatter = || Permutation::new(blocks, load.seed ^ 0x5ca7_7e12);
    let starts = match &load.distribution {
        Distribution::Uniform if load.coverage => {
            let key = load.seed ^ own_order;
            covering(load, blocks, alignment_bytes, key, position)?
        }
        Distribution::Uniform => Order::Uniform,
        Distribution::Zipf(theta) => {
            Order::Zipf { ranks: Zipf::new(blocks, *theta), scatter: scatter() }
        }
        Distribution::Pareto(shape) => {
            Order::Pareto { ranks: Pareto::new(blocks, *shape), scatter: scatter() }
        }
        Distribution::Normal(percent) => Order::Normal(Normal::new(blocks, *percent)),
        Distribution::Zoned(zones) => {
            let (mut access, mut size) = (0.0, 0.0);
            let zones = zones
                .iter()
                .map(|zone| {
                    let first = (blocks as f64 * size / 100.0) as u64;
                    access += zone.access_percent;
                    size += zone.size_percent;
                    let end = ((blocks as f64 * size / 100.0).round() as u64).min(blocks);
                    ZoneBlocks {
                        access_below: access / 100.0,
                        first: first.min(blocks - 1),
                        blocks: end.saturating_sub(first).max(1),
                    }
                })
                .collect();
            Order::Zoned(zones)
        }
    };
    Ok(Bursts::wrap(starts, load.modifier))
}

/// Returns the order of coverage passes. Workers with the same `key` and `position` share them.
fn covering(
    load: &Load,
    blocks: u64,
    alignment_bytes: u64,
    key: u64,
    position: &SharedPosition,
) -> Result<Order, OffsetError> {
    // With another alignment, or any size, I/Os overlap or leave gaps; there are no blocks to visit once.
    let has_blocks = alignment_bytes == load.block.alignment()
        && !load.block.is_unaligned()
        && load.modifier == Modifier::None;
    if load.block.single().is_some() || !has_blocks {
        let permutation = Permutation::new(blocks, key ^ 0x0c0f_fee5);
        return Ok(Order::Covering { permutation, passes_key: key });
    }
    if blocks > MOST_MAPPED_BLOCKS {
        return Err(OffsetError::TooManyBlocks { blocks });
    }
    let map = position.random_map.get_or_init(|| Arc::new(RandomMap::new(blocks)));
    Ok(Order::CoveringSizes(map.clone()))
}

#[cfg(test)]
mod tests;
