//! `iogauge db find`: finds the capacity of a database under a limit.

use super::load;
use super::run::{of_fault, tell};
use crate::args::DbFindArgs;
use crate::command::record::Outcome;
use crate::command::record::Record;
use crate::command::search::exit_of;
use crate::exit::Exit;
use iogauge_lab::db::{self, DbLoad, DbSearched, DbTarget};
use iogauge_lab::measure::Watch;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, session};
use iogauge_model::Vocabulary;
use iogauge_model::caveat::Command;
use iogauge_model::result::{DatabaseLoad, FIND_FORMAT, FindDocument, Workload};
use iogauge_report::terminal;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a database that cannot be opened, or a fault while measuring.
pub fn run(args: &DbFindArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let load = load::load(&args.load, 1)?;
    let plan = load::plan(&args.search, args.budget, &load)?;
    let mut target = DbTarget::open(args.url.url()?)?;
    target.command = Command::DbFind;
    target.cadence = args.sampling.every;
    target.check_globals(&load)?;
    let mut record = Record::new("db-find", &args.output, args.explain)?;
    let measured = search(&mut record, &target, &load, &plan, &interrupt);
    let ended = record.end(measured, terminal::find_brief, terminal::find);
    crate::detach::done();
    ended
}

/// Searches and records the run in the history.
///
/// # Errors
/// A fault while measuring.
fn search(
    record: &mut Record,
    target: &DbTarget,
    load: &DbLoad,
    plan: &SearchPlan,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome<FindDocument>> {
    let limits: Vec<String> = plan.limits.iter().map(ToString::to_string).collect();
    let label = load.label_without_processes();
    let head = |record: &Record| {
        let asked = DatabaseLoad { label: label.clone(), ..load.describe() };
        record.head(FIND_FORMAT, target.describe(), Workload::Database(asked))
    };
    let summary = format!("{label} under {}", limits.join(", "));
    record.begin(&target.text(), &summary, &head(record))?;
    record.screen.progress.set_vocabulary(Vocabulary::Database);
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let DbSearched { searched, fault, .. } = db::find(target, load, plan, &mut watch)?;
    let environment = session::environment_on(session::real_clock());
    let document = searched.document(head(record), environment);
    record.tell_nothing(&document.caveats);
    let exit = match (exit_of(&document.search.answer, &document.search.curve), &fault) {
        (Exit::Done, Some(fault)) => of_fault(fault),
        // The fault ended the search, not a signal.
        (Exit::Interrupted, Some(fault)) if of_fault(fault) == Exit::IoErrors => Exit::IoErrors,
        (exit, _) => exit,
    };
    if let Some(fault) = &fault {
        tell(record, fault);
    }
    Ok(Outcome { document, instead: None, exit })
}
