//! The device of a result, as settings name it.

use super::Reason;
use iogauge_model::result::{DeviceFacts, RealTarget, TargetFacts};

/// A block device that has no parts but partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Disk {
    /// Number, as `major:minor`.
    pub(super) number: String,
    /// Path below `/dev`.
    pub(super) path: String,
    /// What to replace; `None` for the disk of a real target.
    pub(super) placeholder: Option<&'static str>,
}

/// Returns the only device of a target; `None` for a simulated device.
pub(super) fn only(target: &TargetFacts) -> Result<Option<&DeviceFacts>, Reason> {
    let devices = match target {
        TargetFacts::Simulated(_) => return Ok(None),
        TargetFacts::Real(RealTarget { devices, .. }) => devices,
        _ => return Err(Reason::NoDevice),
    };
    let first = devices.first().ok_or(Reason::NoDevice)?;
    if devices.iter().any(|device| device.name != first.name) {
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        return Err(Reason::SeveralDevices { devices: names.join(", ") });
    }
    Ok(Some(first))
}

/// Returns the disk of a target, which for a partition is the disk that it is on: the kernel takes no partition here.
pub(super) fn disk(target: &TargetFacts) -> Result<Disk, Reason> {
    let Some(device) = only(target)? else {
        return Ok(Disk {
            number: "MAJ:MIN".to_owned(),
            path: "/dev/DEVICE".to_owned(),
            placeholder: Some(
                "The device was simulated: replace MAJ:MIN or DEVICE by the number or the name of the real one.",
            ),
        });
    };
    let (name, number) = match &device.disk {
        Some(disk) => {
            let missing = || Reason::NoDiskNumber { disk: disk.clone() };
            (disk, device.disk_number.clone().ok_or_else(missing)?)
        }
        None => (&device.name, device.number.clone().ok_or(Reason::NoDevice)?),
    };
    // sysfs has ! for each / in the name of a device.
    Ok(Disk { number, path: format!("/dev/{}", name.replace('!', "/")), placeholder: None })
}
