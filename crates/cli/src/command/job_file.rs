//! `iogauge run` and `iogauge find` with a fio job file: runs its jobs in fio's order, or searches over its only job.

use super::invocation::{Invocation, Opened};
use super::search;
use super::steps::{self, Wanted};
use crate::args::{FindArgs, RunArgs, TargetArgs};
use crate::exit::{Exit, Usage};
use crate::job_source::Here;
use crate::screen;
use iogauge_fio::job::{Fault, Group, JobFile, JobFileError, PlannedJob, Search};
use iogauge_lab::search::SearchPlan;
use iogauge_lab::suite::{Needs, Own, OwnJob, OwnStep};
use iogauge_lab::target::Intent;
use iogauge_lab::{Interrupt, LabError, Region, Rig};
use iogauge_model::caveat::Command;
use iogauge_model::load::EngineKind;
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::{Load, Step};
use std::path::{Path, PathBuf};

/// Number of jobs that a label names; the rest are counted.
const MOST_NAMED: usize = 4;
/// Budget of a search if the job has no runtime; the same as for `find`.
const SEARCH_NS: u64 = 30_000_000_000;
/// Shortest useful search.
const SHORTEST_SEARCH_NS: u64 = 1_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a job file that cannot run, a refused target, or a fault while measuring.
pub fn run(args: &RunArgs, path: &Path, interrupt: Interrupt) -> anyhow::Result<Exit> {
    nothing_beside(args)?;
    let groups = groups(path, args.lenient)?;
    let (own, mut opened) = on_own_files(path, &groups, &args.target)?;
    opened.rig.sample_every(args.sampling.every);
    opened.rig.set_command(Command::RunFile);
    let search = match own.steps.as_slice() {
        [OwnStep { find: Some(plan), jobs, .. }] => Some((plan, &jobs[0].job.load)),
        _ => None,
    };
    if let Some((_, load)) = search {
        if args.output_format.detail().is_some() {
            let text = "--output-format: a job with latency_target is a search, which has no such \
                        document; hint: use --json";
            return Err(Usage(text.to_owned()).into());
        }
        let (engine, fact) = opened.rig.engine(Some(load.engine))?;
        opened.loads = vec![Load { engine, ..load.clone() }];
        opened.facts.extend(fact);
    } else {
        for engine in own.engines() {
            opened.rig.engine(Some(engine))?;
        }
        let jobs = own.steps.iter().flat_map(|step| &step.jobs);
        opened.loads = jobs.map(|own| own.job.load.clone()).collect();
    }
    let kind = if search.is_some() { "find" } else { "run" };
    let mut invocation =
        Invocation::on(kind, &args.target, &args.output, false, interrupt, opened)?;
    invocation.unlink = unlinked(&groups);
    invocation.trace = args.trace.mode;
    invocation.share = args.hosts.share;
    if let Some((plan, _)) = search {
        return search::run_on(invocation, plan);
    }
    let steps: Vec<(Step, Vec<Region>)> =
        own.steps.iter().map(|step| (step.step(), step.regions())).collect();
    invocation.regions = steps.iter().flat_map(|(_, regions)| regions.clone()).collect();
    let labels: Vec<&str> = steps.iter().map(|(step, _)| step.label.as_str()).collect();
    let both = steps.iter().zip(&groups);
    let wanted: Vec<Wanted<'_>> = both
        .map(|((step, regions), group)| Wanted { step, regions, sums_up: group.sums_up })
        .collect();
    steps::run(args, invocation, &labels.join(", "), &wanted)
}

/// `iogauge find FILE.fio`: searches over the queue depth of the file's only job.
///
/// # Errors
/// Wrong usage, a job file that cannot run, a refused target, or a fault while measuring.
pub fn find(
    args: &FindArgs,
    plan: &SearchPlan,
    path: &Path,
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    nothing_beside_search(args)?;
    let mut groups = groups(path, false)?;
    let job = match groups.as_mut_slice() {
        [Group { jobs, .. }] if jobs.len() == 1 => jobs.remove(0),
        _ => {
            let jobs = groups.iter().map(|group| group.jobs.len()).sum();
            return Err(one_job(path, jobs).into());
        }
    };
    let mut plan = plan.clone();
    if plan.limits.is_empty() {
        plan.limits.extend(job.search.map(|search| search.limit));
    }
    let job = job.searched().map_err(|error| Usage(error.to_string()))?;
    groups[0].jobs.push(job);
    let (own, mut opened) = on_own_files(path, &groups, &args.target)?;
    let load = &own.steps[0].jobs[0].job.load;
    for limit in &plan.limits {
        limit.check(load).map_err(|error| Usage(error.to_string()))?;
    }
    let (engine, fact) = opened.rig.engine(Some(load.engine))?;
    opened.loads = vec![Load { engine, ..load.clone() }];
    opened.facts.extend(fact);
    opened.rig.sample_every(args.sampling.every);
    opened.rig.set_command(Command::FindFile);
    let mut invocation =
        Invocation::on("find", &args.target, &args.output, args.explain, interrupt, opened)?;
    invocation.unlink = unlinked(&groups);
    invocation.trace = args.trace.mode;
    invocation.share = args.hosts.share;
    search::run_on(invocation, &plan)
}

