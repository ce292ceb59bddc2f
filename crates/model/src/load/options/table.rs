//! The table of workload options.

use super::set::{self, from_1, put};
use super::show::{self, nothing, size, switch, word};
use super::{LoadOption, MOST, OnLine, Setter, Shower};

const fn row(name: &'static str, value: &'static str, set: Setter, show: Shower) -> LoadOption {
    LoadOption {
        name,
        aliases: &[],
        value,
        help: "",
        default: "",
        is_flag: false,
        on_line: OnLine::Shown,
        conflicts: &[],
        requires: &[],
        set,
        show,
    }
}

/// A switch: `0` or `1`; without a value, `1`.
const fn flag(name: &'static str, set: Setter, show: Shower) -> LoadOption {
    LoadOption { is_flag: true, default: "0", ..row(name, "0|1", set, show) }
}

/// A kind of log.
const fn log(name: &'static str, set: Setter, show: Shower) -> LoadOption {
    row(name, "PREFIX", set, show).of_run()
}

/// An option that is not part of the workload itself.
const fn aside(name: &'static str, on_line: OnLine, set: Setter) -> LoadOption {
    LoadOption { on_line, ..row(name, "VALUE", set, nothing) }
}

impl LoadOption {
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        Self { conflicts, ..self }
    }

    const fn requires(self, requires: &'static [&'static str]) -> Self {
        Self { requires, ..self }
    }

    const fn of_run(self) -> Self {
        Self { on_line: OnLine::OfRun, ..self }
    }

    const fn hidden(self) -> Self {
        Self { on_line: OnLine::Hidden, ..self }
    }

    const fn flag(self) -> Self {
        Self { is_flag: true, ..self }
    }
}

const FILES: &str = "TARGET names the files; hint: use iogauge run FILE,FILE without it";
const DIRECTORY: &str = "TARGET names the directory; hint: use iogauge run DIRECTORY without it";
const JOB_FILE: &str = "it is for job files; hint: use iogauge run FILE.fio";
const TOGETHER: &str =
    "jobs of --job run together; hint: use a job file, or a suite file with steps";
const RUNTIME: &str = "all jobs have one; hint: use --runtime=10s, or seconds = 10 of a suite file";
const RAMP_TIME: &str = "all jobs have one; hint: use --ramp-time=1s, or ramp = 1 of a suite file";

