//! The capacity of a Ceph OSD, for its mClock scheduler.

use super::evidence::Evidence;
use super::load::{SettingLoad, one_of};
use super::{Body, MeasuredBy, Reason, Setting, device};
use iogauge_model::load::{Load, Pattern};
use iogauge_model::result::DeviceFacts;

const KIB: u64 = 1024;

/// The IOPS first, then the bandwidth.
const LOADS: &[SettingLoad] = &[
    SettingLoad { rw: Pattern::RandWrite, block_bytes: 4 * KIB },
    SettingLoad { rw: Pattern::Write, block_bytes: 4096 * KIB },
];

pub(super) const SETTING: Setting = Setting {
    name: "ceph",
    alias: None,
    about: "Ceph: the capacity of an OSD, for the mClock scheduler",
    sets: &[
        "osd_mclock_max_capacity_iops_hdd",
        "osd_mclock_max_capacity_iops_ssd",
        "osd_mclock_max_sequential_bandwidth_hdd",
        "osd_mclock_max_sequential_bandwidth_ssd",
    ],
    definition: "capacity_iops is the maximum of random writes of 4 KiB per second of an OSD, which \"ceph tell osd.N \
                 bench 12288000 4096 4194304 100\" or a benchmark of the drive, such as fio, shows; \
                 sequential_bandwidth is the maximum of sequential bytes per second of its device, here of writes of 4 \
                 MiB, as \"ceph tell osd.N bench\" issues them by default.",
    source: "https://docs.ceph.com/en/latest/rados/configuration/mclock-config-ref/",
    measured_by: MeasuredBy::Search { loads: LOADS, fits, is_maximum: true },
    body,
};

fn fits(load: &Load) -> Result<(), Reason> {
    one_of(LOADS, load)
}

fn body(evidence: &Evidence<'_>) -> Result<Body, Reason> {
    let capacity = evidence.maximum()?;
    let is_random = capacity.load.rw.is_random();
    let (variable, value, measured) = if is_random {
        let remark = capacity.iops_remark();
        ("osd_mclock_max_capacity_iops", capacity.answer.iops.mean, remark)
    } else {
        let remark = capacity.bandwidth_remark();
        ("osd_mclock_max_sequential_bandwidth", capacity.bytes_per_sec().mean, remark)
    };
    let class = device::only(&evidence.head.target)?.and_then(class);
    let mut remarks = vec![measured];
    remarks.extend(capacity.doubt(variable));
    if is_random {
        remarks.push(
            "The figure is that of the drive alone. OSD bench writes through the object store, and shows less."
                .to_owned(),
        );
    }
    let to_do = match class {
        Some(_) => "Replace N by the number of the OSD on this device.".to_owned(),
        None => "Replace N by the number of the OSD. An OSD uses the variable of its own device class only.".to_owned(),
    };
    let value = value.floor() as u64;
    let line = |class: &str| format!("ceph config set osd.N {variable}_{class} {value}");
    let lines = match class {
        Some(class) => vec![line(class)],
        None => ["hdd", "ssd"].map(line).to_vec(),
    };
    Ok(Body { remarks, to_do: vec![to_do], lines })
}

/// Returns the device class that Ceph derives from a device; `None` if it is a virtual one, which may report it wrongly.
fn class(device: &DeviceFacts) -> Option<&'static str> {
    let rotational = device.rotational.filter(|_| !device.is_virtual())?;
    Some(if rotational { "hdd" } else { "ssd" })
}
