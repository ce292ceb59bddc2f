//! The document of `iogauge doctor` as text.

use super::Page;
use super::grid::{Grid, Kind};
use super::names::{count, plural};
use super::parts;
use super::sheet::{Paint, Sheet, clean};
use iogauge_model::result::{
    DeviceFacts, DoctorDocument, DoctorPart, EngineFacts, ExtentFacts, FileSystemFacts,
    MachineFacts, PartForm,
};
use iogauge_model::units::{Bytes, shell_word};

/// Formats the document: the expectations first, then target, devices, machine, and each caveat with its
/// hint.
#[must_use]
pub fn doctor(document: &DoctorDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let (paint, verdict) = verdict(document);
    sheet.text(paint, &verdict);
    for part in &document.parts {
        write_part(&mut sheet, part);
    }
    write_devices(&mut sheet, document);
    write_machine(&mut sheet, &document.machine);
    parts::caveats(&mut sheet, "what is measured here", &document.caveats);
    if document.refusal().is_none() {
        sheet.gap();
        let target = shell_word(&document.target);
        sheet.text(Paint::Plain, &format!("Next: \"iogauge find {target}\" measures it."));
    }
    sheet.into_text()
}

fn verdict(document: &DoctorDocument) -> (Paint, String) {
    let target = &document.target;
    if let Some(why) = document.refusal() {
        return (Paint::Bad, format!("This cannot be measured. {why}"));
    }
    let doubts = document.caveats.iter().filter(|caveat| caveat.is_doubt()).count();
    let notes = document.caveats.len() - doubts;
    let noted = match notes {
        0 => String::new(),
        notes => format!("; {} below", plural(notes as u64, "note")),
    };
    if doubts == 0 {
        return (
            Paint::Good,
            format!("Nothing known would spoil a measurement of {target}{noted}."),
        );
    }
    let doubts = plural(doubts as u64, "reason");
    (Paint::Doubt, format!("{doubts} to doubt a measurement of {target}{noted}."))
}

fn write_part(sheet: &mut Sheet, part: &DoctorPart) {
    let form = match part.form {
        PartForm::BlockDevice => "block device",
        PartForm::OwnFile => "test file made by iogauge",
        PartForm::ForeignFile => "file that iogauge did not make",
        PartForm::FileToMake => "test file, made by the first run",
        PartForm::Unknown => "",
    };
    let size = if part.size_bytes > 0 { Bytes(part.size_bytes).to_string() } else { String::new() };
    let known = part.form != PartForm::Unknown;
    let access = match (known, part.direct_io) {
        (false, _) => "",
        (true, true) => "direct I/O",
        (true, false) => "through the page cache only: the file system has no direct I/O",
    };
    let (name, room, options) =
        part.file_system.as_ref().map_or_else(Default::default, file_system);
    sheet.gap();
    sheet.text(Paint::Strong, &part.path);
    sheet.pairs(&[
        ("is", form.to_owned()),
        ("size", size),
        ("extents", part.extents.as_ref().map_or_else(String::new, extents)),
        ("access", access.to_owned()),
        ("reads", allowed(known, part.reads_refused.as_ref())),
        ("writes", allowed(known, part.writes_refused.as_ref())),
        ("mounted on", part.mounted_on.join(", ")),
        ("file system", name),
        ("room", room),
        ("options", options),
    ]);
}

fn allowed(known: bool, refused: Option<&String>) -> String {
    match refused {
        Some(why) => format!("refused: {why}"),
        None if known => "allowed".to_owned(),
        None => String::new(),
    }
}

fn extents(extents: &ExtentFacts) -> String {
    let states = [
        (extents.hole_bytes, "holes"),
        (extents.unwritten_bytes, "never written"),
        (extents.shared_bytes, "shared"),
        (extents.encoded_bytes, "compressed or encrypted"),
    ];
    let told: Vec<String> = states
        .iter()
        .filter(|(bytes, _)| *bytes > 0)
        .map(|(bytes, state)| format!("{} {state}", Bytes(*bytes)))
        .collect();
    if told.is_empty() { "all written".to_owned() } else { told.join(", ") }
}

/// Returns name and mount point, space, and mount options.
fn file_system(facts: &FileSystemFacts) -> (String, String, String) {
    let usable = facts.available_bytes.saturating_sub(facts.reserve_bytes);
    let room = format!(
        "{} of {} free; a test file may take {}",
        Bytes(facts.available_bytes),
        Bytes(facts.total_bytes),
        Bytes(usable)
    );
    // The options are one word; spaces between them let it wrap.
    let options = facts.options.replace(',', ", ");
    (format!("{} on {}", facts.name, facts.mount_point), room, options)
}