/// All workload options, in the order of the help.
pub const ROWS: &[LoadOption] = &[
    row("rw", "PATTERN[:N]", set::rw, show::rw).alias(&["readwrite"]).default("randread").help(
        "read, write, randread, randwrite, readwrite or randrw. randread:8 issues 8 I/Os from \
             each random offset; read:64k skips 64 KiB after each I/O",
    ),
    row("rw_sequencer", "KIND", |o, v| put(&mut o.rw_sequencer, v.parse()?), show::rw_sequencer)
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
        .default("random")
        .help("random, zipf:1.2, pareto:0.2, normal:20, zoned:60/10:30/20:10/70"),
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
        "buffer_compress_percentage",
        "PERCENT",
        |o, v| put(&mut o.plain.content.compress_percent, v.percent()?),
        |load| word(load.content.compress_percent),
    )
    .default("0")
    .help("Compressible share of the written data; that share is zeros"),
    row("buffer_compress_chunk", "SIZE", set::compress_chunk, show::buffer_compress_chunk)
        .default("512")
        .help("Unit of compressible data: random bytes, then zeros; 0 means a whole block"),
    row(
        "dedupe_percentage",
        "PERCENT",
        |o, v| put(&mut o.plain.content.dedupe_percent, v.percent()?),
        |load| word(load.content.dedupe_percent),
    )
    .default("0")
    .help("Share of the writes that repeat earlier data"),
    row("buffer_pattern", "BYTES", set::buffer_pattern, |load| {
        load.buffer_pattern.as_ref().and_then(word)
    })
    .help("Data of the writes, repeated: 0xaa55, \"text\" in quotes, a number, or several in a row"),
    flag("zero_buffers", set::zero_buffers, nothing)
        .hidden()
        .help("Write zeros, as buffer_pattern=0x00"),
    row("verify", "KIND", set::verify, |load| show::verify(load, |verify| word(verify.algorithm)))
        .help(
            "Write verifiable data and read it back: crc32c, crc32, crc64, crc16, xxhash, md5, \
             sha1, sha256, sha512, sha3-256, meta, pattern or pattern_hdr. A workload that only reads verifies \
             existing data",
        ),
    flag(
        "do_verify",
        |o, v| put(&mut o.do_verify, v.stated_switch()?),
        |load| show::verify(load, |verify| switch(verify.reads_back)),
    )
    .default("1")
    .requires(VERIFY)
    .help("0 skips reading the data back; a later run can verify it"),
    row(
        "verify_interval",
        "SIZE",
        |o, v| put(&mut o.verify_interval, Some(v.number()?).filter(|bytes| *bytes > 0)),
        |load| show::verify(load, |verify| size(verify.interval_bytes)),
    )
    .requires(VERIFY)
    .help(
        "Bytes covered by each verification header; without it, the common divisor of all block \
         sizes",
    ),
    row(
        "verify_offset",
        "SIZE",
        |o, v| put(&mut o.verify_offset, v.number()?),
        |load| show::verify(load, |verify| size(Some(verify.header_offset_bytes).filter(|bytes| *bytes > 0))),
    )
    .requires(VERIFY)
    .help("Offset of the verification header in its data"),
    row("verify_pattern", "BYTES", set::verify_pattern, |load| {
        show::verify(load, |verify| verify.pattern.as_ref().and_then(word))
    })
    .requires(VERIFY)
    .help(
        "Data written after each header: 0xaa55, \"text\" in quotes, a number, %o for the offset, or \
         several in a row; without it, random",
    ),
    row(
        "verify_pattern_interval",
        "SIZE",
        |o, v| put(&mut o.verify_pattern_interval, v.number()?),
        |load| show::verify(load, |verify| size(Some(verify.pattern_interval_bytes).filter(|bytes| *bytes > 0))),
    )
    .requires(&["verify_pattern=%o"])
    .help("Begin verify_pattern anew after this many bytes, with the offset there"),
    row("verify_backlog", "N", set::verify_backlog, |load| {
        show::verify(load, |verify| verify.backlog.and_then(|backlog| word(backlog.writes)))
    })
    .requires(VERIFY)
    .help("Read back the last N writes of each worker before it goes on, not only at the end"),
    row("verify_backlog_batch", "N", set::verify_backlog_batch, |load| {
        show::verify(load, |verify| verify.backlog.and_then(|backlog| word(backlog.batch)))
    })
    .requires(&["verify_backlog=1024"])
    .help("Read back only this many of the N writes of --verify_backlog before the end"),
    flag(
        "verify_fatal",
        |o, v| put(&mut o.verify_fatal, v.stated_switch()?),
        |load| show::verify(load, |verify| switch(verify.fatal)),
    )
    .requires(VERIFY)
    .help("Stop at the first verification failure"),
    flag(
        "verify_only",
        |o, v| put(&mut o.verify_only, v.switch()?),
        |load| show::verify(load, |verify| switch(verify.only)),
    )
    .requires(VERIFY)
    .help("Write nothing; verify what a run with the same options wrote"),
    flag("refill_buffers", |_, v| v.switch().map(drop), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: every write has its own data"),
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
    .default("shared")
    .requires(&["cpus_allowed=0-3"])
    .help("shared, or split, which gives each worker one processor"),
    row("nice", "N", set::nice, |load| word(load.nice))
        .default("0")
        .help("Added to the nice value of the workers, -20 to 19"),
    row("percentile_list", "LIST", set::percentile_list, show::percentile_list)
        .help("Percentiles that fio's JSON shows, as in 50:99:99.9"),
    log(
        "write_lat_log",
        |o, v| put(&mut o.logs.latency, v.prefix()?),
        |load| show::log(load, |logs| logs.latency.clone()),
    )
    .help("Write the latency of each I/O to the logs PREFIX_lat.N.log and PREFIX_clat.N.log"),
    log(
        "write_bw_log",
        |o, v| put(&mut o.logs.bandwidth, v.prefix()?),
        |load| show::log(load, |logs| logs.bandwidth.clone()),
    )
    .help("Write the bandwidth to the log PREFIX_bw.N.log"),
    log(
        "write_iops_log",
        |o, v| put(&mut o.logs.iops, v.prefix()?),
        |load| show::log(load, |logs| logs.iops.clone()),
    )
    .help("Write the IOPS to the log PREFIX_iops.N.log"),
    log(
        "write_hist_log",
        |o, v| put(&mut o.logs.histogram, v.prefix()?),
        |load| show::log(load, |logs| logs.histogram.clone()),
    )
    .help("Write latency histograms to the log PREFIX_clat_hist.N.log"),
    row(
        "log_avg_msec",
        "MSEC",
        |o, v| put(&mut o.logs.window_ms, v.small()?.into()),
        |load| show::log(load, |logs| word(logs.window_ms)),
    )
    .default("0")
    .requires(A_LOG)
    .of_run()
    .help("A line in a log for each MSEC milliseconds; 0 for each I/O"),
    row(
        "log_hist_msec",
        "MSEC",
        |o, v| put(&mut o.logs.histogram_window_ms, v.small()?.into()),
        |load| show::log(load, |logs| word(logs.histogram_window_ms)),
    )
    .default("0")
    .requires(A_HISTOGRAM)
    .of_run()
    .help("Milliseconds for each histogram in a log"),
    row("log_hist_coarseness", "N", set::log_hist_coarseness, |load| {
        show::log(load, |logs| word(logs.coarseness))
    })
    .default("0")
    .requires(A_HISTOGRAM)
    .of_run()
    .help("Join 2 to the power of N bins of a histogram in a log, 0 to 6"),
    flag(
        "log_offset",
        |o, v| put(&mut o.logs.has_offset, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.has_offset)),
    )
    .requires(A_LOG)
    .of_run()
    .help("Write the offset of each I/O to the logs"),
    flag(
        "log_max_value",
        |o, v| put(&mut o.logs.is_maximum, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.is_maximum)),
    )
    .requires(&["log_avg_msec=1000"])
    .of_run()
    .help("Write the maximum latency of --log_avg_msec to the logs, not the mean"),
    flag(
        "log_unix_epoch",
        |o, v| put(&mut o.logs.unix_time, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.unix_time)),
    )
    .requires(A_LOG)
    .of_run()
    .help("Write times to the logs as milliseconds since 1970, not since the start"),
    flag(
        "per_job_logs",
        |o, v| put(&mut o.logs.per_job, v.stated_switch()?),
        |load| show::log(load, |logs| switch(logs.per_job)),
    )
    .default("1")
    .requires(A_LOG)
    .of_run()
    .help("0 writes one log for all workers, without their number N in its name"),
    row("log_entries", "N", |_, v| v.number().map(drop), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: a log takes a fixed amount of memory"),
    flag(
        "clat_percentiles",
        |o, v| put(&mut o.plain.clat_percentiles, v.switch()?),
        |load| switch(load.clat_percentiles),
    )
    .default("1")
    .help("Percentiles and buckets of clat_ns in fio's JSON"),
    flag(
        "lat_percentiles",
        |o, v| put(&mut o.plain.lat_percentiles, v.switch()?),
        |load| switch(load.lat_percentiles),
    )
    .help("Percentiles and buckets of lat_ns in fio's JSON"),
    row("name", "NAME", |o, v| put(&mut o.name, Some(v.word()?.to_owned())), nothing)
        .help("Name of the job; without it, the workload in words"),
    flag("unlink", |o, v| put(&mut o.unlink, v.switch()?), nothing)
        .help("Remove the test file when done, as --rm does"),
    row(
        "latency_target",
        "TIME",
        |o, v| put(&mut o.latency_target_ns, v.duration_ns(1e3)?),
        nothing,
    )
    .hidden()
    .help("For find: a limit on the maximum, or with --latency_percentile on that percentile"),
    row("latency_percentile", "PERCENT", set::latency_percentile, nothing)
        .hidden()
        .default("100")
        .requires(&["latency_target=5ms"])
        .help("For find: the percentile that --latency_target bounds"),
    flag("stonewall", |o, v| put(&mut o.stonewall, v.switch()?), nothing)
        .hidden()
        .alias(&["wait_for_previous"])
        .help("Accepted for compatibility with fio: the first job has none to wait for"),
    flag("time_based", |o, v| put(&mut o.time_based, v.switch()?), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: runs are always bounded by time"),
    flag("group_reporting", |o, v| put(&mut o.group_reporting, v.switch()?), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: jobs are always reported as a group"),
    aside("runtime", OnLine::OfCommand(RUNTIME), |o, v| {
        put(&mut o.runtime_ns, v.duration_ns(1e9)?)
    })
    .alias(&["timeout"])
    .help("Time to measure"),
    aside("ramp_time", OnLine::OfCommand(RAMP_TIME), |o, v| {
        put(&mut o.ramp_ns, v.duration_ns(1e9)?)
    })
    .help("Time to run before the measurement starts"),
    aside("filename", OnLine::Refused(FILES), set::filename).help("Files of the job"),
    aside("directory", OnLine::Refused(DIRECTORY), |o, v| put(&mut o.directory, set::paths(v)?))
        .help("Directories of the job's files"),
    aside("nrfiles", OnLine::Refused(FILES), set::nrfiles)
        .alias(&["nr_files"])
        .help("Number of files of the job"),
    aside("filename_format", OnLine::Refused(JOB_FILE), |o, v| {
        put(&mut o.filename_format, v.word()?.to_owned())
    })
    .help("How the job's files are named"),
    aside("allow_file_create", OnLine::Refused(JOB_FILE), |o, v| {
        put(&mut o.allow_file_create, v.switch()?)
    })
    .flag()
    .help("0 creates no files"),
    aside("wait_for", OnLine::Refused(TOGETHER), |o, v| {
        put(&mut o.wait_for, Some(v.word()?.to_owned()))
    })
    .help("The job that has to end first"),
    aside("kb_base", OnLine::Refused(JOB_FILE), set::kb_base)
        .help("Whether k is 1024 and ki 1000, or the other way round"),
];

const VERIFY: &[&str] = &["verify=crc32c"];
const A_LOG: &[&str] = &[
    "write_lat_log=PREFIX",
    "write_bw_log=PREFIX",
    "write_iops_log=PREFIX",
    "write_hist_log=PREFIX",
];
const A_HISTOGRAM: &[&str] = &["write_hist_log=PREFIX"];
