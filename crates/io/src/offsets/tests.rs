//! Tests of the places that every order draws.

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
fn sequential_stream_wraps_at_end_of_range() {
    let load = Load { rw: Pattern::Read, ..Load::default() };
    let mut source = source(&load, &[extent(4096, 3 * 4096)]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let offsets: Vec<u64> =
        (0..4).map(|_| source.next(&mut random, 4096, false).offset_bytes).collect();
    assert_eq!(offsets, [4096, 8192, 12288, 4096]);
}

#[test]
fn sequential_streams_get_separate_ranges() {
    let load = Load { rw: Pattern::Write, numjobs: 2, ..Load::default() };
    let parts = [extent(0, 8 * 4096)];
    let mut second = OffsetSource::new(&load, &parts, 1, Arc::default()).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    assert_eq!(second.next(&mut random, 4096, true).offset_bytes, 4 * 4096);
}

#[test]
fn offset_increment_gives_each_stream_a_full_size_range() {
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
fn zero_offset_increment_makes_streams_share_whole_range() {
    let load =
        Load { rw: Pattern::Write, numjobs: 2, offset_increment_bytes: Some(0), ..Load::default() };
    let mut second = OffsetSource::new(&load, &[extent(0, 8 * 4096)], 1, Arc::default()).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let offsets: Vec<u64> =
        (0..9).map(|_| second.next(&mut random, 4096, true).offset_bytes / 4096).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
}

#[test]
fn sequential_io_stripes_files_and_random_weights_by_size() {
    let parts = [extent(0, 8 * 4096), extent(0, 8 * 4096)];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut sequential = source(&Load { rw: Pattern::Read, ..Load::default() }, &parts);
    let places: Vec<(u32, u64)> = (0..4)
        .map(|_| sequential.next(&mut random, 4096, false))
        .map(|p| (p.part, p.offset_bytes))
        .collect();
    assert_eq!(places, [(0, 0), (1, 0), (0, 4096), (1, 4096)]);
    let parts = [1, 3, 2].map(|blocks| extent(0, blocks * 4096));
    let mut sequential = source(&Load { rw: Pattern::Read, ..Load::default() }, &parts);
    let places: Vec<(u32, u64)> = (0..7)
        .map(|_| sequential.next(&mut random, 4096, false))
        .map(|p| (p.part, p.offset_bytes / 4096))
        .collect();
    // A part whose end is reached is left out, so that a pass visits every block.
    assert_eq!(places, [(1, 0), (2, 0), (0, 0), (1, 1), (2, 1), (1, 2), (1, 0)]);
    let parts = [extent(0, 1 << 20), extent(0, 3 << 20)];
    let mut uniform = source(&Load::default(), &parts);
    let second = (0..10_000).filter(|_| uniform.next(&mut random, 4096, false).part == 1).count();
    assert!((7200..7800).contains(&second), "{second}");
}

proptest! {
    #[test]
    fn sequential_pass_visits_every_block_of_every_part_once(
        lengths in prop::collection::vec(1_u64..40, 2..8),
    ) {
        let parts: Vec<Extent> = lengths.iter().map(|blocks| extent(0, blocks * 4096)).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut source = source(&Load { rw: Pattern::Write, ..Load::default() }, &parts);
        let total = lengths.iter().sum::<u64>();
        for _ in 0..2 {
            let places = (0..total).map(|_| source.next(&mut random, 4096, true));
            let mut places: Vec<_> = places.map(|p| (p.part, p.offset_bytes / 4096)).collect();
            places.sort_unstable();
            let all = (0_u32..).zip(&lengths).flat_map(|(part, n)| (0..*n).map(move |b| (part, b)));
            prop_assert_eq!(places, all.collect::<Vec<_>>());
        }
    }
}

#[test]
fn coverage_visits_every_block_once_per_pass() {
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
fn coverage_with_several_block_sizes_visits_every_byte_once_per_pass() {
    let block = BlockSizes::parse_bssplit("4k/50:64k/50").unwrap();
    let load = Load { coverage: true, block, ..Load::default() };
    // 1000 blocks, and a rest in which no block fits.
    let parts = [extent(4096, 300 * 4096 + 512), extent(0, 700 * 4096)];
    let mut source = source(&load, &parts);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..3 {
        let mut seen = HashSet::new();
        let mut lens = HashSet::new();
        while seen.len() < 1000 {
            let wanted = if random.next_u64() % 2 == 0 { 4096 } else { 65_536 };
            let place = source.next(&mut random, wanted, false);
            assert!(place.len_bytes <= wanted);
            lens.insert(place.len_bytes);
            for byte in (0..place.len_bytes).step_by(4096) {
                assert!(seen.insert((place.part, place.offset_bytes + byte)), "{place:?}");
            }
        }
        assert!(lens.contains(&65_536) && lens.len() > 3, "{lens:?}");
        assert!(seen.iter().all(|(part, at)| *at < [301 * 4096, 700 * 4096][*part as usize]));
    }
}

#[test]
fn zoned_distribution_gives_each_zone_its_share() {
    let load = Load { distribution: "zoned:60/10:30/20:10/70".parse().unwrap(), ..Load::default() };
    let mut source = source(&load, &[extent(0, 1 << 30)]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut counts = [0; 3];
    for _ in 0..100_000 {
        let share = source.next(&mut random, 4096, false).offset_bytes as f64 / (1u64 << 30) as f64;
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
fn target_without_room_after_offset_is_rejected() {
    let load = Load { offset_bytes: 8192, ..Load::default() };
    let error = OffsetSource::new(&load, &[extent(0, 8192)], 0, Arc::default()).unwrap_err();
    assert!(error.to_string().contains("--size"), "{error}");
}

/// Returns the next `n` offsets of reads of 4 KiB, in blocks of that size.
fn blocks(source: &mut OffsetSource, n: usize) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    (0..n).map(|_| source.next(&mut random, 4096, false).offset_bytes / 4096).collect()
}

#[test]
fn sequential_streams_skip_bytes_and_run_backwards() {
    let of = |bytes, parts: &[Extent]| {
        let load = Load { rw: Pattern::Read, modifier: Modifier::Skip(bytes), ..Load::default() };
        source(&load, parts)
    };
    let eight = [extent(0, 8 * 4096)];
    assert_eq!(blocks(&mut of(4096, &eight), 6), [0, 2, 4, 6, 0, 2]);
    assert_eq!(blocks(&mut of(8192, &eight), 4), [0, 3, 6, 0]);
    assert_eq!(blocks(&mut of(-8192, &eight), 10), [7, 6, 5, 4, 3, 2, 1, 0, 7, 6]);
    assert_eq!(blocks(&mut of(-4096, &eight), 3), [0, 0, 0]);
    assert_eq!(blocks(&mut of(1 << 20, &eight), 3), [0, 0, 0]);
    // Offsets need not be multiples of the block size.
    let mut odd = of(512, &eight);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let offsets: Vec<u64> =
        (0..3).map(|_| odd.next(&mut random, 4096, false).offset_bytes).collect();
    assert_eq!(offsets, [0, 4608, 9216]);
    // One stream covers the parts in order.
    let two = [extent(0, 4 * 4096), extent(0, 4 * 4096)];
    let mut both = of(4096, &two);
    let places: Vec<(u32, u64)> = (0..4)
        .map(|_| both.next(&mut random, 4096, false))
        .map(|place| (place.part, place.offset_bytes / 4096))
        .collect();
    assert_eq!(places, [(0, 0), (0, 2), (1, 0), (1, 2)]);
}

#[test]
fn rw_modifier_issues_bursts_at_each_random_offset() {
    for identical in [false, true] {
        let modifier = if identical { Modifier::Identical(4) } else { Modifier::Sequential(4) };
        let load = Load { modifier, ..Load::default() };
        let seen = blocks(&mut source(&load, &[extent(0, 1 << 30)]), 4000);
        let mut starts = HashSet::new();
        for burst in seen.chunks(4) {
            let wanted = [0, 1, 2, 3].map(|n| burst[0] + if identical { 0 } else { n });
            assert_eq!(burst, wanted);
            starts.insert(burst[0]);
        }
        assert!(starts.len() > 990, "{}", starts.len());
    }
    // Each direction continues after its own last I/O. A new offset is drawn after every 4 I/Os of both directions
    // together.
    let load = Load { rw: Pattern::RandRw, modifier: Modifier::Sequential(4), ..Load::default() };
    let mut mixed = source(&load, &[extent(0, 1 << 30)]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut at = |write| mixed.next(&mut random, 4096, write).offset_bytes / 4096;
    let first = (at(false), at(true), at(false), at(true), at(false));
    assert_eq!((first.2, first.3), (first.0 + 1, first.1 + 1));
    assert!(first.4 != first.2 + 1);
}

#[test]
fn aligned_offsets_are_uniform_over_whole_range() {
    // I/Os of eight blocks: at any of 25 offsets one block apart, then at three offsets 12 blocks apart.
    for (align, places) in [(4096u64, 25u64), (12 * 4096, 3)] {
        let block = BlockSizes::fixed(8 * 4096);
        let load = Load { block, blockalign_bytes: Some(align), ..Load::default() };
        let mut source = source(&load, &[extent(4096, 32 * 4096)]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut counts = vec![0u64; places as usize];
        for _ in 0..places * 1000 {
            let offset = source.next(&mut random, 8 * 4096, false).offset_bytes - 4096;
            assert_eq!(offset % align, 0);
            counts[(offset / align) as usize] += 1;
        }
        // Five standard deviations of a binomial count of 1000.
        assert!(counts.iter().all(|n| n.abs_diff(1000) < 160), "{counts:?}");
    }
}

#[test]
fn sequential_unaligned_blocks_are_contiguous() {
    let block = BlockSizes::parse_bsrange("1k-8k").unwrap().unaligned();
    let load = Load { rw: Pattern::Write, block, direct: false, ..Load::default() };
    let mut source = source(&load, &[extent(0, 1 << 20)]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut end = 0;
    for len in [1024, 1025, 5000, 8192, 3] {
        assert_eq!(source.next(&mut random, len, true).offset_bytes, end);
        end += len;
    }
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
    fn every_offset_is_in_range_and_aligned(
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

    #[test]
    fn every_offset_with_rw_modifier_is_in_range(
        modifier in prop_oneof![
            (2u32..9).prop_map(Modifier::Sequential),
            (2u32..9).prop_map(Modifier::Identical),
            (-80i64..80).prop_map(|sectors| Modifier::Skip(sectors * 512)),
        ],
        unaligned in any::<bool>(),
        align in prop::option::of(1u64..40),
        sizes in prop::collection::vec(3u64..200, 1..4),
        stream in 0u32..3,
        seed in any::<u64>(),
    ) {
        let random_order = !matches!(modifier, Modifier::Skip(_));
        let block = BlockSizes::parse_bsrange("4k-12k").unwrap();
        let load = Load {
            rw: if random_order { Pattern::RandRw } else { Pattern::ReadWrite },
            modifier,
            // Bursts have no alignment option.
            blockalign_bytes: align.filter(|_| !random_order).map(|sectors| sectors * 512),
            block: if unaligned { block.unaligned() } else { block },
            numjobs: 3,
            direct: false,
            seed,
            ..Load::default()
        };
        load.validate().unwrap();
        let parts: Vec<_> = sizes.iter().map(|s| extent(4096, s * 4096 + 512)).collect();
        let mut source = OffsetSource::new(&load, &parts, stream, Arc::default()).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for step in 0..200u64 {
            let len = if unaligned { 4096 + step * 41 } else { 4096 * (1 + step % 3) };
            let place = source.next(&mut random, len.min(12_288), step % 2 == 0);
            let part = parts[place.part as usize];
            prop_assert!(place.offset_bytes >= part.base_bytes);
            let end = place.offset_bytes + len.min(12_288);
            prop_assert!(end <= part.base_bytes + part.size_bytes, "{place:?} {part:?}");
        }
    }

    #[test]
    fn every_block_aligned_offset_is_in_range(
        align in 1u64..400,
        sizes in prop::collection::vec(3u64..200, 1..4),
        seed in any::<u64>(),
    ) {
        let align = align * 512;
        let block = BlockSizes::parse_bsrange("4k-12k").unwrap();
        let load = Load { blockalign_bytes: Some(align), block, seed, ..Load::default() };
        let parts: Vec<_> = sizes.iter().map(|s| extent(4096, s * 4096 + 512)).collect();
        let mut source = source(&load, &parts);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for step in 0..200u64 {
            let len = 4096 * (1 + step % 3);
            let place = source.next(&mut random, len, false);
            let part = parts[place.part as usize];
            let within = place.offset_bytes - part.base_bytes;
            prop_assert_eq!(within % align, 0);
            prop_assert!(within + len <= part.size_bytes, "{:?} {:?}", place, part);
        }
    }
}
