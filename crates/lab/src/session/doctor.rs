//! Facts about a target and this machine that need no measurement.

use crate::caveats;
use crate::error::LabError;
use crate::session::open::there_or_sized;
use crate::session::rig::{default_engine, facts_before};
use iogauge_io::engine;
use iogauge_io::machine::{self, DeviceTree, GroupLimits};
use iogauge_io::sim::SimSpec;
use iogauge_io::targets::{
    FileOrigin, Intent, OpenMode, Part, PartKind, Roots, Target, TargetError, TargetSpec,
    device_facts_of, extents, file_system_facts, mounted_on,
};
use iogauge_model::Caveat;
use iogauge_model::caveat::{Command, Fact, TargetFact};
use iogauge_model::load::{EngineKind, Load, Pattern};
use iogauge_model::result::{
    DOCTOR_FORMAT, DoctorDocument, DoctorPart, EngineFacts, ExtentFacts, MachineFacts, PartForm,
};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Engines that do real I/O.
const ENGINES: [EngineKind; 3] = [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync];

/// Gathers facts about a target and this machine. Writes nothing and measures nothing; reads a few
/// hundred blocks of existing data. Omits facts that the user has no permission to read. A refusal
/// by a guard is a fact like others.
///
/// # Errors
/// The target is malformed or does not exist.
pub fn examine(text: &str) -> Result<DoctorDocument, LabError> {
    let roots = Roots::default();
    let paths = match text.parse::<TargetSpec>()? {
        TargetSpec::Paths(paths) => paths,
        TargetSpec::Simulated(spec) => {
            spec.trim_start_matches("sim:").parse::<SimSpec>()?;
            let devices = DeviceTree::default();
            let caveats = Command::Doctor.caveats([TargetFact::Simulated.into()]);
            return Ok(document(text, Vec::new(), &devices, caveats, &roots));
        }
    };
    paths.iter().try_for_each(|path| there_or_sized(path, &Intent::default()))?;
    let devices = DeviceTree::under_all(&paths).unwrap_or_default();
    let mut parts = Vec::new();
    let mut found: Vec<Fact> = Vec::new();
    found.extend(default_engine().1);
    for path in &paths {
        let (facts, part) = examine_path(path, &roots);
        let load = Load { rw: Pattern::RandRw, direct: facts.direct_io, ..Load::default() };
        let of_part = part.map(|part| facts_before(&[part], &load, &devices, &roots));
        found.extend(of_part.transpose()?.unwrap_or_default());
        parts.push(facts);
    }
    let caveats = caveats::distinct(Command::Doctor.caveats(found));
    Ok(document(text, parts, &devices, caveats, &roots))
}

fn document(
    text: &str,
    parts: Vec<DoctorPart>,
    devices: &DeviceTree,
    caveats: Vec<Caveat>,
    roots: &Roots,
) -> DoctorDocument {
    let groups = GroupLimits::read(roots);
    let engines = ENGINES.into_iter().map(|engine| EngineFacts {
        engine,
        refused: engine::probe(engine).err().map(|error| error.source.to_string()),
    });
    let machine = MachineFacts {
        environment: machine::environment(iogauge_io::clock::Clock::get().name()),
        io_limits: groups.io_of(devices, roots),
        engines: engines.collect(),
        ..machine::machine(roots, &groups)
    };
    let names = devices.layers().iter().map(|layer| layer.name.as_str());
    DoctorDocument {
        format: DOCTOR_FORMAT.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: text.to_owned(),
        parts,
        chain: devices.chain(),
        devices: names.filter_map(|name| device_facts_of(name, roots)).collect(),
        machine,
        caveats,
    }
}

/// Returns the facts about one path, and the part that a run would read, if the guards allow it.
fn examine_path(path: &Path, roots: &Roots) -> (DoctorPart, Option<Part>) {
    let direct = Intent::default();
    let (direct_io, reading) = match resolve(path, &direct, roots) {
        Err(TargetError::DirectUnsupported { .. }) => {
            (false, resolve(path, &Intent { direct: false, ..Intent::default() }, roots))
        }
        other => (true, other),
    };
    // The write intent is resolved separately, because locks on the part to read must not block
    // this look.
    let intent = Intent { writes: true, direct: direct_io, ..direct };
    let writing = resolve(path, &intent, roots);
    let mut facts = DoctorPart {
        path: path.to_string_lossy().into_owned(),
        form: PartForm::Unknown,
        size_bytes: 0,
        direct_io,
        mounted_on: Vec::new(),
        file_system: None,
        extents: None,
        reads_refused: reading.as_ref().err().map(ToString::to_string),
        writes_refused: writing.err().map(|error| error.to_string()),
    };
    let part = reading.ok();
    match &part {
        Some(part) => describe(&mut facts, part, roots),
        // The node of a device is on a file system unrelated to the device.
        None if path.is_file() || path.is_dir() => {
            facts.file_system = file_system_facts(path, roots);
        }
        None => {}
    }
    (facts, part)
}

fn resolve(path: &Path, intent: &Intent, roots: &Roots) -> Result<Part, TargetError> {
    Target::resolve(&[path.to_owned()], intent, roots).map(|mut target| target.parts.remove(0))
}

fn describe(facts: &mut DoctorPart, part: &Part, roots: &Roots) {
    facts.path = part.path.to_string_lossy().into_owned();
    facts.size_bytes = part.size_bytes;
    facts.form = match part.kind {
        PartKind::BlockDevice => PartForm::BlockDevice,
        PartKind::File(FileOrigin::ToMake) => PartForm::FileToMake,
        PartKind::File(FileOrigin::Ours(_)) => PartForm::OwnFile,
        PartKind::File(FileOrigin::Foreign) => PartForm::ForeignFile,
    };
    match (facts.form, part.device) {
        (PartForm::BlockDevice, Some(number)) => facts.mounted_on = mounted_on(number, roots),
        (PartForm::BlockDevice, None) => {}
        (PartForm::FileToMake, _) => {
            let directory = part.path.parent().map_or_else(PathBuf::new, Path::to_owned);
            facts.file_system = file_system_facts(&directory, roots);
        }
        _ => {
            facts.file_system = file_system_facts(&part.path, roots);
            facts.extents = extents_of(part);
        }
    }
}

/// Returns the states of a file's bytes; `None` if the file system does not report them.
fn extents_of(part: &Part) -> Option<ExtentFacts> {
    let file = File::from(part.open(OpenMode::reading(false)).ok()?.fd);
    let report = extents(&file, &part.path, part.base_bytes, part.size_bytes).ok()?;
    Some(ExtentFacts {
        total_bytes: report.total_bytes,
        hole_bytes: report.hole_bytes,
        unwritten_bytes: report.unwritten_bytes,
        shared_bytes: report.shared_bytes,
        encoded_bytes: report.encoded_bytes,
    })
}
