//! The table of fio's options, and what happens to each: those of fio 3.33 here, later ones in `newer`.

use super::newer;
use super::via::Via;
use Via::{Decided as DECIDED, Log as LOG, Pass as PASS};
use iogauge_model::load::options::{self as load_options, LoadOption};

/// What happens to an option.
#[derive(Debug, Clone, Copy)]
pub enum Status {
    /// The option has the same effect as in fio.
    Handled(&'static LoadOption),
    /// The option is accepted without effect, because it cannot matter here. Contains the reason.
    Accepted(&'static str),
    /// The option is rejected.
    Unsupported {
        /// Values that request nothing, which are accepted.
        off: &'static [&'static str],
        /// Why the option is rejected, and a hint.
        why: &'static str,
    },
}

/// One of fio's options.
#[derive(Debug, Clone, Copy)]
pub struct OptionInfo {
    /// The name, with underscores.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What happens to the option if iogauge runs the job.
    pub status: Status,
    /// What happens to the option if fio runs the job.
    pub via: Via,
}

impl OptionInfo {
    /// Returns true if fio 3.33 lacks the option.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        newer::OPTIONS.iter().any(|row| row.name == self.name)
    }

    /// Returns the name or alias as it was written, for messages.
    pub(super) fn spelled(&self, written: &str) -> &'static str {
        self.aliases.iter().copied().find(|alias| *alias == written).unwrap_or(self.name)
    }
}

pub(super) const fn does(name: &'static str, via: Via) -> OptionInfo {
    let row = load_options::row(name);
    OptionInfo { name, aliases: row.aliases, status: Status::Handled(row), via }
}

pub(super) const fn only(values: &'static [&'static str], why: &'static str) -> Via {
    Via::Only { values, why }
}

pub(super) const fn takes(
    name: &'static str,
    aliases: &'static [&'static str],
    via: Via,
    why: &'static str,
) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Accepted(why), via }
}

pub(super) const fn lacks(
    name: &'static str,
    aliases: &'static [&'static str],
    via: Via,
    off: &'static [&'static str],
    why: &'static str,
) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Unsupported { off, why }, via }
}

pub(super) const OFF: &[&str] = &["0", "false"];

const IGNORED: &str = "fio accepts it without effect too";
const TEXT: &str = "it is only a comment";
const LAYOUT: &str = "files are created and fully written before any job starts";
const NO_RECORDING: &str = "iogauge does not record I/Os for replay; hint: use write_lat_log= with \
     log_offset=1, which has a line for each I/O";
const LOG_PRIORITY: &str = "iogauge does not set I/O priorities, so logs would have none";
const LOG_MEMORY: &str = "logs are written during the run, in a fixed amount of memory";
const LOG_STORED: &str = "logs are text; hint: compress them after the run";
const OTHER_EPOCH: &str = "times in logs are since the start, or with log_unix_epoch=1 since 1970";
const SERIES: &str = "iogauge chooses the intervals of the time series from the length of the run, \
     and log_avg_msec those of logs";
const EVERY_LATENCY: &str =
    "iogauge records every latency in a histogram with an error of at most 1/256";
const SHOWN: &str = "it only formats fio's report";
const ALWAYS_RANDOM: &str = "written data neither compresses nor repeats unless \
     buffer_compress_percentage or dedupe_percentage requests it";
const BUFFERS: &str = "buffers are in the memory of the process, aligned as the device requires";
const TRIM: &str = "iogauge does not trim";
const REPLAY: &str = "iogauge does not replay recorded I/O";
const ZONED: &str = "iogauge does not support zones";
pub(super) const ZONE_DETAIL: &str = "it matters only with zonemode, which is not supported";
const FLOW: &str = "iogauge does not balance jobs against each other; hint: use rate_iops";
const RATE_MIN: &str = "a slow job is not ended; the result reports its rate";
pub(super) const ONE_BUFFER: &str = "each I/O has one buffer";
const EXIT: &str = "jobs that run together end by their own runtime or size";
pub(super) const PRIORITY: &str =
    "iogauge does not set I/O priorities; hint: start iogauge with ionice";
const NUMA: &str = "iogauge does not bind memory or processors; hint: start iogauge with numactl";
const CGROUP: &str =
    "iogauge does not create control groups; hint: start iogauge with systemd-run or cgexec";
const IDENTITY: &str =
    "iogauge does not change its user or group; hint: start iogauge with setpriv or sudo";
