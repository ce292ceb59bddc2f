//! `iogauge profile`: records the system while any other program runs.

use super::record::Outcome;
use super::record::Record;
use crate::args::ProfileArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use anyhow::Context;
use iogauge_lab::machine::{DeviceTree, Roots};
use iogauge_lab::measure::Watch;
use iogauge_lab::output::{OutputError, OutputFile};
use iogauge_lab::session::profile::{self, ProfilePlan, Profiled};
use iogauge_lab::{Interrupt, LabError, session};
use iogauge_model::result::{PROFILE_FORMAT, ProfileDocument, TargetFacts, Workload};
use iogauge_report::csv;
use iogauge_report::exhibit::Exhibit;
use iogauge_report::terminal;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a missing device, counters that cannot be read, or a file that cannot be written.
pub fn run(args: &ProfileArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let devices = devices(args)?;
    // Checked before a history is made, and again afterwards: the file must not be the history.
    drop(output(args)?);
    let mut record = Record::new("profile", &args.output, false)?;
    let file = output(args)?;
    let plan = ProfilePlan { devices, cadence: args.every, length: args.length };
    let mut rows = None;
    let measured = measure(args, &mut record, &plan, interrupt).and_then(|outcome| {
        if file.is_some() {
            rows = Some(table(&outcome.document)?);
        }
        Ok(outcome)
    });
    let ended = record.end(measured, terminal::profile_brief, terminal::profile);
    // The CSV file is written last: if this fails, the history still has the rows.
    if let (Some(file), Some(rows)) = (file, rows) {
        file.put(&rows)?;
    }
    crate::detach::done();
    ended
}

/// Returns the devices under the targets and the named ones, or all devices in use if neither is
/// given.
fn devices(args: &ProfileArgs) -> anyhow::Result<DeviceTree> {
    let roots = Roots::real();
    if args.targets.is_empty() && args.devices.is_empty() {
        return Ok(DeviceTree::of_machine(&roots));
    }
    for target in &args.targets {
        let text = target.to_string_lossy();
        if text.starts_with("sim:") {
            let text = format!("{text} is simulated and has no system to record");
            return Err(Usage(text).into());
        }
        if !target.exists() {
            let text = format!(
                "there is no {text}; hint: use a directory, a file, a block device, or \
                 --device with a kernel name"
            );
            return Err(Usage(text).into());
        }
    }
    let under = DeviceTree::under_all(&args.targets).map_err(LabError::from)?;
    let tree = under.with_devices(&roots, &args.devices);
    let tree = tree.map_err(|error| Usage(error.to_string()))?;
    if tree.is_empty() {
        let text = "no block device is under these targets; hint: use \
                    --device, or no target for every disk";
        return Err(Usage(text.to_owned()).into());
    }
    Ok(tree)
}

/// Opens the file of `--csv`. A file that cannot be written is an error before anything is
/// recorded.
fn output(args: &ProfileArgs) -> anyhow::Result<Option<OutputFile>> {
    let Some(path) = &args.csv else { return Ok(None) };
    match OutputFile::check(path, args.force.into()) {
        Ok(file) => Ok(Some(file)),
        Err(error @ (OutputError::Io { .. } | OutputError::NoFile { .. })) => {
            Err(Usage(format!("--csv {error}")).into())
        }
        Err(error) => Err(error.into()),
    }
}

fn measure(
    args: &ProfileArgs,
    record: &mut Record,
    plan: &ProfilePlan,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome<ProfileDocument>> {
    let every_seconds = plan.cadence.as_secs_f64();
    let note = args.note.as_deref().map(screen::without_secrets);
    let mut label = format!("every {every_seconds} s");
    if let Some(note) = &note {
        label = format!("{label}: {note}");
    }
    let names = match plan.devices.tops() {
        [] => "no device".to_owned(),
        tops => tops.join(", "),
    };
    let head = |record: &Record| {
        let target = TargetFacts::System { name: names.clone(), chain: plan.devices.chain() };
        record.head(PROFILE_FORMAT, target, Workload::label(&label))
    };
    record.begin(&names, &label, &head(record))?;
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let Profiled { began, seconds, points, physical, interrupted, fault, caveats } =
        profile::record(plan, &mut watch)?;
    let exit = match (&fault, interrupted) {
        (Some(_), _) => Exit::Fault,
        (None, true) => Exit::Interrupted,
        (None, false) => Exit::Done,
    };
    let document = ProfileDocument {
        head: head(record),
        note,
        began: began.to_string(),
        seconds,
        every_seconds,
        system: points,
        physical,
        interrupted,
        fault,
        caveats,
        environment: session::environment_on(session::real_clock()),
    };
    Ok(Outcome { document, instead: None, exit })
}

fn table(document: &ProfileDocument) -> anyhow::Result<Vec<u8>> {
    let exhibit = Exhibit::of(serde_json::to_value(document)?)?;
    let mut rows = Vec::new();
    csv::system(&exhibit, &mut rows).context("the rows cannot be made")?;
    Ok(rows)
}
