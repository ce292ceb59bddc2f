//! From the arguments to subjects whose targets are open.

use super::given::Given;
use super::turns;
use crate::args::{CompareArgs, LoadArgs, TargetArgs};
use crate::command::find::search_plan;
use crate::command::invocation::{self, Opened};
use crate::exit::Usage;
use crate::job_source;
use iogauge_lab::compare::Subject;
use iogauge_lab::session::hosts;
use iogauge_lab::suite::Work;
use iogauge_model::caveat::Command;
use iogauge_model::result::CompareSubject;
use iogauge_model::{Load, Step};

/// Time of a turn at a fixed load, and of one that searches.
const RUNTIME_NS: u64 = 2_000_000_000;
const SEARCH_NS: u64 = 10_000_000_000;
/// Maximum number of subjects, each with a letter.
const MOST_SUBJECTS: usize = 26;

/// A subject as typed.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    /// Its letter.
    pub(super) name: String,
    /// What distinguishes it from the others.
    pub(super) about: String,
    pub(super) target: String,
    pub(super) load: LoadArgs,
    pub(super) setup: Option<String>,
}

/// Returns the subjects as typed, at least two.
///
/// # Errors
/// One subject, options of a subject that there is not, or loads that cannot be compared.
pub(super) fn typed(args: &CompareArgs) -> anyhow::Result<Vec<Typed>> {
    let refuse = |text: String| Err(Usage(text).into());
    let own = [&args.a, &args.b, &args.comparing.setup_a, &args.comparing.setup_b];
    let targets = match args.subjects.as_slice() {
        [only] if own.iter().any(|option| option.is_some()) => vec![only.clone(); 2],
        [only] => {
            return refuse(format!(
                "compare needs two subjects, and {only} is one; hint: name another target, or use --a and --b"
            ));
        }
        several => several.to_vec(),
    };
    if targets.len() > MOST_SUBJECTS {
        return refuse(format!("compare takes at most {MOST_SUBJECTS} subjects"));
    }
    if targets.len() > 2 && own.iter().any(|option| option.is_some()) {
        let text = "--a, --b, --setup-a and --setup-b are for two subjects";
        return refuse(text.to_owned());
    }
    let is_one_target = targets.iter().all(|target| *target == targets[0]);
    let shows_targets = !is_one_target || own.iter().all(|option| option.is_none());
    let mut subjects = Vec::new();
    for (index, (target, letter)) in targets.iter().zip('A'..='Z').enumerate() {
        job_source::refuse(target)?;
        let options = [&args.a, &args.b].get(index).and_then(|text| text.as_deref());
        let setup = args.comparing.setup(index);
        let load = match options {
            None => args.load.clone(),
            Some(text) => with_options(args, &format!("--{}", letter.to_ascii_lowercase()), text)?,
        };
        let twin = ('A'..).zip(&targets[..index]).find(|(_, other)| are_same(other, target));
        let shown = match twin {
            Some((twin, _)) => format!("the same as {twin}"),
            None => target.clone(),
        };
        let about = about([shows_targets.then_some(shown.as_str()), options, setup]);
        let (target, setup) = (target.clone(), setup.map(str::to_owned));
        subjects.push(Typed { name: letter.to_string(), about, target, load, setup });
    }
    check(args, &subjects)?;
    Ok(subjects)
}

/// Returns what distinguishes a subject from the others, from its target, its options and its command.
fn about(distinct: [Option<&str>; 3]) -> String {
    let words = distinct.into_iter().flatten().map(str::trim);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "as given".to_owned() } else { words.join(", ") }
}

/// Returns the load of a subject: the common one with the options that `option` has.
fn with_options(args: &CompareArgs, option: &str, text: &str) -> Result<LoadArgs, Usage> {
    let name = |word: &str| word.split('=').next().map(str::to_owned);
    if let Some(name) = text.split_whitespace().filter_map(name).find(|name| Given::is_common(name))
    {
        return Err(Usage(format!(
            "{option}: --{name} is common to all subjects, and no option of a load; hint: use --{name} outside {option}"
        )));
    }
    args.load.with_job(text).map_err(|error| Usage(format!("{option}: {error}")))
}

/// True if the loads of the subjects are fixed, so that no capacity is searched.
///
/// # Errors
/// As [`typed`].
pub(super) fn are_fixed(args: &CompareArgs) -> anyhow::Result<bool> {
    Ok(typed(args)?.iter().all(|subject| is_fixed(&subject.load)))
}

/// True if the load says how much I/O there is, so that no capacity is searched.
fn is_fixed(load: &LoadArgs) -> bool {
    load.has("iodepth") || is_rated(load)
}

/// True if the load says how much I/O arrives in a second.
fn is_rated(load: &LoadArgs) -> bool {
    load.has("rate_iops") || load.has("rate")
}

