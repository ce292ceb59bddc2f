//! SuiteOptions of suites: what may be typed, and what was.

use iogauge_model::Limit;
use iogauge_model::limit::tightest;
use iogauge_model::units::{
    UnitError, parse_count, parse_duration_ns, parse_percent, parse_size_bytes,
};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The default of an option that each run draws for itself, and keeps when it goes on.
pub const DRAWN: &str = "drawn for each run";

/// An option of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuiteOption {
    /// Its name, without dashes.
    pub name: &'static str,
    /// The word for its value in help texts; `None` for an option without value.
    pub value: Option<&'static str>,
    /// What it is where it is not typed; `None` where the suite decides.
    pub default: Option<&'static str>,
    /// What it does, in one line.
    pub help: &'static str,
}

/// How much of the target a suite works on.
pub(super) const SIZE: SuiteOption = SuiteOption {
    name: "size",
    value: Some("SIZE"),
    default: None,
    help: "Size of the test file, or how much of each device",
};

/// An option that a suite cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// A value that cannot be.
    #[error("--{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A suite that does not fit the target.
    #[error("suite {suite}: {reason}")]
    Unfit {
        /// The suite.
        suite: String,
        /// What does not fit, and what would.
        reason: String,
    },
    /// A suite of the user's own that cannot be read.
    #[error("{path}:{line}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
}

impl SuiteError {
    /// A value that cannot be.
    pub(crate) fn option(option: &'static str, reason: impl Into<String>) -> Self {
        Self::Option { option, reason: reason.into() }
    }
}

/// SuiteOptions as they were typed, with the defaults of the suite behind them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteOptions {
    typed: BTreeMap<String, String>,
    defaults: BTreeMap<&'static str, &'static str>,
}

impl SuiteOptions {
    /// What was typed, for a suite that has these options. SuiteOptions without value are there with an
    /// empty one.
    #[must_use]
    pub fn new(known: &[SuiteOption], typed: BTreeMap<String, String>) -> Self {
        let default = |option: &SuiteOption| Some((option.name, option.default?));
        Self { typed, defaults: known.iter().filter_map(default).collect() }
    }

    /// What was typed.
    #[must_use]
    pub fn typed(&self) -> &BTreeMap<String, String> {
        &self.typed
    }

