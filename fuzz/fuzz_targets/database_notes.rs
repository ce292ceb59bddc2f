#![no_main]

#[path = "../src/database.rs"]
mod database;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| database::database_notes(bytes));
