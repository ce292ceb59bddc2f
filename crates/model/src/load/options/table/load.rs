//! Options of the I/O itself: direction, sizes, concurrency, arrivals, amount.

use super::super::set::{self, from_1, put};
use super::super::show::{self, nothing, size, switch, word};
use super::super::{LoadOption, MOST};
use super::{flag, row};
use crate::load::{EngineKind, Pattern};

pub(super) const ROWS: &[LoadOption] = &[
    row("rw", "PATTERN[:N]", set::rw, show::rw)
        .alias(&["readwrite"])
        .words(|| Pattern::ALL.iter().map(|(_, word)| *word).collect())
        .default("randread")
        .help(
            "read, write, randread, randwrite, readwrite or randrw. randread:8 issues 8 I/Os from \
             each random offset; read:64k skips 64 KiB after each I/O",
        ),
    row("rw_sequencer", "KIND", |o, v| put(&mut o.rw_sequencer, v.parse()?), show::rw_sequencer)
        .words(|| vec!["sequential", "identical"])
        .default("sequential")
        .help("Offsets of the I/Os counted by randread:N: sequential or identical"),
    row(
        "rwmixread",
        "PERCENT",
        |o, v| put(&mut o.plain.read_percent, v.percent()?),
        show::rwmixread,
    )
    .default("50")
    .help("Share of reads in a mixed pattern"),
    row(
        "rwmixwrite",
        "PERCENT",
        |o, v| put(&mut o.plain.read_percent, 100 - v.percent()?),
        nothing,
    )
    .conflicts(&["rwmixread"])
    .help("Share of writes in a mixed pattern"),
    row("bs", "SIZE", set::bs, |load| show::block(&load.block, "bs"))
        .alias(&["blocksize"])
        .default("4k")
        .help("Block size, or READ,WRITE"),
    row("bssplit", "SPLIT", set::bssplit, |load| show::block(&load.block, "bssplit"))
        .conflicts(&["bs"])
        .help("Block sizes and their shares in percent, as in 4k/60:64k/40"),
    row("bsrange", "SIZE-SIZE", set::bsrange, |load| show::block(&load.block, "bsrange"))
        .alias(&["blocksize_range"])
        .conflicts(&["bs", "bssplit"])
        .help("Range of block sizes; each multiple of the first is equally likely"),
    flag(
        "bs_unaligned",
        |o, v| put(&mut o.bs_unaligned, v.switch()?),
        |load| switch(load.block.is_unaligned()),
    )
    .alias(&["blocksize_unaligned"])
    .help("Use any size within --bsrange, not only multiples of the first"),
    row("blockalign", "SIZE", set::blockalign, |load| size(load.blockalign_bytes))
        .alias(&["ba"])
        .help("Alignment of random offsets; without it, the smallest block size"),
    row(
        "iodepth",
        "N",
        |o, v| put(&mut o.plain.iodepth, from_1(v.small()?, 65_536)?),
        |load| word(load.iodepth),
    )
    .default("1")
    .help("I/Os that each worker keeps outstanding"),
    row(
        "numjobs",
        "N",
        |o, v| put(&mut o.plain.numjobs, from_1(v.small()?, MOST)?),
        |load| word(load.numjobs),
    )
    .default("1")
    .help("Number of workers"),
    row("ioengine", "NAME", set::ioengine, show::ioengine)
        .words(|| EngineKind::FIO_NAMES.iter().map(|(word, _)| *word).collect())
        .default("io_uring")
        .help("io_uring, libaio, psync, mmap or null"),
    flag("direct", |o, v| put(&mut o.plain.direct, v.stated_switch()?), |load| switch(load.direct))
        .default("1")
        .help("Bypass the page cache"),
    flag("buffered", |o, v| put(&mut o.plain.direct, !v.stated_switch()?), nothing)
        .conflicts(&["direct"])
        .help("Use the page cache: the opposite of --direct"),
    flag(
        "invalidate",
        |o, v| put(&mut o.plain.invalidate, v.switch()?),
        |load| switch(load.invalidate),
    )
    .help("Drop what the page cache holds of the target before a workload that uses it starts"),
    row(
        "fadvise_hint",
        "HINT",
        |o, v| put(&mut o.plain.fadvise_hint, v.parse()?),
        |load| word(load.fadvise_hint.as_str()),
    )
    .flag()
    .words(|| vec!["0", "1", "random", "sequential"])
    .default("1")
    .help(
        "Advice to the kernel about the order of buffered I/O: 1 for that of the workload, 0 for none, \
         random or sequential",
    ),
    row("size", "SIZE", |o, v| put(&mut o.size, Some(v.span()?)), |load| size(load.size_bytes))
        .help(
            "Bytes of the target to use, or a share such as 50%; also the size of a new test file",
        ),
    row("filesize", "SIZE", set::filesize, nothing)
        .conflicts(&["size"])
        .help("Size of each file; the same as --size"),
    row(
        "offset",
        "SIZE",
        |o, v| put(&mut o.offset, v.span()?),
        |load| size(Some(load.offset_bytes)),
    )
    .alias(&["fileoffset"])
    .default("0")
    .help("First byte of the target to use, or a share such as 10%; --size counts from there"),
    row(
        "offset_increment",
        "SIZE",
        |o, v| put(&mut o.offset_increment, v.span()?),
        |load| size(load.offset_increment_bytes),
    )
    .help(
        "Offset between the regions of successive jobs; without it random jobs share one region \
         and sequential jobs divide it",
    ),
    row("offset_align", "SIZE", |o, v| put(&mut o.offset_align, v.number()?), nothing)
        .hidden()
        .help("What offsets given as a share are rounded up to; without it, the block size"),
    row("random_distribution", "KIND", set::random_distribution, show::random_distribution)
        .words(|| vec!["random", "zipf", "pareto", "normal", "zoned"])
        .default("random")
        .help("random, zipf:1.2, pareto:0.2, normal:20, zoned:60/10:30/20:10/70"),
    row("random_generator", "NAME", set::random_generator, nothing)
        .hidden()
        .help("Accepted for compatibility with fio; lfsr visits every block before it repeats one"),
    flag("norandommap", |o, v| put(&mut o.plain.coverage, !v.switch()?), show::norandommap)
        .default("1")
        .help("0 covers every block once before repeating any"),
    flag(
        "dependent",
        |o, v| put(&mut o.plain.dependent, v.switch()?),
        |load| switch(load.dependent),
    )
    .help(
        "Dependent I/O: read a block, change it, write it back, continue; iodepth is the \
             number of chains",
    ),
    row("sync", "MODE", |o, v| put(&mut o.plain.sync, v.parse()?), show::sync)
        .flag()
        .words(|| vec!["none", "sync", "dsync"])
        .default("none")
        .help("Synchronous writes: none, dsync or sync"),
    row(
        "fsync",
        "N",
        |o, v| put(&mut o.plain.fsync_every, v.small()?),
        |load| word(load.fsync_every),
    )
    .default("0")
    .help("Call fsync after every N writes; 0 for never"),
    row(
        "fdatasync",
        "N",
        |o, v| put(&mut o.plain.fdatasync_every, v.small()?),
        |load| word(load.fdatasync_every),
    )
    .default("0")
    .help("Call fdatasync after every N writes; 0 for never"),
    flag(
        "end_fsync",
        |o, v| put(&mut o.plain.end_fsync, v.stated_switch()?),
        |load| switch(load.end_fsync),
    )
    .help("Call fsync at the end of the job"),
    row("thinktime", "TIME", |o, v| put(&mut o.thinktime_ns, v.duration_ns(1e3)?), show::thinktime)
        .help("Think time of each worker after its I/Os; microseconds if no unit is given"),
    row(
        "thinktime_blocks",
        "N",
        |o, v| put(&mut o.thinktime_blocks, v.small()?),
        show::thinktime_blocks,
    )
    .default("1")
    .requires(&["thinktime=1ms"])
    .help("I/Os between two think times; also the most outstanding then"),
    row("startdelay", "TIME", set::startdelay, show::startdelay)
        .default("0")
        .help("Delay before the job starts; not measured"),
    row(
        "rate_iops",
        "RATE",
        |o, v| set::rates(&mut o.rate_iops, v, |v| v.number()),
        show::rate_iops,
    )
    .help("I/Os to start per second, even if the target falls behind (open loop); or READ,WRITE"),
    row("rate", "SIZE", |o, v| set::rates(&mut o.rate, v, |v| v.number()), nothing)
        .conflicts(&["rate_iops"])
        .help(
            "Bytes to start per second, even if the target falls behind (open loop); or READ,WRITE",
        ),
    row("rate_process", "KIND", |o, v| put(&mut o.rate_process, v.parse()?), show::rate_process)
        .words(|| vec!["linear", "poisson"])
        .default("linear")
        .help("Arrival process: linear or poisson"),
    row(
        "iodepth_batch_submit",
        "N",
        |o, v| put(&mut o.batch_submit, Some(v.small()?)),
        |load| word(load.batch.submit),
    )
    .alias(&["iodepth_batch"])
    .default("0")
    .help("Most I/Os to submit in one call; 0 for all that are ready"),
    row(
        "iodepth_batch_complete_min",
        "N",
        |o, v| put(&mut o.batch_complete_min, Some(v.small()?)),
        |load| word(load.batch.complete_min),
    )
    .alias(&["iodepth_batch_complete"])
    .default("1")
    .help("Fewest completions to reap in one call"),
    row(
        "iodepth_batch_complete_max",
        "N",
        |o, v| put(&mut o.batch_complete_max, Some(v.small()?)),
        |load| word(load.batch.complete_max),
    )
    .default("0")
    .help(
        "Most completions to reap in one call; 0 for one while the device is the bottleneck, \
         otherwise all",
    ),
    row(
        "number_ios",
        "N",
        |o, v| put(&mut o.number_ios, Some(v.number()?)),
        |load| load.number_ios.and_then(word),
    )
    .help("Stop each job after N I/Os"),
    row(
        "io_size",
        "SIZE",
        |o, v| put(&mut o.io_size, Some(v.span()?)),
        |load| size(load.io_size_bytes),
    )
    .alias(&["io_limit"])
    .help("Stop each job after SIZE bytes"),
    row("loops", "N", |o, v| put(&mut o.loops, v.number()?), nothing)
        .default("1")
        .requires(&["io_size=1g"])
        .help("Do the work of --io_size N times"),
    row(
        "randseed",
        "N",
        |o, v| put(&mut o.randseed, Some(v.word()?.parse().or_else(|_| v.number())?)),
        |load| word(load.seed),
    )
    .default("1")
    .help("Seed of the random offsets, mix and arrivals"),
    flag("randrepeat", |o, v| put(&mut o.randrepeat, v.switch()?), nothing)
        .default("1")
        .help("0 uses a new seed for each run"),
    flag("allrandrepeat", |o, v| put(&mut o.allrandrepeat, v.switch()?), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: one seed drives all random choices"),
    row(
        "cpus_allowed",
        "LIST",
        |o, v| put(&mut o.plain.cpus, Some(v.parse()?)),
        show::cpus_allowed,
    )
    .help("Processors the workers may run on: 0,5,8-15"),
    row(
        "cpus_allowed_policy",
        "POLICY",
        |o, v| put(&mut o.plain.cpu_policy, v.parse()?),
        show::cpus_allowed_policy,
    )
    .words(|| vec!["shared", "split"])
    .default("shared")
    .requires(&["cpus_allowed=0-3"])
    .help("shared, or split, which gives each worker one processor"),
    row("nice", "N", set::nice, |load| word(load.nice))
        .default("0")
        .help("Added to the nice value of the workers, -20 to 19"),
];
