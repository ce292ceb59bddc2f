//! Every option fio 3.33 has, and what becomes of it here: the one place to look.

use super::via::Via;
use Via::{Decided as DECIDED, Log as LOG, Pass as PASS};
use iogauge_model::load::options::{self, LoadOption};

/// What becomes of an option.
#[derive(Debug, Clone, Copy)]
pub enum Status {
    /// It does what it does in fio.
    Handled(&'static LoadOption),
    /// It is taken without effect, since it cannot matter here; with the reason.
    Accepted(&'static str),
    /// It is refused.
    Unsupported {
        /// Values that ask for nothing, which are taken.
        off: &'static [&'static str],
        /// Why, and what there is instead.
        why: &'static str,
    },
}

/// One of fio's options.
#[derive(Debug, Clone, Copy)]
pub struct OptionInfo {
    /// Its name, with underscores.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// What becomes of it.
    pub status: Status,
    /// What becomes of it where fio runs the job.
    pub via: Via,
}

impl OptionInfo {
    /// The name or alias that was written, for messages.
    pub(super) fn spelled(&self, written: &str) -> &'static str {
        self.aliases.iter().copied().find(|alias| *alias == written).unwrap_or(self.name)
    }
}

const fn does(name: &'static str, via: Via) -> OptionInfo {
    let row = options::row(name);
    OptionInfo { name, aliases: row.aliases, status: Status::Handled(row), via }
}

const fn only(values: &'static [&'static str], why: &'static str) -> Via {
    Via::Only { values, why }
}

const fn takes(
    name: &'static str,
    aliases: &'static [&'static str],
    via: Via,
    why: &'static str,
) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Accepted(why), via }
}

const fn lacks(
    name: &'static str,
    aliases: &'static [&'static str],
    via: Via,
    off: &'static [&'static str],
    why: &'static str,
) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Unsupported { off, why }, via }
}

const OFF: &[&str] = &["0", "false"];

const TEXT: &str = "it is a remark";
const LAYOUT: &str = "files are made and every block of them is written before any job begins";
const NO_LOG: &str = "no log files are written; the history keeps the series of every run";
const LOG_DETAIL: &str = "it shapes log files, and none are written";
const SERIES: &str = "intervals of the series are chosen by the length of the run";
const EVERY_LATENCY: &str = "every latency is kept, in a histogram with an error of 1/256 at most";
const SHOWN: &str = "it shapes fio's report";
const ALWAYS_RANDOM: &str = "what is written neither compresses nor repeats, always";
const BUFFERS: &str = "buffers lie in memory of the process, aligned as the device demands";
const BACKLOG: &str =
    "what is written is read back when all of it is; reads of a mixed job are checked at once";
const STATE: &str = "what was written is remembered until the job ends; hint: use verify_only=1";
const TRIM: &str = "iogauge reads and writes, and trims nothing";
const REPLAY: &str = "recorded I/O is not replayed";
const ZONED: &str = "zones are not known here";
const ZONE_DETAIL: &str = "it matters with zonemode only, which is refused";
const FLOW: &str = "jobs are not held in proportion to each other; hint: use rate_iops";
const RATE_MIN: &str = "a job is not ended for being slow; its rate is in the result";
const STEADY: &str = "a run is judged steady or not by iogauge itself (caveat not-steady)";
const EXIT: &str = "jobs that run together end by their own runtime or size";
const PRIORITY: &str = "I/O priorities are not set; hint: use ionice before iogauge";
const NUMA: &str = "memory and processors are left to the system; hint: use numactl";
const CGROUP: &str = "control groups are not made; hint: use systemd-run or cgexec";
const IDENTITY: &str = "iogauge stays who it is; hint: use setpriv or sudo";
const DATA: &str = "what is written neither compresses nor repeats";
const NOT_YET: &str = "iogauge has nothing like it";
const ONE_FILE_AT_A_TIME: &str = "files stay open while their job runs";
const HINT: &str = "the kernel is not told how long data will live";
const DEVICE_CHOICE: &str = "the kernel's polling and its threads are left alone";
const OWN_RINGS: &str = "the ring and its files and buffers are registered where that helps";
const TIMES: &str = "latency is taken from the processor's counter, or CLOCK_MONOTONIC without one";

// Why fio does not get an option.
const OTHER_FILES: &str =
    "files that the guards did not judge would be used; hint: name each in filename=";
