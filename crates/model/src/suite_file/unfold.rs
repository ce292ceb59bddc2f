//! From tables to steps: what defaults add, and what lists unfold to.

use super::block::{Block, Listed};
use super::{FileJob, FileOption, FileStep, MOST_JOBS, MOST_STEPS, SuiteFileError};
use crate::limit::Limit;

/// Options that a search sets itself.
const SEARCHED: [&str; 8] =
    ["iodepth", "rate_iops", "rate", "number_ios", "io_size", "thinktime", "startdelay", "verify"];

/// Adds the steps that a table stands for.
pub(super) fn unfold(
    step: &Block,
    defaults: &Block,
    common: &[Limit],
    steps: &mut Vec<FileStep>,
) -> Result<(), SuiteFileError> {
    let fail = |line, reason: String| Err(SuiteFileError { line, reason });
    let searches = !step.find.is_empty();
    let mut options = over(&defaults.options, &step.options);
    if searches {
        let typed = step.options.iter().chain(step.jobs.iter().flat_map(|job| &job.options));
        if let Some(own) = typed.clone().find(|own| SEARCHED.contains(&own.name.as_str())) {
            let reason = format!("{}: find chooses the load itself; hint: use none", own.name);
            return fail(own.line, reason);
        }
        options.retain(|option| !SEARCHED.contains(&option.name.as_str()));
        if step.jobs.len() > 1 {
            let reason = "find: a search has one job; hint: use jobs in a step of their own";
            return fail(step.line, reason.to_owned());
        }
    }
    let lists: Vec<&Listed> = options.iter().filter(|option| option.is_list).collect();
    let count = lists.iter().try_fold(1usize, |all, list| all.checked_mul(list.values.len()));
    if count.is_none_or(|count| count > MOST_STEPS - steps.len()) {
        return fail(step.line, format!("the file unfolds to more than {MOST_STEPS} steps"));
    }
    let there: usize = steps.iter().map(|step| step.jobs.len()).sum();
    let more = count.unwrap_or(0).saturating_mul(step.jobs.len().max(1));
    if more > MOST_JOBS - there {
        return fail(step.line, format!("the file unfolds to more than {MOST_JOBS} jobs"));
    }
    for chosen in combinations(&lists) {
        let name = step.name.clone().unwrap_or_default();
        let key = key(&name, &chosen);
        if let Some(known) = steps.iter().find(|known| known.key == key) {
            let reason = format!("the step of line {} has the name \"{key}\", too", known.line);
            return fail(step.line, reason);
        }
        let jobs = jobs(step, &options, &chosen);
        let limits = if step.limits.is_empty() { common } else { &step.limits };
        steps.push(FileStep {
            line: step.line,
            name,
            key,
            jobs,
            runtime_ns: step.runtime_ns,
            ramp_ns: step.ramp_ns,
            limits: if searches { Vec::new() } else { limits.to_vec() },
            find: step.find.clone(),
        });
    }
    Ok(())
}

/// One value of each list, in the order of the file: the last list changes fastest.
fn combinations(lists: &[&Listed]) -> Vec<Vec<FileOption>> {
    let mut all: Vec<Vec<FileOption>> = vec![Vec::new()];
    for list in lists {
        let with = |chosen: &Vec<FileOption>| {
            let chosen = chosen.clone();
            list.values.iter().map(move |value| [&chosen[..], &[list.with(value)]].concat())
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// `look-ups 8k 16 users`.
fn key(name: &str, chosen: &[FileOption]) -> String {
    let word = |option: &FileOption| match option.name.as_str() {
        "bs" => format!(" {}", option.value),
        "users" => format!(" {} users", option.value),
        name => format!(" {name}={}", option.value),
    };
    chosen.iter().map(word).fold(name.to_owned(), |key, word| key + &word)
}

fn jobs(step: &Block, options: &[Listed], chosen: &[FileOption]) -> Vec<FileJob> {
    let value = |option: &Listed| {
        let of_list = chosen.iter().find(|chosen| option.is_list && chosen.name == option.name);
        of_list.cloned().or_else(|| Some(option.with(option.values.first()?)))
    };
    let of_step: Vec<FileOption> = options.iter().filter_map(value).collect();
    if step.jobs.is_empty() {
        return vec![FileJob { name: None, options: renamed(of_step) }];
    }
    let job = |job: &Block| {
        let own: Vec<FileOption> = job.options.iter().filter_map(value).collect();
        let is_set =
            |option: &&FileOption| own.iter().any(|o| family(&o.name) == family(&option.name));
        let kept = of_step.iter().filter(|option| !is_set(option)).cloned();
        FileJob { name: job.name.clone(), options: renamed(kept.chain(own.clone()).collect()) }
    };
    step.jobs.iter().map(job).collect()
}

/// Users are workers.
fn renamed(mut options: Vec<FileOption>) -> Vec<FileOption> {
    for option in options.iter_mut().filter(|option| option.name == "users") {
        option.name = "numjobs".to_owned();
    }
    options
}

/// Options with those in front that they do not replace.
fn over(defaults: &[Listed], own: &[Listed]) -> Vec<Listed> {
    let is_set = |option: &&Listed| own.iter().any(|o| family(&o.name) == family(&option.name));
    defaults.iter().filter(|option| !is_set(option)).chain(own).cloned().collect()
}

/// Options of which one replaces the other.
fn family(name: &str) -> &str {
    match name {
        "blocksize" | "bssplit" | "bsrange" | "blocksize_range" => "bs",
        "rwmixwrite" => "rwmixread",
        "rate" => "rate_iops",
        "readwrite" => "rw",
        "users" => "numjobs",
        other => other,
    }
}
