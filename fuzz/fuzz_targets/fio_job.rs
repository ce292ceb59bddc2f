//! A fio job file with one file to include. What is refused names its place in one line.
#![no_main]

use iogauge_model::fio::job::{JobFile, Source};
use libfuzzer_sys::fuzz_target;
use std::io::ErrorKind;
use std::path::Path;

struct Made<'a> {
    text: &'a str,
    included: &'a str,
}

impl Source for Made<'_> {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        match path.to_str() {
            Some("a.fio") => Ok(self.text.to_owned()),
            Some("b") => Ok(self.included.to_owned()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    fn processors(&self) -> u64 {
        4
    }

    fn page_bytes(&self) -> u64 {
        4096
    }

    fn memory_bytes(&self) -> u64 {
        1 << 33
    }

    fn random(&self) -> u64 {
        7
    }
}

fuzz_target!(|text: &str| {
    let (text, included) = text.split_once('\0').unwrap_or((text, ""));
    match JobFile::read(Path::new("a.fio"), &Made { text, included }) {
        Ok(file) => {
            for job in file.plan().iter().flatten().flat_map(|group| &group.jobs) {
                assert!(!job.files.is_empty());
                let _ = job.load(&vec![1 << 30; job.files.len()]);
            }
        }
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("a.fio") || line.starts_with('b'), "{line}");
            assert_eq!(line.lines().count(), 1);
        }
    }
});
