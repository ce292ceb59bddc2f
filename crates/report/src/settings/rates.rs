//! Settings with figures of several loads, each measured by a suite.

use super::device;
use super::evidence::{Evidence, doubt, interval, whole};
use super::{Body, MeasuredBy, Reason, Setting};
use iogauge_model::plain_text::json_shown;
use iogauge_model::result::{
    DeviceFacts, MeasuredRate, PartFacts, RatesFindings, RealTarget, TargetFacts,
};
use iogauge_model::units::Bandwidth;

/// The smallest value of a figure: Seastar and the kernel divide by it.
const LEAST: u64 = 1;

pub(super) const SEASTAR: Setting = Setting {
    name: "seastar",
    alias: Some("scylladb"),
    about: "ScyllaDB and Seastar: the speed of a disk, io_properties.yaml",
    sets: &["read_iops", "read_bandwidth", "write_iops", "write_bandwidth"],
    definition: "IOPS and bandwidth of reads and of writes of the device, as iotune measures them: random I/O with as \
                 many outstanding as the block layer queues, and sequential I/O of 1 MiB with 4 outstanding for each \
                 disk.",
    source: "https://github.com/scylladb/seastar/blob/master/doc/io-properties-file.md",
    measured_by: MeasuredBy::Suite("seastar"),
    body: seastar,
};

pub(super) const IOCOST: Setting = Setting {
    name: "io.cost.model",
    alias: Some("io.cost"),
    about: "Linux: the linear cost model of a device for blk-iocost, io.cost.model",
    sets: &["rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"],
    definition: "rbps and wbps are the maximum of sequential bytes per second, rseqiops and wseqiops that of sequential \
                 I/Os of 4 KiB per second, rrandiops and wrandiops that of random I/Os of 4 KiB, as \
                 tools/cgroup/iocost_coef_gen.py of the kernel measures them.",
    source: "https://docs.kernel.org/admin-guide/cgroup-v2.html#io-interface-files",
    measured_by: MeasuredBy::Suite("iocost"),
    body: iocost,
};

fn seastar(evidence: &Evidence<'_>) -> Result<Body, Reason> {
    let rates = evidence.rates("seastar", &[("iodepth", None)])?;
    let (mount_point, placeholder) = mount_point(&evidence.head.target)?;
    let mut lines = vec!["disks:".to_owned(), format!("  - mountpoint: {mount_point}")];
    let mut remarks = Vec::new();
    for name in SEASTAR.sets {
        let (value, measured) = figure(&rates, name, name.ends_with("bandwidth"))?;
        lines.push(format!("    {name}: {value}"));
        remarks.extend(measured);
    }
    let to_do = placeholder.map(str::to_owned).into_iter().collect();
    Ok(Body { remarks, to_do, lines })
}

fn iocost(evidence: &Evidence<'_>) -> Result<Body, Reason> {
    let of_script = [("bs", Some(128 << 20)), ("numjobs", Some(1))];
    let rates = evidence.rates("iocost", &of_script)?;
    let disk = device::disk(&evidence.head.target)?;
    let mut line = disk.number.clone();
    let mut remarks = Vec::new();
    for name in IOCOST.sets {
        let (value, measured) = figure(&rates, name, name.ends_with("bps"))?;
        line.push_str(&format!(" {name}={value}"));
        remarks.extend(measured);
    }
    remarks.extend(scheduler(device::only(&evidence.head.target)?));
    let mut to_do: Vec<String> = disk.placeholder.map(str::to_owned).into_iter().collect();
    to_do.push("Write this line to /sys/fs/cgroup/io.cost.model:".to_owned());
    Ok(Body { remarks, to_do, lines: vec![line] })
}

/// Returns the value of a figure, and remarks: how it was measured, and why it is in doubt.
fn figure(rates: &RatesFindings, name: &str, is_bytes: bool) -> Result<(u64, Vec<String>), Reason> {
    let MeasuredRate { load, iops, bytes_per_sec, .. } =
        rates.rate(name).ok_or(Reason::Incomplete)?;
    let bandwidth = |bytes: f64| Bandwidth(bytes).to_string();
    let (rate, text) = match is_bytes {
        true => {
            (bytes_per_sec, bandwidth(bytes_per_sec.mean) + &interval(bytes_per_sec, bandwidth))
        }
        false => (iops, format!("{} IOPS{}", whole(iops.mean), interval(iops, whole))),
    };
    let found = rate.mean.floor() as u64;
    if found < LEAST {
        return Err(Reason::TooSmall { found, least: LEAST });
    }
    let measured = format!("Measured: {name} {text}, {load}");
    Ok((found, std::iter::once(measured).chain(doubt(name, rate)).collect()))
}

/// Returns the mount point of a target as YAML, and what to replace.
fn mount_point(target: &TargetFacts) -> Result<(String, Option<&'static str>), Reason> {
    let placeholder = (
        "\"/MOUNTPOINT\"".to_owned(),
        Some(
            "Replace /MOUNTPOINT by the directory where the file system of this device is mounted.",
        ),
    );
    let parts = match target {
        TargetFacts::Simulated(_) => return Ok(placeholder),
        TargetFacts::Real(RealTarget { parts, .. }) => parts.as_slice(),
        _ => return Err(Reason::NoDevice),
    };
    let [PartFacts { mount_point, .. }] = parts else { return Err(Reason::SeveralParts) };
    Ok(match mount_point {
        // A string of JSON is one of YAML.
        Some(place) => {
            let quoted = serde_json::Value::from(place.as_str()).to_string();
            (json_shown(&quoted).into_owned(), None)
        }
        None => placeholder,
    })
}

/// Returns a remark if the device had an I/O scheduler, with which the kernel's script does not measure.
fn scheduler(device: Option<&DeviceFacts>) -> Option<String> {
    let device = device?;
    let scheduler = device.scheduler.as_deref().filter(|scheduler| *scheduler != "none")?;
    Some(format!(
        "The scheduler of {} was {scheduler}. The script measures with none, and without merges (nomerges 1).",
        device.disk.as_deref().unwrap_or(&device.name)
    ))
}
