//! Recognizes a file by its content.

use crate::sqlite_file::{application_id, is_index, is_journal, is_log};
use crate::verify::state::STATE_FORMAT;
use iogauge_fio::log_out::is_log as is_fio_log;

/// Number of bytes that are read to recognize a file.
pub(super) const HEAD_BYTES: usize = 4096;

/// `application_id` of a history: "IOGg" (SQLite, "Database File Format", 1.3.16).
pub const HISTORY_APPLICATION_ID: i32 = 0x494f_4767;

/// The kind of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstBytes {
    /// An output of iogauge.
    Output,
    /// Belongs to a history or another database. Contains a description of it.
    Database(&'static str),
    /// A log in fio's formats, which fio may have written.
    Log,
    /// Anything else.
    Foreign,
}

/// Recognizes a file by its first [`HEAD_BYTES`], or by all of it if it is shorter.
pub(super) fn content(head: &[u8]) -> FirstBytes {
    if let Some(what) = database(head) {
        return FirstBytes::Database(what);
    }
    let forms =
        [html, svg, png, junit, markdown, rows, vendor_rows, man_page, json, lock, verify_state];
    match forms.iter().any(|form| form(head)) {
        true => FirstBytes::Output,
        false if is_fio_log(head) => FirstBytes::Log,
        false => FirstBytes::Foreign,
    }
}

/// Recognizes a history, or a log that a database needs. The log of another database looks like that of a history, and
/// must be protected as well.
fn database(head: &[u8]) -> Option<&'static str> {
    if application_id(head) == Some(HISTORY_APPLICATION_ID) {
        return Some("a history");
    }
    (is_log(head) || is_index(head) || is_journal(head)).then_some("the log of a database")
}

/// Recognizes the page of `iogauge report` by its `meta` element.
fn html(head: &[u8]) -> bool {
    head.starts_with(b"<!DOCTYPE html>")
        && contains(head, b"<meta name=\"generator\" content=\"iogauge ")
}

/// Recognizes an SVG picture by the comment below the XML declaration.
fn svg(head: &[u8]) -> bool {
    head.starts_with(b"<?xml ") && contains(head, b"?>\n<!-- Generator: iogauge -->\n<svg ")
}

/// Recognizes a PNG picture by its `tEXt` chunk with the keyword `Software` (PNG, third edition, 11.3.3.2), which is
/// the first chunk after the header.
fn png(head: &[u8]) -> bool {
    head.starts_with(b"\x89PNG\r\n\x1a\n")
        && head.get(37..).is_some_and(|rest| rest.starts_with(b"tEXtSoftware\0iogauge"))
}

/// Recognizes the verdicts of a check as JUnit XML by the comment below the XML declaration.
fn junit(head: &[u8]) -> bool {
    head.starts_with(b"<?xml ") && contains(head, b"?>\n<!-- Generator: iogauge -->\n<testsuites ")
}

/// Recognizes the verdicts of a check as Markdown by the comment in their first line.
fn markdown(head: &[u8]) -> bool {
    head.starts_with(b"<!-- Generator: iogauge -->\n")
}

/// Recognizes rows whose first column names a format of iogauge.
fn rows(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    let header = lines.next().unwrap_or_default();
    let is_header = [&b"format,run_id,"[..], b"format,time,run_id,"]
        .iter()
        .any(|first| header.starts_with(first));
    is_header && lines.next().is_none_or(|row| row.is_empty() || row.starts_with(b"iogauge."))
}

/// Recognizes rows with the columns of vendors' suites. In a vendor's rows the third column is a path; in those of
/// iogauge it is a database URL.
fn vendor_rows(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    let is_header = lines
        .next()
        .is_some_and(|line| line.starts_with(b"RunDate,RunTime,Database,Namespace,Reads,Writes,"));
    let row = lines.next().unwrap_or_default();
    let database = row.split(|byte| *byte == b',').nth(2).unwrap_or_default();
    let scheme = database.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    is_header && scheme > 1 && database.get(scheme) == Some(&b':')
}

