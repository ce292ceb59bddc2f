//! Simulated devices by name. The figures are typical of the class of device, not of a product.

use super::spec::{Service, SimSpec};

/// A named device.
#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    pub make: fn() -> SimSpec,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "hdd",
        about: "one 7200 rpm disk: seek and rotation, 200 MB/s",
        make: || SimSpec {
            channels: 1,
            // Half a rotation at 7200 rpm.
            service_ns: 4_170_000,
            dist: Service::Lognormal(0.5),
            seek_ns: 14_000_000,
            bus_bytes_per_sec: Some(200_000_000),
            size_bytes: 4 << 40,
            ..SimSpec::default()
        },
    },
    Preset {
        name: "sata-ssd",
        about: "SATA flash: 550 MB/s bus, small fast write cache, garbage collection",
        make: || SimSpec {
            channels: 8,
            service_ns: 85_000,
            dist: Service::Lognormal(0.3),
            write_service_ns: Some(250_000),
            bus_bytes_per_sec: Some(550_000_000),
            cache_bytes: 256 << 20,
            cache_service_ns: 30_000,
            destage_bytes_per_sec: 120_000_000,
            gc_every_ns: 1_000_000_000,
            gc_stall_ns: 8_000_000,
            size_bytes: 960 << 30,
            ..SimSpec::default()
        },
    },
    Preset {
        name: "nvme",
        about: "data-centre NVMe flash: 64 channels, 7 GB/s",
        make: || SimSpec {
            channels: 64,
            service_ns: 78_000,
            dist: Service::Lognormal(0.25),
            write_service_ns: Some(320_000),
            bus_bytes_per_sec: Some(7_000_000_000),
            cache_bytes: 64 << 20,
            cache_service_ns: 12_000,
            destage_bytes_per_sec: 1_500_000_000,
            size_bytes: 4 << 40,
            ..SimSpec::default()
        },
    },
    Preset {
        name: "cloud-volume",
        about: "network volume: 3000 IOPS sustained with burst credits, 125 MB/s",
        make: || SimSpec {
            channels: 64,
            service_ns: 350_000,
            dist: Service::Lognormal(0.4),
            bus_bytes_per_sec: Some(125_000_000),
            iops_cap: Some(3_000),
            burst_ios: 60_000,
            rtt_ns: 250_000,
            size_bytes: 500 << 30,
            ..SimSpec::default()
        },
    },
    Preset {
        name: "array",
        about: "disk array with a large mirrored write cache behind a fabric",
        make: || SimSpec {
            channels: 96,
            service_ns: 5_500_000,
            dist: Service::Lognormal(0.5),
            bus_bytes_per_sec: Some(1_600_000_000),
            cache_bytes: 16 << 30,
            cache_service_ns: 250_000,
            destage_bytes_per_sec: 400_000_000,
            rtt_ns: 200_000,
            size_bytes: 50 << 40,
            ..SimSpec::default()
        },
    },
];
