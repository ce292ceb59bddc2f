//! Options of the jobs of a run.

use super::super::set::{self, put};
use super::super::show::nothing;
use super::super::{LoadOption, OnLine};
use super::{aside, flag, row};

const FILES: &str = "TARGET names the files; hint: use iogauge run FILE,FILE without it";
const DIRECTORY: &str = "TARGET names the directory; hint: use iogauge run DIRECTORY without it";
const JOB_FILE: &str = "it is for job files; hint: use iogauge run FILE.fio";
const TOGETHER: &str =
    "jobs of --job run together; hint: use a job file, or a suite file with steps";
const RUNTIME: &str = "all jobs have one; hint: use --runtime=10s, or seconds = 10 of a suite file";
const RAMP_TIME: &str = "all jobs have one; hint: use --ramp-time=1s, or ramp = 1 of a suite file";

pub(super) const ROWS: &[LoadOption] = &[
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
    flag("new_group", |o, v| put(&mut o.new_group, v.switch()?), nothing)
        .hidden()
        .help("With group_reporting in a job file, reports the jobs of this step one by one"),
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
