//! Finds the suite run to resume, and what it kept.

use super::record::Resumed;
use crate::args::{OutputArgs, ResumeRef, TargetArgs};
use crate::exit::Usage;
use iogauge_lab::Rig;
use iogauge_lab::history::{Filter, History, RunRow, RunState, StoredRun};
use iogauge_model::result::{CompareSetup, Head, SuiteAsked, SuiteStepResult, Workload};
use serde::Deserialize;
use std::path::PathBuf;

/// A run that ended early.
#[derive(Debug)]
pub struct Earlier {
    /// The suite as it was requested.
    pub asked: SuiteAsked,
    /// Its complete steps.
    pub steps: Vec<SuiteStepResult>,
    /// The commands that ran before these steps, unless the run was killed.
    pub setups: Vec<CompareSetup>,
    /// Its ID, and how many steps are kept.
    pub run: Resumed,
    /// Files and devices of its target; empty for a simulated one.
    paths: Vec<PathBuf>,
}

/// Finds the run to resume: the named one, or the last one of this suite on this target.
///
/// # Errors
/// There is no such run, it belongs to another suite, or an option differs.
pub fn find(
    output: &OutputArgs,
    target: &TargetArgs,
    asked: &SuiteAsked,
    run: &ResumeRef,
) -> anyhow::Result<Earlier> {
    let Some(history) = History::open_kept(&output.history)? else {
        let text = "--resume: --history none keeps no runs; hint: use the history of the run";
        return Err(Usage(text.to_owned()).into());
    };
    let stored = match &run.0 {
        Some(run) => history.show(run)?,
        None => last(&history, target, asked)?,
    };
    let id = &stored.row.id;
    let Some(earlier) = asked_of(&stored) else {
        return Err(Usage(format!("--resume: run {id} is no suite")).into());
    };
    if earlier.name != asked.name {
        let name = &earlier.name;
        return Err(Usage(format!("--resume: run {id} is one of suite {name}")).into());
    }
    let differs = |(name, text): &(&String, &String)| earlier.options.get(*name) != Some(*text);
    let content = asked.options.get_key_value(SuiteAsked::CONTENT).filter(differs);
    if let Some((name, text)) = content.or_else(|| asked.options.iter().find(differs)) {
        if name == SuiteAsked::CONTENT {
            let (what, instead) = match asked.name.as_str() {
                SuiteAsked::COMPARE => ("the plan", "write a new one with --plan"),
                file => (file, "a run without --resume"),
            };
            return Err(Usage(format!(
                "--resume: {what} has changed since run {id} began; hint: restore the file as it was, or {instead}"
            ))
            .into());
        }
        let was = match earlier.options.get(name) {
            Some(was) if name == SuiteAsked::HOSTS => {
                let text = format!(
                    "--resume: run {id} has {was} hosts, not {text}; hint: use the same hosts"
                );
                return Err(Usage(text).into());
            }
            Some(was) => format!("--{name}={was}"),
            None => format!("no --{name}"),
        };
        return Err(Usage(format!(
            "--resume: run {id} was begun with {was}, not --{name}={text}; hint: leave out --{name}, \
             or --resume"
        ))
        .into());
    }
    let whole = |step: &SuiteStepResult| !step.interrupted;
    let mut steps = Vec::new();
    for step in &stored.steps {
        let step: SuiteStepResult = Deserialize::deserialize(&step.result)?;
        steps.push(step);
    }
    steps.retain(whole);
    let setups = setups_of(&stored, &steps);
    let head: Head = Deserialize::deserialize(&stored.head)?;
    let paths = head.target.parts().iter().map(|part| PathBuf::from(&part.path)).collect();
    let kept = steps.len() as u32;
    let run = Resumed { run: id.clone(), started: stored.row.started, steps: kept };
    Ok(Earlier { asked: earlier, steps, setups, run, paths })
}

fn last(history: &History, target: &TargetArgs, asked: &SuiteAsked) -> anyhow::Result<StoredRun> {
    let filter = Filter { kind: Some("suite".to_owned()), ..Filter::default() };
    let unfinished = |row: &&RunRow| {
        row.target == target.target
            && row.load == asked.name
            && matches!(row.state, RunState::Interrupted | RunState::Failed | RunState::Crashed)
    };
    let rows = history.list(&filter)?;
    let Some(row) = rows.iter().find(unfinished) else {
        return Err(Usage(format!(
            "--resume: no run of suite {} on {} ended before its time in {}",
            asked.name,
            target.target,
            history.path().display()
        ))
        .into());
    };
    Ok(history.show(&row.id.to_string().parse()?)?)
}

fn asked_of(stored: &StoredRun) -> Option<SuiteAsked> {
    let head: Head = Deserialize::deserialize(&stored.head).ok()?;
    match head.load {
        Workload::Suite { suite, .. } if stored.row.kind == "suite" => Some(suite),
        _ => None,
    }
}

/// Returns the commands that ran before the steps of a comparison.
fn setups_of(stored: &StoredRun, steps: &[SuiteStepResult]) -> Vec<CompareSetup> {
    let kept = stored.document.as_ref().and_then(|document| document.get("setups"));
    let kept: Option<Vec<CompareSetup>> = kept.and_then(|kept| Vec::deserialize(kept).ok());
    let is_before = |setup: &CompareSetup| steps.iter().any(|step| step.place.key == setup.step);
    kept.unwrap_or_default().into_iter().filter(is_before).collect()
}

impl Earlier {
    /// Checks that the target still means the same files and devices.
    ///
    /// # Errors
    /// The run used other files or devices.
    pub fn fits(&self, rig: &Rig) -> anyhow::Result<()> {
        let paths = rig.paths();
        if self.paths == paths {
            return Ok(());
        }
        let list = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        Err(Usage(format!(
            "--resume: run {} measured {}, not {}",
            self.run.run,
            list(&self.paths),
            list(&paths)
        ))
        .into())
    }
}