const NAMED_IN_RECORDING: &str = "a recording names files that the guards did not judge; hint: use its \
load as options, with filename=";
const RECORDING: &str = "nothing that fio leaves beside its logs is kept; hint: use write_lat_log= \
     with log_offset=1, which has a line for each I/O";
const MADE_BEFORE: &str = "iogauge makes the files before fio starts; hint: run iogauge prepare \
     TARGET --size=SIZE";
const NEVER_FILLED: &str = "a file system is never filled; hint: use size= with what is to be \
     written, which for a block device may be left out";
const FULL_SIZE: &str = "files have their full size before fio starts; hint: use offset= with \
     where the new data begins and size= with how much that is";
const KEPT_TO_THE_END: &str =
    "fio can remove no files; hint: use unlink=1, by which iogauge removes them at the end";
const PROFILE: &str = "the jobs of a profile are fio's own, and the guards cannot judge them; hint: use \
a section for each of them";
const STATE_FILES: &str = "nothing that fio leaves beside its logs is kept";
const TRIMS: &str = "a job is judged by its rw; hint: use rw=randtrim in a job of its own";
const COMMANDS: &str = "no commands are run; hint: run them before or after iogauge";
const LOCKED: &str = "memory is not taken away from the machine; hint: use lockmem=0";
const MACHINE: &str = "fio leaves the machine and its own identity as they are";
const MOUNTED: &str = "a mounted device is never written";
const MEMORY: &str = "buffers lie in memory, and not in files; hint: use mem=malloc";
const ZONES: &str = "zones of a device are not reset; hint: use zonemode=strided";

