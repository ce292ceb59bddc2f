//! Results as settings of other software, ready to paste, each beside its definition.
//!
//! A setting is refused if the result does not measure what its documentation defines.

mod ceph;
mod cgroup;
mod device;
mod evidence;
mod load;
mod mysql;
mod rates;
mod refusal;

pub use load::SettingLoad;
pub use refusal::{Reason, Refusal};

use evidence::{Evidence, Subject};
use iogauge_model::load::Load;
use iogauge_model::plain_text::shown_in_line;
use iogauge_model::result::{
    FIND_FORMAT, FindDocument, Head, RUN_FORMAT, SUITE_FORMAT, SuiteDocument,
};
use iogauge_model::units::shell_word;
use iogauge_model::{Caveat, Impact};
use serde::Deserialize;
use serde_json::Value;

/// Columns of a comment.
const WIDTH: usize = 100;

/// A setting of other software.
#[derive(Debug)]
pub struct Setting {
    /// The value of `--for`.
    pub name: &'static str,
    /// Another value of `--for`.
    pub alias: Option<&'static str>,
    /// The software and what it does with the setting.
    pub about: &'static str,
    /// The variables that are set.
    pub sets: &'static [&'static str],
    /// What the variables mean, from the documentation of the software.
    pub definition: &'static str,
    /// That documentation.
    pub source: &'static str,
    /// How it is measured.
    pub measured_by: MeasuredBy,
    body: fn(&Evidence<'_>) -> Result<Body, Reason>,
}

/// How a setting is measured.
#[derive(Debug)]
pub enum MeasuredBy {
    /// By a search.
    Search {
        /// The loads that the setting means; the first one is the default. Empty if it means several that only
        /// `fits` knows.
        loads: &'static [SettingLoad],
        /// Checks a load.
        fits: fn(&Load) -> Result<(), Reason>,
        /// True if the definition is a maximum without a latency limit.
        is_maximum: bool,
    },
    /// By the suite with this name.
    Suite(&'static str),
}

/// The text of a setting: remarks about its figures, what to do with the lines, and the lines to paste.
#[derive(Debug)]
struct Body {
    remarks: Vec<String>,
    to_do: Vec<String>,
    lines: Vec<String>,
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    ceph::SETTING,
    rates::SEASTAR,
    mysql::SETTING,
    cgroup::IO_MAX,
    cgroup::SYSTEMD,
    rates::IOCOST,
];

/// The error for an unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" is not a setting; hint: use {}", listed())]
pub struct SettingError {
    name: String,
}

fn listed() -> String {
    SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")
}

/// Finds a setting by its name or its alias, ignoring case.
///
/// # Errors
/// No setting has this name.
pub fn find(name: &str) -> Result<&'static Setting, SettingError> {
    let word = name.trim().to_ascii_lowercase();
    let known = |setting: &&Setting| setting.name == word || setting.alias == Some(word.as_str());
    SETTINGS.iter().find(known).ok_or_else(|| SettingError { name: name.to_owned() })
}

/// Returns the text of the setting that a suite measures, or why there is none; `None` for other suites.
#[must_use]
pub fn of_suite(document: &SuiteDocument) -> Option<Result<String, Refusal>> {
    let measures = |setting: &&Setting| match setting.measured_by {
        MeasuredBy::Suite(name) => name == document.suite.name,
        MeasuredBy::Search { .. } => false,
    };
    Some(SETTINGS.iter().find(measures)?.of_suite(document))
}

impl Setting {
    /// Returns the text of the setting from the result of a search.
    ///
    /// # Errors
    /// The result does not measure what the setting means.
    pub fn of_find(&'static self, document: &FindDocument) -> Result<String, Refusal> {
        self.text(&Evidence {
            head: &document.head,
            caveats: &document.caveats,
            subject: Subject::Search(&document.search),
        })
    }

    /// Returns the text of the setting from the result of a suite.
    ///
    /// # Errors
    /// As [`Self::of_find`].
    pub fn of_suite(&'static self, document: &SuiteDocument) -> Result<String, Refusal> {
        self.text(&Evidence {
            head: &document.head,
            caveats: &document.caveats,
            subject: Subject::Suite(document),
        })
    }