    /// True where the option was typed.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.typed.contains_key(name)
    }

    /// The text of an option, or of its default.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let typed = self.typed.get(name).map(String::as_str);
        typed.or_else(|| self.defaults.get(name).copied())
    }

    /// A value that can be parsed.
    ///
    /// # Errors
    /// Where it cannot.
    pub fn parsed<T: FromStr<Err: ToString>>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, SuiteError> {
        let wrong = |error: T::Err| SuiteError::option(name, error.to_string());
        self.text(name).map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// A size, above 0.
    ///
    /// # Errors
    /// Where it is none.
    pub fn size_bytes(&self, name: &'static str) -> Result<Option<u64>, SuiteError> {
        self.above_zero(name, parse_size_bytes, "1g")
    }

    /// A duration, above 0.
    ///
    /// # Errors
    /// Where it is none.
    pub fn duration_ns(&self, name: &'static str) -> Result<Option<u64>, SuiteError> {
        self.above_zero(name, parse_duration_ns, "60s")
    }

    /// A number of things, from 1 to `most`.
    ///
    /// # Errors
    /// Where it is none.
    pub fn count(&self, name: &'static str, most: u32) -> Result<Option<u32>, SuiteError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        one_count(name, text, most).map(Some)
    }

    /// Numbers separated by commas, each from 1 to `most`; empty where nothing was typed and there
    /// is no default.
    ///
    /// # Errors
    /// Where one is none.
    pub fn counts(&self, name: &'static str, most: u32) -> Result<Vec<u32>, SuiteError> {
        self.words(name).map(|text| one_count(name, text, most)).collect()
    }

    /// Sizes separated by commas, each above 0.
    ///
    /// # Errors
    /// Where one is none.
    pub fn sizes_bytes(&self, name: &'static str) -> Result<Vec<u64>, SuiteError> {
        let one = |text| above_zero(name, text, parse_size_bytes, "4k,8k");
        self.words(name).map(one).collect()
    }

    /// A share, as a part of 1.
    ///
    /// # Errors
    /// Where it is none.
    pub fn share(&self, name: &'static str) -> Result<Option<f64>, SuiteError> {
        let wrong = |error: UnitError| SuiteError::option(name, error.to_string());
        let percent = self.text(name).map(parse_percent).transpose().map_err(wrong)?;
        Ok(percent.map(|percent| percent / 100.0))
    }

    /// Limits separated by commas; of several on one statistic the tightest.
    ///
    /// # Errors
    /// Where one is none, or there is none.
    pub fn limits(&self, name: &'static str) -> Result<Vec<Limit>, SuiteError> {
        let wrong = |error: &dyn ToString| SuiteError::option(name, error.to_string());
        let one = |word: &str| word.parse::<Limit>().map_err(|error| wrong(&error));
        let limits = tightest(self.words(name).map(one).collect::<Result<Vec<_>, _>>()?);
        if limits.is_empty() {
            return Err(wrong(&"there is no limit; hint: use mean<=10ms,p99<=50ms"));
        }
        Ok(limits)
    }

    /// Words separated by commas.
    pub fn words(&self, name: &str) -> impl Iterator<Item = &str> {
        self.text(name).unwrap_or_default().split(',').map(str::trim).filter(|w| !w.is_empty())
    }

    fn above_zero(
        &self,
        name: &'static str,
        parse: fn(&str) -> Result<u64, UnitError>,
        right: &str,
    ) -> Result<Option<u64>, SuiteError> {
        self.text(name).map(|text| above_zero(name, text, parse, right)).transpose()
    }
}

fn above_zero(
    name: &'static str,
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

fn one_count(name: &'static str, text: &str, most: u32) -> Result<u32, SuiteError> {
    let wrong = |error: UnitError| SuiteError::option(name, error.to_string());
    match parse_count(text).map_err(wrong)? {
        value if (1..=u64::from(most)).contains(&value) => Ok(value as u32),
        value => {
            Err(SuiteError::option(name, format!("{value} is not in the range from 1 to {most}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[SuiteOption] = &[
        SuiteOption { name: "users", value: Some("N,…"), default: Some("1,8,64"), help: "" },
        SuiteOption { name: "size", value: Some("SIZE"), default: None, help: "" },
        SuiteOption { name: "seconds", value: Some("TIME"), default: Some("60"), help: "" },
    ];

    fn options(typed: &[(&str, &str)]) -> SuiteOptions {
        let typed = typed.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        SuiteOptions::new(KNOWN, typed.collect())
    }

    #[test]
    fn what_is_typed_comes_before_defaults() {
        let options = options(&[("users", "2, 4"), ("buffered", "")]);
        assert_eq!(options.counts("users", 4096), Ok(vec![2, 4]));
        assert_eq!(options.duration_ns("seconds"), Ok(Some(60_000_000_000)));
        assert_eq!(options.size_bytes("size"), Ok(None));
        assert!(options.has("buffered") && !options.has("size"));
    }

    #[test]
    fn limits_are_a_list() {
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
    fn what_cannot_be_is_said_with_its_option() {
        let wrong = options(&[("users", "1,many"), ("size", "0"), ("seconds", "soon")]);
        let users = wrong.counts("users", 4096).unwrap_err().to_string();
        assert_eq!(users, "--users: \"many\" is not a count; hint: use 1000 or 20k");
        let size = wrong.size_bytes("size").unwrap_err().to_string();
        assert_eq!(size, "--size: 0 is too little; hint: use 1g");
        assert!(wrong.duration_ns("seconds").is_err());
        let many = options(&[("users", "5000")]).counts("users", 4096).unwrap_err().to_string();
        assert_eq!(many, "--users: 5000 is not in the range from 1 to 4096");
    }
}
