//! Options that fio 3.34 to 3.42 added, and what happens to each.

use super::table::{OFF, ONE_BUFFER, PRIORITY, ZONE_DETAIL};
use super::table::{OptionInfo, does, lacks, only, takes};
use super::via::Via::Pass as PASS;

const SPRANDOM: &str = "it matters only with sprandom, which is not supported";
const PLACEMENT: &str = "iogauge does not place data by identifiers";
const PLACEMENT_DETAIL: &str =
    "it matters only with fdp and dataplacement, which are not supported";

/// The options, in the order of fio's manual.
pub(super) const OPTIONS: &[OptionInfo] = &[
    takes("job_start_clock_id", &[], PASS, "job_start is always the time of day"),
    lacks("filetype", &[], PASS, &["none"], "iogauge looks at each file before it uses it"),
    takes("num_range", &[], PASS, "it matters only for trims, which are not supported"),
    lacks("sprandom", &[], PASS, OFF, "iogauge has no such way to fill a device"),
    takes("spr_num_regions", &[], PASS, SPRANDOM),
    takes("spr_op", &[], PASS, SPRANDOM),
    takes("spr_cs", &[], PASS, SPRANDOM),
    takes(
        "random_sequence_stride",
        &[],
        PASS,
        "it matters only with random_distribution=sequence, which is not supported",
    ),
    lacks("ramp_size", &[], PASS, OFF, "a ramp ends by its time; hint: use ramp_time=10s"),
    lacks(
        "verify_policy",
        &[],
        PASS,
        &["completed"],
        "a verify state has all completed writes; hint: use verify_policy=completed",
    ),
    does("verify_pattern_interval", PASS),
    lacks(
        "verify_write_sequence",
        &[],
        PASS,
        &["1"],
        "a block with data of an earlier write is always reported",
    ),
    lacks("verify_header_seed", &[], PASS, &["1"], "the whole header is always verified"),
    takes("recover_zbd_write_error", &[], PASS, ZONE_DETAIL),
    takes("write_zone_remainder", &[], PASS, ZONE_DETAIL),
    lacks("fdp", &[], PASS, OFF, PLACEMENT),
    lacks("dataplacement", &["data_placement"], PASS, &["none"], PLACEMENT),
    takes("plid_select", &["fdp_pli_select"], PASS, PLACEMENT_DETAIL),
    takes("plids", &["fdp_pli"], PASS, PLACEMENT_DETAIL),
    takes(
        "dp_scheme",
        &[],
        only(&[], "it names a file that iogauge has not checked; hint: use plid_select=random"),
        PLACEMENT_DETAIL,
    ),
    takes("comm", &[], PASS, "it names a process, and workers are threads"),
    lacks("priohint", &[], PASS, OFF, PRIORITY),
    lacks(
        "thinkcycles",
        &[],
        PASS,
        OFF,
        "a worker sleeps while it pauses; hint: use thinktime=1us",
    ),
    lacks(
        "end_syncfs",
        &[],
        PASS,
        OFF,
        "iogauge syncs each file that it wrote; hint: use end_fsync=1",
    ),
    lacks(
        "log_window_value",
        &[],
        PASS,
        &["avg"],
        "a log has the mean or the maximum; hint: use log_max_value=1",
    ),
    lacks("log_issue_time", &[], PASS, OFF, "logs have the time of completion only"),
    does("steadystate_check_interval", PASS),
    takes("libaio_vectored", &[], PASS, ONE_BUFFER),
];
