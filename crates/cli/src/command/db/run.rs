//! `iogauge db run`: runs one workload on a database, or one at each number of processes of a
//! ladder.

use super::load;
use crate::args::DbRunArgs;
use crate::command::record::Outcome;
use crate::command::record::Record;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::db::{self, DbError, DbLoad, DbTarget, Ladder, Times};
use iogauge_lab::measure::Watch;
use iogauge_lab::session::hosts;
use iogauge_lab::{Interrupt, LabError, caveats, session};
use iogauge_model::result::{
    DatabaseLoad, LimitValue, ProcessLadder, RUN_FORMAT, RunDocument, StepResult, Workload,
};
use iogauge_model::{Limit, Vocabulary};
use iogauge_report::terminal;

/// Time to measure, if none is asked for.
const RUNTIME_NS: u64 = 60_000_000_000;
/// The same of the suite that these tests follow, and its hang time.
const REFERENCE_RUNTIME_NS: u64 = 300_000_000_000;
const REFERENCE_HANG_NS: u64 = 2_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a database that cannot be opened, or a fault while measuring.
pub fn run(args: &DbRunArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let runtime_ns =
        args.runtime.unwrap_or(if args.reference { REFERENCE_RUNTIME_NS } else { RUNTIME_NS });
    if runtime_ns == 0 {
        return Err(Usage("--runtime 0 measures nothing; hint: use 60s".to_owned()).into());
    }
    if !args.ladder.is_sorted_by(|a, b| a < b) {
        let text = "--ladder must list increasing numbers of processes; hint: use 10,20,40";
        return Err(Usage(text.to_owned()).into());
    }
    let mut load = match args.readers.zip(args.writers) {
        Some((readers, writers)) => load::readers_writers(&args.load, readers, writers),
        None => load::load(&args.load, args.ladder.first().copied().unwrap_or(args.processes))?,
    };
    let rungs = if args.ladder.is_empty() { vec![load.processes] } else { args.ladder.clone() };
    if args.reference && args.load.hang.is_none() && load.mode.writes() {
        load.hang_ns = REFERENCE_HANG_NS;
    }
    let limits = load::limits(&args.limits, args.guide, &load)?;
    let mut target = DbTarget::open(args.url.url()?)?;
    target.cadence = args.sampling.every;
    target.check_globals(&DbLoad { processes: rungs[rungs.len() - 1], ..load })?;
    let mut record = Record::new("db-run", &args.output, false)?;
    let times = Times { ramp_ns: args.ramp_time, runtime_ns, drain: args.drain };
    let measured = measure(times, &mut record, &target, &load, &rungs, &limits, &interrupt);
    let exit = record.end(measured, terminal::run_brief, terminal::run);
    crate::detach::done();
    exit
}

fn measure(
    times: Times,
    record: &mut Record,
    target: &DbTarget,
    load: &DbLoad,
    rungs: &[u32],
    limits: &[Limit],
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome<RunDocument>> {
    let ladder = rungs.len() > 1;
    let summary = if ladder { load.label_without_processes() } else { load.label() };
    let head = |record: &Record, end: Option<String>| {
        let ladder = ladder.then(|| ProcessLadder { processes: rungs.to_vec(), ended_by: end });
        let asked = DatabaseLoad { label: summary.clone(), ladder, ..load.describe() };
        record.head(RUN_FORMAT, target.describe(), Workload::Database(asked))
    };
    record.begin(&target.text(), &summary, &head(record, None))?;
    record.screen.progress.set_vocabulary(Vocabulary::Database);
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let (mut steps, mut found) = (Vec::new(), Vec::new());
    let (mut interrupted, mut is_cut_short) = (false, false);
    let mut climb = Ladder::new(limits);
    let (mut end, mut fault) = (None, None);
    for processes in rungs {
        let load = DbLoad { processes: *processes, ..*load };
        let mut measured = match db::run(target, &load, times, limits, &mut watch) {
            Ok(measured) => measured,
            Err(error) if steps.is_empty() => return Err(error.into()),
            Err(error) => {
                end = Some(format!("{processes} processes could not be measured"));
                found.push(db::of_rung(*processes, &error).caveat(target.command));
                fault = Some(error);
                break;
            }
        };
        watch.observer.step(&measured.result);
        found.append(&mut measured.caveats);
        end = climb.step(*processes, &measured.result);
        (interrupted, is_cut_short) = (measured.interrupted, measured.is_cut_short);
        let failed = measured.result.errors() > 0 || measured.fault.is_some();
        steps.push(measured.result);
        fault = measured.fault;
        let is_host_lost = hosts::led().is_some_and(|hosts| hosts.lost().is_some());
        if interrupted || failed || is_host_lost || end.is_some() {
            break;
        }
    }
    let breaks = |step: &StepResult| {
        step.database.as_ref().is_some_and(|of| of.limits.iter().any(LimitValue::is_broken))
    };
    let exit = match () {
        () if interrupted => Exit::Interrupted,
        () if is_cut_short || steps.iter().any(|step| step.errors() > 0) => Exit::IoErrors,
        () if fault.is_some() => fault.as_ref().map_or(Exit::Done, of_fault),
        () if steps.iter().any(StepResult::is_empty) => Exit::IoErrors,
        () if steps.first().is_some_and(breaks) => Exit::Unattainable,
        () => Exit::Done,
    };
    record.tell_nothing(&found);
    if let Some(fault) = fault {
        tell(record, &fault);
    }
    let document = RunDocument {
        head: head(record, end),
        steps,
        interrupted,
        caveats: caveats::one_of_each(found),
        environment: session::environment_on(session::real_clock()),
    };
    Ok(Outcome { document, instead: None, exit })
}

/// Returns the exit code of a command that kept what it measured before a fault. Reaching the
/// free-space reserve counts like a full disk.
pub(super) fn of_fault(fault: &LabError) -> Exit {
    match fault {
        LabError::Db(DbError::NoRoom(_)) => Exit::IoErrors,
        _ => Exit::Fault,
    }
}

/// Prints a fault after which the earlier measurements are kept.
pub(super) fn tell(record: &mut Record, fault: &LabError) {
    record.screen.progress.clear();
    screen::error(&format!("{fault}"));
}
