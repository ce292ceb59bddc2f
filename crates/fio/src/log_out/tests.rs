use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn logs() -> Logs {
    let prefix = Some("p".to_owned());
    Logs {
        latency: prefix.clone(),
        bandwidth: prefix.clone(),
        iops: prefix.clone(),
        histogram: prefix,
        histogram_window_ms: 1000,
        ..Logs::default()
    }
}

fn read(ended_ns: u64, latency_ns: u64) -> LoggedIo {
    let direction = LogDirection::Read;
    LoggedIo { ended_ns, latency_ns, offset_bytes: 8192, bytes: 4096, direction }
}

fn write(ended_ns: u64, latency_ns: u64) -> LoggedIo {
    LoggedIo { direction: LogDirection::Write, bytes: 65536, ..read(ended_ns, latency_ns) }
}

fn text(logs: Logs, ios: &[LoggedIo], ended_ns: u64) -> LogText {
    let (mut job, mut text) = (JobLog::new(logs, 1_700_000_000_000), LogText::default());
    ios.iter().for_each(|io| job.add(io, &mut text));
    job.end(ended_ns, &mut text);
    text
}

/// Returns time, direction, block size and the sum of the bins of each histogram, and its number of bins.
fn histograms(text: &LogText) -> Vec<(u64, u64, u64, u64, usize)> {
    let line = |line: &str| {
        let fields: Vec<u64> = line.split(", ").map(|field| field.parse().unwrap()).collect();
        (fields[0], fields[1], fields[2], fields[3..].iter().sum(), fields.len() - 3)
    };
    text.of(LogKind::Histogram).lines().map(line).collect()
}

#[test]
fn each_io_has_a_line_without_windows() {
    let ios = [read(1_500_000, 100_000), write(2_999_999, 50_000)];
    let plain = text(logs(), &ios, 3 * MS);
    assert_eq!(plain.of(LogKind::Latency), "1, 100000, 0, 4096, 0\n2, 50000, 1, 65536, 0\n");
    assert_eq!(plain.of(LogKind::CompletionLatency), plain.of(LogKind::Latency));
    assert_eq!(plain.of(LogKind::Bandwidth), "1, 40960, 0, 4096, 0\n2, 1310720, 1, 65536, 0\n");
    assert_eq!(plain.of(LogKind::Iops), "1, 1, 0, 4096, 0\n2, 1, 1, 65536, 0\n");
    let offsets = text(Logs { has_offset: true, ..logs() }, &ios[..1], MS);
    assert_eq!(offsets.of(LogKind::Latency), "1, 100000, 0, 4096, 8192, 0\n");
    let unix = text(Logs { unix_time: true, ..logs() }, &ios[..1], MS);
    assert_eq!(unix.of(LogKind::Iops), "1700000000001, 1, 0, 4096, 0\n");
}

#[test]
fn window_has_a_line_for_each_direction_used() {
    let ios = [
        read(0, 10),
        write(50 * MS, 7),
        read(99 * MS, 25),
        // The next window begins at 100 ms, and the one at 200 ms has no I/O.
        write(100 * MS, 9),
        read(300 * MS, 1),
    ];
    let logs = Logs { window_ms: 100, has_offset: true, ..logs() };
    let mean = text(logs.clone(), &ios, 400 * MS);
    assert_eq!(
        mean.of(LogKind::Latency),
        "100, 17, 0, 0, 0, 0\n100, 7, 1, 0, 0, 0\n200, 9, 1, 0, 0, 0\n400, 1, 0, 0, 0, 0\n"
    );
    assert_eq!(
        mean.of(LogKind::Bandwidth),
        "100, 80, 0, 0, 0, 0\n100, 640, 1, 0, 0, 0\n200, 640, 1, 0, 0, 0\n400, 40, 0, 0, 0, 0\n"
    );
    assert!(mean.of(LogKind::Iops).starts_with("100, 20, 0, 0, 0, 0\n100, 10, 1,"));
    let most = text(Logs { is_maximum: true, ..logs }, &ios, 400 * MS);
    assert!(most.of(LogKind::Latency).starts_with("100, 25, 0,"));
    assert_eq!(most.of(LogKind::Iops), mean.of(LogKind::Iops));
}

#[test]
fn short_rest_of_a_job_belongs_to_the_last_window() {
    let iops = |ios: &[LoggedIo], ended_ns: u64| {
        let logs = Logs { window_ms: 100, ..logs() };
        text(logs, ios, ended_ns).of(LogKind::Iops).to_owned()
    };
    let two = [read(99 * MS, 1), read(101 * MS, 1)];
    assert_eq!(iops(&two, 125 * MS), "125, 16, 0, 0, 0\n");
    assert_eq!(iops(&two, 150 * MS), "100, 10, 0, 0, 0\n150, 20, 0, 0, 0\n");
    assert_eq!(iops(&two, 2000 * MS), "100, 10, 0, 0, 0\n200, 10, 0, 0, 0\n");
    // There is no window just before.
    assert_eq!(iops(&[read(99 * MS, 1), read(301 * MS, 1)], 310 * MS).lines().count(), 2);
    assert_eq!(iops(&[read(MS, 1)], 10 * MS), "10, 100, 0, 0, 0\n");
    assert_eq!(iops(&[], 10 * MS), "");
}