/// Recognizes a manual page by its title.
fn man_page(head: &[u8]) -> bool {
    head.starts_with(b".ie \\n(.g") && contains(head, b"\n.TH iogauge")
}

/// Recognizes a JSON document or line by its format.
fn json(head: &[u8]) -> bool {
    let head = &head[..head.len().min(80)];
    let first: Vec<u8> = head.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
    first.starts_with(b"{\"format\":\"iogauge.")
}

/// Recognizes the file next to a history that runs lock.
fn lock(head: &[u8]) -> bool {
    head.starts_with(b"iogauge.history-lock/1\n")
}

/// Recognizes what a run has left for a later verification.
fn verify_state(head: &[u8]) -> bool {
    head.starts_with(format!("{STATE_FORMAT}\n").as_bytes())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_output_files_are_recognized_by_content() {
        let ours: [&[u8]; 12] = [
            b"iogauge.verify-state/1\n{\"territories\":[]}\n",
            b"<!DOCTYPE html>\n<html lang=\"en\">\n<meta name=\"generator\" content=\"iogauge 0.1.0\">",
            b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Generator: iogauge -->\n<svg xmlns",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR0123456789abc0000\0\0\0\x10tEXtSoftware\0iogauge",
            b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Generator: iogauge -->\n<testsuites name=",
            b"<!-- Generator: iogauge -->\n**Pass: ",
            b"format,run_id,kind\niogauge.history-csv/1,20,run\n",
            b"format,run_id,kind\n",
            b"format,time,run_id,target\niogauge.trend-csv/1,20,20\n",
            b"RunDate,RunTime,Database,Namespace,Reads,Writes,\n2026-11-21,10:00,sqlite:/data,RAN,1,2\n",
            b".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH iogauge 1 \n",
            b"{\n  \"format\": \"iogauge.find/1\",",
        ];
        for (number, head) in ours.iter().enumerate() {
            assert_eq!(content(head), FirstBytes::Output, "{number}");
        }
    }

    #[test]
    fn similar_looking_files_are_foreign() {
        let foreign: [&[u8]; 12] = [
            b"iogauge.verify-state/2\n{}\n",
            b"",
            b"<!DOCTYPE html>\n<p>iogauge 0.1.0",
            b"<?xml version=\"1.0\"?>\n<svg><!-- Generator: iogauge -->",
            b"<?xml version=\"1.0\"?>\n<testsuites name=\"pytest\">",
            b"# Notes\n<!-- Generator: iogauge -->\n",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR0123456789abc0000\0\0\0\x10tEXtSoftware\0GIMP",
            b"format,run_id,kind\nmine,20,run\n",
            b"RunDate,RunTime,Database,Namespace,Reads,Writes,\n2026-11-21,10:00,/db/RAN,RAN,1,2\n",
            b"RunDate,RunTime,Database,Namespace,Reads,Writes,\n2026-11-21,10:00,C:\\db,RAN,1,2\n",
            b".ie \\n(.g .ds Aq \\(aq\n.TH fio 1 \n",
            b"{\"format\": \"other\", \"by\": \"iogauge.find/1\"}",
        ];
        for (number, head) in foreign.iter().enumerate() {
            assert_eq!(content(head), FirstBytes::Foreign, "{number}");
        }
    }

    #[test]
    fn history_and_database_logs_are_recognized() {
        let mut history = [0; 100];
        history[..16].copy_from_slice(crate::sqlite_file::MAGIC);
        assert_eq!(content(&history), FirstBytes::Foreign, "of another application");
        history[68..72].copy_from_slice(b"IOGg");
        assert_eq!(content(&history), FirstBytes::Database("a history"));
        let log = 0x377f_0682_u32.to_be_bytes();
        assert!(matches!(content(&log), FirstBytes::Database(_)));
    }

    proptest! {
        #[test]
        fn content_detection_never_panics(head: Vec<u8>) {
            let _ = content(&head);
        }
    }
}
