//! What came of checking a step's data, as text.

use super::names::{count, plural};
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{VerifyEnd, VerifyResult};
use iogauge_model::units::Bytes;

/// Writes the lines: one where everything is as it was written.
pub(super) fn write(sheet: &mut Sheet, verify: &VerifyResult) {
    let VerifyResult { algorithm, units, bytes, end, .. } = verify;
    let blocks = format!("{} ({}, {algorithm})", Bytes(*bytes), plural(*units, "block"));
    let until = match end {
        VerifyEnd::Complete | VerifyEnd::NotAsked => "",
        VerifyEnd::Fatal => " up to the first that is not as written",
        VerifyEnd::Interrupted => " until the interrupt",
    };
    let took = match verify.seconds {
        0.0 => String::new(),
        seconds => format!(" in {seconds:.2} s"),
    };
    match (end, units) {
        (VerifyEnd::NotAsked, 0) => {
            let text = format!("Not verified, as asked; the headers ({algorithm}) are there.");
            return sheet.text(Paint::Plain, &text);
        }
        (VerifyEnd::Interrupted, 0) => {
            return sheet.text(Paint::Doubt, "Not verified: the run was interrupted before.");
        }
        _ if verify.corrupted == 0 => {
            sheet.text(Paint::Plain, &format!("verified {blocks}{took}{until}: all as written"));
        }
        _ => {
            let bad = plural(verify.corrupted, "block");
            let text = format!("{bad} NOT as written, of {blocks} verified{took}{until}:");
            sheet.text(Paint::Bad, &text);
        }
    }
    for found in &verify.findings {
        let (offset, length) = (found.offset_bytes, found.length_bytes);
        let text = format!("{} offset {offset}, {length} bytes: {}", found.path, found.reason);
        sheet.text(Paint::Bad, &text);
    }
    let more = verify.corrupted.saturating_sub(verify.findings.len() as u64);
    if more > 0 && !verify.findings.is_empty() {
        sheet.text(Paint::Bad, &format!("and {} more", count(more as f64)));
    }
    if verify.unjudged > 0 {
        let text = format!(
            "{} not judged: several writes were under way at once, or one failed",
            plural(verify.unjudged, "block")
        );
        sheet.text(Paint::Plain, &text);
    }
}
