//! `--guide`: a name out of a table, which help and completions list.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use iogauge_model::guide::{self, GUIDES, Guide};
use std::ffi::OsStr;

/// Reads the name of a guide; a wrong one is answered with all guides and their limits.
#[derive(Debug, Clone)]
pub struct GuideParser;

impl TypedValueParser for GuideParser {
    type Value = &'static Guide;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        let find = |name: String| guide::find(&name);
        StringValueParser::new().try_map(find).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |guide: &Guide| PossibleValue::new(guide.name).help(guide.help());
        Some(Box::new(GUIDES.iter().map(value)))
    }
}
