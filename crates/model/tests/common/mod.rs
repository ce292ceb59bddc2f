//! Documents stored by earlier versions.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns all stored documents with their paths.
pub fn stored() -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/documents");
    let mut documents = Vec::new();
    for version in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(version.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            documents.push((path, serde_json::from_str(&text).unwrap()));
        }
    }
    assert!(documents.len() >= 18, "{}", documents.len());
    documents
}