const NOT_YET: &str = "iogauge has no equivalent";
const ONE_FILE_AT_A_TIME: &str = "files stay open while their job runs";
const HINT: &str = "iogauge gives the kernel no write hints";
const DEVICE_CHOICE: &str = "iogauge leaves the kernel's polling and threads at their defaults";
const OWN_RINGS: &str = "iogauge registers rings, files and buffers if that helps";
const TIMES: &str = "latency is measured with the processor's counter, or with CLOCK_MONOTONIC";
const ARRIVALS: &str = "arrivals are scheduled one by one, whatever the device and the workers do";
const ONE_SEED: &str = "one seed drives all random choices";
const ALL_FIGURES: &str = "iogauge always records all figures";
const ERRORS: &str = "errors are counted, and the run continues; it ends with exit code 4";
const THREADS: &str = "workers are always threads";
const OWN_READS: &str = "each worker verifies what it reads";
const DEDUPE_DETAIL: &str = "it matters only with dedupe_mode, which is not supported";
const FLOW_DETAIL: &str = "it matters only with flow, which is not supported";

// Why fio does not receive an option.
const OTHER_FILES: &str =
    "it would use files that iogauge has not checked; hint: name each file in filename=";
const NAMED_IN_RECORDING: &str = "a recording names files that iogauge has not checked; \
     hint: use options for the same workload, with filename=";
const RECORDING: &str = "iogauge keeps only fio's logs; hint: use write_lat_log= with \
     log_offset=1, which has a line for each I/O";
const MADE_BEFORE: &str =
    "iogauge makes the files before fio starts; hint: run iogauge prepare TARGET --size=SIZE";
const NEVER_FILLED: &str =
    "iogauge never fills a file system; hint: use size=, or leave it out for a block device";
const FULL_SIZE: &str = "files have their full size before fio starts; hint: use offset= \
     for the start of the new data and size= for its length";
const KEPT_TO_THE_END: &str =
    "fio may not remove files; hint: use unlink=1, and iogauge removes them at the end";
const PROFILE: &str = "fio defines the jobs of a profile, and iogauge cannot check them; \
     hint: use a section for each job";
const STATE_FILES: &str = "iogauge keeps only fio's logs";
const TRIMS: &str = "a job that trims must say so in rw; hint: use rw=randtrim in a separate job";
const COMMANDS: &str = "iogauge runs no commands; hint: run them before or after iogauge";
const LOCKED: &str = "fio may not lock memory; hint: use lockmem=0";
const MACHINE: &str = "fio may not change the machine or its own identity";
const MOUNTED: &str = "iogauge never writes a mounted device";
const MEMORY: &str = "buffers must be in memory, not in a file; hint: use mem=malloc";
const ZONES: &str = "fio may not reset zones; hint: use zonemode=strided";

