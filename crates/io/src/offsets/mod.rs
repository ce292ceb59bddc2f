//! Where the next I/O goes: offsets of every pattern over one or several parts of a target.

mod permutation;
mod skewed;

pub use permutation::Permutation;
pub(crate) use permutation::mix64;
pub use skewed::{Normal, Pareto, Zipf};
pub(crate) use skewed::{below, unit};

use iogauge_model::load::{Distribution, Load};
use rand_core::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stretch of one part of the target that a load may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte, from the beginning of the file or device.
    pub base_bytes: u64,
    /// Length.
    pub size_bytes: u64,
}

/// Why a load has nowhere to go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OffsetError {
    /// The target, or the part of it the load may touch, holds not even one block.
    #[error(
        "the target has {size_bytes} bytes from offset {offset_bytes} and the block size is \
         {block_bytes}; right would be a larger --size or a smaller --bs"
    )]
    NoRoom {
        /// Bytes there are.
        size_bytes: u64,
        /// Where the load begins.
        offset_bytes: u64,
        /// Largest block.
        block_bytes: u64,
    },
}

/// Positions that workers of one job share: the sequential position of each direction, and how far
/// a coverage pass has come.
#[derive(Debug, Default)]
pub struct SharedPosition {
    read: AtomicU64,
    write: AtomicU64,
    covered: AtomicU64,
}

/// Place of one I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Part of the target, from 0.
    pub part: u32,
    /// Byte offset in that part's file or device.
    pub offset_bytes: u64,
}

/// How block numbers are chosen.
#[derive(Debug)]
enum Order {
    Sequential { lane: Lane },
    Uniform,
    Covering { permutation: Permutation, passes_key: u64 },
    Zipf { ranks: Zipf, scatter: Permutation },
    Pareto { ranks: Pareto, scatter: Permutation },
    Normal(Normal),
    Zoned(Vec<ZoneBlocks>),
}

/// The stretch of blocks one sequential stream runs through.
#[derive(Debug, Clone, Copy)]
struct Lane {
    first: u64,
    blocks: u64,
}

#[derive(Debug)]
struct ZoneBlocks {
    /// Draws below this (of 0..1) that lie above the zone before's go here.
    access_below: f64,
    first: u64,
    blocks: u64,
}

/// Draws places for one worker. Offsets are multiples of the alignment (the smallest block size)
/// from the beginning of each part, and no I/O reaches beyond the end of its part.
#[derive(Debug)]
pub struct OffsetSource {
    parts: Vec<Extent>,
    /// Whole blocks of each part.
    part_blocks: Vec<u64>,
    /// First block number of each part, and the total behind the last.
    first_block: Vec<u64>,
    alignment_bytes: u64,
    blocks: u64,
    /// Sequential streams go round the parts, so that several devices work as one.
    striped: bool,
    order: Order,
    position: Arc<SharedPosition>,
}

impl OffsetSource {
    /// A source for a worker of stream `stream` of the load's `numjobs`; workers of one stream share
    /// `position`. `parts` are the whole parts; the load's own offset and size narrow them.
    ///
    /// # Errors
    /// Where the stream's stretch of the target holds no block.
    pub fn new(
        load: &Load,
        parts: &[Extent],
        stream: u32,
        position: Arc<SharedPosition>,
    ) -> Result<Self, OffsetError> {
        let alignment_bytes = load.block.alignment();
        let parts = narrow(load, parts, stream)?;
        let striped = !load.rw.is_random() && parts.len() > 1;
        let part_blocks: Vec<u64> = parts.iter().map(|p| p.size_bytes / alignment_bytes).collect();
        let mut first_block = vec![0];
        for blocks in &part_blocks {
            let last = first_block.last().copied().unwrap_or(0);
            first_block.push(last + blocks);
        }
        let blocks = if striped {
            part_blocks.iter().min().copied().unwrap_or(0) * parts.len() as u64
        } else {
            first_block.last().copied().unwrap_or(0)
        };
        let order = order(load, blocks, stream);
        Ok(Self {
            parts,
            part_blocks,
            first_block,
            alignment_bytes,
            blocks,
            striped,
            order,
            position,
        })
    }

    /// The place of the next I/O of `len` bytes.
    #[inline(always)]
    pub fn next(&mut self, random: &mut impl Rng, len: u64, write: bool) -> Place {
        // The usual single block size needs no division, which would cost as much as the draw.
        let span = if len == self.alignment_bytes { 1 } else { len.div_ceil(self.alignment_bytes) };
        let block = match &self.order {
            Order::Uniform => below(random, self.blocks),
            Order::Sequential { lane } => {
                let cursor = if write { &self.position.write } else { &self.position.read };
                lane.first + next_in_lane(cursor, lane.blocks, span)
            }
            other => self.draw(other, random),
        };
        self.place(block, span)
    }

