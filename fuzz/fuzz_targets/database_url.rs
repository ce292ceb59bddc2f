#![no_main]

#[path = "../src/database.rs"]
mod database;

libfuzzer_sys::fuzz_target!(|text: &str| database::database_url(text));
