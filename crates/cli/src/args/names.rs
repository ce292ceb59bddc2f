//! Options whose value is a name out of a table. Help and completions list the names.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use iogauge_model::guide::{self, GUIDES, Guide};
use iogauge_report::settings::{self, SETTINGS, Setting};
use std::ffi::OsStr;

/// Reads the name of a guide; a wrong one is answered with all guides and their limits.
pub fn guide() -> impl TypedValueParser<Value = &'static Guide> {
    let value = |guide: &Guide| PossibleValue::new(guide.name).help(guide.help());
    Listed {
        parser: StringValueParser::new().try_map(|name| guide::find(&name)),
        values: GUIDES.iter().map(value).collect(),
    }
}

/// Reads the name of a setting; a wrong one is answered with all names.
pub fn setting() -> impl TypedValueParser<Value = &'static Setting> {
    let value = |setting: &Setting| {
        PossibleValue::new(setting.name).help(setting.about).aliases(setting.alias)
    };
    Listed {
        parser: StringValueParser::new().try_map(|name| settings::find(&name)),
        values: SETTINGS.iter().map(value).collect(),
    }
}

/// A parser with the values to list.
#[derive(Debug, Clone)]
struct Listed<P> {
    parser: P,
    values: Vec<PossibleValue>,
}

impl<P: TypedValueParser> TypedValueParser for Listed<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        self.parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().cloned()))
    }
}