/// Every option of fio 3.33, in the order of `fio --cmdhelp=all`.
const OPTIONS: &[OptionInfo] = &[
    takes("description", &[], DECIDED, TEXT),
    does("name", DECIDED),
    does("wait_for", DECIDED),
    does("filename", DECIDED),
    lacks("lockfile", &[], PASS, &["none"], "iogauge does not lock files"),
    does("directory", DECIDED),
    does("filename_format", DECIDED),
    takes("unique_filename", &[], DECIDED, "it matters only if several machines share files"),
    lacks(
        "opendir",
        &[],
        only(&[], OTHER_FILES),
        &[],
        "iogauge does not search directories for files; hint: use filename=a:b",
    ),
    does("rw", PASS),
    does("bs", PASS),
    OptionInfo { name: "ba", aliases: &["blockalign"], ..does("blockalign", PASS) },
    does("bsrange", PASS),
    does("bssplit", PASS),
    does("bs_unaligned", PASS),
    does("randrepeat", PASS),
    does("randseed", PASS),
    does("norandommap", PASS),
    takes("softrandommap", &[], PASS, "covering every block once takes no memory"),
    lacks(
        "bs_is_seq_rand",
        &[],
        PASS,
        OFF,
        "block sizes differ by direction only; hint: use bs=READ,WRITE",
    ),
    lacks("ignore_error", &[], PASS, &[], ERRORS),
    does("rw_sequencer", PASS),
    does("ioengine", PASS),
    does("iodepth", PASS),
    OptionInfo {
        name: "iodepth_batch",
        aliases: &["iodepth_batch_submit"],
        ..does("iodepth_batch_submit", PASS)
    },
    does("iodepth_batch_complete_min", PASS),
    does("iodepth_batch_complete_max", PASS),
    lacks("iodepth_low", &[], PASS, &[], "iogauge keeps the queue at its full depth"),
    lacks("serialize_overlap", &[], PASS, OFF, "iogauge does not compare the I/Os in flight"),
    takes("io_submit_mode", &[], PASS, ARRIVALS),
    does("size", DECIDED),
    does("io_size", PASS),
    lacks(
        "fill_device",
        &["fill_fs"],
        only(OFF, NEVER_FILLED),
        OFF,
        "iogauge never fills a file system",
    ),
    does("filesize", DECIDED),
    lacks("file_append", &[], only(OFF, FULL_SIZE), OFF, "files do not grow during a job"),
    does("offset", DECIDED),
    does("offset_increment", DECIDED),
    does("offset_align", DECIDED),
    does("number_ios", PASS),
    does("random_generator", PASS),
    does("random_distribution", PASS),
    lacks(
        "percentage_random",
        &[],
        PASS,
        &["100"],
        "a job is either random or sequential; hint: use two jobs",
    ),
    takes("allrandrepeat", &[], PASS, ONE_SEED),
    does("nrfiles", DECIDED),
    lacks(
        "file_service_type",
        &[],
        PASS,
        &["roundrobin", "random"],
        "sequential jobs use their files in turn, random jobs choose among all",
    ),
    takes("openfiles", &[], PASS, ONE_FILE_AT_A_TIME),
    takes("fallocate", &[], DECIDED, LAYOUT),
    does("fadvise_hint", PASS),
    does("fsync", PASS),
    does("fdatasync", PASS),
    lacks("write_barrier", &[], PASS, &["0"], NOT_YET),
    lacks(
        "sync_file_range",
        &[],
        PASS,
        &[],
        "iogauge does not sync ranges of a file; hint: use fsync=N or sync=dsync",
    ),
    does("direct", PASS),
    lacks("atomic", &[], PASS, OFF, NOT_YET),
    does("buffered", PASS),
    takes("overwrite", &[], DECIDED, LAYOUT),
    does("loops", PASS),
    does("numjobs", DECIDED),
    does("startdelay", PASS),
    does("runtime", PASS),
    does("time_based", PASS),
    does("verify_only", PASS),
    does("ramp_time", PASS),
    takes("clocksource", &[], PASS, TIMES),
    lacks(
        "mem",
        &["iomem"],
        only(&["malloc", "shm", "shmhuge", "mmap", "mmaphuge", "mmapshared"], MEMORY),
        &["malloc", "mmap", "shm"],
        BUFFERS,
    ),
    takes("iomem_align", &["mem_align"], PASS, BUFFERS),
    does("verify", PASS),
    does("do_verify", PASS),
    does("verify_interval", PASS),
    does("verify_offset", PASS),
    does("verify_pattern", PASS),
    does("verify_fatal", PASS),
    lacks(
        "verify_dump",
        &[],
        only(OFF, STATE_FILES),
        OFF,
        "the result reports the position and the wrong bytes",
    ),
    takes("verify_async", &[], PASS, OWN_READS),
    takes("verify_async_cpus", &[], PASS, OWN_READS),
    does("verify_backlog", PASS),
    does("verify_backlog_batch", PASS),
    takes("experimental_verify", &[], PASS, OWN_READS),
    takes("verifysort", &[], PASS, IGNORED),
    takes("verifysort_nr", &[], PASS, IGNORED),
    does("verify_state_load", only(OFF, STATE_FILES)),
    does("verify_state_save", only(OFF, STATE_FILES)),
    lacks("trim_percentage", &[], only(OFF, TRIMS), &["0"], TRIM),
    lacks("trim_verify_zero", &[], only(OFF, TRIMS), OFF, TRIM),
    lacks("trim_backlog", &[], only(OFF, TRIMS), &["0"], TRIM),
    lacks("trim_backlog_batch", &[], only(OFF, TRIMS), &["0"], TRIM),
    lacks("write_iolog", &[], only(&[], RECORDING), &[], NO_RECORDING),
    lacks("read_iolog", &[], only(&[], NAMED_IN_RECORDING), &[], REPLAY),
    lacks("read_iolog_chunked", &[], PASS, OFF, REPLAY),
    lacks("replay_no_stall", &[], PASS, OFF, REPLAY),
    lacks("replay_redirect", &[], PASS, &[], REPLAY),
    lacks("replay_scale", &[], PASS, &[], REPLAY),
    lacks("replay_align", &[], PASS, &[], REPLAY),
    lacks("replay_time_scale", &[], PASS, &[], REPLAY),
    lacks("replay_skip", &[], PASS, &[], REPLAY),
    lacks("merge_blktrace_file", &[], only(&[], NAMED_IN_RECORDING), &[], REPLAY),
    lacks("merge_blktrace_scalars", &[], PASS, &[], REPLAY),
    lacks("merge_blktrace_iters", &[], PASS, &[], REPLAY),
    lacks(
        "exec_prerun",
        &[],
        only(&[], COMMANDS),
        &[],
        "iogauge runs no commands; hint: run it before iogauge",
    ),
    lacks(
        "exec_postrun",
        &[],
        only(&[], COMMANDS),
        &[],
        "iogauge runs no commands; hint: run it after iogauge",
    ),
    lacks(
        "ioscheduler",
        &[],
        only(&[], MACHINE),
        &[],
        "iogauge does not change settings of the device; hint: set /sys/block/DEVICE/queue/scheduler",
    ),
    lacks("zonemode", &[], only(&["none", "strided"], ZONES), &["none"], ZONED),
    takes("zonesize", &[], PASS, ZONE_DETAIL),
    takes("zonecapacity", &[], PASS, ZONE_DETAIL),
    takes("zonerange", &[], PASS, ZONE_DETAIL),
    takes("zoneskip", &[], PASS, ZONE_DETAIL),
    takes("read_beyond_wp", &[], PASS, ZONE_DETAIL),
    takes("max_open_zones", &[], PASS, ZONE_DETAIL),
    takes("job_max_open_zones", &[], PASS, ZONE_DETAIL),
    takes("ignore_zone_limits", &[], PASS, ZONE_DETAIL),
    takes("zone_reset_threshold", &[], PASS, ZONE_DETAIL),
    takes("zone_reset_frequency", &[], PASS, ZONE_DETAIL),
    lacks("lockmem", &[], only(&["0"], LOCKED), &["0"], "iogauge does not lock memory"),
    does("rwmixread", PASS),
    does("rwmixwrite", PASS),
    does("nice", PASS),
    lacks("prio", &[], PASS, &[], PRIORITY),
    lacks("prioclass", &[], PASS, &[], PRIORITY),
    does("thinktime", PASS),
    lacks("thinktime_spin", &[], PASS, &["0"], "a worker sleeps while it pauses"),
    does("thinktime_blocks", PASS),
    lacks(
        "thinktime_blocks_type",
        &[],
        PASS,
        &["complete"],
        "a pause starts when all I/Os are complete",
    ),
    lacks(
        "thinktime_iotime",
        &[],
        PASS,
        &["0"],
        "pauses depend on the number of I/Os, not on time",
    ),
    does("rate", PASS),
    lacks("rate_min", &["ratemin"], PASS, &["0"], RATE_MIN),
    does("rate_process", PASS),
    takes("rate_cycle", &["ratecycle"], PASS, ARRIVALS),
    takes("rate_ignore_thinktime", &[], PASS, ARRIVALS),
    does("rate_iops", PASS),
    lacks("rate_iops_min", &[], PASS, &["0"], RATE_MIN),
    lacks(
        "max_latency",
        &[],
        PASS,
        &["0"],
        "a slow I/O does not end a run; the result reports the maximum",
    ),
    does("latency_target", PASS),
    takes("latency_window", &[], PASS, "the search chooses its measurement windows"),
    does("latency_percentile", PASS),
    lacks("latency_run", &[], PASS, OFF, "a search ends when it has its answer"),
    does("invalidate", PASS),
    does("sync", PASS),
    lacks("write_hint", &[], PASS, &["none"], HINT),
    takes("create_serialize", &[], DECIDED, LAYOUT),
    takes("create_fsync", &[], DECIDED, LAYOUT),
    takes("create_on_open", &[], DECIDED, LAYOUT),
    lacks(
        "create_only",
        &[],
        only(OFF, MADE_BEFORE),
        OFF,
        "iogauge run always does I/O; hint: run iogauge prepare TARGET",
    ),
    does("allow_file_create", DECIDED),
    lacks("allow_mounted_write", &[], only(OFF, MOUNTED), OFF, MOUNTED),
    lacks("pre_read", &[], PASS, OFF, "iogauge does not fill the page cache first"),
    lacks("cpumask", &[], PASS, &[], "iogauge does not read masks; hint: use cpus_allowed"),
    does("cpus_allowed", PASS),
    does("cpus_allowed_policy", PASS),
    lacks("numa_cpu_nodes", &[], PASS, &[], NUMA),
    lacks("numa_mem_policy", &[], PASS, &["default"], NUMA),
    does("end_fsync", PASS),
    lacks(
        "fsync_on_close",
        &[],
        PASS,
        OFF,
        "files are closed after the measurement; hint: use fsync=N",
    ),
    does("unlink", DECIDED),
    lacks(
        "unlink_each_loop",
        &[],
        only(OFF, KEPT_TO_THE_END),
        OFF,
        "files stay until the end; hint: use unlink=1",
    ),
    lacks("exitall", &[], PASS, OFF, EXIT),
    takes("exit_what", &[], PASS, "it matters only with exitall, which is not supported"),
    lacks("exitall_on_error", &[], PASS, OFF, EXIT),
    does("stonewall", PASS),
    does("new_group", PASS),
    takes("thread", &[], PASS, THREADS),
    // Not in fio's list, but fio accepts it, and its examples use it.
    takes("threads", &[], PASS, THREADS),
    does("per_job_logs", PASS),
    does("write_bw_log", LOG),
    takes("bwavgtime", &[], PASS, SERIES),
    does("write_lat_log", LOG),
    does("write_iops_log", LOG),
    takes("iopsavgtime", &[], PASS, SERIES),
    takes("log_entries", &[], PASS, LOG_MEMORY),
    does("log_avg_msec", PASS),
    does("log_hist_msec", PASS),
    does("log_hist_coarseness", PASS),
    does("write_hist_log", LOG),
    does("log_max_value", PASS),
    does("log_offset", PASS),
    lacks("log_prio", &[], PASS, OFF, LOG_PRIORITY),
    takes("log_compression", &[], PASS, LOG_MEMORY),
    takes("log_compression_cpus", &[], PASS, LOG_MEMORY),
    lacks("log_store_compressed", &[], PASS, OFF, LOG_STORED),
    does("log_unix_epoch", PASS),
    lacks("log_alternate_epoch", &[], PASS, OFF, OTHER_EPOCH),
    takes(
        "log_alternate_epoch_clock_id",
        &[],
        PASS,
        "it matters only with log_alternate_epoch, which is not supported",
    ),
    lacks("block_error_percentiles", &[], PASS, OFF, TRIM),
    does("group_reporting", PASS),
    takes("stats", &[], only(&["1"], "a run without figures has no result"), ALL_FIGURES),
    does("zero_buffers", PASS),
    takes("refill_buffers", &[], PASS, ALWAYS_RANDOM),
    takes("scramble_buffers", &[], PASS, ALWAYS_RANDOM),
    does("buffer_pattern", PASS),
    does("buffer_compress_percentage", PASS),
    does("buffer_compress_chunk", PASS),
    does("dedupe_percentage", PASS),
    lacks("dedupe_mode", &[], PASS, &["repeat"], "the last new block is repeated"),
    takes("dedupe_working_set_percentage", &[], PASS, DEDUPE_DETAIL),
    takes("dedupe_global", &[], PASS, DEDUPE_DETAIL),
    does("clat_percentiles", PASS),
    does("lat_percentiles", PASS),
    takes("slat_percentiles", &[], PASS, "the submission is part of the service time"),
    does("percentile_list", PASS),
    takes("significant_figures", &[], PASS, SHOWN),
    takes("disk_util", &[], PASS, ALL_FIGURES),
    takes("gtod_reduce", &[], PASS, EVERY_LATENCY),
    takes("disable_lat", &[], PASS, EVERY_LATENCY),
    takes("disable_clat", &[], PASS, EVERY_LATENCY),
    takes("disable_slat", &[], PASS, EVERY_LATENCY),
    takes("disable_bw_measurement", &["disable_bw"], PASS, ALL_FIGURES),
    takes("gtod_cpu", &[], PASS, TIMES),
    lacks(
        "unified_rw_reporting",
        &[],
        PASS,
        &["0", "none"],
        "reads and writes are always reported apart",
    ),
    takes("continue_on_error", &[], PASS, ERRORS),
    takes("error_dump", &[], PASS, "the first error is reported with its position"),
    lacks("profile", &[], only(&[], PROFILE), &[], "iogauge has no built-in profiles"),
    lacks("cgroup", &[], only(&[], MACHINE), &[], CGROUP),
    takes(
        "cgroup_nodelete",
        &[],
        only(&[], MACHINE),
        "it matters only with cgroup, which is not supported",
    ),
    lacks("cgroup_weight", &[], only(&[], MACHINE), &[], CGROUP),
    lacks("uid", &[], only(&[], MACHINE), &[], IDENTITY),
    lacks("gid", &[], only(&[], MACHINE), &[], IDENTITY),
    does("kb_base", PASS),
    takes("unit_base", &[], PASS, SHOWN),
    takes("hugepage_size", &[], PASS, "it matters only with mem=…huge, which is not supported"),
    takes("flow_id", &[], PASS, FLOW_DETAIL),
    lacks("flow", &[], PASS, &["0"], FLOW),
    takes("flow_watermark", &[], PASS, IGNORED),
    takes("flow_sleep", &[], PASS, FLOW_DETAIL),
    does("steadystate", PASS),
    does("steadystate_duration", PASS),
    does("steadystate_ramp_time", PASS),
    // Options of engines that iogauge has too.
    takes("userspace_reap", &[], PASS, "iogauge reaps completions from the ring if there are any"),
    lacks("hipri", &[], PASS, OFF, DEVICE_CHOICE),
    lacks("hipri_percentage", &[], PASS, &["0"], DEVICE_CHOICE),
    lacks("cmdprio_percentage", &[], PASS, &["0"], PRIORITY),
    lacks("cmdprio_class", &[], PASS, &[], PRIORITY),
    lacks("cmdprio", &[], PASS, &[], PRIORITY),
    lacks("cmdprio_bssplit", &[], PASS, &[], PRIORITY),
    takes("fixedbufs", &[], PASS, OWN_RINGS),
    takes("registerfiles", &[], PASS, OWN_RINGS),
    lacks("sqthread_poll", &[], PASS, OFF, DEVICE_CHOICE),
    takes(
        "sqthread_poll_cpu",
        &[],
        PASS,
        "it matters only with sqthread_poll, which is not supported",
    ),
    takes("nonvectored", &[], PASS, ONE_BUFFER),
    lacks("uncached", &[], PASS, OFF, "iogauge does not use RWF_DONTCACHE; hint: use direct=1"),
    lacks("nowait", &[], PASS, OFF, "an I/O that would block waits, and is counted"),
    lacks("force_async", &[], PASS, &["0"], DEVICE_CHOICE),
    lacks("thp", &[], PASS, OFF, "iogauge does not request huge pages"),
];