/// Every option, in the order of `fio --cmdhelp=all`.
pub const OPTIONS: &[OptionInfo] = &[
    takes("description", &[], DECIDED, TEXT),
    does("name", DECIDED),
    does("wait_for", DECIDED),
    does("filename", DECIDED),
    lacks("lockfile", &[], PASS, &["none"], "files are not locked for each I/O"),
    does("directory", DECIDED),
    does("filename_format", DECIDED),
    takes("unique_filename", &[], DECIDED, "it matters between machines only"),
    lacks("opendir", &[], only(&[], OTHER_FILES), &[], "hint: name the files, as in filename=a:b"),
    does("rw", PASS),
    does("bs", PASS),
    OptionInfo { name: "ba", aliases: &["blockalign"], ..does("blockalign", PASS) },
    does("bsrange", PASS),
    does("bssplit", PASS),
    does("bs_unaligned", PASS),
    does("randrepeat", PASS),
    does("randseed", PASS),
    does("norandommap", PASS),
    takes("softrandommap", &[], PASS, "visiting every block once takes no memory here"),
    lacks("bs_is_seq_rand", &[], PASS, OFF, "block sizes go by direction; hint: use bs=READ,WRITE"),
    lacks("ignore_error", &[], PASS, &[], "every error is counted; exit code 4 tells of them"),
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
    lacks("iodepth_low", &[], PASS, &[], "the depth asked is kept, without draining"),
    lacks("serialize_overlap", &[], PASS, OFF, "I/Os in flight are not compared"),
    takes(
        "io_submit_mode",
        &[],
        PASS,
        "a rate is kept whatever the device does, and response time is measured from it",
    ),
    does("size", DECIDED),
    does("io_size", PASS),
    lacks(
        "fill_device",
        &["fill_fs"],
        only(OFF, NEVER_FILLED),
        OFF,
        "a file system is never filled",
    ),
    does("filesize", DECIDED),
    lacks("file_append", &[], only(OFF, FULL_SIZE), OFF, "files do not grow while a job runs"),
    does("offset", DECIDED),
    does("offset_increment", DECIDED),
    does("offset_align", DECIDED),
    does("number_ios", PASS),
    takes(
        "random_generator",
        &[],
        PASS,
        "whichever it is, the map's promise is kept by a permutation",
    ),
    does("random_distribution", PASS),
    lacks(
        "percentage_random",
        &[],
        PASS,
        &["100"],
        "a job is random or sequential; two jobs are both",
    ),
    takes("allrandrepeat", &[], PASS, "one seed stands for everything that is drawn"),
    does("nrfiles", DECIDED),
    lacks(
        "file_service_type",
        &[],
        PASS,
        &["roundrobin", "random"],
        "sequential jobs go round their files, random ones draw from all of them",
    ),
    takes("openfiles", &[], PASS, ONE_FILE_AT_A_TIME),
    takes("fallocate", &[], DECIDED, LAYOUT),
    lacks("fadvise_hint", &[], PASS, &["1"], "the kernel is told the job's own order, always"),
    does("fsync", PASS),
    does("fdatasync", PASS),
    lacks("write_barrier", &[], PASS, &["0"], NOT_YET),
    lacks("sync_file_range", &[], PASS, &[], "hint: use fsync=N or sync=dsync"),
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
    lacks("verify_offset", &[], PASS, &["0"], "a header stands at the beginning of what it is of"),
    does("verify_pattern", PASS),
    does("verify_fatal", PASS),
    lacks(
        "verify_dump",
        &[],
        only(OFF, STATE_FILES),
        OFF,
        "the result has the place of what is wrong, and which bytes",
    ),
    takes("verify_async", &[], PASS, "each worker checks what it reads"),
    lacks("verify_backlog", &[], PASS, &["0"], BACKLOG),
    takes(
        "verify_backlog_batch",
        &[],
        PASS,
        "it matters with verify_backlog only, which is refused",
    ),
    takes("experimental_verify", &[], PASS, "what was written is remembered in a table, always"),
    lacks("verify_state_load", &[], only(OFF, STATE_FILES), OFF, STATE),
    lacks("verify_state_save", &[], only(OFF, STATE_FILES), OFF, STATE),
    lacks("trim_percentage", &[], only(OFF, TRIMS), &["0"], TRIM),
    lacks("trim_verify_zero", &[], only(OFF, TRIMS), OFF, TRIM),
    lacks("trim_backlog", &[], only(OFF, TRIMS), &["0"], TRIM),
    lacks("trim_backlog_batch", &[], only(OFF, TRIMS), &["0"], TRIM),
    lacks("write_iolog", &[], only(&[], RECORDING), &[], NO_LOG),
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
        "no commands are run; hint: run it before iogauge",
    ),
    lacks(
        "exec_postrun",
        &[],
        only(&[], COMMANDS),
        &[],
        "no commands are run; hint: run it after iogauge",
    ),
    lacks(
        "ioscheduler",
        &[],
        only(&[], MACHINE),
        &[],
        "the device's settings are left alone; hint: use /sys/block/DEVICE/queue/scheduler",
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
    lacks(
        "lockmem",
        &[],
        only(&["0"], LOCKED),
        &["0"],
        "memory is not taken away from the page cache",
    ),
    does("rwmixread", PASS),
    does("rwmixwrite", PASS),
    does("nice", PASS),
    lacks("prio", &[], PASS, &[], PRIORITY),
    lacks("prioclass", &[], PASS, &[], PRIORITY),
    does("thinktime", PASS),
    lacks("thinktime_spin", &[], PASS, &["0"], "a worker that pauses sleeps"),
    does("thinktime_blocks", PASS),
    lacks("thinktime_blocks_type", &[], PASS, &["complete"], "a pause follows what is complete"),
    lacks("thinktime_iotime", &[], PASS, &["0"], "pauses follow I/Os, not time"),
    does("rate", PASS),
    lacks("rate_min", &["ratemin"], PASS, &["0"], RATE_MIN),
    does("rate_process", PASS),
    takes("rate_cycle", &["ratecycle"], PASS, "arrivals are scheduled one by one"),
    takes("rate_ignore_thinktime", &[], PASS, "what is due is due, whatever a worker does"),
    does("rate_iops", PASS),
    lacks("rate_iops_min", &[], PASS, &["0"], RATE_MIN),
    lacks("max_latency", &[], PASS, &["0"], "a slow I/O does not end a run; max is in the result"),
    does("latency_target", PASS),
    takes("latency_window", &[], PASS, "the search chooses its windows by what it measures"),
    does("latency_percentile", PASS),
    lacks("latency_run", &[], PASS, OFF, "a search ends with its answer"),
    does("invalidate", PASS),
    does("sync", PASS),
    lacks("write_hint", &[], PASS, &["none"], HINT),
    takes("create_serialize", &[], DECIDED, LAYOUT),
    takes("create_fsync", &[], DECIDED, LAYOUT),
    takes("create_on_open", &[], DECIDED, LAYOUT),
    lacks("create_only", &[], only(OFF, MADE_BEFORE), OFF, "hint: run iogauge prepare TARGET"),
    does("allow_file_create", DECIDED),
    lacks("allow_mounted_write", &[], only(OFF, MOUNTED), OFF, "a mounted device is never written"),
    lacks("pre_read", &[], PASS, OFF, "the page cache is not filled first"),
    lacks("cpumask", &[], PASS, &[], "hint: use taskset before iogauge"),
    does("cpus_allowed", PASS),
    does("cpus_allowed_policy", PASS),
    lacks("numa_cpu_nodes", &[], PASS, &[], NUMA),
    lacks("numa_mem_policy", &[], PASS, &["default"], NUMA),
    does("end_fsync", PASS),
    lacks("fsync_on_close", &[], PASS, OFF, "hint: use fsync=N"),
    does("unlink", DECIDED),
    lacks(
        "unlink_each_loop",
        &[],
        only(OFF, KEPT_TO_THE_END),
        OFF,
        "files stay until the end; hint: use unlink=1",
    ),
    lacks("exitall", &[], PASS, OFF, EXIT),
    takes("exit_what", &[], PASS, "it matters with exitall only, which is refused"),
    lacks("exitall_on_error", &[], PASS, OFF, EXIT),
    does("stonewall", PASS),
    takes("new_group", &[], PASS, "a group is what runs together, and is reported as one"),
    takes("thread", &[], PASS, "workers are threads, always"),
    // Not in fio's list, but fio takes it, and its examples have it.
    takes("threads", &[], PASS, "workers are threads, always"),
    takes("per_job_logs", &[], PASS, LOG_DETAIL),
    lacks("write_bw_log", &[], LOG, &[], NO_LOG),
    takes("bwavgtime", &[], PASS, SERIES),
    lacks("write_lat_log", &[], LOG, &[], NO_LOG),
    lacks("write_iops_log", &[], LOG, &[], NO_LOG),
    takes("iopsavgtime", &[], PASS, SERIES),
    takes("log_entries", &[], PASS, LOG_DETAIL),
    takes("log_avg_msec", &[], PASS, LOG_DETAIL),
    takes("log_hist_msec", &[], PASS, LOG_DETAIL),
    takes("log_hist_coarseness", &[], PASS, LOG_DETAIL),
    lacks("write_hist_log", &[], LOG, &[], NO_LOG),
    takes("log_max_value", &[], PASS, LOG_DETAIL),
    takes("log_offset", &[], PASS, LOG_DETAIL),
    takes("log_prio", &[], PASS, LOG_DETAIL),
    takes("log_compression", &[], PASS, LOG_DETAIL),
    takes("log_compression_cpus", &[], PASS, LOG_DETAIL),
    takes("log_store_compressed", &[], PASS, LOG_DETAIL),
    takes("log_unix_epoch", &[], PASS, LOG_DETAIL),
    takes("log_alternate_epoch", &[], PASS, LOG_DETAIL),
    takes("log_alternate_epoch_clock_id", &[], PASS, LOG_DETAIL),
    lacks("block_error_percentiles", &[], PASS, OFF, TRIM),
    does("group_reporting", PASS),
    takes(
        "stats",
        &[],
        only(&["1"], "a run without figures tells nothing"),
        "figures are always taken",
    ),
    lacks("zero_buffers", &[], PASS, OFF, DATA),
    takes("refill_buffers", &[], PASS, ALWAYS_RANDOM),
    takes("scramble_buffers", &[], PASS, ALWAYS_RANDOM),
    lacks("buffer_pattern", &[], PASS, &[], DATA),
    does("buffer_compress_percentage", PASS),
    does("buffer_compress_chunk", PASS),
    does("dedupe_percentage", PASS),
    lacks("dedupe_mode", &[], PASS, &["repeat"], "the last new block is repeated"),
    takes(
        "dedupe_working_set_percentage",
        &[],
        PASS,
        "it matters with dedupe_mode only, which is refused",
    ),
    takes("dedupe_global", &[], PASS, "it matters with dedupe_mode only, which is refused"),
    takes("clat_percentiles", &[], PASS, EVERY_LATENCY),
    takes("lat_percentiles", &[], PASS, EVERY_LATENCY),
    takes("slat_percentiles", &[], PASS, EVERY_LATENCY),
    does("percentile_list", PASS),
    takes("significant_figures", &[], PASS, SHOWN),
    takes("disk_util", &[], PASS, "what the devices did is always reported"),
    takes("gtod_reduce", &[], PASS, EVERY_LATENCY),
    takes("disable_lat", &[], PASS, EVERY_LATENCY),
    takes("disable_clat", &[], PASS, EVERY_LATENCY),
    takes("disable_slat", &[], PASS, EVERY_LATENCY),
    takes("disable_bw_measurement", &["disable_bw"], PASS, "bandwidth costs nothing to count"),
    takes("gtod_cpu", &[], PASS, TIMES),
    takes("unified_rw_reporting", &[], PASS, SHOWN),
    takes(
        "continue_on_error",
        &[],
        PASS,
        "errors are counted and the run goes on; exit code 4 tells of them",
    ),
    takes("error_dump", &[], PASS, "the first error is told with its place"),
    lacks("profile", &[], only(&[], PROFILE), &[], "there are no built-in profiles"),
    lacks("cgroup", &[], only(&[], MACHINE), &[], CGROUP),
    takes(
        "cgroup_nodelete",
        &[],
        only(&[], MACHINE),
        "it matters with cgroup only, which is refused",
    ),
    lacks("cgroup_weight", &[], only(&[], MACHINE), &[], CGROUP),
    lacks("uid", &[], only(&[], MACHINE), &[], IDENTITY),
    lacks("gid", &[], only(&[], MACHINE), &[], IDENTITY),
    does("kb_base", PASS),
    takes("unit_base", &[], PASS, SHOWN),
    takes("hugepage_size", &[], PASS, "it matters with mem=…huge only, which is refused"),
    takes("flow_id", &[], PASS, "it matters with flow only, which is refused"),
    lacks("flow", &[], PASS, &["0"], FLOW),
    takes("flow_sleep", &[], PASS, "it matters with flow only, which is refused"),
    lacks("steadystate", &["ss"], PASS, &[], STEADY),
    takes("steadystate_duration", &["ss_dur"], PASS, STEADY),
    takes("steadystate_ramp_time", &["ss_ramp"], PASS, STEADY),
    // Options of engines that are here.
    takes("userspace_reap", &[], PASS, "completions are taken from the ring where they are there"),
    lacks("hipri", &[], PASS, OFF, DEVICE_CHOICE),
    lacks("hipri_percentage", &[], PASS, &["0"], DEVICE_CHOICE),
    lacks("cmdprio_percentage", &[], PASS, &["0"], PRIORITY),
    lacks("cmdprio_class", &[], PASS, &[], PRIORITY),
    lacks("cmdprio", &[], PASS, &[], PRIORITY),
    lacks("cmdprio_bssplit", &[], PASS, &[], PRIORITY),
    takes("fixedbufs", &[], PASS, OWN_RINGS),
    takes("registerfiles", &[], PASS, OWN_RINGS),
    lacks("sqthread_poll", &[], PASS, OFF, DEVICE_CHOICE),
    takes("sqthread_poll_cpu", &[], PASS, "it matters with sqthread_poll only, which is refused"),
    takes("nonvectored", &[], PASS, "each I/O is one buffer, without a vector"),
    lacks("uncached", &[], PASS, OFF, "hint: use direct=1"),
    lacks("nowait", &[], PASS, OFF, "an I/O that would have to wait is made to wait, and counts"),
    lacks("force_async", &[], PASS, &["0"], DEVICE_CHOICE),
    lacks("thp", &[], PASS, OFF, "the kernel is not advised about huge pages"),
];