fn write_devices(sheet: &mut Sheet, document: &DoctorDocument) {
    if document.devices.is_empty() {
        return;
    }
    sheet.gap();
    if document.devices.len() > 1 && !document.chain.is_empty() {
        sheet.text(Paint::Plain, &format!("Devices: {}", document.chain));
    }
    let mut grid = Grid::new(&[
        ("device", Kind::Path),
        ("model", Kind::Text),
        ("size", Kind::Number),
        ("rotates", Kind::Word),
        ("write cache", Kind::Word),
        ("scheduler", Kind::Word),
        ("requests", Kind::Number),
        ("block", Kind::Number),
        ("read-ahead", Kind::Number),
        ("discard", Kind::Word),
    ]);
    for device in &document.devices {
        grid.row(Paint::Plain, device_row(device));
    }
    grid.write(sheet);
    for device in &document.devices {
        if let Some(file) = &device.backing_file {
            let how = if device.is_cached_here() { ", through the page cache" } else { "" };
            sheet.text(Paint::Plain, &format!("{} is the file {file}{how}", device.name));
        }
    }
}

fn device_row(device: &DeviceFacts) -> [String; 10] {
    let text = |value: &Option<String>| clean(value.as_deref().unwrap_or_default());
    let size = |bytes: Option<u64>| bytes.map_or_else(String::new, |b| Bytes(b).to_string());
    let yes = |value: Option<bool>| match value {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => String::new(),
    };
    let driver = device.driver.as_ref().map_or_else(String::new, |name| format!("({name})"));
    let names = [text(&device.vendor), text(&device.model), clean(&driver)];
    let model: Vec<&str> = names.iter().map(|n| n.trim()).filter(|n| !n.is_empty()).collect();
    let block = match (device.logical_block_bytes, device.physical_block_bytes) {
        (Some(logical), Some(physical)) if logical != physical => format!("{logical}/{physical}"),
        (Some(logical), _) => logical.to_string(),
        (None, _) => String::new(),
    };
    [
        device.name.clone(),
        model.join(" "),
        size(device.size_bytes),
        yes(device.rotational),
        text(&device.write_cache),
        text(&device.scheduler),
        device.nr_requests.map_or_else(String::new, |n| count(n as f64)),
        block,
        size(device.read_ahead_kib.map(|kib| kib.saturating_mul(1024))),
        yes(device.discard),
    ]
}

fn write_machine(sheet: &mut Sheet, machine: &MachineFacts) {
    let e = &machine.environment;
    let online = machine.cpus_online.map_or(u64::from(e.cpus), u64::from);
    let mut processors = if online > 0 { plural(online, "processor") } else { String::new() };
    if !e.cpu_model.is_empty() {
        processors.push_str(&format!(", {}", e.cpu_model));
    }
    if let Some(quota) = machine.cpu_quota {
        processors.push_str(&format!("; {quota:.2} of them may be used (control group)"));
    }
    let mut memory = Bytes(e.memory_bytes).to_string();
    if machine.memory_available_bytes > 0 {
        memory.push_str(&format!(", {} of it available", Bytes(machine.memory_available_bytes)));
    }
    if let Some(limit) = machine.memory_limit_bytes {
        memory.push_str(&format!("; {} may be used (control group)", Bytes(limit)));
    }
    let engines: Vec<String> = machine.engines.iter().map(engine).collect();
    let limits: Vec<String> = machine.io_limits.iter().map(ToString::to_string).collect();
    let locked = machine.locked_memory_bytes.map(|bytes| Bytes(bytes).to_string());
    sheet.gap();
    sheet.text(Paint::Strong, if e.host.is_empty() { "This machine" } else { &e.host });
    sheet.pairs(&[
        ("kernel", e.kernel.clone()),
        (
            "runs in",
            if e.virtualization == "none" { String::new() } else { e.virtualization.clone() },
        ),
        ("processors", processors),
        ("governor", machine.governor.clone().unwrap_or_default()),
        ("idle state", machine.deepest_idle.clone().unwrap_or_default()),
        ("memory", if e.memory_bytes > 0 { memory } else { String::new() }),
        ("locked", locked.map_or_else(String::new, |bytes| format!("{bytes} of memory at most"))),
        ("I/O limits", limits.join(", ")),
        ("engines", engines.join("; ")),
        ("protection", machine.protection.clone()),
        ("clock", e.clock.clone()),
    ]);
}

fn engine(facts: &EngineFacts) -> String {
    let name = facts.engine.as_str();
    match &facts.refused {
        Some(why) => format!("{name} refused ({why})"),
        None => format!("{name} works"),
    }
}
