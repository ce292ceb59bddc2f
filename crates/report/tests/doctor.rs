//! The text output of `iogauge doctor`.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::result::{MachineFacts, PartForm};
use iogauge_model::{Caveat, CaveatCode};
use iogauge_report::terminal::{Page, doctor};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

#[test]
fn doctor_report_of_file_and_device_with_all_findings() {
    let document = doctor_document();
    assert_snapshot!("doctor_120", doctor(&document, Page::plain(120)));
    assert_snapshot!("doctor_60", doctor(&document, Page::plain(60)));
}

#[test]
fn doctor_report_of_a_target_without_problems() {
    let mut document = doctor_document();
    document.target = "sim:nvme".to_owned();
    document.parts.clear();
    document.devices.clear();
    document.machine = MachineFacts { environment: environment(), ..MachineFacts::default() };
    document.caveats =
        vec![Caveat::of(CaveatCode::Simulated, "a simulated device: its figures are a model's")];
    assert_snapshot!("doctor_sound", doctor(&document, Page::plain(80)));
}

#[test]
fn doctor_report_of_a_rejected_target() {
    let mut document = doctor_document();
    let mut part = device_part();
    part.path = "/dev/null".to_owned();
    (part.form, part.size_bytes, part.direct_io) = (PartForm::Unknown, 0, false);
    part.mounted_on.clear();
    part.writes_refused = None;
    part.reads_refused = Some("/dev/null is a character device; hint: use another".to_owned());
    (document.target, document.parts) = ("/dev/null".to_owned(), vec![part]);
    document.devices.clear();
    document.caveats.clear();
    assert_snapshot!("doctor_refused", doctor(&document, Page::plain(80)));
}

#[test]
fn doctor_color_follows_the_most_severe_finding() {
    let shown = |document: &_| doctor(document, Page { width: 100, color: true });
    let mut document = doctor_document();
    assert!(shown(&document).starts_with("\x1b[33m1 reason to doubt"), "{}", shown(&document));
    document.caveats.remove(0);
    assert!(shown(&document).starts_with("\x1b[1;32mNothing known"), "{}", shown(&document));
    document.parts[0].reads_refused = Some("in use".to_owned());
    assert!(shown(&document).starts_with("\x1b[1;31mThis cannot"), "{}", shown(&document));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn doctor_report_fits_page_width(width in 60u16..200, word in "\\PC{0,200}",
               cache in "[ -~]{0,60}", number: u64) {
        let mut document = doctor_document();
        document.target = word.clone();
        for part in &mut document.parts {
            part.path = word.clone();
            part.size_bytes = number;
            part.mounted_on.push(word.clone());
            part.writes_refused = Some(word.clone());
        }
        for device in &mut document.devices {
            device.name = word.clone();
            device.model = Some(word.clone());
            device.write_cache = Some(cache.clone());
            device.size_bytes = Some(number);
            device.read_ahead_kib = Some(number);
            device.nr_requests = Some(number);
        }
        document.machine.environment.host = word.clone();
        document.machine.governor = Some(word.clone());
        document.caveats.push(Caveat::new(CaveatCode::NotSteady, word.clone(), word));
        for line in doctor(&document, Page::plain(width)).lines() {
            prop_assert!(line.width() <= usize::from(width), "{} > {}: {}", line.width(), width, line);
        }
    }
}