/// The row of a name or alias; dashes count as underscores.
#[must_use]
pub fn find(name: &str) -> Option<&'static OptionInfo> {
    let name = name.replace('-', "_");
    OPTIONS.iter().find(|row| row.name == name || row.aliases.contains(&name.as_str()))
}

/// The name that differs least from one that is none, if any comes near.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = OPTIONS.iter().flat_map(|row| row.aliases.iter().chain([&row.name]));
    options::nearest(name, names.copied())
}

#[cfg(test)]
mod tests {
    use super::super::engines;
    use super::*;

    #[test]
    fn every_name_has_one_row() {
        let mut names: Vec<&str> = OPTIONS
            .iter()
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
    fn names_are_found_by_alias_and_with_dashes() {
        assert_eq!(find("readwrite").unwrap().name, "rw");
        assert_eq!(find("ramp-time").unwrap().name, "ramp_time");
        assert_eq!(find("hugepage-size").unwrap().name, "hugepage_size");
        assert!(find("readwrit").is_none());
    }

    #[test]
    fn mistyped_names_are_guessed() {
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
    fn reasons_are_one_line() {
        for row in OPTIONS {
            let (Status::Accepted(why) | Status::Unsupported { why, .. }) = row.status else {
                continue;
            };
            assert!(why.len() > 8 && !why.contains('\n') && !why.ends_with('.'), "{}", row.name);
        }
    }
}
