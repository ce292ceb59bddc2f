//! The result of checking a step's data, as text.

use super::names::{count, plural};
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{VerifyEnd, VerifyResult};
use iogauge_model::units::Bytes;

/// Writes the result; one line if all data is as written.
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
        let place = found.place();
        let text = format!("{place} offset {offset}, {length} bytes: {}", found.reason);
        sheet.text(Paint::Bad, &text);
    }
    let more = verify.corrupted.saturating_sub(verify.findings.len() as u64);
    if more > 0 && !verify.findings.is_empty() {
        sheet.text(Paint::Bad, &format!("and {} more", count(more as f64)));
    }
    let unknown = verify.unjudged.saturating_sub(verify.unwritten);
    for (blocks, why) in [
        (unknown, "not judged: several writes were under way at once, or one failed"),
        (verify.unwritten, "not judged: the earlier run did not write them"),
    ] {
        if blocks > 0 {
            sheet.text(Paint::Plain, &format!("{} {why}", plural(blocks, "block")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Page;
    use iogauge_model::result::{VerifyFault, VerifyFinding};

    fn text(verify: &VerifyResult) -> String {
        let mut sheet = Sheet::new(Page::plain(100));
        write(&mut sheet, verify);
        sheet.into_text()
    }

    #[test]
    fn verify_report_has_one_line_or_one_per_finding() {
        let good = VerifyResult {
            algorithm: "crc32c".to_owned(),
            units: 262_144,
            bytes: 1 << 30,
            unjudged: 0,
            unwritten: 0,
            jobs: Vec::new(),
            corrupted: 0,
            seconds: 1.234,
            read: None,
            end: VerifyEnd::Complete,
            findings: Vec::new(),
        };
        let wanted = "verified 1 GiB (262,144 blocks, crc32c) in 1.23 s: all as written\n";
        assert_eq!(text(&good), wanted);
        let reason = VerifyFault::Corrupt { differing_bytes: 1, first_byte: 9, bit: Some(3) };
        let finding = VerifyFinding {
            host: None,
            path: "/dev/x".to_owned(),
            offset_bytes: 8192,
            length_bytes: 4096,
            reason,
        };
        let bad =
            VerifyResult { corrupted: 3, findings: vec![finding], unjudged: 1, ..good.clone() };
        let wanted = "\
3 blocks NOT as written, of 1 GiB (262,144 blocks, crc32c) verified in 1.23 s:
/dev/x offset 8192, 4096 bytes: corrupt: bit 3 of byte 9 is flipped
and 2 more
1 block not judged: several writes were under way at once, or one failed
";
        assert_eq!(text(&bad), wanted);
        let of_host = VerifyFinding { host: Some("b".to_owned()), ..bad.findings[0].clone() };
        let of_host = VerifyResult { findings: vec![of_host], ..bad };
        assert!(text(&of_host).contains("\nb: /dev/x offset 8192, "), "{}", text(&of_host));
        let none = VerifyResult { units: 0, bytes: 0, ..good };
        let interrupted = VerifyResult { end: VerifyEnd::Interrupted, ..none.clone() };
        assert!(text(&interrupted).starts_with("Not verified: "));
        let asked = VerifyResult { end: VerifyEnd::NotAsked, ..none };
        assert!(text(&asked).starts_with("Not verified, as asked"));
    }
}
