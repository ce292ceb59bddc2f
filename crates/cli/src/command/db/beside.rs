//! `iogauge db beside`: measures the device under a database and the database itself, under the
//! same limits.

mod device;

use super::load;
use super::run::{of_fault, tell};
use crate::args::DbBesideArgs;
use crate::command::record::Outcome;
use crate::command::record::Record;
use crate::command::search::exit_of;
use crate::exit::Exit;
use device::Device;
use iogauge_lab::db::{self, DbLoad, DbMeasured, DbSearched, DbTarget, DeviceWork, Times};
use iogauge_lab::measure::Watch;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::{Interrupt, LabError, caveats, session};
use iogauge_model::caveat::Command;
use iogauge_model::result::{BESIDE_FORMAT, BesideDocument, BesideSide, Head, Search, Workload};
use iogauge_model::{Caveat, Vocabulary};
use iogauge_report::terminal;

/// Ramp time before the measurement of the database at its answer.
const RAMP_NS: u64 = 1_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a database or directory that cannot be opened, or a fault while measuring.
pub fn run(args: &DbBesideArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let load = load::load(&args.load, 1)?;
    let plan = load::plan(&args.search, args.budget, &load)?;
    let mut target = DbTarget::open(args.url.url()?)?;
    target.command = Command::DbBeside;
    target.check_globals(&load)?;
    db::check_free(&target, &load)?;
    let device = Device::under(&target, &load, &plan, args)?;
    let asked = Asked { target: &target, load: &load, plan: &plan };
    let mut record = Record::new("db-beside", &args.output, false)?;
    let measured = measure(&mut record, &asked, device, &interrupt).map(|measured| {
        let (exit, document) = (measured.exit(), measured.document(&record, &asked));
        Outcome { document, instead: None, exit }
    });
    let ended = record.end(measured, terminal::beside_brief, terminal::beside);
    crate::detach::done();
    ended
}

/// The database to compare with its device.
struct Asked<'a> {
    target: &'a DbTarget,
    load: &'a DbLoad,
    plan: &'a SearchPlan,
}

/// What was measured, in this order. A side is missing if the user ended the run before it.
struct BothSides {
    device: BesideSide,
    database: Option<DbSearched>,
    at_best: Option<DbMeasured>,
    caveats: Vec<Caveat>,
}

impl Asked<'_> {
    fn head(&self, record: &Record) -> Head {
        let load = Workload::Database(self.load.describe());
        record.head(BESIDE_FORMAT, self.target.describe(), load)
    }
}

impl BothSides {
    /// True if the last step was cut short or never began.
    fn was_interrupted(&self) -> bool {
        self.at_best.as_ref().is_none_or(|step| step.interrupted)
    }

    /// The fault that ended a measurement of the database. The figures measured before it are kept.
    fn fault(&self) -> Option<&LabError> {
        let searched = self.database.as_ref().and_then(|searched| searched.fault.as_ref());
        searched.or(self.at_best.as_ref().and_then(|step| step.fault.as_ref()))
    }

    fn exit(&self) -> Exit {
        let Some(found) = self.database.as_ref().map(|found| &found.searched.outcome.search) else {
            return Exit::Interrupted;
        };
        if let Some(fault) = self.fault() {
            return of_fault(fault);
        }
        if self.was_interrupted() {
            return Exit::Interrupted;
        }
        exit_of(&found.answer, &found.curve)
    }

    fn document(self, record: &Record, asked: &Asked<'_>) -> BesideDocument {
        let Asked { target, load, .. } = asked;
        let interrupted = self.was_interrupted();
        let Self { device, database, at_best, caveats: mut found } = self;
        if interrupted {
            found.push(caveats::interrupted().caveat(Command::DbBeside));
        }
        let at_best = at_best.filter(|step| !step.interrupted);
        let work = at_best.as_ref().and_then(DeviceWork::of);
        let held_back_by = database
            .as_ref()
            .zip(at_best.as_ref())
            .map(|(found, step)| db::held_back_by(target, &found.searched.outcome, step));
        let share = |work: DeviceWork| {
            work.share_percent(device.answer.iops.mean, device.answer.bytes_per_sec)
        };
        BesideDocument {
            head: asked.head(record),
            share_percent: work.and_then(share),
            held_back_by: held_back_by.unwrap_or_default(),
            database_iops: work.map(|work| work.iops),
            database_bytes_per_sec: work.map(|work| work.bytes_per_sec),
            database: database
                .map(|found| side(load.label_without_processes(), found.searched.outcome.search)),
            device,
            caveats: caveats::distinct(found),
            environment: session::environment_on(session::real_clock()),
        }
    }
}

/// Measures the device, then the database, then the database once more at its answer. An interrupt
/// ends the sequence after the step that it cuts short.
fn measure(
    record: &mut Record,
    asked: &Asked<'_>,
    device: Device,
    interrupt: &Interrupt,
) -> anyhow::Result<BothSides> {
    let Asked { target, load, plan } = asked;
    let label = format!("{} beside its device", load.label_without_processes());
    record.begin(&target.text(), &label, &asked.head(record))?;
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let (device, caveats) = device.measure(plan, &mut watch)?;
    let mut measured = BothSides { device, database: None, at_best: None, caveats };
    if interrupt.is_set() {
        return Ok(measured);
    }
    record.screen.progress.set_vocabulary(Vocabulary::Database);
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let mut found = db::find(target, load, plan, &mut watch)?;
    measured.caveats.extend(about("database", std::mem::take(&mut found.searched.caveats)));
    let answer = &found.searched.outcome.search.answer;
    let queue_depth = answer.queue_depth.max(1);
    let was_measured = answer.iops.mean > 0.0;
    measured.database = Some(found).filter(|_| was_measured || !interrupt.is_set());
    if let Some(fault) = measured.fault() {
        tell(record, fault);
        return Ok(measured);
    }
    if interrupt.is_set() {
        return Ok(measured);
    }
    // The counters of a whole search mix its points.
    let at_best = DbLoad { processes: queue_depth, ..**load };
    let times = Times { ramp_ns: RAMP_NS, runtime_ns: plan.budget_ns / 4, drain: false };
    let mut step = db::run(target, &at_best, times, &plan.limits, &mut watch)?;
    watch.observer.step(&step.result);
    if step.fault.is_some() {
        measured.caveats.extend(about("database", std::mem::take(&mut step.caveats)));
    }
    measured.at_best = Some(step);
    if let Some(fault) = measured.fault() {
        tell(record, fault);
    }
    Ok(measured)
}

/// Puts the name of the side in front of its caveats. Omits the caveat of an interrupted run, which
/// is about both sides.
fn about(side: &str, found: Vec<Caveat>) -> Vec<Caveat> {
    let named = |caveat: Caveat| match caveat.message.starts_with(&format!("the {side} ")) {
        true => caveat,
        false => caveat.about(&format!("the {side}")),
    };
    let interrupted = caveats::interrupted().caveat(Command::DbBeside);
    found.into_iter().filter(|caveat| *caveat != interrupted).map(named).collect()
}

fn side(load: String, found: Search) -> BesideSide {
    BesideSide { load, answer: found.answer, curve: found.curve }
}
