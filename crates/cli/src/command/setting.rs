//! `find --for`: the load that a setting of other software means, and the setting from the result.

use crate::args::{FindArgs, LoadArgs};
use crate::exit::Usage;
use crate::job_source;
use iogauge_lab::LabError;
use iogauge_model::Limit;
use iogauge_model::limit::{Metric, Side};
use iogauge_model::load::Load;
use iogauge_report::settings::{Reason, Refusal, Setting, SettingLoad};

/// The limit of a search for a maximum that no latency bounds. It only ends searches of targets that stall.
const LOOSE: Limit =
    Limit { each: false, side: Side::Any, metric: Metric::Mean, bound_ns: 10_000_000_000 };

/// Largest queue depth in such a search, unless another is typed: that of iotune for each of its shards, and of SNIA's
/// tests. More only fills queues if IOPS no longer rise, and if they do, the setting is refused with a hint.
const MOST_DEPTH: u32 = 128;

/// Refuses options that contradict a setting, whatever the load is.
fn check_options(args: &FindArgs, setting: &'static Setting) -> Result<(), Usage> {
    let target = &args.target.target;
    let refuse = |reason| Err(usage(setting.refusal(reason, target), target));
    let limited = !args.search.limits.is_empty()
        || args.search.guide.is_some()
        || args.load.latency_limit().is_some();
    if setting.is_maximum() && limited {
        return refuse(Reason::HasLimit);
    }
    if setting.is_maximum() && args.search.open_loop {
        return refuse(Reason::OpenLoop);
    }
    if job_source::named(target).is_some() {
        return refuse(Reason::JobFile);
    }
    Ok(())
}

/// Returns the arguments with the load and the limit that the setting means, if there is one.
///
/// # Errors
/// Options that contradict the setting.
pub(super) fn filled(args: &FindArgs) -> anyhow::Result<FindArgs> {
    let mut args = args.clone();
    let Some(setting) = args.setting else { return Ok(args) };
    check_options(&args, setting)?;
    if setting.is_maximum() {
        args.search.limits.push(LOOSE);
        args.search.max_depth.get_or_insert(MOST_DEPTH);
    }
    let target = args.target.target.clone();
    // Of several loads, the first one that fits what was typed.
    let mut refused = None;
    for known in setting.loads() {
        let load = with(&args.load, known)?;
        match setting.check_load(&ready(&load)?, &target) {
            Ok(()) => return Ok(FindArgs { load, ..args }),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match refused {
        Some(refusal) => Err(usage(refusal, &target).into()),
        None => {
            let checked = setting.check_load(&ready(&args.load)?, &target);
            checked.map_err(|refusal| usage(refusal, &target))?;
            Ok(args)
        }
    }
}

/// Refuses several hosts, if there is a setting.
///
/// # Errors
/// As said.
pub(super) fn check_hosts(args: &FindArgs, hosts: usize) -> Result<(), Usage> {
    match args.setting {
        Some(setting) if hosts > 1 => {
            let target = &args.target.target;
            Err(usage(setting.refusal(Reason::Hosts, target), target))
        }
        _ => Ok(()),
    }
}

fn usage(refusal: Refusal, target: &str) -> Usage {
    Usage(refusal.with_options(typed_options(target)).to_string())
}

/// Returns the options of this `iogauge find` as typed, each with its value, except the setting.
pub(super) fn typed_options(target: &str) -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words = words.skip_while(|word| word != "find").skip(1).peekable();
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        // All values but the target belong to an option.
        let is_value = |next: &String| !next.starts_with('-') && next != target;
        let value = if word.contains('=') { None } else { words.next_if(is_value) };
        if word.starts_with('-') && word != "--for" && !word.starts_with("--for=") {
            options.push(value.map_or_else(|| word.clone(), |value| format!("{word}={value}")));
        }
    }
    options
}

/// Returns a load with the options of a setting that were not typed.
fn with(typed: &LoadArgs, known: &SettingLoad) -> anyhow::Result<LoadArgs> {
    let missing = known.options().into_iter().filter(|(option, _)| !typed.has(option));
    let words: Vec<String> = missing.map(|(option, value)| format!("{option}={value}")).collect();
    typed.with_job(&words.join(" ")).map_err(|error| Usage(error).into())
}

fn ready(load: &LoadArgs) -> anyhow::Result<Load> {
    Ok(load.load(load.plain.engine, &[]).map_err(LabError::from)?)
}