fn check(args: &CompareArgs, subjects: &[Typed]) -> anyhow::Result<()> {
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    turns::baseline(&args.comparing, subjects.len())?;
    let loads: Vec<LoadArgs> = subjects.iter().map(|subject| subject.load.clone()).collect();
    invocation::refuse_of_run(&loads)?;
    if args.comparing.runtime == Some(0) {
        return refuse("--runtime=0 measures nothing; hint: use 2s");
    }
    let options = ["number_ios", "io_size", "verify"];
    if let Some(option) = options.iter().find(|option| loads.iter().any(|load| load.has(option))) {
        let text = format!("--{option} belongs to run: compare measures for a time");
        return refuse(&text);
    }
    let fixed = loads.iter().filter(|load| is_fixed(load)).count();
    if fixed > 0 && fixed < loads.len() {
        return refuse(
            "a fixed load cannot be compared with a search; hint: use --iodepth or --rate_iops for all subjects, \
             or for none",
        );
    }
    let rated = loads.iter().filter(|load| is_rated(load)).count();
    if rated > 0 && rated < loads.len() {
        return refuse(
            "a rate cannot be compared with a queue depth: only at a rate, latencies include the wait; hint: use \
             --rate_iops for all subjects, or for none",
        );
    }
    if fixed > 0 && (!args.search.limits.is_empty() || args.search.guide.is_some()) {
        return refuse(
            "--limit: a load with --iodepth or --rate_iops is not searched; hint: leave out --limit, or the load",
        );
    }
    if fixed > 0 && args.search.open_loop {
        return refuse("--open-loop searches the rate; hint: leave out --rate_iops and --iodepth");
    }
    Ok(())
}

/// Subjects whose targets are open.
pub(super) struct Ready {
    pub(super) subjects: Vec<Subject>,
    /// The same, as the document has them.
    pub(super) described: Vec<CompareSubject>,
    /// The targets, each once.
    pub(super) opened: Vec<Opened>,
    /// Index of the target of each subject.
    pub(super) target_of: Vec<usize>,
    /// Time of each turn.
    pub(super) turn_ns: u64,
    /// Decides the order of the turns, and what they read and write.
    pub(super) seed: u64,
}

/// Opens the targets behind their guards. Changes nothing.
///
/// # Errors
/// Wrong usage, or a refused target.
pub(super) fn open(args: &CompareArgs, typed: &[Typed]) -> anyhow::Result<Ready> {
    let mut targets: Vec<&str> = Vec::new();
    for subject in typed {
        if !targets.iter().any(|target| are_same(target, &subject.target)) {
            targets.push(&subject.target);
        }
    }
    if targets.len() > 1 && hosts::led().is_some() {
        let text = "compare measures several targets from one host; hint: use one target with --a and --b, or one host";
        return Err(Usage(text.to_owned()).into());
    }
    let mut opened = Vec::new();
    for target in &targets {
        let loads: Vec<LoadArgs> =
            typed.iter().filter(|s| are_same(target, &s.target)).map(|s| s.load.clone()).collect();
        let mut one = invocation::open(&target_args(args, target), &loads, None)?;
        one.rig.sample_every(args.sampling.every);
        one.rig.set_command(Command::Compare);
        opened.push(one);
    }
    let fixed = is_fixed(&typed[0].load);
    let runtime_ns = args.comparing.runtime.unwrap_or(if fixed { RUNTIME_NS } else { SEARCH_NS });
    let (mut subjects, mut described, mut target_of) = (Vec::new(), Vec::new(), Vec::new());
    let seed = seed(args, &opened);
    let mut taken = vec![0; opened.len()];
    for subject in typed {
        let index =
            targets.iter().position(|target| are_same(target, &subject.target)).unwrap_or(0);
        let load = Load { seed, ..opened[index].loads[taken[index]].clone() };
        taken[index] += 1;
        let work = work(args, subject, &load, runtime_ns, &opened)?;
        let (name, about) = (subject.name.clone(), subject.about.clone());
        let load = match &work {
            Work::Step(_) => load,
            Work::Search { load, .. } | Work::Check { load, .. } => (**load).clone(),
        };
        described.push(CompareSubject {
            name: name.clone(),
            about: about.clone(),
            target: opened[index].rig.describe(),
            load: load.into(),
            setup: subject.setup.clone(),
        });
        subjects.push(Subject { name, about, work });
        target_of.push(index);
    }
    let ramp_ns = if fixed { args.comparing.ramp_time } else { 0 };
    Ok(Ready { subjects, described, opened, target_of, turn_ns: runtime_ns + ramp_ns, seed })
}

/// True if two texts name the same target, which is opened once.
fn are_same(a: &str, b: &str) -> bool {
    let path = |text: &str| std::fs::canonicalize(text).ok();
    a == b || path(a).is_some_and(|a| Some(a) == path(b))
}

/// Returns the seed from the options, or a new one.
fn seed(args: &CompareArgs, opened: &[Opened]) -> u64 {
    match args.load.has("randseed") {
        true => opened[0].loads[0].seed,
        false => turns::new_seed(),
    }
}

fn work(
    args: &CompareArgs,
    subject: &Typed,
    load: &Load,
    runtime_ns: u64,
    opened: &[Opened],
) -> anyhow::Result<Work> {
    if is_fixed(&subject.load) {
        return Ok(Work::Step(Step::single(load.clone(), args.comparing.ramp_time, runtime_ns)));
    }
    let mut plan = search_plan(&args.search, &subject.load, runtime_ns)?;
    if plan.limits.is_empty() {
        // The same for all.
        plan.limits.push(opened[0].rig.usual_limit());
    }
    opened.iter().try_for_each(|one| one.rig.check_limits(&plan.limits))?;
    Ok(Work::Search { load: Box::new(Load { iodepth: 1, ..load.clone() }), plan })
}

/// Returns a target with what may be done to it.
pub(super) fn target_args(args: &CompareArgs, target: &str) -> TargetArgs {
    TargetArgs { target: target.to_owned(), permit: args.permit.clone() }
}