/// Refuses workload options next to a job file whose job is searched.
pub(super) fn nothing_beside_search(args: &FindArgs) -> Result<(), Usage> {
    if args.load.is_empty() {
        return Ok(());
    }
    let text = "options of the workload belong in the job file; hint: put them in the file instead of \
                on the command line";
    Err(Usage(text.to_owned()))
}

/// Refuses a search over several jobs.
pub(super) fn one_job(path: &Path, jobs: usize) -> Usage {
    Usage(format!(
        "{}: a search has the storage for itself; hint: use a file of one job, not {jobs}",
        path.display()
    ))
}

/// Returns the search that `latency_target` requests. The job's runtime is the budget.
fn search_plan(search: Search, runtime_ns: Option<u64>) -> SearchPlan {
    SearchPlan {
        limits: vec![search.limit],
        max_depth: search.max_depth,
        budget_ns: runtime_ns.unwrap_or(SEARCH_NS).max(SHORTEST_SEARCH_NS),
        // Starvation of the client does not end the search, as in fio.
        max_starvation: 1.0,
        ..SearchPlan::default()
    }
}

/// Refuses workload options next to a job file.
pub(super) fn nothing_beside(args: &RunArgs) -> anyhow::Result<()> {
    let beside = !args.load.is_empty()
        || args.runtime.is_some()
        || args.ramp_time.is_some()
        || !args.jobs.is_empty();
    if beside {
        let text = "options of the workload belong in the job file; hint: put them in its [global] \
                    instead of on the command line";
        return Err(Usage(text.to_owned()).into());
    }
    if args.print_fio {
        let text = "--print-fio prints a job file for options; the target is one already";
        return Err(Usage(text.to_owned()).into());
    }
    Ok(())
}