    /// Returns the text of the setting from any document.
    ///
    /// # Errors
    /// As [`Self::of_find`], or the document is not of a search or a suite.
    pub fn of_document(&'static self, document: &Value) -> Result<String, Refusal> {
        let format = document["format"].as_str().unwrap_or_default();
        let target = document["target"]["name"].as_str().unwrap_or_default();
        let damaged = |error: serde_json::Error| {
            self.refusal(Reason::Damaged { reason: error.to_string() }, target)
        };
        match format {
            FIND_FORMAT => self.of_find(&FindDocument::deserialize(document).map_err(damaged)?),
            SUITE_FORMAT => self.of_suite(&SuiteDocument::deserialize(document).map_err(damaged)?),
            RUN_FORMAT => Err(self.refusal(Reason::FixedLoad, target)),
            _ => Err(self.refusal(Reason::Format { format: format.to_owned() }, target)),
        }
    }

    /// Checks before a search that a load is one that the setting means.
    ///
    /// # Errors
    /// It is not, or a suite measures the setting.
    pub fn check_load(&'static self, load: &Load, target: &str) -> Result<(), Refusal> {
        let fits = match self.measured_by {
            MeasuredBy::Search { fits, .. } => fits(load),
            MeasuredBy::Suite(suite) => Err(Reason::NeedsSuite { suite }),
        };
        fits.map_err(|reason| self.refusal(reason, target))
    }

    /// Returns the loads that the setting means, the default first; none if it means any, or if a suite measures it.
    #[must_use]
    pub fn loads(&self) -> &'static [SettingLoad] {
        match self.measured_by {
            MeasuredBy::Search { loads, .. } => loads,
            MeasuredBy::Suite(_) => &[],
        }
    }

    /// True if the definition is a maximum without a latency limit.
    #[must_use]
    pub fn is_maximum(&self) -> bool {
        matches!(self.measured_by, MeasuredBy::Search { is_maximum: true, .. })
    }

    /// Returns the command that measures the setting on a target.
    #[must_use]
    pub fn command(&self, target: &str) -> String {
        let target = match target {
            "" => "TARGET".to_owned(),
            target => shell_word(target).to_string(),
        };
        match self.measured_by {
            MeasuredBy::Search { .. } => format!("iogauge find {target} --for {}", self.name),
            MeasuredBy::Suite(suite) => format!("iogauge suite {suite} {target}"),
        }
    }

    /// Refuses the setting on a target.
    #[must_use]
    pub fn refusal(&'static self, reason: Reason, target: &str) -> Refusal {
        let reason = Box::new(reason);
        Refusal { setting: self, reason, target: target.to_owned(), options: Vec::new() }
    }

    /// Returns the options with which a search has the load of a result.
    fn options(&self, evidence: &Evidence<'_>) -> Vec<String> {
        let load = evidence.head.load.load();
        match (&evidence.subject, load) {
            (Subject::Search(_), Some(load)) => load::options(self.loads(), load),
            _ => Vec::new(),
        }
    }

    fn text(&'static self, evidence: &Evidence<'_>) -> Result<String, Refusal> {
        let target = evidence.head.target.name();
        let refuse = |reason| self.refusal(reason, target).with_options(self.options(evidence));
        if let Subject::Search(_) = evidence.subject
            && let Some(load) = evidence.head.load.load()
        {
            self.check_load(load, target)?;
        }
        let body = (self.body)(evidence).map_err(refuse)?;
        let mut text = String::new();
        let fixed = [
            self.about.to_owned(),
            format!("Definition: {}", self.definition),
            format!("Source: {}", self.source),
            origin(evidence.head),
        ];
        let doubts = evidence.caveats.iter().filter(|caveat| caveat.impact == Impact::Doubt);
        let doubts = doubts.map(|Caveat { message, .. }| format!("In doubt: {message}"));
        for remark in fixed.into_iter().chain(body.remarks).chain(doubts).chain(body.to_do) {
            comment(&mut text, &remark);
        }
        for line in &body.lines {
            text.push_str(line);
            text.push('\n');
        }
        Ok(text)
    }
}

/// Describes which run a setting is from.
fn origin(head: &Head) -> String {
    let via = head.via.as_ref().map_or_else(String::new, |via| format!(" via {}", via.version));
    format!("Run: {} of {} on {}{via}", head.run_id, head.started, head.target.name())
}

/// Appends a remark as comments. No line of the remark can end the comment.
fn comment(text: &mut String, remark: &str) {
    let remark = shown_in_line(remark);
    let mut line = String::from("#");
    for word in remark.split(' ') {
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("# ");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
