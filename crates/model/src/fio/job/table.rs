//! Every option fio 3.33 has, and what becomes of it here: the one place to look.

use super::set::{self, Setter};

/// What becomes of an option.
#[derive(Debug, Clone, Copy)]
pub enum Status {
    /// It does what it does in fio.
    Handled(Handler),
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

/// Takes an option's value into a section.
#[derive(Debug, Clone, Copy)]
pub struct Handler(pub(super) Setter);

/// One of fio's options.
#[derive(Debug, Clone, Copy)]
pub struct OptionInfo {
    /// Its name, with underscores.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// What becomes of it.
    pub status: Status,
}

impl OptionInfo {
    /// The name or alias that was written, for messages.
    pub(super) fn spelled(&self, written: &str) -> &'static str {
        self.aliases.iter().copied().find(|alias| *alias == written).unwrap_or(self.name)
    }
}

const fn does(name: &'static str, aliases: &'static [&'static str], setter: Setter) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Handled(Handler(setter)) }
}

const fn takes(
    name: &'static str,
    aliases: &'static [&'static str],
    why: &'static str,
) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Accepted(why) }
}

const fn lacks(
    name: &'static str,
    aliases: &'static [&'static str],
    off: &'static [&'static str],
    why: &'static str,
) -> OptionInfo {
    OptionInfo { name, aliases, status: Status::Unsupported { off, why } }
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
const STATE: &str =
    "what was written is remembered until the job ends; right would be verify_only=1";
const TRIM: &str = "iogauge reads and writes, and trims nothing";
const REPLAY: &str = "recorded I/O is not replayed";
const ZONED: &str = "zones are not known here";
const ZONE_DETAIL: &str = "it matters with zonemode only, which is refused";
const FLOW: &str = "jobs are not held in proportion to each other; right would be rate_iops";
const RATE_MIN: &str = "a job is not ended for being slow; its rate is in the result";
const STEADY: &str = "a run is judged steady or not by iogauge itself (caveat not-steady)";
const EXIT: &str = "jobs that run together end by their own runtime or size";
const PRIORITY: &str = "I/O priorities are not set; right would be ionice before iogauge";
const NUMA: &str = "memory and processors are left to the system; right would be numactl";
const CGROUP: &str = "control groups are not made; right would be systemd-run or cgexec";
const IDENTITY: &str = "iogauge stays who it is; right would be setpriv or sudo";
const DATA: &str = "what is written neither compresses nor repeats";
const NOT_YET: &str = "iogauge has nothing like it";
const ONE_FILE_AT_A_TIME: &str = "files stay open while their job runs";
const HINT: &str = "the kernel is not told how long data will live";
const DEVICE_CHOICE: &str = "the kernel's polling and its threads are left alone";
const OWN_RINGS: &str = "the ring and its files and buffers are registered where that helps";
const TIMES: &str = "latency is taken from the processor's counter, or CLOCK_MONOTONIC without one";

/// Every option, in the order of `fio --cmdhelp=all`.
pub const OPTIONS: &[OptionInfo] = &[
    takes("description", &[], TEXT),
    does("name", &[], set::name),
    does("wait_for", &[], set::wait_for),
    does("filename", &[], set::filename),
    lacks("lockfile", &[], &["none"], "files are not locked for each I/O"),
    does("directory", &[], set::directory),
    does("filename_format", &[], set::filename_format),
    takes("unique_filename", &[], "it matters between machines only"),
    lacks("opendir", &[], &[], "right would be filename=a:b with the files named"),
    does("rw", &["readwrite"], set::rw),
    does("bs", &["blocksize"], set::bs),
    does("ba", &["blockalign"], set::blockalign),
    does("bsrange", &["blocksize_range"], set::bsrange),
    does("bssplit", &[], set::bssplit),
    does("bs_unaligned", &["blocksize_unaligned"], set::bs_unaligned),
    does("randrepeat", &[], set::randrepeat),
    does("randseed", &[], set::randseed),
    does("norandommap", &[], set::norandommap),
    takes("softrandommap", &[], "visiting every block once takes no memory here"),
    lacks("bs_is_seq_rand", &[], OFF, "block sizes go by direction; right would be bs=READ,WRITE"),
    lacks("ignore_error", &[], &[], "every error is counted; exit code 4 tells of them"),
    does("rw_sequencer", &[], set::rw_sequencer),
    does("ioengine", &[], set::ioengine),
    does("iodepth", &[], set::iodepth),
    does("iodepth_batch", &["iodepth_batch_submit"], set::iodepth_batch),
    does(
        "iodepth_batch_complete_min",
        &["iodepth_batch_complete"],
        set::iodepth_batch_complete_min,
    ),
    does("iodepth_batch_complete_max", &[], set::iodepth_batch_complete_max),
    lacks("iodepth_low", &[], &[], "the depth asked is kept, without draining"),
    lacks("serialize_overlap", &[], OFF, "I/Os in flight are not compared"),
    takes(
        "io_submit_mode",
        &[],
        "a rate is kept whatever the device does, and response time is measured from it",
    ),
    does("size", &[], set::size),
    does("io_size", &["io_limit"], set::io_size),
    lacks("fill_device", &["fill_fs"], OFF, "a file system is never filled"),
    does("filesize", &[], set::filesize),
    lacks("file_append", &[], OFF, "files do not grow while a job runs"),
    does("offset", &["fileoffset"], set::offset),
    does("offset_increment", &[], set::offset_increment),
    does("offset_align", &[], set::offset_align),
    does("number_ios", &[], set::number_ios),
    takes("random_generator", &[], "whichever it is, the map's promise is kept by a permutation"),
    does("random_distribution", &[], set::random_distribution),
    lacks("percentage_random", &[], &["100"], "a job is random or sequential; two jobs are both"),
    takes("allrandrepeat", &[], "one seed stands for everything that is drawn"),
    does("nrfiles", &["nr_files"], set::nrfiles),
    lacks(
        "file_service_type",
        &[],
        &["roundrobin", "random"],
        "sequential jobs go round their files, random ones draw from all of them",
    ),
    takes("openfiles", &[], ONE_FILE_AT_A_TIME),
    takes("fallocate", &[], LAYOUT),
    lacks("fadvise_hint", &[], &["1"], "the kernel is told the job's own order, always"),
    does("fsync", &[], set::fsync),
    does("fdatasync", &[], set::fdatasync),
    lacks("write_barrier", &[], &["0"], NOT_YET),
    lacks("sync_file_range", &[], &[], "right would be fsync=N or sync=dsync"),
    does("direct", &[], set::direct),
    lacks("atomic", &[], OFF, NOT_YET),
    does("buffered", &[], set::buffered),
    takes("overwrite", &[], LAYOUT),
    does("loops", &[], set::loops),
    does("numjobs", &[], set::numjobs),
    does("startdelay", &[], set::startdelay),
    does("runtime", &["timeout"], set::runtime),
    does("time_based", &[], set::time_based),
    does("verify_only", &[], set::verify_only),
    does("ramp_time", &[], set::ramp_time),
    takes("clocksource", &[], TIMES),
    lacks("mem", &["iomem"], &["malloc", "mmap", "shm"], BUFFERS),
    takes("iomem_align", &["mem_align"], BUFFERS),
    does("verify", &[], set::verify),
    does("do_verify", &[], set::do_verify),
    does("verify_interval", &[], set::verify_interval),
    lacks("verify_offset", &[], &["0"], "a header stands at the beginning of what it is of"),
    does("verify_pattern", &[], set::verify_pattern),
    does("verify_fatal", &[], set::verify_fatal),
    lacks("verify_dump", &[], OFF, "the result has the place of what is wrong, and which bytes"),
    takes("verify_async", &[], "each worker checks what it reads"),
    lacks("verify_backlog", &[], &["0"], BACKLOG),
    takes("verify_backlog_batch", &[], "it matters with verify_backlog only, which is refused"),
    takes("experimental_verify", &[], "what was written is remembered in a table, always"),
    lacks("verify_state_load", &[], OFF, STATE),
    lacks("verify_state_save", &[], OFF, STATE),
    lacks("trim_percentage", &[], &["0"], TRIM),
    lacks("trim_verify_zero", &[], OFF, TRIM),
    lacks("trim_backlog", &[], &["0"], TRIM),
    lacks("trim_backlog_batch", &[], &["0"], TRIM),
    lacks("write_iolog", &[], &[], NO_LOG),
    lacks("read_iolog", &[], &[], REPLAY),
    lacks("read_iolog_chunked", &[], OFF, REPLAY),
    lacks("replay_no_stall", &[], OFF, REPLAY),
    lacks("replay_redirect", &[], &[], REPLAY),
    lacks("replay_scale", &[], &[], REPLAY),
    lacks("replay_align", &[], &[], REPLAY),
    lacks("replay_time_scale", &[], &[], REPLAY),
    lacks("replay_skip", &[], &[], REPLAY),
    lacks("merge_blktrace_file", &[], &[], REPLAY),
    lacks("merge_blktrace_scalars", &[], &[], REPLAY),
    lacks("merge_blktrace_iters", &[], &[], REPLAY),
    lacks("exec_prerun", &[], &[], "no commands are run; right would be to run it before iogauge"),
    lacks("exec_postrun", &[], &[], "no commands are run; right would be to run it after iogauge"),
    lacks(
        "ioscheduler",
        &[],
        &[],
        "the device's settings are left alone; right would be /sys/block/DEVICE/queue/scheduler",
    ),
    lacks("zonemode", &[], &["none"], ZONED),
    takes("zonesize", &[], ZONE_DETAIL),
    takes("zonecapacity", &[], ZONE_DETAIL),
    takes("zonerange", &[], ZONE_DETAIL),
    takes("zoneskip", &[], ZONE_DETAIL),
    takes("read_beyond_wp", &[], ZONE_DETAIL),
    takes("max_open_zones", &[], ZONE_DETAIL),
    takes("job_max_open_zones", &[], ZONE_DETAIL),
    takes("ignore_zone_limits", &[], ZONE_DETAIL),
    takes("zone_reset_threshold", &[], ZONE_DETAIL),
    takes("zone_reset_frequency", &[], ZONE_DETAIL),
    lacks("lockmem", &[], &["0"], "memory is not taken away from the page cache"),
    does("rwmixread", &[], set::rwmixread),
    does("rwmixwrite", &[], set::rwmixwrite),
    does("nice", &[], set::nice),
    lacks("prio", &[], &[], PRIORITY),
    lacks("prioclass", &[], &[], PRIORITY),
    does("thinktime", &[], set::thinktime),
    lacks("thinktime_spin", &[], &["0"], "a worker that pauses sleeps"),
    does("thinktime_blocks", &[], set::thinktime_blocks),
    lacks("thinktime_blocks_type", &[], &["complete"], "a pause follows what is complete"),
    lacks("thinktime_iotime", &[], &["0"], "pauses follow I/Os, not time"),
    does("rate", &[], set::rate),
    lacks("rate_min", &["ratemin"], &["0"], RATE_MIN),
    does("rate_process", &[], set::rate_process),
    takes("rate_cycle", &["ratecycle"], "arrivals are scheduled one by one"),
    takes("rate_ignore_thinktime", &[], "what is due is due, whatever a worker does"),
    does("rate_iops", &[], set::rate_iops),
    lacks("rate_iops_min", &[], &["0"], RATE_MIN),
    lacks("max_latency", &[], &["0"], "a slow I/O does not end a run; max is in the result"),
    does("latency_target", &[], set::latency_target),
    takes("latency_window", &[], "the search chooses its windows by what it measures"),
    does("latency_percentile", &[], set::latency_percentile),
    lacks("latency_run", &[], OFF, "a search ends with its answer"),
    does("invalidate", &[], set::invalidate),
    does("sync", &[], set::sync),
    lacks("write_hint", &[], &["none"], HINT),
    takes("create_serialize", &[], LAYOUT),
    takes("create_fsync", &[], LAYOUT),
    takes("create_on_open", &[], LAYOUT),
    lacks("create_only", &[], OFF, "right would be iogauge prepare TARGET"),
    does("allow_file_create", &[], set::allow_file_create),
    lacks("allow_mounted_write", &[], OFF, "a mounted device is never written"),
    lacks("pre_read", &[], OFF, "the page cache is not filled first"),
    lacks("cpumask", &[], &[], "right would be taskset before iogauge"),
    does("cpus_allowed", &[], set::cpus_allowed),
    does("cpus_allowed_policy", &[], set::cpus_allowed_policy),
    lacks("numa_cpu_nodes", &[], &[], NUMA),
    lacks("numa_mem_policy", &[], &["default"], NUMA),
    does("end_fsync", &[], set::end_fsync),
    lacks("fsync_on_close", &[], OFF, "right would be fsync=N"),
    does("unlink", &[], set::unlink),
    lacks("unlink_each_loop", &[], OFF, "files stay until the end; right would be unlink=1"),
    lacks("exitall", &[], OFF, EXIT),
    takes("exit_what", &[], "it matters with exitall only, which is refused"),
    lacks("exitall_on_error", &[], OFF, EXIT),
    does("stonewall", &["wait_for_previous"], set::stonewall),
    takes("new_group", &[], "a group is what runs together, and is reported as one"),
    takes("thread", &[], "workers are threads, always"),
    // Not in fio's list, but fio takes it, and its examples have it.
    takes("threads", &[], "workers are threads, always"),
    takes("per_job_logs", &[], LOG_DETAIL),
    lacks("write_bw_log", &[], &[], NO_LOG),
    takes("bwavgtime", &[], SERIES),
    lacks("write_lat_log", &[], &[], NO_LOG),
    lacks("write_iops_log", &[], &[], NO_LOG),
    takes("iopsavgtime", &[], SERIES),
    takes("log_entries", &[], LOG_DETAIL),
    takes("log_avg_msec", &[], LOG_DETAIL),
    takes("log_hist_msec", &[], LOG_DETAIL),
    takes("log_hist_coarseness", &[], LOG_DETAIL),
    lacks("write_hist_log", &[], &[], NO_LOG),
    takes("log_max_value", &[], LOG_DETAIL),
    takes("log_offset", &[], LOG_DETAIL),
    takes("log_prio", &[], LOG_DETAIL),
    takes("log_compression", &[], LOG_DETAIL),
    takes("log_compression_cpus", &[], LOG_DETAIL),
    takes("log_store_compressed", &[], LOG_DETAIL),
    takes("log_unix_epoch", &[], LOG_DETAIL),
    takes("log_alternate_epoch", &[], LOG_DETAIL),
    takes("log_alternate_epoch_clock_id", &[], LOG_DETAIL),
    lacks("block_error_percentiles", &[], OFF, TRIM),
    does("group_reporting", &[], set::group_reporting),
    takes("stats", &[], "figures are always taken"),
    lacks("zero_buffers", &[], OFF, DATA),
    takes("refill_buffers", &[], ALWAYS_RANDOM),
    takes("scramble_buffers", &[], ALWAYS_RANDOM),
    lacks("buffer_pattern", &[], &[], DATA),
    does("buffer_compress_percentage", &[], set::buffer_compress_percentage),
    does("buffer_compress_chunk", &[], set::buffer_compress_chunk),
    does("dedupe_percentage", &[], set::dedupe_percentage),
    lacks("dedupe_mode", &[], &["repeat"], "the last new block is repeated"),
    takes(
        "dedupe_working_set_percentage",
        &[],
        "it matters with dedupe_mode only, which is refused",
    ),
    takes("dedupe_global", &[], "it matters with dedupe_mode only, which is refused"),
    takes("clat_percentiles", &[], EVERY_LATENCY),
    takes("lat_percentiles", &[], EVERY_LATENCY),
    takes("slat_percentiles", &[], EVERY_LATENCY),
    does("percentile_list", &[], set::percentile_list),
    takes("significant_figures", &[], SHOWN),
    takes("disk_util", &[], "what the devices did is always reported"),
    takes("gtod_reduce", &[], EVERY_LATENCY),
    takes("disable_lat", &[], EVERY_LATENCY),
    takes("disable_clat", &[], EVERY_LATENCY),
    takes("disable_slat", &[], EVERY_LATENCY),
    takes("disable_bw_measurement", &["disable_bw"], "bandwidth costs nothing to count"),
    takes("gtod_cpu", &[], TIMES),
    takes("unified_rw_reporting", &[], SHOWN),
    takes(
        "continue_on_error",
        &[],
        "errors are counted and the run goes on; exit code 4 tells of them",
    ),
    takes("error_dump", &[], "the first error is told with its place"),
    lacks("profile", &[], &[], "there are no built-in profiles"),
    lacks("cgroup", &[], &[], CGROUP),
    takes("cgroup_nodelete", &[], "it matters with cgroup only, which is refused"),
    lacks("cgroup_weight", &[], &[], CGROUP),
    lacks("uid", &[], &[], IDENTITY),
    lacks("gid", &[], &[], IDENTITY),
    does("kb_base", &[], set::kb_base),
    takes("unit_base", &[], SHOWN),
    takes("hugepage_size", &[], "it matters with mem=…huge only, which is refused"),
    takes("flow_id", &[], "it matters with flow only, which is refused"),
    lacks("flow", &[], &["0"], FLOW),
    takes("flow_sleep", &[], "it matters with flow only, which is refused"),
    lacks("steadystate", &["ss"], &[], STEADY),
    takes("steadystate_duration", &["ss_dur"], STEADY),
    takes("steadystate_ramp_time", &["ss_ramp"], STEADY),
    // Options of engines that are here.
    takes("userspace_reap", &[], "completions are taken from the ring where they are there"),
    lacks("hipri", &[], OFF, DEVICE_CHOICE),
    lacks("hipri_percentage", &[], &["0"], DEVICE_CHOICE),
    lacks("cmdprio_percentage", &[], &["0"], PRIORITY),
    lacks("cmdprio_class", &[], &[], PRIORITY),
    lacks("cmdprio", &[], &[], PRIORITY),
    lacks("cmdprio_bssplit", &[], &[], PRIORITY),
    takes("fixedbufs", &[], OWN_RINGS),
    takes("registerfiles", &[], OWN_RINGS),
    lacks("sqthread_poll", &[], OFF, DEVICE_CHOICE),
    takes("sqthread_poll_cpu", &[], "it matters with sqthread_poll only, which is refused"),
    takes("nonvectored", &[], "each I/O is one buffer, without a vector"),
    lacks("uncached", &[], OFF, "right would be direct=1"),
    lacks("nowait", &[], OFF, "an I/O that would have to wait is made to wait, and counts"),
    lacks("force_async", &[], &["0"], DEVICE_CHOICE),
    lacks("thp", &[], OFF, "the kernel is not advised about huge pages"),
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
    // Longer than every name by more than the difference allowed.
    if name.len() > 64 {
        return None;
    }
    let names = OPTIONS.iter().flat_map(|row| row.aliases.iter().chain([&row.name]));
    let closest = names.map(|known| (distance(name, known), *known)).min()?;
    (closest.0 <= 1 + name.len() / 4).then_some(closest.1)
}

/// Letters to insert, remove or replace (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
            .chain(engines::OPTIONS.iter().flat_map(|(_, options)| options.iter().copied()))
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