/// Reads the file. An option that iogauge does not support is an error, or a warning if `lenient`.
pub(super) fn groups(path: &Path, lenient: bool) -> anyhow::Result<Vec<Group>> {
    let wrong = |error: JobFileError| Usage(error.to_string());
    let file = JobFile::read(path, &Here).map_err(wrong)?;
    let groups = file.plan().map_err(wrong);
    if !lenient && let Some(first) = file.unsupported.first() {
        let more = match file.unsupported.len() {
            1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        return Err(Usage(format!("{first}{more}")).into());
    }
    for error in &file.unsupported {
        if let Fault::Unsupported { option, why } = &error.fault {
            let place = &error.place;
            screen::warning(&format!("{place}: {option} is left out: {why}"));
        }
    }
    Ok(groups?)
}

/// Returns each file of the jobs with its intended use.
pub(super) fn wanted(groups: &[Group], target: &TargetArgs) -> Vec<(PathBuf, Intent)> {
    let jobs = groups.iter().flat_map(|group| &group.jobs);
    iogauge_lab::session::job_files::wanted(jobs, &target.permit.permitted())
}

/// Lists the files for messages; more than [`MOST_NAMED`] are counted.
pub(super) fn text(wanted: &[(PathBuf, Intent)], file: &Path) -> String {
    let names = wanted.iter().map(|(path, _)| path.display().to_string());
    let named: Vec<String> = names.take(MOST_NAMED).collect();
    match wanted.len() {
        0 => file.display().to_string(),
        all if all > MOST_NAMED => format!("{},… ({all} files)", named.join(",")),
        _ => named.join(","),
    }
}

/// Opens the files and devices that a job file names, and returns its groups on them.
pub(super) fn on_own_files(
    path: &Path,
    groups: &[Group],
    target: &TargetArgs,
) -> anyhow::Result<(Own, Opened)> {
    let wanted = wanted(groups, target);
    let rig = Rig::open_each(&text(&wanted, path), &wanted)?;
    let paths: Vec<&Path> = wanted.iter().map(|(path, _)| path.as_path()).collect();
    let needs = Needs { writes: rig.intent().writes, ..Needs::default() };
    let suite = suite(path, groups, needs, |job| {
        let (load, region) = on(job, &rig, &paths)?;
        Ok((load, Some(job.engine()), region))
    })?;
    Ok((suite, Opened { rig, loads: Vec::new(), facts: Vec::new() }))
}

/// A job's workload, its fixed engine if any, and its region.
type Put = (Load, Option<EngineKind>, Region);

/// Turns the groups into steps.
pub(super) fn suite(
    path: &Path,
    groups: &[Group],
    needs: Needs,
    put: impl Fn(&PlannedJob) -> anyhow::Result<Put>,
) -> anyhow::Result<Own> {
    let mut steps: Vec<OwnStep> = Vec::new();
    for group in groups {
        let mut jobs = Vec::new();
        for planned in &group.jobs {
            let (load, engine, region) = put(planned)?;
            jobs.push(OwnJob { job: Job { name: planned.name.clone(), load }, engine, region });
        }
        let plain: Vec<Job> = jobs.iter().map(|own| own.job.clone()).collect();
        let name = names(&plain);
        let like = steps.iter().filter(|known| known.name == name).count();
        let key = if like == 0 { name.clone() } else { format!("{name} ({})", like + 1) };
        let find = match group.jobs.as_slice() {
            [job] => job.search.map(|search| search_plan(search, group.runtime_ns)),
            _ => None,
        };
        steps.push(OwnStep {
            line: group.jobs.first().map_or(1, |job| job.place.line as usize),
            name,
            key,
            label: label(&plain),
            jobs,
            ramp_ns: group.ramp_ns,
            runtime_ns: group.runtime_ns.unwrap_or(LONGEST_NS),
            limits: Vec::new(),
            find,
        });
    }
    Ok(Own { path: path.display().to_string(), about: None, needs, steps })
}

/// Returns the workload and region of a job on the opened files.
fn on(job: &PlannedJob, rig: &Rig, paths: &[&Path]) -> anyhow::Result<(Load, Region)> {
    let wrong = |error: JobFileError| Usage(error.to_string());
    if job.engine() == EngineKind::Null {
        let each = job.file_size_bytes.unwrap_or(0);
        let size_bytes = each.saturating_mul(job.files.len() as u64);
        return Ok((job.load(&[size_bytes]).map_err(wrong)?, Region::Nothing { size_bytes }));
    }
    let number = |file: &PathBuf| paths.iter().position(|path| path == file);
    let numbers: Vec<usize> = job.files.iter().filter_map(number).collect();
    let parts = rig.target().map_or(&[][..], |target| &target.parts);
    let size = |number: &usize| parts.get(*number).map(|part| part.size_bytes);
    let sizes: Vec<u64> = numbers.iter().filter_map(size).collect();
    let load = job.load(&sizes).map_err(wrong)?;
    load.validate().map_err(LabError::from)?;
    Ok((load, Region::Parts(numbers)))
}

/// Example: `a: read 4 KiB depth 1 + b ×4: randwrite 8 KiB depth 16`.
fn label(jobs: &[Job]) -> String {
    let mut distinct: Vec<(String, String, u32)> = Vec::new();
    for job in jobs {
        let words = job.load.label();
        let same = |known: &&mut (String, String, u32)| known.0 == job.name && known.1 == words;
        match distinct.iter_mut().find(same) {
            Some((_, _, clones)) => *clones += 1,
            None => distinct.push((job.name.clone(), words, 1)),
        }
    }
    let named = distinct.iter().take(MOST_NAMED).map(|(name, load, clones)| match clones {
        1 => format!("{name}: {load}"),
        _ => format!("{name} ×{clones}: {load}"),
    });
    let mut label = named.collect::<Vec<_>>().join(" + ");
    if distinct.len() > MOST_NAMED {
        label.push_str(&format!(" + {} more", distinct.len() - MOST_NAMED));
    }
    label
}

/// Example: `a + b`; each name once.
fn names(jobs: &[Job]) -> String {
    let mut names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    names.dedup();
    let mut text = names.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(" + ");
    if names.len() > MOST_NAMED {
        text.push_str(&format!(" + {} more", names.len() - MOST_NAMED));
    }
    text
}

/// Returns the files that jobs ask to unlink at the end.
pub(super) fn unlinked(groups: &[Group]) -> Vec<PathBuf> {
    let jobs = groups.iter().flat_map(|group| &group.jobs);
    let asked = jobs.filter(|job| job.unlink && job.engine() != EngineKind::Null);
    let mut files: Vec<PathBuf> = asked.flat_map(|job| job.files.clone()).collect();
    files.sort();
    files.dedup();
    files
}
