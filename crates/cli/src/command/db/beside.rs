//! `iogauge db beside`: the device under a database and the database on it, under the same limits.

use super::load;
use super::run::head;
use crate::args::DbBesideArgs;
use crate::command::find::exit_of;
use crate::command::invocation::Outcome;
use crate::command::record::Record;
use crate::exit::{Exit, Usage};
use iogauge_db::crew::Mode;
use iogauge_io::target::{FileOrigin, Intent, Part, PartKind};
use iogauge_lab::db::{self, DbLoad, DbMeasured, DbSearched, DbTarget, DeviceWork, Times};
use iogauge_lab::measure::Watch;
use iogauge_lab::search::{Found, SearchPlan};
use iogauge_lab::{Ground, Interrupt, Rig, caveats, session};
use iogauge_model::limit::Side;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::result::{BESIDE_FORMAT, BesideDocument, BesideSide, Head};
use iogauge_model::{Caveat, CaveatCode};
use iogauge_report::terminal;
use std::path::{Path, PathBuf};

/// A test file takes no more than this part of what is free.
const FREE_SHARE: u64 = 10;
/// Smaller ones are held by any cache.
const LEAST_BYTES: u64 = 64 << 20;
/// And larger ones take long to write.
const USUAL_BYTES: u64 = 4 << 30;
/// Before the database is looked at while it does its best.
const RAMP_NS: u64 = 1_000_000_000;
/// I/Os outstanding at most.
const MOST_DEPTH: u32 = 16_384;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a database or a directory that cannot be had, or a fault while measuring.
pub fn run(args: &DbBesideArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let load = load::load(&args.load, 1)?;
    let plan = load::plan(&args.search, &load)?;
    let target = DbTarget::open(args.url.url()?)?;
    target.check_globals(&load)?;
    let directory = directory(&target)?;
    let asked = Asked { target: &target, load: &load, plan: &plan };
    let mut record = Record::new("db-beside", &args.output, false)?;
    let measured = measure(args, &mut record, &asked, &directory, &interrupt).map(|measured| {
        let (exit, document) = (measured.exit(), measured.document(&record, &asked));
        Outcome { document, instead: None, exit }
    });
    let ended = record.end(measured, terminal::beside_brief, terminal::beside);
    crate::detach::done();
    ended
}

/// Where the test file goes: beside the database, on the same file system.
fn directory(target: &DbTarget) -> anyhow::Result<PathBuf> {
    let paths = target.database().paths()?;
    let beside = paths.first().and_then(|path| path.parent()).filter(|path| path.is_dir());
    beside.map(Path::to_owned).ok_or_else(|| {
        let text = "the database is not on this machine, and neither is its device; right would be \
                    iogauge db beside on the server itself";
        Usage(text.to_owned()).into()
    })
}

/// What is compared with its device.
struct Asked<'a> {
    target: &'a DbTarget,
    load: &'a DbLoad,
    plan: &'a SearchPlan,
}

impl Asked<'_> {
    fn head(&self, record: &Record) -> Head {
        let head = head(record, self.target, self.load.describe());
        Head { format: BESIDE_FORMAT.to_owned(), ..head }
    }
}

/// What was measured, one after the other, until everything was or the user ended it.
struct Measured {
    device: BesideSide,
    database: Option<DbSearched>,
    at_best: Option<DbMeasured>,
    caveats: Vec<Caveat>,
}

impl Measured {
    /// True where the last step did not come to its end, or was not begun.
    fn was_interrupted(&self) -> bool {
        self.at_best.as_ref().is_none_or(|step| step.interrupted)
    }

    fn exit(&self) -> Exit {
        let Some(found) = self.database.as_ref().map(|searched| &searched.found) else {
            return Exit::Interrupted;
        };
        if self.was_interrupted() {
            return Exit::Interrupted;
        }
        exit_of(found.answer.stopped_by, found.curve.iter().any(|point| point.errors > 0))
    }

    fn document(self, record: &Record, asked: &Asked<'_>) -> BesideDocument {
        let interrupted = self.was_interrupted();
        let Self { device, database, at_best, caveats: mut found } = self;
        if interrupted {
            found.push(caveats::interrupted());
        }
        let at_best = at_best.filter(|step| !step.interrupted);
        let work = at_best.as_ref().and_then(DeviceWork::of);
        let held_back_by = database
            .as_ref()
            .zip(at_best.as_ref())
            .map(|(searched, step)| db::held_back_by(asked.target, &searched.found, step));
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
                .map(|searched| side(asked.load.label_without_processes(), searched.found)),
            device,
            caveats: caveats::distinct(found),
            environment: session::environment_on(session::real_clock()),
        }
    }
}