/// Returns every option of fio.
pub fn options() -> impl Iterator<Item = &'static OptionInfo> + Clone {
    OPTIONS.iter().chain(newer::OPTIONS)
}

/// Returns the row of a name or alias. Dashes count as underscores.
#[must_use]
pub fn find(name: &str) -> Option<&'static OptionInfo> {
    let name = name.replace('-', "_");
    options().find(|row| row.name == name || row.aliases.contains(&name.as_str()))
}

/// Returns the name that is most similar to an unknown one, if any is similar enough.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = options().flat_map(|row| row.aliases.iter().chain([&row.name]));
    load_options::nearest(name, names.copied())
}

#[cfg(test)]
mod tests {
    use super::super::engines;
    use super::*;

    #[test]
    fn option_names_and_aliases_are_unique() {
        let mut names: Vec<&str> = options()
            .flat_map(|row| row.aliases.iter().copied().chain([row.name]))
            .chain(engines::OPTIONS.iter().flat_map(|(_, _, options)| options.iter().copied()))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| !name.contains('-')));
    }

    #[test]
    fn options_are_found_by_alias_and_with_dashes() {
        assert_eq!(find("readwrite").unwrap().name, "rw");
        assert_eq!(find("ramp-time").unwrap().name, "ramp_time");
        assert_eq!(find("hugepage-size").unwrap().name, "hugepage_size");
        assert!(find("readwrit").is_none());
    }

    #[test]
    fn mistyped_option_names_get_a_suggestion() {
        for (typed, meant) in [
            ("readwrit", "readwrite"),
            ("io_depth", "iodepth"),
            ("runtme", "runtime"),
            ("block_size", "blocksize"),
            ("new_gruop", "new_group"),
        ] {
            assert_eq!(nearest(typed), Some(meant));
        }
        assert_eq!(nearest("zzzzzzzz"), None);
        assert_eq!(nearest(&"x".repeat(10_000)), None);
    }

    #[test]
    fn option_reasons_are_single_line() {
        for row in options() {
            let (Status::Accepted(why) | Status::Unsupported { why, .. }) = row.status else {
                continue;
            };
            assert!(why.len() > 8 && !why.contains('\n') && !why.ends_with('.'), "{}", row.name);
        }
    }
}
