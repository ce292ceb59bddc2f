//! The options of suites: typed values and defaults.

use iogauge_model::Limit;
use iogauge_model::limit::tightest;
use iogauge_model::suite_file::{OptionValues, SuiteOption};
use iogauge_model::units::{
    UnitError, parse_count, parse_duration_ns, parse_percent, parse_size_bytes, size_word,
};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The default of an option whose value is drawn for each run, and kept when the run is resumed.
pub const DRAWN: &str = "drawn for each run";

/// Why a suite cannot run as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// An invalid value.
    #[error("--{option}: {reason}")]
    Option {
        /// The option.
        option: String,
        /// What is wrong, and a hint.
        reason: String,
    },
    /// A suite that does not fit the target.
    #[error("suite {suite}: {reason}")]
    Unfit {
        /// The suite.
        suite: String,
        /// What does not fit, and a hint.
        reason: String,
    },
    /// A suite file that cannot be read.
    #[error("{path}:{line}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and a hint.
        reason: String,
    },
}

impl SuiteError {
    /// Makes the error of an invalid value.
    pub(crate) fn option(option: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Option { option: option.into(), reason: reason.into() }
    }

    /// Returns why a suite cannot judge a limit on each host.
    pub(crate) fn on_each_host(limit: &Limit) -> String {
        let all = Limit { each: false, ..*limit };
        format!(
            "limit \"{limit}\" bounds each host, and a suite judges all together; hint: use {all}"
        )
    }
}

/// Largest count in a suite file.
const MOST: u32 = 4096;

/// Options as typed, with the defaults of the suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteOptions {
    typed: BTreeMap<String, String>,
    known: Vec<SuiteOption>,
}

impl SuiteOptions {
    /// Makes options from what was typed, for a suite that has the options `known`. Options without
    /// a value have an empty text.
    #[must_use]
    pub fn new(known: &[SuiteOption], typed: BTreeMap<String, String>) -> Self {
        Self { typed, known: known.to_vec() }
    }

    /// Returns the values for a file with these options. Lists of numbers and sizes are in
    /// ascending order without duplicates. An option without a value is 1 if typed, and 0
    /// otherwise.
    ///
    /// # Errors
    /// An invalid number, size, time or percentage.
    pub fn values(&self) -> Result<OptionValues, SuiteError> {
        let mut values = OptionValues::new();
        for SuiteOption { name, value, .. } in &self.known {
            let text = match (value.as_deref(), self.text(name)) {
                (None, _) => Some(u8::from(self.has(name)).to_string()),
                (_, None) => None,
                (Some("N" | "N,…"), _) => Some(rising(self.counts(name, MOST)?, u32::to_string)),
                (Some("SIZE"), _) => self.size_bytes(name)?.map(size_word),
                (Some("SIZE,…"), _) => {
                    Some(rising(self.sizes_bytes(name)?, |bytes| size_word(*bytes)))
                }
                (Some("TIME"), _) => self.duration_ns(name)?.map(|ns| format!("{ns}ns")),
                (Some("PERCENT"), _) => {
                    self.share(name)?.map(|share| (share * 100.0).round().to_string())
                }
                (_, text) => text.map(str::to_owned),
            };
            values.insert(name.clone(), text);
        }
        Ok(values)
    }

    /// True if the option was typed.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.typed.contains_key(name)
    }

    /// Returns the text of an option, or of its default.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let default = || self.known.iter().find(|known| known.name == name)?.default.as_ref();
        self.typed.get(name).or_else(default).map(String::as_str)
    }

    /// Returns a parsed value.
    ///
    /// # Errors
    /// A value that is not valid.
    pub fn parsed<T: FromStr<Err: ToString>>(&self, name: &str) -> Result<Option<T>, SuiteError> {
        let wrong = |error: T::Err| SuiteError::option(name, error.to_string());
        self.text(name).map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// Returns a size, above 0.
    ///
    /// # Errors
    /// An invalid value.
    pub fn size_bytes(&self, name: &str) -> Result<Option<u64>, SuiteError> {
        self.above_zero(name, parse_size_bytes, "1g")
    }

    /// Returns a duration, above 0.
    ///
    /// # Errors
    /// An invalid value.
    pub fn duration_ns(&self, name: &str) -> Result<Option<u64>, SuiteError> {
        self.above_zero(name, parse_duration_ns, "60s")
    }

    /// Returns a count from 1 to `most`.
    ///
    /// # Errors
    /// An invalid value.
    pub fn count(&self, name: &str, most: u32) -> Result<Option<u32>, SuiteError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        one_count(name, text, most).map(Some)
    }

    /// Returns numbers separated by commas, each from 1 to `most`; empty without a value and a
    /// default.
    ///
    /// # Errors
    /// An invalid value.
    pub fn counts(&self, name: &str, most: u32) -> Result<Vec<u32>, SuiteError> {
        self.words(name).map(|text| one_count(name, text, most)).collect()
    }

    /// Returns sizes separated by commas, each above 0.
    ///
    /// # Errors
    /// An invalid value.
    pub fn sizes_bytes(&self, name: &str) -> Result<Vec<u64>, SuiteError> {
        let one = |text| above_zero(name, text, parse_size_bytes, "4k,8k");
        self.words(name).map(one).collect()
    }

    /// Returns a percentage as a fraction.
    ///
    /// # Errors
    /// An invalid value.
    pub fn share(&self, name: &str) -> Result<Option<f64>, SuiteError> {
        let wrong = |error: UnitError| SuiteError::option(name, error.to_string());
        let percent = self.text(name).map(parse_percent).transpose().map_err(wrong)?;
        Ok(percent.map(|percent| percent / 100.0))
    }

    /// Returns limits separated by commas; of several limits on one statistic the tightest.
    ///
    /// # Errors
    /// An invalid limit, or no limit.
    pub fn limits(&self, name: &str) -> Result<Vec<Limit>, SuiteError> {
        let wrong = |error: &dyn ToString| SuiteError::option(name, error.to_string());
        let one = |word: &str| word.parse::<Limit>().map_err(|error| wrong(&error));
        let limits = tightest(self.words(name).map(one).collect::<Result<Vec<_>, _>>()?);
        if limits.is_empty() {
            return Err(wrong(&"there is no limit; hint: use mean<=10ms,p99<=50ms"));
        }
        match limits.iter().find(|limit| limit.each) {
            Some(limit) => Err(wrong(&SuiteError::on_each_host(limit))),
            None => Ok(limits),
        }
    }

    /// Returns words separated by commas.
    pub fn words(&self, name: &str) -> impl Iterator<Item = &str> {
        self.text(name).unwrap_or_default().split(',').map(str::trim).filter(|w| !w.is_empty())
    }

    fn above_zero(
        &self,
        name: &str,
        parse: fn(&str) -> Result<u64, UnitError>,
        right: &str,
    ) -> Result<Option<u64>, SuiteError> {
        self.text(name).map(|text| above_zero(name, text, parse, right)).transpose()
    }
}