/// Measures the device, the database, and the database once more where it does its best; an interrupt
/// ends it behind what it cut short.
fn measure(
    args: &DbBesideArgs,
    record: &mut Record,
    asked: &Asked<'_>,
    directory: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Measured> {
    let Asked { target, load, plan } = asked;
    let label = format!("{} beside its device", load.label_without_processes());
    let begin = serde_json::to_value(asked.head(record))?;
    record.begin(&target.text(), &label, begin)?;
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let device_load = device_load(load.mode, target);
    let (device, found) = device(args, directory, &device_load, plan, &mut watch)?;
    let mut measured =
        Measured { device, database: None, at_best: None, caveats: about("device", found) };
    if interrupt.is_set() {
        return Ok(measured);
    }
    record.screen.progress.set_database(true);
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let mut searched = db::find(target, load, plan, &mut watch)?;
    measured.caveats.extend(about("database", std::mem::take(&mut searched.caveats)));
    let depth = searched.found.answer.depth.max(1);
    let was_measured = searched.found.answer.iops.mean > 0.0;
    measured.database = Some(searched).filter(|_| was_measured || !interrupt.is_set());
    if interrupt.is_set() {
        return Ok(measured);
    }
    // The counters of a whole search mix its points.
    let at_best = DbLoad { processes: depth, ..**load };
    let times = Times { ramp_ns: RAMP_NS, runtime_ns: plan.budget_ns / 4, drain: false };
    let step = db::run(target, &at_best, times, &plan.limits, &mut watch)?;
    watch.observer.step(&step.result);
    measured.at_best = Some(step);
    Ok(measured)
}

/// Doubts with the side that they are about. That the run was ended is about both.
fn about(side: &str, doubts: Vec<Caveat>) -> Vec<Caveat> {
    let named = |doubt: Caveat| match doubt.message.starts_with(&format!("the {side} ")) {
        true => doubt,
        false => Caveat { message: format!("the {side}: {}", doubt.message), ..doubt },
    };
    let own = doubts.into_iter().filter(|doubt| doubt.code != CaveatCode::Interrupted);
    own.map(named).collect()
}

fn side(load: String, found: Found) -> BesideSide {
    BesideSide { load, answer: found.answer, curve: found.curve }
}

/// The same on a device: random blocks of the database's size.
fn device_load(mode: Mode, target: &DbTarget) -> Load {
    let (rw, read_percent) = match mode {
        Mode::Read => (Pattern::RandRead, None),
        Mode::Write => (Pattern::RandWrite, None),
        Mode::Io { read_percent } => (Pattern::RandRw, Some(read_percent)),
    };
    let usual = Load::default();
    let read_percent = read_percent.unwrap_or(usual.read_percent);
    Load { rw, read_percent, block: BlockSizes::fixed(target.about.block_bytes), ..usual }
}

/// Measures the device with a test file that goes again where it was not there before.
fn device(
    args: &DbBesideArgs,
    directory: &Path,
    load: &Load,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> anyhow::Result<(BesideSide, Vec<Caveat>)> {
    let intent = Intent {
        writes: load.writes(),
        size_bytes: Some(args.size.unwrap_or_else(|| default_size(directory))),
        direct: true,
        create: true,
        ..Intent::default()
    };
    let mut rig = Rig::open(&directory.display().to_string(), intent)?;
    let (engine, _) = rig.engine(None)?;
    let load = Load { engine, ..load.clone() };
    // A device makes no commits.
    let limits = plan.limits.iter().filter(|limit| limit.side != Side::Sync).copied().collect();
    let plan = SearchPlan { limits, max_depth: MOST_DEPTH, ..plan.clone() };
    let to_make = |part: &Part| part.kind == PartKind::File(FileOrigin::ToMake);
    let made = rig.target().is_some_and(|target| target.parts.iter().any(to_make));
    let searched = search(&mut rig, &load, &plan, watch);
    if made {
        crate::command::clean::remove(rig)?;
    }
    searched
}

fn search(
    rig: &mut Rig,
    load: &Load,
    plan: &SearchPlan,
    watch: &mut Watch<'_>,
) -> anyhow::Result<(BesideSide, Vec<Caveat>)> {
    let (_, mut caveats) = session::ready_on(rig, &[(load.clone(), Ground::All)], watch)?;
    let searched = session::find(rig, load, plan, watch)?;
    caveats.extend(searched.caveats);
    // The depth is what is searched.
    let label = load.label().replace(&format!(" depth {}", load.depth()), "");
    Ok((side(label, searched.found), caveats))
}

/// As much as can be had without harm, and no more than tells a device from its cache.
fn default_size(directory: &Path) -> u64 {
    let free_bytes = rustix::fs::statvfs(directory).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
    (free_bytes / FREE_SHARE).clamp(LEAST_BYTES, USUAL_BYTES)
}