    #[inline(never)]
    fn draw(&self, order: &Order, random: &mut impl Rng) -> u64 {
        match order {
            Order::Covering { permutation, passes_key } => {
                let index = self.position.covered.fetch_add(1, Ordering::Relaxed);
                let (pass, index) = (index / self.blocks, index % self.blocks);
                if pass == 0 {
                    permutation.apply(index)
                } else {
                    // Another pass takes another order; a rotation keeps it a bijection.
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
            Order::Uniform | Order::Sequential { .. } => below(random, self.blocks),
        }
    }

    #[inline(always)]
    fn place(&self, block: u64, span: u64) -> Place {
        let (part, block) = if self.parts.len() == 1 {
            (0, block)
        } else if self.striped {
            let count = self.parts.len() as u64;
            ((block % count) as usize, block / count)
        } else {
            let part = self.first_block.partition_point(|first| *first <= block) - 1;
            (part, block - self.first_block[part])
        };
        let extent = &self.parts[part];
        let last = self.part_blocks[part].saturating_sub(span);
        Place {
            part: part as u32,
            offset_bytes: extent.base_bytes + block.min(last) * self.alignment_bytes,
        }
    }

    /// Number of parts.
    #[must_use]
    pub fn parts(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Number of aligned blocks the source covers.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }
}

/// Moves a sequential position on by `span` blocks and wraps where the rest is too short.
#[inline(always)]
fn next_in_lane(cursor: &AtomicU64, blocks: u64, span: u64) -> u64 {
    let position = cursor.fetch_add(span, Ordering::Relaxed);
    let usable = blocks - blocks % span;
    if usable == 0 { 0 } else { position % usable }
}

/// The stretch of each part that a stream may touch.
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

fn order(load: &Load, blocks: u64, stream: u32) -> Order {
    // Streams with offsets of their own have nothing to share out.
    let apart = load.offset_increment_bytes.is_some();
    if !load.rw.is_random() {
        let largest_span = load.block.largest().div_ceil(load.block.alignment()).max(1);
        // Each stream has a stretch of its own, unless the target is too small to share out.
        let share = blocks / u64::from(load.numjobs.max(1));
        let lane = if share >= largest_span && !apart {
            Lane { first: share * u64::from(stream), blocks: share }
        } else {
            Lane { first: 0, blocks }
        };
        return Order::Sequential { lane };
    }
    // Workers of one pass agree on its order; each stream apart has a pass of its own.
    let own_order = if apart { u64::from(stream) << 32 } else { 0 };
    let scatter = || Permutation::new(blocks, load.seed ^ 0x5ca7_7e12);
    match &load.distribution {
        Distribution::Uniform if load.coverage => Order::Covering {
            permutation: Permutation::new(blocks, load.seed ^ 0x0c0f_fee5 ^ own_order),
            passes_key: load.seed ^ own_order,
        },
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{BlockSizes, Pattern};
    use proptest::prelude::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::collections::HashSet;

    fn source(load: &Load, parts: &[Extent]) -> OffsetSource {
        OffsetSource::new(load, parts, 0, Arc::default()).unwrap()
    }

    fn extent(base_bytes: u64, size_bytes: u64) -> Extent {
        Extent { base_bytes, size_bytes }
    }

    #[test]
    fn sequential_streams_run_through_and_wrap() {
        let load = Load { rw: Pattern::Read, ..Load::default() };
        let mut source = source(&load, &[extent(4096, 3 * 4096)]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let offsets: Vec<u64> =
            (0..4).map(|_| source.next(&mut random, 4096, false).offset_bytes).collect();
        assert_eq!(offsets, [4096, 8192, 12288, 4096]);
    }

    #[test]
    fn sequential_streams_have_stretches_of_their_own() {
        let load = Load { rw: Pattern::Write, numjobs: 2, ..Load::default() };
        let parts = [extent(0, 8 * 4096)];
        let mut second = OffsetSource::new(&load, &parts, 1, Arc::default()).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(second.next(&mut random, 4096, true).offset_bytes, 4 * 4096);
    }

    #[test]
    fn an_increment_gives_each_stream_a_stretch_of_the_whole_size() {
        let parts = [extent(4096, 32 * 4096)];
        let block = |number: u64| 4096 + number * 4096;
        for rw in [Pattern::Read, Pattern::RandRead] {
            let load = Load {
                rw,
                coverage: rw.is_random(),
                numjobs: 3,
                offset_bytes: 2 * 4096,
                offset_increment_bytes: Some(8 * 4096),
                size_bytes: Some(4 * 4096),
                ..Load::default()
            };
            let mut orders = HashSet::new();
            for stream in 0..3 {
                let mut source = OffsetSource::new(&load, &parts, stream, Arc::default()).unwrap();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
                let first = block(2 + 8 * u64::from(stream));
                let mut pass: Vec<u64> =
                    (0..4).map(|_| source.next(&mut random, 4096, false).offset_bytes).collect();
                orders.insert(pass.iter().map(|offset| offset - first).collect::<Vec<_>>());
                pass.sort_unstable();
                assert_eq!(pass, [0, 1, 2, 3].map(|n| first + n * 4096), "{rw} {stream}");
            }
            assert!(rw == Pattern::Read || orders.len() > 1, "each stream visits in one order");
        }
        let load = Load { offset_increment_bytes: Some(31 * 4096), ..Load::default() };
        let last = OffsetSource::new(&load, &parts, 1, Arc::default()).unwrap();
        assert_eq!(last.blocks(), 1);
        assert!(OffsetSource::new(&load, &parts, 2, Arc::default()).is_err());
    }

    #[test]
    fn an_increment_of_nothing_has_all_streams_run_through_the_whole() {
        let load = Load {
            rw: Pattern::Write,
            numjobs: 2,
            offset_increment_bytes: Some(0),
            ..Load::default()
        };
        let mut second =
            OffsetSource::new(&load, &[extent(0, 8 * 4096)], 1, Arc::default()).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let offsets: Vec<u64> =
            (0..9).map(|_| second.next(&mut random, 4096, true).offset_bytes / 4096).collect();
        assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }

    #[test]
    fn several_parts_are_striped_in_order_and_weighted_at_random() {
        let parts = [extent(0, 8 * 4096), extent(0, 8 * 4096)];
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut sequential = source(&Load { rw: Pattern::Read, ..Load::default() }, &parts);
        let places: Vec<(u32, u64)> = (0..4)
            .map(|_| sequential.next(&mut random, 4096, false))
            .map(|p| (p.part, p.offset_bytes))
            .collect();
        assert_eq!(places, [(0, 0), (1, 0), (0, 4096), (1, 4096)]);
        let parts = [extent(0, 1 << 20), extent(0, 3 << 20)];
        let mut uniform = source(&Load::default(), &parts);
        let second =
            (0..10_000).filter(|_| uniform.next(&mut random, 4096, false).part == 1).count();
        assert!((7200..7800).contains(&second), "{second}");
    }

    #[test]
    fn coverage_visits_every_block_once_a_pass() {
        let load = Load { coverage: true, ..Load::default() };
        let mut source = source(&load, &[extent(0, 1000 * 4096)]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..3 {
            let seen: HashSet<u64> =
                (0..1000).map(|_| source.next(&mut random, 4096, false).offset_bytes).collect();
            assert_eq!(seen.len(), 1000);
        }
    }

    #[test]
    fn zones_get_their_shares() {
        let load =
            Load { distribution: "zoned:60/10:30/20:10/70".parse().unwrap(), ..Load::default() };
        let mut source = source(&load, &[extent(0, 1 << 30)]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0; 3];
        for _ in 0..100_000 {
            let share =
                source.next(&mut random, 4096, false).offset_bytes as f64 / (1u64 << 30) as f64;
            counts[if share < 0.1 {
                0
            } else if share < 0.3 {
                1
            } else {
                2
            }] += 1;
        }
        for (count, wanted) in counts.iter().zip([60_000, 30_000, 10_000]) {
            assert!((*count as i64 - wanted as i64).abs() < 900, "{counts:?}");
        }
    }

    #[test]
    fn a_target_without_room_is_refused() {
        let load = Load { offset_bytes: 8192, ..Load::default() };
        let error = OffsetSource::new(&load, &[extent(0, 8192)], 0, Arc::default()).unwrap_err();
        assert!(error.to_string().contains("--size"), "{error}");
    }

    fn any_distribution() -> impl Strategy<Value = Distribution> {
        prop_oneof![
            Just(Distribution::Uniform),
            (0.1f64..3.0).prop_map(Distribution::Zipf),
            (0.05f64..0.95).prop_map(Distribution::Pareto),
            (1.0f64..100.0).prop_map(Distribution::Normal),
            Just("zoned:50/1:50/99".parse().unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn every_place_lies_inside_and_is_aligned(
            distribution in any_distribution(),
            random_order in any::<bool>(),
            sizes in prop::collection::vec(3u64..200, 1..4),
            base in 0u64..4,
            seed in any::<u64>(),
        ) {
            let load = Load {
                rw: if random_order { Pattern::RandRw } else { Pattern::ReadWrite },
                distribution,
                block: BlockSizes::parse_bssplit("4k/50:12k/50").unwrap(),
                seed,
                ..Load::default()
            };
            let parts: Vec<_> = sizes.iter().map(|s| extent(base * 4096, s * 4096 + 512)).collect();
            let mut source = source(&load, &parts);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            for step in 0..200 {
                let len = if step % 3 == 0 { 12288 } else { 4096 };
                let place = source.next(&mut random, len, step % 2 == 0);
                let part = parts[place.part as usize];
                prop_assert!(place.offset_bytes >= part.base_bytes);
                prop_assert!(place.offset_bytes + len <= part.base_bytes + part.size_bytes);
                prop_assert_eq!((place.offset_bytes - part.base_bytes) % 4096, 0);
            }
        }
    }
}
