//! Reasons why a result may mislead. They are part of the result.
//!
//! Who measures finds facts; [`Fact::caveat`] makes their message and hint for a command. `codes.rs` is the
//! table of codes; each group of facts has a file with its words.

mod codes;
mod command;
mod database;
mod figures;
mod machine;
mod steadiness;
mod target;
mod tools;

pub use codes::CaveatCode;
pub use command::{Command, StepTime};
pub use database::DatabaseFact;
pub use figures::{CutShort, FigureFact, NothingWhy};
pub use machine::{MachineFact, PauseFact, StarvedFact, WithStarved};
pub use steadiness::{Shift, SteadinessFact};
pub use target::{BlockFact, CacheFact, PartFact, PartOrigin, Portion, TargetFact};
pub use tools::{ToolFact, TraceDiffers, TraceLack};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! facts {
    ($($(#[doc = $doc:literal])+ $group:ident($fact:ident) in $module:ident;)+) => {
        /// Something found that may mislead, with its figures.
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
            /// The caveat in the words and with the options of a command.
            #[must_use]
            pub fn caveat(&self, command: Command) -> Caveat {
                match self { $(Self::$group(fact) => fact.caveat(command)),+ }
            }

            /// At least one fact for each code, for tests.
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
    /// About the target.
    Target(TargetFact) in target;
    /// About the machine.
    Machine(MachineFact) in machine;
    /// About figures.
    Figure(FigureFact) in figures;
    /// About figures that moved.
    Steadiness(SteadinessFact) in steadiness;
    /// About fio and bpftrace.
    Tool(ToolFact) in tools;
    /// About a database.
    Database(DatabaseFact) in database;
}

impl Command {
    /// The caveats of facts.
    pub fn caveats(self, facts: impl IntoIterator<Item = Fact>) -> Vec<Caveat> {
        facts.into_iter().map(|fact| fact.caveat(self)).collect()
    }
}

impl CaveatCode {
    /// What such a caveat does to an answer where no figure decides.
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
    /// Always a note.
    Note,
    /// Always a doubt.
    Doubt,
    /// By the share of the answer that may be wrong: a doubt where it is more than
    /// [`DOUBT_SHARE`].
    Share,
}

/// A caveat puts an answer in doubt where the answer may be off by more than this share.
pub const DOUBT_SHARE: f64 = 0.1;

/// What a caveat does to its result.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// The answer stands.
    Note,
    /// The answer may be off by more than a tenth. Decided by figures where there are some, by the kind of
    /// caveat otherwise.
    Doubt,
}

/// One reason why a result may mislead, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "StoredCaveat")]
#[schemars(!from)]
pub struct Caveat {
    pub code: CaveatCode,
    /// What it does to the answer.
    pub impact: Impact,
    /// The reason in one sentence, with the figures it rests on.
    pub message: String,
    /// What to do: a command where there is one.
    #[serde(rename = "remedy")]
    pub hint: String,
}

impl Caveat {
    /// A caveat with its message and hint; its impact is that of its kind.
    #[must_use]
    pub fn new(code: CaveatCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self { code, impact: code.impact(), message, hint }
    }

    /// A caveat with its message, the hint and the impact of its kind.
    #[must_use]
    pub fn of(code: CaveatCode, message: impl Into<String>) -> Self {
        Self::new(code, message, code.hint())
    }

    /// The caveat with another hint.
    #[must_use]
    pub fn hinting(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// The caveat about one of several things: `fio-3.40: …`.
    #[must_use]
    pub fn about(self, which: &str) -> Self {
        Self { message: format!("{which}: {}", self.message), ..self }
    }

    /// The caveat with an impact of its own.
    #[must_use]
    pub fn with_impact(self, impact: Impact) -> Self {
        Self { impact, ..self }
    }

    /// The caveat weighed by the share of the answer that may be wrong, from 0 on: beyond
    /// [`DOUBT_SHARE`] it is a doubt.
    #[must_use]
    pub fn weighed(self, share: f64) -> Self {
        self.with_impact(if share > DOUBT_SHARE { Impact::Doubt } else { Impact::Note })
    }

    /// True where it puts the answer in doubt.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        self.impact == Impact::Doubt
    }
}

/// A caveat as documents have it; those written before there was an impact take that of the kind.
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
    fn codes_are_distinct_kebab_words_and_serialize_as_themselves() {
        for code in CaveatCode::ALL {
            let word = code.as_str();
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{word}");
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{word}\""));
            assert_eq!(CaveatCode::ALL.iter().filter(|c| c.as_str() == word).count(), 1);
            assert!(!code.title().is_empty() && !code.hint().is_empty(), "{word}");
        }
    }

    #[test]
    fn each_code_has_a_fact_with_a_message_and_a_hint_that_can_be_pasted() {
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
    fn hints_name_what_the_command_has() {
        let hint = |fact: Fact, command| fact.caveat(command).hint;
        let few = || FigureFact::FewSamples { ios: 1, wanted: 1000 }.into();
        assert_eq!(hint(few(), Command::Run), "increase --runtime");
        assert_eq!(hint(few(), Command::RunFile), "increase runtime in the job file");
        assert_eq!(hint(few(), Command::Find), "increase --budget");
        assert_eq!(hint(few(), Command::Suite(StepTime::Scale)), "reduce --scale");
        let cut = CutShort { by_depth: true, queue_depth: 8, rate_iops: None, met: true };
        let told = Fact::from(FigureFact::CutShort(cut)).caveat(Command::DbFind);
        assert_eq!(told.hint, "increase --max-processes");
        assert!(told.message.contains("with 8 processes"), "{}", told.message);
    }

    #[test]
    fn a_share_of_more_than_a_tenth_is_a_doubt() {
        let weighed = |share| Caveat::new(CaveatCode::SparseHoles, "", "").weighed(share).impact;
        assert_eq!([0.0, 0.1, 0.11, f64::INFINITY].map(weighed), {
            use Impact::{Doubt, Note};
            [Note, Note, Doubt, Doubt]
        });
    }

    #[test]
    fn documents_without_an_impact_are_read() {
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
