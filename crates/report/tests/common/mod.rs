//! Documents built by hand.

#![allow(dead_code, clippy::unwrap_used)]

pub mod loads;
pub mod series;

use iogauge_model::limit::{Metric, Side};
use iogauge_model::load::EngineKind;
use iogauge_model::result::{
    Answer, BlockTrace, CpuUse, CurvePoint, DOCTOR_FORMAT, DatabaseTarget, DeviceCounters,
    DeviceFacts, DirectionResult, DoctorDocument, DoctorPart, EngineFacts, Environment, Estimate,
    ExtentFacts, FIND_FORMAT, FileSystemFacts, FindDocument, Head, IoBound, IoLimit, IoTime, Knee,
    LatencyShare, LatencySummary, MachineFacts, PartForm, Physical, RUN_FORMAT, RealTarget,
    RequestSize, RunDocument, Search, StepResult, StoppedBy, TargetFacts, TracedDevice,
    TracedRequests,
};
use iogauge_model::{Caveat, CaveatCode, Histogram, Impact, Limit, Load};
use iogauge_report::chart::{Anchor, Ink, Mark, Scene, Text, width_of};

/// Returns a target with only a name.
pub fn named(name: &str) -> TargetFacts {
    TargetFacts::Real(RealTarget { name: name.to_owned(), ..RealTarget::default() })
}

/// Returns a database target at this URL.
pub fn database(url: &str) -> TargetFacts {
    let target = DatabaseTarget { name: url.to_owned(), ..DatabaseTarget::default() };
    TargetFacts::Database(Box::new(target))
}

pub fn head(format: &str, target: TargetFacts) -> Head {
    Head {
        format: format.to_owned(),
        version: "0.1.0".to_owned(),
        run_id: "20261121-101530-x7k2".to_owned(),
        started: "2026-11-21T10:15:30Z".to_owned(),
        target,
        load: Load::default().into(),
        via: None,
        host_parts: Vec::new(),
        label: None,
    }
}

pub fn environment() -> Environment {
    Environment {
        iogauge: "0.1.0".to_owned(),
        host: "db1".to_owned(),
        kernel: "6.18.0".to_owned(),
        cpu_model: "AMD EPYC".to_owned(),
        cpus: 2,
        memory_bytes: 8 << 30,
        clock: "tsc".to_owned(),
        virtualization: "kvm".to_owned(),
    }
}

pub fn estimate(mean: f64, half: f64) -> Estimate {
    Estimate { mean, ci95: [mean - half, mean + half], n: 30 }
}

/// Returns latencies around a mean, with a tail like that of a device.
pub fn latency(mean_ns: f64) -> LatencySummary {
    let times = |factor: f64| (mean_ns * factor) as u64;
    LatencySummary {
        mean: mean_ns,
        mean_ci95: [mean_ns * 0.99, mean_ns * 1.01],
        stddev: mean_ns / 2.0,
        min: times(0.31),
        p50: times(0.92),
        p95: times(1.61),
        p99: times(2.22),
        p999: times(4.05),
        p9999: times(7.3),
        max: times(12.5),
        n: 812_040,
        percentiles_ci95: None,
    }
}

/// Returns the shares of such latencies.
pub fn shares(mean_ns: f64) -> Vec<LatencyShare> {
    let mut histogram = Histogram::new();
    for (factor, ios) in [(0.4, 30), (0.92, 45), (1.4, 20), (2.2, 4), (12.5, 1)] {
        histogram.record_n((mean_ns * factor) as u64, ios);
    }
    LatencyShare::all_of(&histogram)
}

pub fn nothing() -> LatencySummary {
    LatencySummary::of(&Histogram::new(), [0.0, 0.0])
}

pub fn direction(iops: f64, mean_ns: f64) -> DirectionResult {
    DirectionResult {
        ios: (iops * 10.0) as u64,
        bytes: (iops * 40_960.0) as u64,
        errors: 0,
        short: 0,
        iops: estimate(iops, iops / 250.0),
        bytes_per_sec: iops * 4096.0,
        service_ns: latency(mean_ns),
        response_ns: None,
        service_histogram: Histogram::new(),
        response_histogram: None,
    }
}

