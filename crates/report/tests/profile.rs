//! Profiles of a system as text, CSV rows and pictures.
#![allow(clippy::unwrap_used)]

mod common;

use common::{environment, find_document};
use insta::assert_snapshot;
use iogauge_model::result::{
    CpuKinds, DevicePoint, Head, MemoryKinds, PROFILE_FORMAT, Paging, ProfileDocument, StoppedBy,
    SystemPoint, TargetFacts, Tasks, Workload,
};
use iogauge_report::chart::{LIGHT, svg};
use iogauge_report::csv;
use iogauge_report::exhibit::{Exhibit, Shown};
use iogauge_report::panel::{Figure, NARROW, PANELS, WIDE};
use iogauge_report::terminal::{Page, profile, profile_brief};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

fn device(name: &str, second: u32) -> DevicePoint {
    let reads_per_sec = f64::from(100 + second * 10);
    DevicePoint {
        device: name.to_owned(),
        reads_per_sec,
        writes_per_sec: 0.0,
        flushes_per_sec: 2.0,
        read_bytes_per_sec: reads_per_sec * 8192.0,
        write_bytes_per_sec: 0.0,
        read_await_ns: Some(250_000.0 + f64::from(second) * 5_000.0),
        write_await_ns: None,
        queue_depth: 0.5 + f64::from(second % 4),
        busy_percent: f64::from(40 + second),
    }
}

fn sample(second: u32) -> SystemPoint {
    let disk = device("sda", second);
    let cpu = CpuKinds {
        user_percent: 20.0 + f64::from(second % 5),
        system_percent: 8.0,
        irq_percent: 0.5,
        softirq_percent: 1.5,
        guest_percent: 0.0,
        idle_percent: 50.0,
    };
    SystemPoint {
        at_seconds: f64::from(second),
        reads_per_sec: disk.reads_per_sec,
        read_bytes_per_sec: disk.read_bytes_per_sec,
        busy_percent: disk.busy_percent,
        cpu_percent: 30.0 + f64::from(second % 5),
        steal_percent: 3.0,
        iowait_percent: 12.0,
        memory_available_bytes: 8 << 30,
        dirty_bytes: u64::from(second) << 22,
        cpu: Some(cpu),
        tasks: Some(Tasks {
            runnable: f64::from(second % 3),
            blocked: 1.0,
            context_switches_per_sec: 12_345.0,
            interrupts_per_sec: 6_789.5,
        }),
        memory: Some(MemoryKinds {
            free_bytes: 1 << 30,
            cached_bytes: 6 << 30,
            ..Default::default()
        }),
        paging: Some(Paging { in_bytes_per_sec: 819_200.0, ..Paging::default() }),
        devices: vec![DevicePoint { device: "dm-0".to_owned(), ..disk.clone() }, disk],
        ..SystemPoint::default()
    }
}

fn document() -> ProfileDocument {
    ProfileDocument {
        head: Head {
            format: PROFILE_FORMAT.to_owned(),
            version: "0.1.0".to_owned(),
            run_id: "20261121-101530-x7k2".to_owned(),
            started: "2026-11-21T10:15:30Z".to_owned(),
            target: TargetFacts::System {
                name: "dm-0, sda".to_owned(),
                chain: "dm-0 on sda; sda".to_owned(),
            },
            load: Workload::label("every 1 s: nightly batch"),
            via: None,
            host_parts: Vec::new(),
            label: None,
        },
        note: Some("nightly batch".to_owned()),
        began: "2026-11-21T10:15:31Z".to_owned(),
        seconds: 20.0,
        every_seconds: 1.0,
        system: (1..=20).map(sample).collect(),
        physical: None,
        interrupted: false,
        fault: None,
        caveats: Vec::new(),
        environment: environment(),
    }
}

fn exhibit(document: Shown) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document }
}

fn drawn(exhibit: &Exhibit, width: f64) -> Vec<(&'static str, Figure)> {
    let of_panel = |panel: &'static iogauge_report::panel::Panel| {
        let figures = panel.draw(std::slice::from_ref(exhibit), width);
        figures.into_iter().map(|figure| (panel.name, figure))
    };
    PANELS.iter().flat_map(of_panel).collect()
}

