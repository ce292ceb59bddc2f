//! `--plan` and `--resume`: a comparison whose turns run in several invocations, between which the machine may be
//! restarted. The file has the arguments, and the run in whose entry in the history the turns are kept.

use crate::args::{Cli, Command, CompareArgs, OutputArgs, ResumeRef};
use crate::command::history;
use crate::exit::{Refused, Usage};
use crate::job_source;
use crate::screen;
use anyhow::Context;
use clap::Parser;
use iogauge_lab::history::{HistoryPath, RunState};
use iogauge_lab::output::{OutputFile, Replace};
use iogauge_lab::suite::content_word;
use iogauge_model::result::SuiteDocument;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name and version of the format.
const PLAN_FORMAT: &str = "iogauge.compare-plan/1";

/// A planned comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PlanFile {
    format: String,
    /// The command line, with the seed of the order.
    arguments: Vec<String>,
    /// The working directory for relative paths.
    directory: PathBuf,
    /// Files and devices of the targets.
    #[serde(default)]
    targets: Vec<PathBuf>,
    /// The letters of the subjects in the order of their turns, a word for each block.
    blocks: Vec<String>,
    /// The run that keeps the turns, once the first one was begun.
    run: Option<String>,
}

/// The turns of a comparison to be planned.
#[derive(Debug)]
pub(super) struct Order {
    /// The letters of the subjects in the order of their turns, a word for each block.
    pub(super) blocks: Vec<String>,
    /// Decides the order.
    pub(super) seed: u64,
    /// The first turn in words.
    pub(super) first: String,
    /// Files and devices of the targets.
    pub(super) targets: Vec<PathBuf>,
}

/// A planned comparison that goes on.
#[derive(Debug)]
pub(super) struct Planned {
    path: PathBuf,
    file: PlanFile,
    /// What has to be typed to find the history again: nothing, or ` --history …`.
    history_option: String,
    /// Where the run is written down once it has begun, if there is none yet.
    output: Option<OutputFile>,
    /// The locked file: only one command at a time runs turns.
    _held: File,
}

/// Writes the plan of a comparison, and returns its text.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(
    args: &CompareArgs,
    output: OutputFile,
    arguments: &[OsString],
    order: Order,
) -> anyhow::Result<String> {
    let Order { blocks, seed, targets, .. } = order;
    let mut words = Vec::new();
    let mut typed = arguments.iter();
    while let Some(word) = typed.next() {
        let word = word.to_str().context("--plan needs arguments in UTF-8")?;
        match word {
            "--plan" => drop(typed.next()),
            "--force" => {}
            word if word.starts_with("--plan=") => {}
            word => words.push(word.to_owned()),
        }
    }
    if !args.load.has("randseed") {
        words.push(format!("--randseed={seed}"));
    }
    let directory = std::env::current_dir().context("cannot find the working directory")?;
    let format = PLAN_FORMAT.to_owned();
    let file = PlanFile { format, arguments: words, directory, targets, blocks, run: None };
    let text = screen::json(&file)?;
    output.put(text.as_bytes())?;
    Ok(text)
}

/// Reads a plan, enters its working directory, and returns its arguments. The output is as in the plan and in `args`.
///
/// # Errors
/// The file is not a plan.
pub(super) fn read(args: &CompareArgs, path: &Path) -> anyhow::Result<(Box<CompareArgs>, Planned)> {
    let wrong = |reason: String| Usage(format!("--resume {}: {reason}", path.display()));
    let held = job_source::open(path).map_err(|error| wrong(error.to_string()))?;
    let is_locked = matches!(held.try_lock(), Err(TryLockError::WouldBlock));
    if is_locked || is_replaced(&held, path).map_err(|error| wrong(error.to_string()))? {
        let text = "another command runs its turns; hint: wait until it has ended";
        return Err(wrong(text.to_owned()).into());
    }
    let file = parsed(&held).map_err(wrong)?;
    let folders = file.targets.iter().filter_map(|target| target.parent());
    if let Some(gone) = folders.into_iter().find(|folder| !folder.is_dir()) {
        let text = format!("there is no directory {}; hint: mount or restore it", gone.display());
        return Err(wrong(text).into());
    }
    let output = match file.run {
        None => Some(OutputFile::check(path, Replace::Ours)?),
        Some(_) => None,
    };
    let path = std::path::absolute(path).context("cannot find the working directory")?;
    let typed = with_absolute_path(&args.output)?;
    std::env::set_current_dir(&file.directory)
        .map_err(|error| wrong(format!("{}: {error}", file.directory.display())))?;
    let cli = Cli::try_parse_from(crate::args::with_dashes(file.arguments.iter().map(Into::into)));
    let Ok(Cli { command: Command::Compare(mut planned), .. }) = cli else {
        return Err(wrong("its arguments are not those of a comparison".to_owned()).into());
    };
    let history_option = typed.history_option();
    planned.output = merged(typed, planned.output.clone());
    Ok((planned, Planned { path, file, history_option, output, _held: held }))
}