pub fn physical() -> Physical {
    let device = |name: &str| DeviceCounters {
        device: name.to_owned(),
        reads: 412_000,
        writes: 12,
        read_bytes: 1_687_552_000,
        write_bytes: 49_152,
        busy_ns: 9_900_000_000,
        ..DeviceCounters::default()
    };
    Physical {
        reads: 824_000,
        writes: 24,
        read_bytes: 3_375_104_000,
        write_bytes: 98_304,
        ratio_to_logical: Some(1.0147),
        devices: vec![device("nvme0n1"), device("nvme1n1")],
    }
}

/// Returns a block trace with reads that spent most of their time in the device.
pub fn trace() -> BlockTrace {
    let times = |mean_ns: u64, requests: u64| {
        let mut times = Histogram::new();
        for number in 0..100 {
            times.record_n(mean_ns * (50 + number) / 100, requests / 100);
        }
        times
    };
    let read = TracedRequests::new(
        vec![
            RequestSize { bytes: 4096, requests: 792_000 },
            RequestSize { bytes: 8192, requests: 10_000 },
        ],
        times(320_000, 802_000),
    );
    let io = IoTime { ios: 812_040, mean_ns: 390_000.0, device_ns: 318_400.0 };
    let flush = TracedRequests::new(Vec::new(), times(2_000_000, 300));
    BlockTrace {
        seconds: 10.0,
        read: Some(TracedRequests { io: Some(io), ..read }),
        write: None,
        flush: Some(flush),
        unmatched: 0,
        devices: vec![TracedDevice {
            device: "nvme0n1".to_owned(),
            first_byte: 1 << 20,
            end_byte: 931 << 30,
            followed: 800_099,
            sequential: 4_000,
            jump_bytes_mean: 310.0 * f64::from(1 << 30),
        }],
    }
}

pub fn step(label: &str, queue_depth: u32) -> StepResult {
    StepResult {
        label: label.to_owned(),
        queue_depth,
        queue_depth_achieved: f64::from(queue_depth) * 0.98,
        rate_iops: None,
        seconds: 10.0,
        began: None,
        read: Some(direction(81_204.0, 390_000.0)),
        write: None,
        sync: None,
        jobs: Vec::new(),
        hosts: Vec::new(),
        workers: Vec::new(),
        physical: Some(physical()),
        cpu: CpuUse {
            user_percent: 11.6,
            system_percent: 30.2,
            ns_per_io: 5_120.0,
            machine_percent: Some(24.0),
            steal_percent: 1.4,
            iowait_percent: 0.2,
            wait_percent: 0.3,
            polled_percent: 0.0,
        },
        series: Vec::new(),
        limits: Vec::new(),
        shifts: Vec::new(),
        system: Vec::new(),
        verify: None,
        database: None,
        fio: None,
        steady_state: None,
        trace: None,
    }
}

pub fn caveats() -> Vec<Caveat> {
    vec![
        Caveat::new(
            CaveatCode::VolatileWriteCache,
            "nvme0n1 may keep written data in a volatile cache, so writes may be faster than the medium",
            "iogauge run /data --sync=dsync",
        ),
        Caveat::new(CaveatCode::StealTime, "1.4 % of the time went to other machines", ""),
    ]
}

pub fn run_document(steps: Vec<StepResult>) -> RunDocument {
    RunDocument {
        head: head(RUN_FORMAT, named("/data")),
        steps,
        interrupted: false,
        caveats: Vec::new(),
        environment: environment(),
    }
}

pub fn point(queue_depth: u32, iops: f64, met: bool) -> CurvePoint {
    CurvePoint {
        queue_depth,
        rate_iops: None,
        offered_iops: None,
        hosts: Vec::new(),
        backlog_max: None,
        queue_depth_achieved: f64::from(queue_depth) * 0.997,
        iops: estimate(iops, iops / 260.0),
        latency_ns: latency(f64::from(queue_depth) / iops * 1e9),
        latency_shares: shares(f64::from(queue_depth) / iops * 1e9),
        limits: Vec::new(),
        service_ns: None,
        met,
        cpu_percent: 41.0,
        steady: queue_depth != 32,
        seconds: 3.0,
        errors: 0,
    }
}

