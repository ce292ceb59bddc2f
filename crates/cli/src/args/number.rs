//! Numbers within bounds.

use iogauge_model::units::parse_percent;

/// Parses a precision, in percent.
pub(super) fn precision(text: &str) -> Result<f64, String> {
    let percent = parse_percent(text).ok().filter(|percent| (0.1..=50.0).contains(percent));
    percent.ok_or_else(|| format!("must be between 0.1% and 50%, not {text}; hint: use 2%"))
}

/// Parses a number from `LEAST` to `MOST`.
pub(super) fn number<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = text
        .parse::<i64>()
        .map_err(|_| format!("must be a whole number between {LEAST} and {MOST}"))?;
    let within = u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
    within.ok_or_else(|| format!("must be between {LEAST} and {MOST}, not {number}"))
}