/// True if a path has another file by now: the command that held the lock wrote its run down.
fn is_replaced(held: &File, path: &Path) -> std::io::Result<bool> {
    let identity = |about: Metadata| (about.dev(), about.ino());
    Ok(identity(held.metadata()?) != identity(path.metadata()?))
}

/// Reads a plan; the error says what is wrong with the file.
fn parsed(file: &File) -> Result<PlanFile, String> {
    let text = job_source::text_of(file).map_err(|error| error.to_string())?;
    let not_a_plan = "it is not a plan; hint: use a file that iogauge compare --plan wrote";
    let file: PlanFile = serde_json::from_str(&text).map_err(|_| not_a_plan.to_owned())?;
    match file.format.as_str() {
        PLAN_FORMAT => Ok(file),
        other => Err(format!("{other} is not {PLAN_FORMAT}")),
    }
}

/// Refuses to replace a plan whose turns have begun.
///
/// # Errors
/// There is such a plan, and no `--force`.
pub(super) fn refuse_started(path: &Path, force: bool) -> Result<(), Refused> {
    let plan = job_source::open(path).ok().and_then(|file| parsed(&file).ok());
    if force || plan.is_none_or(|plan| plan.run.is_none()) {
        return Ok(());
    }
    let path = path.display();
    Err(Refused(format!(
        "{path}: the turns of this plan have begun; hint: go on with --resume {path}, or use --force to replace it"
    )))
}

/// Returns the output with a history that is found from every directory.
fn with_absolute_path(output: &OutputArgs) -> anyhow::Result<OutputArgs> {
    let mut output = output.clone();
    if let HistoryPath::File(path) = &mut output.history {
        *path = std::path::absolute(&*path).context("cannot find the working directory")?;
    }
    Ok(output)
}

/// Returns the output as typed, and as planned where nothing was typed.
fn merged(typed: OutputArgs, planned: OutputArgs) -> OutputArgs {
    OutputArgs {
        json: typed.json || planned.json,
        quiet: typed.quiet || planned.quiet,
        history: match typed.history {
            HistoryPath::Default => planned.history,
            other => other,
        },
        label: typed.label.or(planned.label),
        detach: typed.detach,
    }
}

impl Planned {
    /// Checks that the turns are those of the plan.
    ///
    /// # Errors
    /// The plan was edited.
    pub(super) fn check(&self, blocks: &[String]) -> Result<(), Usage> {
        if self.file.blocks == blocks {
            return Ok(());
        }
        let path = self.path.display();
        let text = format!(
            "--resume {path}: its blocks are not those of its arguments; hint: write a new plan with --plan"
        );
        Err(Usage(text))
    }

    /// Returns a digest of what the turns depend on.
    pub(super) fn content(&self) -> String {
        let PlanFile { arguments, directory, .. } = &self.file;
        content_word(&format!("{}\0{}", arguments.join("\0"), directory.display()))
    }

    /// Returns the run that keeps the turns so far.
    pub(super) fn run(&self) -> anyhow::Result<Option<ResumeRef>> {
        let run = self.file.run.as_deref().map(str::parse).transpose()?;
        Ok(run.map(|run| ResumeRef(Some(run))))
    }

    /// Returns the result if the last turn has run.
    pub(super) fn finished(&self, history: &HistoryPath) -> anyhow::Result<Option<SuiteDocument>> {
        let Some(run) = &self.file.run else { return Ok(None) };
        let stored = history::open(history)?.show(&run.parse()?)?;
        let document = stored.document.filter(|_| stored.row.state == RunState::Done);
        Ok(document.as_ref().map(Deserialize::deserialize).transpose()?)
    }

    /// Writes down which run keeps the turns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn begun(&mut self, run: &str) -> anyhow::Result<()> {
        let Some(output) = self.output.take() else { return Ok(()) };
        self.file.run = Some(run.to_owned());
        Ok(output.put(screen::json(&self.file)?.as_bytes())?)
    }

    /// Returns the command that goes on.
    pub(super) fn command(&self) -> String {
        format!("iogauge compare --resume {}{}", self.path.display(), self.history_option)
    }
}
