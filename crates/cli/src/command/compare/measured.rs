//! Subjects measured in turns.

use super::plan_file::{Order, Planned};
use super::subjects::{self, Ready, Typed, target_args};
use super::turns::{self, Turns};
use crate::args::CompareArgs;
use crate::command::clean;
use crate::command::invocation::{self, Invocation, Opened};
use crate::command::record::Outcome;
use crate::command::suite_resume;
use crate::exit::Exit;
use crate::screen;
use anyhow::Context;
use iogauge_lab::compare::{Comparison, Rule};
use iogauge_lab::measure::Watch;
use iogauge_lab::session::trace::Tracing;
use iogauge_lab::suite::{self, Ground, Ran, Site, Suite, SuiteStep};
use iogauge_lab::{Interrupt, LabError, Region, Rig, caveats, session};
use iogauge_model::Load;
use iogauge_model::result::{
    CompareSubject, SUITE_FORMAT, SuiteAsked, SuiteDocument, SuiteStepResult, Workload,
};
use iogauge_report::terminal;

/// Measures a comparison. Of a planned one, runs the next turns of one subject.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub(super) fn run(
    args: &CompareArgs,
    planned: Option<Planned>,
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    let typed = subjects::typed(args)?;
    let Prepared { comparison, described, mut asked, mut targets, target_of } =
        prepare(args, &typed)?;
    if let Some(planned) = &planned {
        planned.check(&blocks(&comparison))?;
        asked.options.insert(SuiteAsked::CONTENT.to_owned(), planned.content());
    }
    let mut others = targets.split_off(1);
    let Some(own) = targets.pop() else { return Ok(Exit::Fault) };
    let mut found = Vec::new();
    for Opened { rig, facts, .. } in &mut others {
        invocation::refuse_history(rig, &args.output.history)?;
        found.extend(rig.caveats(std::mem::take(facts)));
    }
    let loads: Vec<_> = typed.iter().map(|subject| subject.load.clone()).collect();
    let target = invocation::removing(&target_args(args, own.rig.text()), &loads);
    let earlier = match planned.as_ref().map(Planned::run).transpose()?.flatten() {
        None => None,
        Some(run) => Some(suite_resume::find(&args.output, &target, &asked, &run)?),
    };
    let rm = target.permit.rm;
    let mut invocation = Invocation::on("suite", &target, &args.output, false, interrupt, own)?;
    invocation.caveats.extend(found);
    invocation.share = args.hosts.share;
    invocation.check_share()?;
    let mut done = Vec::new();
    let setups = typed.iter().map(|subject| subject.setup.clone()).collect();
    let mut turns =
        Turns::new(&comparison, setups, invocation.interrupt.clone(), planned.is_some());
    if let Some(earlier) = earlier {
        earlier.fits(&invocation.rig)?;
        (done, turns.setups_ran) = (earlier.steps, earlier.setups);
        invocation.resumed = Some(earlier.run);
    }
    // Otherwise the turns of each part of a plan would have the same random numbers.
    let rigs = others.iter_mut().map(|other| &mut other.rig).chain([&mut invocation.rig]);
    rigs.for_each(|rig| rig.restart(done.len() as u64));
    let comparison = &comparison;
    let next = None;
    let mut active =
        Active { comparison, described, asked, others, target_of, turns, planned, next };
    let measured = active.measure(&mut invocation, done).map(|document| {
        let exit = match turns::exit(&document) {
            // The verdict is not the last one.
            Exit::Differs | Exit::Undecided if active.next.is_some() => Exit::Done,
            exit => exit,
        };
        Outcome { document, instead: None, exit }
    });
    let goes_on = active.next.is_some() || (active.planned.is_some() && measured.is_err());
    invocation.keep_going(goes_on);
    let ended = invocation.end(measured, terminal::suite_brief, terminal::suite);
    if rm && !goes_on {
        for Opened { rig, .. } in &active.others {
            clean::remove(rig)?;
        }
    }
    if let (Some(next), Some(planned)) = (&active.next, &active.planned) {
        screen::tell(&format!("next: {next}, by {}", planned.command()));
    }
    ended
}

/// Returns the turns of a comparison. Measures and changes nothing.
///
/// # Errors
/// Wrong usage, or a refused target.
pub(super) fn planned(args: &CompareArgs) -> anyhow::Result<Order> {
    let Prepared { comparison, targets, .. } = prepare(args, &subjects::typed(args)?)?;
    let paths = targets.iter().flat_map(|target| target.rig.paths()).map(std::path::absolute);
    Ok(Order {
        blocks: blocks(&comparison),
        seed: comparison.seed,
        first: comparison.first().unwrap_or_default(),
        targets: paths.collect::<Result<_, _>>().context("cannot find the working directory")?,
    })
}

/// Returns the letters of the subjects in the order of their turns, a word for each block.
fn blocks(comparison: &Comparison) -> Vec<String> {
    let letters: Vec<&str> = comparison.order().collect();
    letters.chunks(2 * comparison.subjects.len()).map(<[_]>::concat).collect()
}