pub fn find_document(stopped_by: StoppedBy) -> FindDocument {
    let curve = vec![
        point(1, 9_800.0, true),
        point(32, 76_100.0, true),
        point(256, 80_900.0, true),
        point(812, 81_204.0, true),
        point(1024, 81_300.0, false),
    ];
    let best = &curve[3];
    FindDocument {
        head: head(FIND_FORMAT, named("/data")),
        search: Search {
            limits: vec![Limit::default()],
            answer: Answer {
                queue: None,
                met: true,
                iops: estimate(81_204.0, 310.0),
                pi95: Some([80_600.0, 81_800.0]),
                observed_seconds: Some(8.0),
                wander: None,
                bytes_per_sec: 81_204.0 * 4096.0,
                queue_depth: best.queue_depth,
                rate_iops: None,
                queue_depth_achieved: best.queue_depth_achieved,
                latency_ns: best.latency_ns,
                limits: Vec::new(),
                service_ns: None,
                stopped_by,
                stopped_by_limit: (stopped_by == StoppedBy::Limit).then(Limit::default),
            },
            knee: Some(Knee {
                queue_depth: 256,
                iops: 80_900.0,
                share: Some(estimate(0.996, 0.005)),
            }),
            curve,
            series: Vec::new(),
            shifts: Vec::new(),
            measured_seconds: 15.0,
            system: Vec::new(),
            trace: None,
        },
        physical: Some(physical()),
        began: None,
        caveats: Vec::new(),
        environment: environment(),
    }
}

pub fn p99_limit() -> Limit {
    Limit { each: false, side: Side::Any, metric: Metric::Percentile(99.0), bound_ns: 50_000_000 }
}

pub fn file_part() -> DoctorPart {
    DoctorPart {
        path: "/srv/data/iogauge.dat".to_owned(),
        form: PartForm::OwnFile,
        size_bytes: 8 << 30,
        direct_io: true,
        mounted_on: Vec::new(),
        file_system: Some(FileSystemFacts {
            name: "xfs".to_owned(),
            mount_point: "/srv".to_owned(),
            options: "rw,noatime,attr2,inode64,logbufs=8,logbsize=32k,noquota,discard,prjquota"
                .to_owned(),
            total_bytes: 1 << 40,
            available_bytes: 300 << 30,
            reserve_bytes: 51 << 30,
        }),
        extents: Some(ExtentFacts {
            total_bytes: 8 << 30,
            hole_bytes: 2 << 30,
            unwritten_bytes: 1 << 20,
            ..ExtentFacts::default()
        }),
        reads_refused: None,
        writes_refused: None,
    }
}

pub fn device_part() -> DoctorPart {
    DoctorPart {
        path: "/dev/sdb1".to_owned(),
        form: PartForm::BlockDevice,
        size_bytes: 480_103_981_056,
        mounted_on: vec!["/srv".to_owned(), "/backup".to_owned()],
        file_system: None,
        extents: None,
        writes_refused: Some(
            "/dev/sdb1 is mounted on /srv and /backup; hint: run umount /srv /backup".to_owned(),
        ),
        ..file_part()
    }
}

