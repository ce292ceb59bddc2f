//! The head of a suite file: description and options.

use super::block::{Member, Reader};
use super::{OptionValues, SuiteFileError};

/// An option of a suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteOption {
    /// Name, without dashes.
    pub name: String,
    /// Placeholder of the value in the help; `None` for an option without a value.
    pub value: Option<String>,
    /// Default value; `None` if the suite decides.
    pub default: Option<String>,
    /// The help text.
    pub help: String,
}

impl SuiteOption {
    fn read<'a>(reader: &Reader<'a>, option: &Member<'a>) -> Result<Self, SuiteFileError> {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = option.name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || !option.name.chars().all(is_word) {
            let reason = "is not the name of an option; hint: use lower-case letters";
            return Err(reader.wrong(option, reason));
        }
        let mut read = Self { name: option.name.to_owned(), ..Self::default() };
        for part in reader.members(reader.table(option, &format!("options.{}", option.name))?) {
            let text = reader.value(&part)?;
            match part.name {
                "value" => read.value = Some(text),
                "default" => read.default = Some(text),
                "help" => read.help = text,
                _ => return Err(reader.wrong(&part, "is not one of value, default and help")),
            }
        }
        Ok(read)
    }
}

/// The head of a suite file: description and options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteHead {
    /// What the suite measures, in one line.
    pub about: Option<String>,
    /// How the suite works, in a few sentences.
    pub help: Option<String>,
    /// The options.
    pub options: Vec<SuiteOption>,
    /// Options of a short run on a simulated device, used to test the suite.
    pub trial: Vec<(String, String)>,
}

impl SuiteHead {
    /// Parses the head of a file.
    ///
    /// # Errors
    /// If the file is not valid TOML, or a value has the wrong type.
    pub fn parse(text: &str) -> Result<Self, SuiteFileError> {
        let none = OptionValues::new();
        let reader = Reader::new(text, &none);
        let root = reader.document()?;
        let mut head = Self::default();
        for member in reader.members(&root) {
            match member.name {
                "about" => head.about = Some(reader.words(&member)?),
                "help" => head.help = Some(reader.words(&member)?),
                "options" => {
                    for option in reader.members(reader.table(&member, member.name)?) {
                        head.options.push(SuiteOption::read(&reader, &option)?);
                    }
                }
                "trial" => {
                    for option in reader.members(reader.table(&member, member.name)?) {
                        head.trial.push((option.name.to_owned(), reader.value(&option)?));
                    }
                }
                _ => {}
            }
        }
        Ok(head)
    }

    /// Returns the options with their defaults.
    #[must_use]
    pub fn defaults(&self) -> OptionValues {
        self.options.iter().map(|option| (option.name.clone(), option.default.clone())).collect()
    }
}