#[test]
fn histograms_have_the_buckets_of_fio() {
    let ios = [read(MS, 5), write(2 * MS, 70_000), read(3 * MS, 5), read(1100 * MS, u64::MAX)];
    let fine = text(logs(), &ios, 1800 * MS);
    let expected = [(1000, 0, 4096, 2, 1856), (1000, 1, 65536, 1, 1856), (1800, 0, 4096, 1, 1856)];
    assert_eq!(histograms(&fine), expected);
    let first = fine.of(LogKind::Histogram).lines().next().unwrap();
    assert_eq!(first.split(", ").position(|bin| bin == "2"), Some(3 + fio_bucket_of(5)));
    // A latency beyond fio's range is in its last bucket.
    assert!(fine.of(LogKind::Histogram).ends_with(", 0, 1\n"));
    for coarseness in 0..=Logs::MOST_COARSE {
        let coarse = text(Logs { coarseness, ..logs() }, &ios, 1800 * MS);
        let bins: Vec<_> = histograms(&coarse).iter().map(|line| (line.3, line.4)).collect();
        let each = 1856 >> coarseness;
        assert_eq!(bins, [(2, each), (1, each), (1, each)]);
    }
}

#[test]
fn log_files_are_named_as_by_fio() {
    let logs = Logs { bandwidth: None, ..logs() };
    let names = |logs: &Logs| {
        let paths = LogKind::ALL.iter().map(|kind| kind.path(logs, 3));
        paths.map(|path| path.map(|path| path.display().to_string())).collect::<Vec<_>>()
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        names(&logs),
        [
            named("p_lat.3.log"),
            named("p_clat.3.log"),
            None,
            named("p_iops.3.log"),
            named("p_clat_hist.3.log")
        ]
    );
    assert_eq!(names(&Logs { per_job: false, ..logs })[0], named("p_lat.log"));
}

#[test]
fn logs_are_recognized_and_other_files_are_not() {
    let bins = ", 0".repeat(1856);
    for log in [
        "1, 2814, 0, 4096, 0\n",
        "1, 2814, 0, 4096, 61440, 0\n4, 1392, 1, 4096, 774144, 0x4001\n7, 13",
        &format!("103, 1, 4096{bins}\n104, 0, 4096{bins}\n")[..],
        &format!("103, 1, 4096{bins}\n")[..4096],
    ] {
        assert!(is_log(log.as_bytes()), "{}", &log[..20]);
    }
    for other in [
        "",
        "\n",
        "1, 2814, 0, 4096, 0",
        "1, 2814, 0, 4096\n",
        "1, 2814, 3, 4096, 0\n",
        "1,2814,0,4096,0\n",
        "1, 2814, 0, 4096, 0\nhello\n",
        "1, 2814, 0, 4096, 0\nhello",
        "2026, 2814, 0, x, 0\n",
        "1, 2, 0, 4, 5, 6, 7\n",
        "time, value, 0, 4096, 0\n",
    ] {
        assert!(!is_log(other.as_bytes()), "{other}");
    }
}

proptest! {
    /// Every I/O is in exactly one window and one histogram, and all lines are recognized as those of a log.
    #[test]
    fn no_io_is_lost_or_counted_twice(
        gaps_us in prop::collection::vec((0u64..30_000, 1u64..1 << 42, any::<bool>()), 1..200),
        window_ms in 0u64..50,
        histogram_window_ms in 1u64..50,
        rest_us in 0u64..100_000,
    ) {
        let mut now_ns = 0;
        let ios: Vec<LoggedIo> = gaps_us.iter().map(|(gap_us, latency_ns, reads)| {
            now_ns += gap_us * 1000;
            if *reads { read(now_ns, *latency_ns) } else { write(now_ns, *latency_ns) }
        }).collect();
        let logs = Logs { window_ms, histogram_window_ms, ..logs() };
        let text = text(logs, &ios, now_ns + rest_us * 1000);
        let counted: u64 = histograms(&text).iter().map(|line| line.3).sum();
        prop_assert_eq!(counted, ios.len() as u64);
        for kind in LogKind::ALL {
            prop_assert!(is_log(text.of(kind).as_bytes()), "{:?}", kind);
            let times: Vec<u64> = text.of(kind).lines()
                .map(|line| line.split(", ").next().unwrap().parse().unwrap()).collect();
            prop_assert!(times.is_sorted(), "{:?}", kind);
        }
        if window_ms == 0 {
            prop_assert_eq!(text.of(LogKind::Iops).lines().count(), ios.len());
        }
    }

    #[test]
    fn recognition_never_panics(head: Vec<u8>) {
        let _ = is_log(&head);
    }
}
