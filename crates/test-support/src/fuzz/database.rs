//! Fuzz targets for databases: servers, programs and files with arbitrary contents. Each function panics if
//! the code under test violates its contract. `fuzz_targets/` runs them under libFuzzer;
//! `crates/db/tests/fuzz.rs` runs them on generated input where libFuzzer is not available.

use iogauge_db::fuzzing;

/// Messages of a PostgreSQL server.
pub fn postgres_messages(bytes: &[u8]) {
    assert!(fuzzing::postgres_messages(bytes) <= bytes.len());
}

/// Lines that a GT.M process writes.
pub fn gtm_lines(bytes: &[u8]) {
    String::from_utf8_lossy(bytes).lines().for_each(fuzzing::gtm_line);
}

/// The notes in a database's directory. What is accepted has no size of zero, and its objects can be
/// counted.
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

/// A database URL. A password between user and host is never shown.
pub fn database_url(text: &str) {
    let _ = fuzzing::shown_of_url(text);
    let word: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).take(8).collect();
    for between in [":", "%3A", ";", "=", ",", ":x"] {
        let shown =
            fuzzing::shown_of_url(&format!("postgres://me{between}geheim{word}@host/{word}"));
        assert!(!shown.contains("geheim"), "{shown}");
    }
}
