//! `METRIC<=TIME`. A limit accepted has to read back from its stored form.
#![no_main]

use iogauge_model::Limit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(limit) = text.parse::<Limit>() {
        assert!(limit.bound_ns > 0);
        let stored = serde_json::to_string(&limit).expect("a limit has a stored form");
        assert_eq!(serde_json::from_str::<Limit>(&stored).expect("which reads back"), limit);
    }
});