fn above_zero(
    name: &str,
    text: &str,
    parse: fn(&str) -> Result<u64, UnitError>,
    right: &str,
) -> Result<u64, SuiteError> {
    match parse(text) {
        Ok(0) => Err(SuiteError::option(name, format!("0 is too little; hint: use {right}"))),
        Ok(value) => Ok(value),
        Err(error) => Err(SuiteError::option(name, error.to_string())),
    }
}

fn one_count(name: &str, text: &str, most: u32) -> Result<u32, SuiteError> {
    let wrong = |error: UnitError| SuiteError::option(name, error.to_string());
    match parse_count(text).map_err(wrong)? {
        value if (1..=u64::from(most)).contains(&value) => Ok(value as u32),
        _ => Err(SuiteError::option(name, format!("must be between 1 and {most}"))),
    }
}

/// Formats a list in ascending order without duplicates.
fn rising<T: Ord>(mut values: Vec<T>, word: fn(&T) -> String) -> String {
    values.sort_unstable();
    values.dedup();
    values.iter().map(word).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::made_up;
    use iogauge_model::suite_file::SuiteHead;

    fn options(typed: &[(&str, &str)]) -> SuiteOptions {
        let known = "[options]\nusers = { value = \"N,…\", default = \"1,8,64\" }\n\
                     size = { value = \"SIZE\" }\nseconds = { value = \"TIME\", default = 60 }\n\
                     buffered = {}";
        let known = SuiteHead::parse(known).unwrap().options;
        SuiteOptions::new(&known, made_up::typed(typed))
    }

    #[test]
    fn count_lists_are_sorted_and_deduplicated() {
        let values = options(&[("users", "8,0x2, 8,4"), ("seconds", "2")]).values();
        assert!(values.is_err());
        let values = options(&[("users", "8,2, 8,4"), ("seconds", "2")]).values().unwrap();
        let text = |name: &str| values[name].as_deref();
        assert_eq!((text("users"), text("size")), (Some("2,4,8"), None));
        assert_eq!((text("seconds"), text("buffered")), (Some("2000000000ns"), Some("0")));
    }

    #[test]
    fn given_options_override_defaults() {
        let options = options(&[("users", "2, 4"), ("buffered", "")]);
        assert_eq!(options.counts("users", 4096), Ok(vec![2, 4]));
        assert_eq!(options.duration_ns("seconds"), Ok(Some(60_000_000_000)));
        assert_eq!(options.size_bytes("size"), Ok(None));
        assert!(options.has("buffered") && !options.has("size"));
    }

    #[test]
    fn limit_option_parses_a_comma_separated_list() {
        let typed = options(&[("limit", "mean<=10ms, p99<=50ms,mean<=5ms"), ("growth", "50%")]);
        let limits = typed.limits("limit").unwrap();
        let shown: Vec<String> = limits.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["mean <= 5 ms", "p99 <= 50 ms"]);
        assert_eq!(typed.share("growth"), Ok(Some(0.5)));
        let wrong = options(&[("limit", "mean<10ms")]).limits("limit").unwrap_err().to_string();
        assert!(wrong.starts_with("--limit: limit \"mean<10ms\" has no"), "{wrong}");
        assert!(options(&[("limit", "")]).limits("limit").is_err());
    }

    #[test]
    fn invalid_value_error_names_its_option() {
        let wrong = options(&[("users", "1,many"), ("size", "0"), ("seconds", "soon")]);
        let users = wrong.counts("users", 4096).unwrap_err().to_string();
        assert_eq!(users, "--users: \"many\" is not a count; hint: use 1000 or 20k");
        let size = wrong.size_bytes("size").unwrap_err().to_string();
        assert_eq!(size, "--size: 0 is too little; hint: use 1g");
        assert!(wrong.duration_ns("seconds").is_err());
        let many = options(&[("users", "5000")]).counts("users", 4096).unwrap_err().to_string();
        assert_eq!(many, "--users: must be between 1 and 4096");
    }
}
