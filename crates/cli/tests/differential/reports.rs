//! What a tool reports. Both print fio's JSON.

use serde_json::Value;

/// Figures of all jobs of a document together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of entries. `group_reporting` merges entries.
    pub entries: usize,
    /// Reads and writes.
    pub ios: [u64; 2],
    /// Bytes read and written.
    pub bytes: [u64; 2],
    pub syncs: u64,
}

/// Reads a document.
#[track_caller]
pub fn read(text: &str) -> Report {
    // fio may print remarks before the document.
    let text = &text[text.find('{').unwrap_or(0)..];
    let document: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let jobs = document["jobs"].as_array().unwrap();
    let sum = |direction: &str, name: &str| -> u64 {
        jobs.iter().map(|job| job[direction][name].as_u64().unwrap()).sum()
    };
    assert!(jobs.iter().all(|job| job["error"] == 0), "{text}");
    Report {
        entries: jobs.len(),
        ios: [sum("read", "total_ios"), sum("write", "total_ios")],
        bytes: [sum("read", "io_bytes"), sum("write", "io_bytes")],
        syncs: sum("sync", "total_ios"),
    }
}
