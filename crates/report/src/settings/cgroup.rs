//! Maxima of a control group: the kernel's `io.max`, and the same in systemd.

use super::device::{self, Disk};
use super::evidence::{Capacity, Evidence};
use super::load::{block_bytes, plain, words};
use super::{Body, MeasuredBy, Reason, Setting};
use iogauge_model::load::Load;

/// Blocks up to this size show the maximum of I/Os.
const MOST_OF_IOS_BYTES: u64 = 16 << 10;
/// Blocks from this size on show the maximum of bytes (the smaller block of the throughput test of SNIA's PTS).
const LEAST_OF_BANDWIDTH_BYTES: u64 = 128 << 10;
/// The kernel refuses smaller values.
const LEAST: u64 = 2;

pub(super) const IO_MAX: Setting = Setting {
    name: "io.max",
    alias: None,
    about: "Linux: the most I/O that a control group may issue to a device, io.max",
    sets: &["riops", "wiops", "rbps", "wbps"],
    definition: "riops and wiops are the maximum of reads and of writes per second, rbps and wbps that of bytes read and \
                 written per second. Here each is the capacity that was measured, of I/Os with blocks up to 16 KiB, of \
                 bytes with blocks of 128 KiB or more.",
    source: "https://docs.kernel.org/admin-guide/cgroup-v2.html#io-interface-files",
    measured_by: MeasuredBy::Search { loads: &[], fits, is_maximum: false },
    body: io_max,
};

pub(super) const SYSTEMD: Setting = Setting {
    name: "systemd",
    alias: None,
    about: "systemd: the most I/O that a unit may issue to a device",
    sets: &["IOReadIOPSMax", "IOWriteIOPSMax", "IOReadBandwidthMax", "IOWriteBandwidthMax"],
    definition: "IOReadIOPSMax= and IOWriteIOPSMax= are the maximum of reads and of writes per second, \
                 IOReadBandwidthMax= and IOWriteBandwidthMax= that of bytes read and written per second; systemd writes \
                 them to io.max. Here each is the capacity that was measured, of I/Os with blocks up to 16 KiB, of bytes \
                 with blocks of 128 KiB or more.",
    source: "https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html",
    measured_by: MeasuredBy::Search { loads: &[], fits, is_maximum: false },
    body: systemd,
};

/// The figure that a load shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figure {
    is_read: bool,
    is_bytes: bool,
}

impl Figure {
    fn of(load: &Load) -> Result<Self, Reason> {
        if load.rw.is_mixed() {
            return Err(Reason::Mixed);
        }
        let is_read = load.rw.reads();
        match block_bytes(load) {
            Some(bytes) if bytes <= MOST_OF_IOS_BYTES => Ok(Self { is_read, is_bytes: false }),
            Some(bytes) if bytes >= LEAST_OF_BANDWIDTH_BYTES => {
                Ok(Self { is_read, is_bytes: true })
            }
            _ => Err(Reason::BetweenSizes { found: words(load) }),
        }
    }

    fn io_max(self) -> &'static str {
        match (self.is_read, self.is_bytes) {
            (true, false) => "riops",
            (false, false) => "wiops",
            (true, true) => "rbps",
            (false, true) => "wbps",
        }
    }

    fn systemd(self) -> &'static str {
        match (self.is_read, self.is_bytes) {
            (true, false) => "IOReadIOPSMax",
            (false, false) => "IOWriteIOPSMax",
            (true, true) => "IOReadBandwidthMax",
            (false, true) => "IOWriteBandwidthMax",
        }
    }

    fn remark(self, capacity: &Capacity<'_>) -> String {
        if self.is_bytes { capacity.bandwidth_remark() } else { capacity.iops_remark() }
    }

    fn value(self, capacity: &Capacity<'_>) -> Result<u64, Reason> {
        let rate = match self.is_bytes {
            true => capacity.bytes_per_sec(),
            false => capacity.answer.iops,
        };
        let found = rate.mean.floor() as u64;
        if found < LEAST { Err(Reason::TooSmall { found, least: LEAST }) } else { Ok(found) }
    }
}

fn fits(load: &Load) -> Result<(), Reason> {
    Figure::of(load).and_then(|_| plain(load))
}

fn io_max(evidence: &Evidence<'_>) -> Result<Body, Reason> {
    let Parts { disk, figure, value, remarks } = Parts::of(evidence)?;
    let mut to_do: Vec<String> = disk.placeholder.map(str::to_owned).into_iter().collect();
    to_do.push("Write this line to /sys/fs/cgroup/GROUP/io.max:".to_owned());
    let line = format!("{} {}={value}", disk.number, figure.io_max());
    Ok(Body { remarks, to_do, lines: vec![line] })
}

fn systemd(evidence: &Evidence<'_>) -> Result<Body, Reason> {
    let Parts { disk, figure, value, remarks } = Parts::of(evidence)?;
    let mut to_do: Vec<String> = disk.placeholder.map(str::to_owned).into_iter().collect();
    to_do.push("Add these lines to a service, with \"systemctl edit UNIT\":".to_owned());
    let line = format!("{}={} {value}", figure.systemd(), disk.path);
    Ok(Body { remarks, to_do, lines: vec!["[Service]".to_owned(), line] })
}

/// What both texts consist of.
struct Parts {
    disk: Disk,
    figure: Figure,
    value: u64,
    /// How the figure was measured, and why it is in doubt.
    remarks: Vec<String>,
}

impl Parts {
    fn of(evidence: &Evidence<'_>) -> Result<Self, Reason> {
        let capacity = evidence.capacity()?;
        let figure = Figure::of(capacity.load)?;
        let disk = device::disk(&evidence.head.target)?;
        let doubt = capacity.doubt("the figure");
        let remarks = std::iter::once(figure.remark(&capacity)).chain(doubt).collect();
        Ok(Self { disk, figure, value: figure.value(&capacity)?, remarks })
    }
}
