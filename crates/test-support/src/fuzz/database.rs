//! What is fuzzed of databases: servers, programs and files that say anything. Each function panics where the code
//! under test breaks its word. `fuzz_targets/` runs them under libFuzzer; `crates/db/tests/fuzz.rs` runs the same
//! ones on made-up input where that is not at hand.

use iogauge_db::fuzzing;

/// What a PostgreSQL server sends.
pub fn postgres_messages(bytes: &[u8]) {
    assert!(fuzzing::postgres_messages(bytes) <= bytes.len());
}

/// What a process of GT.M writes.
pub fn gtm_lines(bytes: &[u8]) {
    String::from_utf8_lossy(bytes).lines().for_each(fuzzing::gtm_line);
}

/// The notes in a database's folder. What is read has no size of zero, and can be counted.
pub fn database_notes(bytes: &[u8]) {
    if let Some(marker) = fuzzing::marker(bytes) {
        assert!(marker.block_bytes >= 512 && !marker.identity.contains(['/', '.']));
        assert!(
            marker.globals.iter().all(|global| global.subscripts > 0 && global.value_bytes > 0)
        );
    }
    if let Some(known) = fuzzing::acknowledged(bytes) {
        assert!(known.run.transaction_length > 0);
        let made: u64 = known.workers.iter().map(|(first, last)| last - first).sum();
        assert!(known.lost(&[]) >= made);
    }
}

/// A database's URL. A password between a user and a host is told nowhere.
pub fn database_url(text: &str) {
    let _ = fuzzing::shown_of_url(text);
    let word: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).take(8).collect();
    for between in [":", "%3A", ";", "=", ",", ":x"] {
        let shown =
            fuzzing::shown_of_url(&format!("postgres://me{between}geheim{word}@host/{word}"));
        assert!(!shown.contains("geheim"), "{shown}");
    }
}
