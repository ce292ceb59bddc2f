//! Expands tables to steps: adds defaults, and makes a step for each combination of list values.

use super::block::{Block, Listed};
use super::{FileJob, FileOption, FileStep, MOST_JOBS, MOST_STEPS, SuiteFileError};

/// Options that a search sets itself.
const SEARCHED: [&str; 8] =
    ["iodepth", "rate_iops", "rate", "number_ios", "io_size", "thinktime", "startdelay", "verify"];

/// Adds the steps that a table expands to.
pub(super) fn unfold(
    step: &Block,
    defaults: &Block,
    common: &Block,
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
    let runtime_ns = step.runtime_ns.or(common.runtime_ns);
    let share_ns = match (step.ramp_share.or(common.ramp_share), runtime_ns) {
        (Some(share), Some(runtime_ns)) => Some((runtime_ns as f64 * share).round() as u64),
        (Some(_), None) => {
            let reason = "ramp: a share is one of seconds; hint: use seconds = 10 with it";
            return fail(step.line, reason.to_owned());
        }
        (None, _) => None,
    };
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
        let of_step = settled(&options, &chosen);
        let key = match &step.key {
            Some(key) => filled(key, &of_step),
            None => key(&name, &chosen),
        };
        if let Some(known) = steps.iter().find(|known| known.key == key) {
            let reason = format!("the step of line {} already has the name \"{key}\"", known.line);
            return fail(step.line, reason);
        }
        let limits = if step.limits.is_empty() { &common.limits } else { &step.limits };
        steps.push(FileStep {
            line: step.line,
            name: filled(&name, &of_step),
            key,
            jobs: jobs(step, &of_step),
            runtime_ns: step.runtime_ns,
            ramp_ns: step.ramp_ns.or(share_ns),
            limits: if searches { Vec::new() } else { limits.to_vec() },
            has_own_limits: !step.limits.is_empty(),
            find: step.find.clone(),
        });
    }
    Ok(())
}

/// Returns all combinations of one value per list, in the order of the file. The last list changes fastest.
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

/// Returns the key of a step: `look-ups 8k 16 users`.
fn key(name: &str, chosen: &[FileOption]) -> String {
    let word = |option: &FileOption| match option.name.as_str() {
        "bs" => format!(" {}", option.value),
        "users" => format!(" {} users", option.value),
        name => format!(" {name}={}", option.value),
    };
    chosen.iter().map(word).fold(name.to_owned(), |key, word| key + &word)
}

/// Replaces option names in braces by their values. After each replacement, `(s)` becomes `s`, or nothing if
/// the value is 1.
fn filled(text: &str, options: &[FileOption]) -> String {
    let mut filled = text.to_owned();
    for FileOption { name, value, .. } in options {
        let place = format!("{{{name}}}");
        if filled.contains(&place) {
            filled = filled.replace(&place, value);
            filled = filled.replace("(s)", if value == "1" { "" } else { "s" });
        }
    }
    filled
}

/// Returns each option with one value; for a list, the chosen one.
fn settled(options: &[Listed], chosen: &[FileOption]) -> Vec<FileOption> {
    let value = |option: &Listed| {
        let of_list = chosen.iter().find(|chosen| option.is_list && chosen.name == option.name);
        of_list.cloned().or_else(|| Some(option.with(option.values.first()?)))
    };
    options.iter().filter_map(value).collect()
}

fn jobs(step: &Block, of_step: &[FileOption]) -> Vec<FileJob> {
    if step.jobs.is_empty() {
        return vec![FileJob { name: None, options: renamed(of_step.to_vec()) }];
    }
    let job = |job: &Block| {
        let own = settled(&job.options, &[]);
        let is_set =
            |option: &&FileOption| own.iter().any(|o| family(&o.name) == family(&option.name));
        let kept = of_step.iter().filter(|option| !is_set(option)).cloned();
        let options: Vec<FileOption> = kept.chain(own.clone()).collect();
        let name = job.name.as_ref().map(|name| filled(name, &options));
        FileJob { name, options: renamed(options) }
    };
    step.jobs.iter().map(job).collect()
}

/// Renames `users` to `numjobs`: users are workers.
pub(super) fn renamed(mut options: Vec<FileOption>) -> Vec<FileOption> {
    for option in options.iter_mut().filter(|option| option.name == "users") {
        option.name = "numjobs".to_owned();
    }
    options
}

/// Combines options with the defaults that they do not replace.
pub(super) fn over(defaults: &[Listed], own: &[Listed]) -> Vec<Listed> {
    let is_set = |option: &&Listed| own.iter().any(|o| family(&o.name) == family(&option.name));
    defaults.iter().filter(|option| !is_set(option)).chain(own).cloned().collect()
}

/// Returns a common name for options that replace each other.
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