pub fn devices() -> Vec<DeviceFacts> {
    let disk = DeviceFacts {
        name: "sdb".to_owned(),
        number: Some("8:16".to_owned()),
        vendor: Some("ATA".to_owned()),
        model: Some("Samsung SSD 870 EVO".to_owned()),
        driver: Some("sd".to_owned()),
        size_bytes: Some(480_103_981_056),
        rotational: Some(false),
        scheduler: Some("mq-deadline".to_owned()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        write_cache: Some("write back".to_owned()),
        discard: Some(true),
        nr_requests: Some(64),
        read_ahead_kib: Some(128),
        ..DeviceFacts::default()
    };
    let partition =
        DeviceFacts { name: "sdb1".to_owned(), disk: Some("sdb".to_owned()), ..disk.clone() };
    let image = DeviceFacts {
        name: "loop0".to_owned(),
        size_bytes: Some(1 << 30),
        logical_block_bytes: Some(512),
        backing_file: Some("/var/images/a.img".to_owned()),
        backing_direct: Some(false),
        ..DeviceFacts::default()
    };
    vec![image, partition, disk]
}

pub fn machine() -> MachineFacts {
    let refused =
        |engine, why: Option<&str>| EngineFacts { engine, refused: why.map(ToOwned::to_owned) };
    MachineFacts {
        environment: environment(),
        cpus_online: Some(2),
        cpu_quota: Some(1.5),
        governor: Some("powersave".to_owned()),
        deepest_idle: Some("C6, 133 µs to wake".to_owned()),
        memory_available_bytes: 6 << 30,
        memory_limit_bytes: Some(512 << 20),
        locked_memory_bytes: Some(8 << 20),
        io_limits: vec![
            IoLimit {
                device: "sdb".to_owned(),
                bound: IoBound::ReadIops,
                value: 3000,
                file: "/sys/fs/cgroup/a/io.max".to_owned(),
            },
            IoLimit {
                device: "sdb".to_owned(),
                bound: IoBound::WriteBytesPerSec,
                value: 50_000_000,
                file: "/sys/fs/cgroup/a/io.max".to_owned(),
            },
        ],
        engines: vec![
            refused(EngineKind::IoUring, Some("Operation not permitted (os error 1)")),
            refused(EngineKind::Libaio, None),
            refused(EngineKind::Psync, None),
        ],
        protection: "Landlock, ABI 7".to_owned(),
    }
}

pub fn doctor_document() -> DoctorDocument {
    let caveats = vec![
        Caveat::new(
            CaveatCode::Throttled,
            "a control group allows this process 3,000 reads per second on sdb \
             (/sys/fs/cgroup/a/io.max)",
            "echo $$ > /sys/fs/cgroup/cgroup.procs, as root, before iogauge; or a higher limit",
        ),
        Caveat::new(
            CaveatCode::SmallerThanCache,
            "/srv/data/iogauge.dat: 8 GiB are measured, less than 16 GiB: sdb may have a cache",
            "iogauge prepare /srv/data/iogauge.dat --size=16g",
        )
        .with_impact(Impact::Note),
    ];
    DoctorDocument {
        format: DOCTOR_FORMAT.to_owned(),
        version: "0.1.0".to_owned(),
        target: "/srv/data,/dev/sdb1".to_owned(),
        parts: vec![file_part(), device_part()],
        chain: "loop0 on sdb1 on sdb".to_owned(),
        devices: devices(),
        machine: machine(),
        caveats,
    }
}

/// Returns all marks, with those inside series.
pub fn flat(marks: &[Mark]) -> Vec<&Mark> {
    let mut found = Vec::new();
    for mark in marks {
        match mark {
            Mark::Series { marks, .. } => found.extend(flat(marks)),
            other => found.push(other),
        }
    }
    found
}

/// Returns the box of a text, `[left, top, right, bottom]`, with a tolerance because widths are upper estimates.
pub fn box_of(text: &Text) -> [f64; 4] {
    let width = width_of(&text.text, text.size) * 0.85;
    let left = match text.anchor {
        Anchor::Start => text.x,
        Anchor::Middle => text.x - width / 2.0,
        Anchor::End => text.x - width,
    };
    [left, text.y - text.size * 0.7, left + width, text.y]
}

/// Returns the texts of a picture that a line crosses. Grid lines do not count.
pub fn struck(scene: &Scene) -> Vec<String> {
    let all = flat(&scene.marks);
    let on_line = |[left, top, right, bottom]: [f64; 4]| {
        all.iter().any(|mark| {
            let Mark::Line { points, stroke } = mark else { return false };
            let is_in = |(x, y): (f64, f64)| x > left && x < right && y > top && y < bottom;
            stroke.ink != Ink::Grid && along(points).into_iter().any(is_in)
        })
    };
    let texts = all.iter().filter_map(|mark| match mark {
        Mark::Text(text) if on_line(box_of(text)) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect()
}

/// Returns places along a line, less than a unit apart.
fn along(points: &[Option<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    for pair in points.windows(2) {
        let [Some((x, y)), Some((to_x, to_y))] = pair else { continue };
        let steps = (to_x - x).hypot(to_y - y).ceil() as u32 * 2;
        places.extend((0..=steps).map(|step| {
            let share = f64::from(step) / f64::from(steps.max(1));
            (x + (to_x - x) * share, y + (to_y - y) * share)
        }));
    }
    places
}
