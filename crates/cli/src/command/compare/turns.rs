//! The turns of a comparison, whatever is measured in them.

use crate::args::ComparingArgs;
use crate::exit::{Exit, Usage};
use iogauge_lab::compare::{Comparison, LEAST_BLOCKS, MOST_BLOCKS};
use iogauge_lab::suite::SuiteStep;
use iogauge_lab::{Interrupt, LabError, shell};
use iogauge_model::caveat::{Command, FigureFact};
use iogauge_model::result::{
    CompareFindings, CompareSetup, CompareSubject, CompareVerdict, SuiteAsked, SuiteDocument,
};
use iogauge_model::units::Latency;
use iogauge_model::{Caveat, CaveatCode};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// Number of characters of a line of a command's output that a caveat has.
const LONGEST_LINE: usize = 200;

/// The turns of subjects, and the commands before them.
#[derive(Debug)]
pub(in crate::command) struct Turns<'a> {
    comparison: &'a Comparison,
    /// The command of each subject.
    setups: Vec<Option<String>>,
    /// What the commands did.
    pub(in crate::command) setups_ran: Vec<CompareSetup>,
    interrupt: Interrupt,
    /// True if only turns of one subject run.
    stays: bool,
    /// That subject, once its first turn ran.
    stays_with: Option<usize>,
}

impl<'a> Turns<'a> {
    /// Begins without any turn. If `stays` is true, it ends before the first turn of another subject.
    pub(in crate::command) fn new(
        comparison: &'a Comparison,
        setups: Vec<Option<String>>,
        interrupt: Interrupt,
        stays: bool,
    ) -> Self {
        let (setups_ran, stays_with) = (Vec::new(), None);
        Self { comparison, setups, setups_ran, interrupt, stays, stays_with }
    }

    /// Prepares a turn, and returns the index of its subject; `None` if it is not to run.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub(in crate::command) fn begin(
        &mut self,
        step: &SuiteStep,
    ) -> Result<Option<usize>, LabError> {
        let all = &self.comparison.subjects;
        let subject = all.iter().position(|subject| subject.name == step.place.phase).unwrap_or(0);
        if self.stays && *self.stays_with.get_or_insert(subject) != subject {
            return Ok(None);
        }
        let Some(command) = &self.setups[subject] else { return Ok(Some(subject)) };
        let environment = [("IOGAUGE_SUBJECT", all[subject].name.as_str())];
        let interrupt = &self.interrupt;
        let ran = shell::run(command, &environment, &|| interrupt.is_set());
        let shell::Ran { output, failure } =
            ran.map_err(|error| LabError::Mismatch(format!("sh cannot be started: {error}")))?;
        let is_done = failure.is_none();
        if !is_done && interrupt.is_set() {
            // The user ended it; that is no failure of the command.
            return Ok(None);
        }
        self.setups_ran.push(CompareSetup { step: step.place.key.clone(), output, failure });
        Ok(is_done.then_some(subject))
    }

    /// Returns the caveat about a command that failed.
    pub(in crate::command) fn caveats(&self, interrupted: bool) -> Vec<Caveat> {
        let failed = self.setups_ran.last().filter(|ran| ran.failure.is_some() && !interrupted);
        let fact = failed.map(|ran| {
            FigureFact::SetupFailed { step: ran.step.clone(), failure: failure_of(ran) }.into()
        });
        Command::Compare.caveats(fact)
    }
}

/// Returns why a command failed, with the last line of its output.
fn failure_of(ran: &CompareSetup) -> String {
    let failure = ran.failure.as_deref().unwrap_or_default();
    let last = ran.output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let Some(last) = last else { return failure.to_owned() };
    let cut: String = last.chars().take(LONGEST_LINE).collect();
    format!("{failure}: {cut}{}", if cut == last { "" } else { "…" })
}

/// Returns what was asked, as the document has it.
pub(in crate::command) fn asked(
    args: &ComparingArgs,
    subjects: &[CompareSubject],
    seed: u64,
) -> SuiteAsked {
    let mut options: BTreeMap<String, String> =
        subjects.iter().map(|subject| (subject.name.clone(), subject.about.clone())).collect();
    options.insert("metric".to_owned(), args.metric.word().to_lowercase());
    options.insert("margin".to_owned(), format!("{}%", args.margin));
    options.insert("seed".to_owned(), seed.to_string());
    SuiteAsked { name: SuiteAsked::COMPARE.to_owned(), options }
}

/// Returns the number of blocks within the budget.
///
/// # Errors
/// They are too few.
pub(in crate::command) fn blocks(
    args: &ComparingArgs,
    subjects: usize,
    turn_ns: u64,
) -> Result<u64, Usage> {
    let block_ns = turn_ns.saturating_mul(2 * subjects as u64).max(1);
    let blocks = args.budget / block_ns;
    if blocks < LEAST_BLOCKS {
        let wanted_ns = block_ns.saturating_mul(LEAST_BLOCKS);
        return Err(Usage(format!(
            "--budget is too short for {LEAST_BLOCKS} blocks of {} turns of {}; hint: use --budget {}s or a shorter \
             --runtime",
            2 * subjects,
            Latency(turn_ns as f64),
            wanted_ns.div_ceil(1_000_000_000)
        )));
    }
    Ok(blocks.min(MOST_BLOCKS))
}

/// Returns the index of the baseline.
///
/// # Errors
/// There is no subject with its letter.
pub(in crate::command) fn baseline(args: &ComparingArgs, subjects: usize) -> Result<usize, Usage> {
    let index = (args.baseline as usize).wrapping_sub('A' as usize);
    if index < subjects {
        return Ok(index);
    }
    let last = ('A'..='Z').nth(subjects.saturating_sub(1)).unwrap_or('A');
    let wanted = args.baseline;
    let text = format!("--baseline {wanted}: the subjects are A to {last}; hint: use --baseline A");
    Err(Usage(text))
}

/// Returns a new seed of 53 bits: JSON readers without integers keep no more.
pub(in crate::command) fn new_seed() -> u64 {
    RandomState::new().hash_one("seed") >> 11
}

/// Returns the exit code of a comparison.
pub(in crate::command) fn exit(document: &SuiteDocument) -> Exit {
    let steps = || document.steps.iter().filter_map(|step| step.step());
    let searches = || document.steps.iter().filter_map(|step| step.search());
    let has = |code| document.caveats.iter().any(|caveat| caveat.code == code);
    if document.interrupted {
        Exit::Interrupted
    } else if steps().any(|step| step.errors() > 0 || step.is_empty())
        || searches().any(|search| search.answer.is_empty())
    {
        Exit::IoErrors
    } else if has(CaveatCode::SetupFailed) {
        Exit::Fault
    } else {
        let findings = CompareFindings::of(&document.conclusion.findings);
        findings.map_or(Exit::Undecided, |findings| exit_of(findings.verdict()))
    }
}

/// Returns the exit code of a verdict.
pub(in crate::command) fn exit_of(verdict: CompareVerdict) -> Exit {
    match verdict {
        CompareVerdict::Equivalent | CompareVerdict::Better => Exit::Done,
        CompareVerdict::Worse => Exit::Differs,
        CompareVerdict::Undecided => Exit::Undecided,
    }
}