#[test]
fn profile_text_matches_snapshots() {
    assert_snapshot!("profile_120", profile(&document(), Page::plain(120)));
    assert_snapshot!("profile_60", profile(&document(), Page::plain(60)));
    assert_snapshot!("profile_brief", profile_brief(&document()));
}

#[test]
fn profile_reports_why_it_ended_early() {
    let fault = "/proc/diskstats has no device sda".to_owned();
    let gone = ProfileDocument { fault: Some(fault.clone()), ..document() };
    assert!(profile(&gone, Page::plain(100)).contains(&format!("Ended early: {fault}")));
    let ended = ProfileDocument { interrupted: true, ..document() };
    assert!(profile(&ended, Page::plain(100)).contains("Interrupted"));
    let nothing = ProfileDocument { system: Vec::new(), ..document() };
    assert!(profile(&nothing, Page::plain(100)).contains("20261121-101530-x7k2"));
}

#[test]
fn profile_csv_has_rows_for_machine_and_each_device() {
    let two = ProfileDocument { system: (1..=2).map(sample).collect(), ..document() };
    let mut text = Vec::new();
    csv::system(&exhibit(Shown::Profile(Box::new(two))), &mut text).unwrap();
    assert_snapshot!("profile_csv", String::from_utf8(text).unwrap());
}

#[test]
fn csv_leaves_fields_missing_in_older_versions_empty() {
    let mut found = find_document(StoppedBy::Limit);
    found.search.system =
        vec![SystemPoint { at_seconds: 0.5, cpu_percent: 7.0, ..SystemPoint::default() }];
    let mut text = Vec::new();
    csv::system(&exhibit(Shown::Find(Box::new(found))), &mut text).unwrap();
    let mut rows = ::csv::Reader::from_reader(text.as_slice());
    let names = rows.headers().unwrap().clone();
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    let at = |name: &str| &rows[0][names.iter().position(|column| column == name).unwrap()];
    assert_eq!(
        (rows.len(), at("device"), at("cpu_percent"), at("user_percent")),
        (1, "all", "7", "")
    );
    assert_eq!((at("at_seconds"), at("began")), ("0.500", ""));
}

#[test]
fn system_panel_is_drawn_for_profiles_and_searches() {
    let profile = exhibit(Shown::Profile(Box::new(document())));
    for width in [NARROW, WIDE] {
        let figures = drawn(&profile, width);
        assert_eq!(figures.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["system"]);
    }
    let (_, figure) = drawn(&profile, NARROW).remove(0);
    let picture = svg::file(&figure.scene, LIGHT, &figure.title, &figure.description);
    assert_snapshot!(
        "profile_picture",
        picture.replace("/><", "/>\n<").replace("</text><", "</text>\n<")
    );
    for told in ["dm-0", "sda", "I/Os outstanding", "time of an I/O", "waiting for I/O"] {
        assert!(picture.contains(told), "{told}");
    }
    let mut found = find_document(StoppedBy::Limit);
    let figures = drawn(&exhibit(Shown::Find(Box::new(found.clone()))), WIDE);
    assert!(figures.iter().all(|(name, _)| *name != "system"), "nothing was kept");
    found.search.system = (1..=20).map(sample).collect();
    let figures = drawn(&exhibit(Shown::Find(Box::new(found))), WIDE);
    assert!(figures.iter().any(|(name, _)| *name == "system"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn profile_report_fits_page_width(width in 60u16..200, name in "\\PC{0,60}", note in "\\PC{0,200}",
                    figure in 0f64..1e12, seconds in 0f64..1e9) {
        let mut wide = document();
        wide.note = Some(note);
        wide.seconds = seconds;
        for point in &mut wide.system {
            point.reads_per_sec = figure;
            point.devices[0].device.clone_from(&name);
            point.devices[0].read_await_ns = Some(figure);
        }
        for line in profile(&wide, Page::plain(width)).lines() {
            prop_assert!(line.width() <= usize::from(width), "{} > {width}: {line}", line.width());
        }
    }
}
