//! `random_distribution`. What is accepted is shown in a form that reads back.
#![no_main]

use iogauge_model::load::Distribution;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(distribution) = text.parse::<Distribution>() {
        assert_eq!(distribution.to_string().parse(), Ok(distribution));
    }
});
