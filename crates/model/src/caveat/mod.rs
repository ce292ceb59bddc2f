//! Caveats: reasons why a result may mislead. They are part of the result.
//!
//! Code that measures reports facts; [`Fact::caveat`] turns a fact into a message and a hint for a command.
//! `codes.rs` has the table of codes. Each group of facts has a file with its messages.

mod codes;
mod command;
mod database;
mod figures;
mod hosts;
mod machine;
mod steadiness;
mod target;
mod tools;
mod trend;

pub use codes::CaveatCode;
pub use command::{Command, StepTime};
pub use database::DatabaseFact;
pub use figures::{CutShort, FigureFact, NothingWhy};
pub use hosts::{HostFact, Straggler};
pub use machine::{MachineFact, PauseFact, StarvedFact, WithStarved};
pub use steadiness::{Shift, SteadinessFact};
pub use target::{BlockFact, CacheFact, ClientCache, PartFact, PartOrigin, Portion, TargetFact};
pub use tools::{ToolFact, TraceDiffers, TraceLack};
pub use trend::TrendFact;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! facts {
    ($($(#[doc = $doc:literal])+ $group:ident($fact:ident) in $module:ident;)+) => {
        /// A finding that may make a result mislead, with its figures.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Fact {
            $($(#[doc = $doc])+ $group($fact),)+
        }

        $(impl From<$fact> for Fact {
            fn from(fact: $fact) -> Self {
                Self::$group(fact)
            }
        })+

        impl Fact {
            /// Returns the caveat with the terms and options of a command.
            #[must_use]
            pub fn caveat(&self, command: Command) -> Caveat {
                match self { $(Self::$group(fact) => fact.caveat(command)),+ }
            }

            /// Returns at least one fact for each code, for tests.
            #[must_use]
            pub fn examples() -> Vec<Self> {
                let mut facts = Vec::new();
                $(facts.extend($module::examples().into_iter().map(Self::$group));)+
                facts
            }
        }
    };
}

facts! {
    /// Facts about the target.
    Target(TargetFact) in target;
    /// Facts about the machine.
    Machine(MachineFact) in machine;
    /// Facts about the figures.
    Figure(FigureFact) in figures;
    /// Facts about figures that drifted or shifted.
    Steadiness(SteadinessFact) in steadiness;
    /// Facts about fio and bpftrace.
    Tool(ToolFact) in tools;
    /// Facts about a database.
    Database(DatabaseFact) in database;
    /// Facts about several hosts.
    Hosts(HostFact) in hosts;
    /// Facts about a series of runs.
    Trend(TrendFact) in trend;
}

impl Command {
    /// Converts facts to caveats for this command.
    pub fn caveats(self, facts: impl IntoIterator<Item = Fact>) -> Vec<Caveat> {
        facts.into_iter().map(|fact| fact.caveat(self)).collect()
    }
}

impl CaveatCode {
    /// Returns the impact of caveats of this kind that have no measured share.
    #[must_use]
    pub const fn impact(self) -> Impact {
        match self.rule() {
            ImpactRule::Note => Impact::Note,
            ImpactRule::Doubt | ImpactRule::Share => Impact::Doubt,
        }
    }
}

/// How the impact of a caveat is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpactRule {
    Note,
    Doubt,
    /// Decided by the share of the answer that may be wrong: a doubt if it exceeds [`DOUBT_SHARE`].
    Share,
}

/// The share of the answer above which a caveat is a doubt.
pub const DOUBT_SHARE: f64 = 0.1;

/// The effect of a caveat on the result.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// The answer is valid.
    Note,
    /// The answer may be off by more than a tenth. Decided by the affected share if it is known, otherwise by
    /// the kind of caveat.
    Doubt,
}

/// A reason why the result may mislead, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "StoredCaveat")]
#[schemars(!from)]
pub struct Caveat {
    pub code: CaveatCode,
    /// The effect on the answer.
    pub impact: Impact,
    /// The reason in one sentence, with its figures.
    pub message: String,
    /// What to do about it, as a command if there is one.
    #[serde(rename = "remedy")]
    pub hint: String,
}

impl Caveat {
    /// Creates a caveat with the impact of its kind.
    #[must_use]
    pub fn new(code: CaveatCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self { code, impact: code.impact(), message, hint }
    }

    /// Creates a caveat with the hint and impact of its kind.
    #[must_use]
    pub fn of(code: CaveatCode, message: impl Into<String>) -> Self {
        Self::new(code, message, code.hint())
    }

    /// Replaces the hint.
    #[must_use]
    pub fn hinting(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// Prefixes the message with the thing it is about: `fio-3.40: …`.
    #[must_use]
    pub fn about(self, which: &str) -> Self {
        Self { message: format!("{which}: {}", self.message), ..self }
    }

    /// Replaces the impact.
    #[must_use]
    pub fn with_impact(self, impact: Impact) -> Self {
        Self { impact, ..self }
    }

    /// Sets the impact by the share of the answer that may be wrong: a doubt if it exceeds [`DOUBT_SHARE`],
    /// otherwise a note.
    #[must_use]
    pub fn weighed(self, share: f64) -> Self {
        self.with_impact(if share > DOUBT_SHARE { Impact::Doubt } else { Impact::Note })
    }

    /// True if the caveat puts the answer in doubt.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        self.impact == Impact::Doubt
    }
}

/// A caveat as stored. Documents without an impact get that of the caveat's kind.
#[derive(Deserialize)]
struct StoredCaveat {
    code: CaveatCode,
    impact: Option<Impact>,
    message: String,
    #[serde(rename = "remedy")]
    hint: String,
}

impl From<StoredCaveat> for Caveat {
    fn from(stored: StoredCaveat) -> Self {
        let StoredCaveat { code, impact, message, hint } = stored;
        Self { code, impact: impact.unwrap_or(code.impact()), message, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caveat_codes_are_unique_kebab_case_and_serialize_verbatim() {
        for code in CaveatCode::ALL {
            let word = code.as_str();
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{word}");
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{word}\""));
            assert_eq!(CaveatCode::ALL.iter().filter(|c| c.as_str() == word).count(), 1);
            assert!(!code.title().is_empty() && !code.hint().is_empty(), "{word}");
        }
    }

    #[test]
    fn each_caveat_code_has_a_message_and_a_pasteable_hint() {
        let facts = Fact::examples();
        for code in CaveatCode::ALL {
            assert!(facts.iter().any(|f| f.caveat(Command::Run).code == *code), "{code:?}");
        }
        for (fact, command) in facts.iter().flat_map(|f| Command::ALL.map(|command| (f, command))) {
            let Caveat { code, message, hint, .. } = fact.caveat(command);
            for text in [message.as_str(), hint.as_str(), code.hint(), code.title()] {
                let is_balanced = text.matches('(').count() == text.matches(')').count()
                    && text.matches('\'').count() % 2 == text.matches("'s ").count() % 2;
                assert!(!text.is_empty() && text.trim() == text && is_balanced, "{text:?}");
                assert!(!text.contains(['\n', '…', '"']) && !text.contains("  "), "{text:?}");
                assert!(!text.ends_with('.'), "{text:?}");
            }
        }
    }

    #[test]
    fn hints_name_options_of_the_current_command() {
        let hint = |fact: Fact, command| fact.caveat(command).hint;
        let few = || FigureFact::FewSamples { ios: 1, wanted: 1000 }.into();
        assert_eq!(hint(few(), Command::Run), "increase --runtime");
        assert_eq!(
            hint(few(), Command::RunFile),
            "increase runtime, or the amount of I/O, in the job file"
        );
        assert_eq!(hint(few(), Command::Find), "increase --budget");
        assert_eq!(hint(few(), Command::Suite(StepTime::Scale)), "reduce --scale");
        let cut =
            CutShort { by_depth: true, queue_depth: 8, rate_iops: None, met: true, set_aside: 5 };
        let told = Fact::from(FigureFact::CutShort(cut)).caveat(Command::Find).message;
        assert!(
            told.ends_with("; 5 windows with more load broke a limit and were taken for noise")
        );
        let told = Fact::from(FigureFact::CutShort(cut)).caveat(Command::DbFind);
        assert_eq!(told.hint, "increase --max-processes");
        assert!(told.message.contains("with 8 processes"), "{}", told.message);
    }

    #[test]
    fn share_above_ten_percent_is_a_doubt() {
        let weighed = |share| Caveat::new(CaveatCode::SparseHoles, "", "").weighed(share).impact;
        assert_eq!([0.0, 0.1, 0.11, f64::INFINITY].map(weighed), {
            use Impact::{Doubt, Note};
            [Note, Note, Doubt, Doubt]
        });
    }

    #[test]
    fn caveat_without_impact_field_is_readable() {
        let old = r#"{"code": "page-cache", "message": "m", "remedy": "r"}"#;
        let caveat: Caveat = serde_json::from_str(old).unwrap();
        assert_eq!(caveat, Caveat::new(CaveatCode::PageCache, "m", "r"));
        assert!(caveat.is_doubt());
        let noted = caveat.with_impact(Impact::Note);
        let text = serde_json::to_string(&noted).unwrap();
        assert!(text.contains(r#""impact":"note""#), "{text}");
        assert_eq!(serde_json::from_str::<Caveat>(&text).unwrap(), noted);
    }
}
