//! The report card: writes are graded as synchronous ones only if they were, or may have been.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::loads::run_of_loads;
use common::run_document;
use iogauge_fio::{Reading, read_results};
use iogauge_model::Load;
use iogauge_model::load::{BlockSizes, Pattern, SyncMode};
use iogauge_model::plan::Job;
use iogauge_model::result::{RunDocument, StepResult, Workload};
use iogauge_report::chart::Mark;
use iogauge_report::exhibit::{Exhibit, Shown};
use iogauge_report::panel::{Figure, NARROW, PANELS, WIDE};
use std::fs;
use std::path::Path;

const UNTOLD: &str = "These results do not show whether each write was synced.";
const REFUSED: &str = "Writes that do not wait for the medium have no marks";

fn run(document: RunDocument) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document: Shown::Run(Box::new(document)) }
}

fn drawn(exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    PANELS.iter().find(|known| known.name == "grades").unwrap().draw(exhibits, width)
}

/// Returns the text of the card, which is checked to equal that of its picture.
fn card(exhibits: &[Exhibit]) -> String {
    for width in [NARROW, WIDE] {
        let [figure] = &drawn(exhibits, width)[..] else { panic!() };
        let texts = figure.scene.marks.iter().filter_map(|mark| match mark {
            Mark::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let texts = texts.collect::<Vec<_>>().join(" ");
        let kinds =
            ["1k synchronous writes", "1k writes, sync unknown", "1k writes, not synchronous"];
        for words in kinds.into_iter().chain([UNTOLD]) {
            assert!(!figure.description.contains(words) || texts.contains(words), "{texts}");
        }
    }
    drawn(exhibits, WIDE).remove(0).description
}

/// Returns a write of 1 KiB by this many users.
fn write(numjobs: u32, sync: SyncMode) -> Load {
    let block = BlockSizes::fixed(1024);
    Load { rw: Pattern::Write, read_percent: 0, block, numjobs, sync, ..Load::default() }
}

#[test]
fn only_synchronous_native_writes_are_graded() {
    let both = |sync| run(run_of_loads(&[4, 16].map(|users| write(users, sync))));
    for sync in [SyncMode::Sync, SyncMode::Dsync] {
        let said = card(&[both(sync)]);
        let begin = "1k synchronous writes: latency of 4 users mean ";
        assert!(said.starts_with(begin) && said.contains("; scaling to 16 users mean "), "{said}");
        assert!(!said.contains(UNTOLD) && !said.contains(REFUSED), "{said}");
    }
    let buffered = card(&[both(SyncMode::None)]);
    let begin = format!("1k writes, not synchronous: no marks. {REFUSED}");
    assert!(buffered.starts_with(&begin), "{buffered}");
    // Flushes are not part of the latency of a write.
    let flushed = [4, 16].map(|users| Load { fsync_every: 1, ..write(users, SyncMode::None) });
    assert_eq!(card(&[run(run_of_loads(&flushed))]), buffered);
    // A later run that does not wait does not hide one that does.
    let said = card(&[both(SyncMode::Sync), both(SyncMode::None)]);
    assert_eq!(said, card(&[both(SyncMode::Sync)]));
    // More users that do not wait are not compared with users that do.
    let mixed = [write(4, SyncMode::Sync), write(16, SyncMode::None)];
    let said = card(&[run(run_of_loads(&mixed))]);
    assert!(said.contains("; 16 users not synchronous, no marks. ") && said.contains(REFUSED));
    assert!(!said.contains("scaling"), "{said}");
    assert!(drawn(&[run(run_of_loads(&mixed[1..]))], WIDE).is_empty());
}

#[test]
fn jobs_count_as_synchronous_only_if_all_are() {
    let said = |second: SyncMode| {
        let jobs = [SyncMode::Sync, second].map(|sync| {
            let load = write(2, sync);
            Job { name: "log".to_owned(), load }
        });
        let mut document = run_of_loads(&[write(4, SyncMode::Sync)]);
        document.head.load = Workload::Jobs { jobs: jobs.to_vec() };
        card(&[run(document)])
    };
    assert!(said(SyncMode::Dsync).starts_with("1k synchronous writes: "));
    assert!(said(SyncMode::None).starts_with("1k writes, not synchronous: no marks."));
}

fn imported(text: &str) -> Vec<StepResult> {
    let mut steps = Vec::new();
    read_results("f", text.as_bytes(), &mut |found| match found {
        Reading::Result(result) => steps.push(result.into_step()),
        other => panic!("{other:?}"),
    })
    .unwrap();
    steps
}

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio");
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn fio_text_output_leaves_write_sync_mode_unknown() {
    let outputs = [4, 16].map(|users| file(&format!("2.0.7/write_u{users:02}_kb0001.out")));
    let steps = outputs.iter().flat_map(|text| imported(text)).collect();
    let said = card(&[run(run_document(steps))]);
    let begin = "1k writes, sync unknown: latency of 4 users mean A (324 µs), ";
    assert!(said.starts_with(begin) && said.ends_with(UNTOLD), "{said}");
    assert!(!said.contains(REFUSED), "{said}");
}

#[test]
fn fio_json_output_contains_write_sync_mode() {
    let sized = file("3.33/mix.json").replace(r#""bs" : "4k""#, r#""bs" : "1k""#);
    let card_of = |text: &str| card(&[run(run_document(imported(text)))]);
    let said = card_of(&sized);
    assert!(said.starts_with("1k synchronous writes: latency of 4 users mean "), "{said}");
    assert!(!said.contains(UNTOLD) && !said.contains(REFUSED), "{said}");
    let said = card_of(&sized.replace(r#""sync" : "1""#, r#""fsync" : "1""#));
    assert!(said.starts_with("1k writes, not synchronous: no marks. "), "{said}");
    // An earlier version stored results without `is_synchronous`.
    let mut steps = imported(&sized);
    steps[1].fio.as_mut().unwrap().is_synchronous = None;
    let said = card(&[run(run_document(steps))]);
    assert!(said.starts_with("1k writes, sync unknown: ") && said.ends_with(UNTOLD), "{said}");
}