/// A comparison whose targets are open.
struct Prepared {
    comparison: Comparison,
    described: Vec<CompareSubject>,
    asked: SuiteAsked,
    /// The targets, that of the baseline first.
    targets: Vec<Opened>,
    /// Index of the target of each subject.
    target_of: Vec<usize>,
}

fn prepare(args: &CompareArgs, typed: &[Typed]) -> anyhow::Result<Prepared> {
    let Ready { subjects, described, opened: mut targets, target_of, turn_ns, seed } =
        subjects::open(args, typed)?;
    let most = turns::blocks(&args.comparing, subjects.len(), turn_ns)?;
    let baseline = turns::baseline(&args.comparing, subjects.len())?;
    let rule =
        Rule::new(args.comparing.metric, args.comparing.margin / 100.0, subjects.len() - 1, most);
    let asked = turns::asked(&args.comparing, &described, seed);
    let first = target_of[baseline];
    let count = targets.len();
    targets.rotate_left(first);
    let target_of = target_of.iter().map(|index| (index + count - first) % count).collect();
    let comparison = Comparison { subjects, baseline, rule, seed };
    Ok(Prepared { comparison, described, asked, targets, target_of })
}

/// A comparison being measured.
struct Active<'a> {
    comparison: &'a Comparison,
    described: Vec<CompareSubject>,
    asked: SuiteAsked,
    /// The targets without the first one.
    others: Vec<Opened>,
    target_of: Vec<usize>,
    turns: Turns<'a>,
    planned: Option<Planned>,
    /// The turn with which a planned comparison goes on.
    next: Option<String>,
}

impl Active<'_> {
    fn measure(
        &mut self,
        invocation: &mut Invocation,
        done: Vec<SuiteStepResult>,
    ) -> anyhow::Result<SuiteDocument> {
        let label = self.asked.name.clone();
        invocation.asked = Workload::Suite { label, suite: self.asked.clone() };
        let words: Vec<String> =
            self.described.iter().map(|s| format!("{} {}", s.name, s.about)).collect();
        invocation.begin(&format!("compare {}", words.join(", ")))?;
        if let Some(planned) = &mut self.planned {
            planned.begun(invocation.record.id())?;
        }
        let mut found = std::mem::take(&mut invocation.caveats);
        let Invocation { rig, loads, record, interrupt, .. } = &mut *invocation;
        let engine = loads[0].engine;
        let mut watch = Watch { observer: &mut record.screen, interrupt };
        for Opened { rig, loads, .. } in &mut self.others {
            let jobs: Vec<(Load, Region)> =
                loads.iter().map(|load| (load.clone(), Region::All)).collect();
            let (prepared, caveats) = session::ready_on(rig, &jobs, &mut watch)?;
            let line = prepared.and_then(|done| invocation::prepared_line(rig.text(), &done));
            // stderr has it, as of the first target.
            line.into_iter().for_each(|line| screen::tell(&line));
            found.extend(caveats);
        }
        let site = Site::of(rig, engine);
        let plan = self.comparison.plan(&site)?;
        let (others, target_of) = (&mut self.others[..], &self.target_of[..]);
        let mut ground = Targets { first: rig, others, target_of, turns: &mut self.turns };
        let ran = suite::run(&mut ground, self.comparison, &site, &plan, done, None, &mut watch)?;
        let Ran { steps, conclusion, caveats: own, steps_left, interrupted } = ran;
        if self.planned.is_some() {
            let next = self.comparison.next(&site, &plan, &steps);
            self.next = next.map(|step| self.comparison.words(&step.place));
        }
        found.extend(own);
        found.extend(self.turns.caveats(interrupted));
        invocation.record.tell_nothing(&found);
        let resumed = steps.iter().map(|step| step.part).max().unwrap_or(0);
        Ok(SuiteDocument {
            head: invocation.head(SUITE_FORMAT, invocation.asked.clone()),
            suite: self.asked.clone(),
            subjects: self.described.clone(),
            setups: std::mem::take(&mut self.turns.setups_ran),
            steps,
            conclusion,
            steps_left,
            resumed,
            interrupted,
            caveats: caveats::distinct(found),
            environment: session::environment(&invocation.rig),
        })
    }
}

/// The targets of all subjects.
struct Targets<'a, 'b> {
    first: &'a mut Rig,
    others: &'a mut [Opened],
    /// Index of the target of each subject; 0 is the first one.
    target_of: &'a [usize],
    turns: &'a mut Turns<'b>,
}

impl Ground for Targets<'_, '_> {
    fn run(
        &mut self,
        step: &SuiteStep,
        tracing: Option<&mut Tracing>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<SuiteStepResult>, LabError> {
        let Some(subject) = self.turns.begin(step)? else { return Ok(None) };
        match self.target_of[subject].checked_sub(1) {
            None => self.first.run(step, tracing, watch),
            Some(other) => self.others[other].rig.run(step, tracing, watch),
        }
    }
}
