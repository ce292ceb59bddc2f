//! Parses the tables of a suite file, with line numbers.

use super::{FileOption, OptionValues, SuiteFileError};
use crate::limit::Limit;
use crate::units::{parse_duration_ns, parse_percent};
use memchr::memchr_iter;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum length of the name of a step or job.
const MOST_NAME_CHARS: usize = 60;
/// Maximum number of members of a table: several times the number of options.
const MOST_MEMBERS: usize = 500;

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `[defaults]`: only options.
    Defaults,
    /// `[[step]]`.
    Step,
    /// One of the `jobs` of a step: a name and options.
    Job,
    /// `[[require]]`: a requirement with the options of its workload.
    Requirement,
}

/// A parsed table.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub line: usize,
    pub name: Option<String>,
    pub key: Option<String>,
    pub runtime_ns: Option<u64>,
    pub ramp_ns: Option<u64>,
    /// The ramp as a share of the runtime.
    pub ramp_share: Option<f64>,
    pub limits: Vec<Limit>,
    pub find: Vec<Limit>,
    pub jobs: Vec<Block>,
    pub options: Vec<Listed>,
}

/// An option with its values: one value, or the list that it expands to.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub name: String,
    pub values: Vec<String>,
    pub is_list: bool,
    pub line: usize,
    /// The suite option that the values are from.
    pub from: Option<String>,
}

impl Listed {
    /// Returns the option with one of its values.
    pub(super) fn with(&self, value: &str) -> FileOption {
        let (name, from) = (self.name.clone(), self.from.clone());
        FileOption { name, value: value.to_owned(), line: self.line, from }
    }
}

/// A member of a table: name and value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a> {
    pub name: &'a str,
    pub line: usize,
    pub value: &'a DeValue<'a>,
}

/// Parses a suite file: its text, the ends of its lines, and the values of the suite's options.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    line_ends: Vec<usize>,
    values: &'a OptionValues,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, values: &'a OptionValues) -> Self {
        Self { text, line_ends: memchr_iter(b'\n', text.as_bytes()).collect(), values }
    }

    pub(super) fn document(&self) -> Result<DeTable<'a>, SuiteFileError> {
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            SuiteFileError { line, reason: in_one_line(error.message()) }
        })
    }

    fn line(&self, at: usize) -> usize {
        1 + self.line_ends.partition_point(|end| *end < at)
    }

    /// Returns the suite option that `$name` refers to, and its value; `None` for any other value.
    fn reference<'t>(&self, value: &'t DeValue<'_>) -> Option<(&'t str, Option<&str>)> {
        let DeValue::String(text) = value else { return None };
        let name = text.strip_prefix('$')?;
        Some((name, self.values.get(name)?.as_deref()))
    }

    /// Returns the members of a table in the order of the file, without references to options that have no
    /// value.
    pub(super) fn members<'t>(&self, table: &'t DeTable<'t>) -> Vec<Member<'t>> {
        let mut members: Vec<(usize, &str, &DeValue<'_>)> = table
            .iter()
            .map(|(name, value)| (name.span().start, name.get_ref().as_ref(), value.get_ref()))
            .filter(|(_, _, value)| !matches!(self.reference(value), Some((_, None))))
            .collect();
        members.sort_by_key(|(at, ..)| *at);
        let member = |(at, name, value)| Member { name, line: self.line(at), value };
        members.into_iter().map(member).collect()
    }

    pub(super) fn wrong(&self, member: &Member<'_>, reason: impl ToString) -> SuiteFileError {
        let reason = reason.to_string();
        let name = member.name.escape_debug();
        SuiteFileError { line: member.line, reason: in_one_line(&format!("{name}: {reason}")) }
    }

    /// Returns a string, number or boolean as the command line has it.
    pub(super) fn value(&self, member: &Member<'_>) -> Result<String, SuiteFileError> {
        self.one_value(member, member.value)
    }

    fn one_value(
        &self,
        member: &Member<'_>,
        value: &DeValue<'_>,
    ) -> Result<String, SuiteFileError> {
        if let Some((_, Some(text))) = self.reference(value) {
            return Ok(text.to_owned());
        }
        let right = "must be a string, a number or a boolean, not";
        match value {
            DeValue::String(text) if text.chars().any(char::is_control) => {
                Err(self.wrong(member, "must be one line"))
            }
            DeValue::String(text) => Ok(text.clone().into_owned()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(|number| number.to_string())
                .map_err(|_| self.wrong(member, "the number is too large")),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(u8::from(*truth).to_string()),
            DeValue::Array(_) => Err(self.wrong(member, format!("{right} a list"))),
            DeValue::Table(_) => Err(self.wrong(member, format!("{right} a table"))),
            DeValue::Datetime(_) => Err(self.wrong(member, format!("{right} a date"))),
        }
    }

    /// Returns one value, or the values of a list. A reference to a suite option stands for all values
    /// between its commas; adjacent equal values then become one.
    fn values(&self, member: &Member<'_>) -> Result<Vec<String>, SuiteFileError> {
        let listed: Vec<&DeValue<'_>> = match member.value {
            DeValue::Array(list) => list.iter().map(Spanned::get_ref).collect(),
            one => vec![one],
        };
        if listed.is_empty() {
            return Err(self.wrong(member, "the list is empty"));
        }
        let mut values = Vec::new();
        for value in &listed {
            let text = self.one_value(member, value)?;
            match self.reference(value) {
                Some(_) => values.extend(text.split(',').map(|word| word.trim().to_owned())),
                None => values.push(text),
            }
        }
        if listed.iter().any(|value| self.reference(value).is_some()) {
            values.dedup();
        }
        Ok(values)
    }

    /// Returns a text for display.
    pub(super) fn words(&self, member: &Member<'_>) -> Result<String, SuiteFileError> {
        match member.value {
            DeValue::String(_) => Ok(self.value(member)?.trim().to_owned()),
            _ => {
                Err(self
                    .wrong(member, format!("must be a string; hint: use {} = \"…\"", member.name)))
            }
        }
    }

    pub(super) fn name(&self, member: &Member<'_>) -> Result<String, SuiteFileError> {
        let name = self.words(member)?;
        if name.is_empty() || name.chars().count() > MOST_NAME_CHARS {
            let reason = format!("a name must have between 1 and {MOST_NAME_CHARS} characters");
            return Err(self.wrong(member, reason));
        }
        Ok(name)
    }

    /// Returns a member that is a table, with this header in a file.
    pub(super) fn table(
        &self,
        member: &Member<'a>,
        header: &str,
    ) -> Result<&'a DeTable<'a>, SuiteFileError> {
        match member.value {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(member, format!("must be a table; hint: use [{header}]"))),
        }
    }

    /// Returns the tables of a list, each with its line.
    pub(super) fn tables<'t>(
        &self,
        member: &Member<'t>,
    ) -> Result<Vec<(usize, &'t DeTable<'t>)>, SuiteFileError> {
        let right = match member.name {
            "step" => "must be a list of tables; hint: use [[step]]",
            "require" => "must be a list of tables; hint: use [[require]]",
            _ => {
                "must be a list of tables; hint: use jobs = [{ rw = \"read\" }, { rw = \"write\" }]"
            }
        };
        let DeValue::Array(list) = member.value else { return Err(self.wrong(member, right)) };
        let one = |value: &'t Spanned<DeValue<'t>>| match value.get_ref() {
            DeValue::Table(table) => Ok((self.line(value.span().start), table)),
            _ => Err(self.wrong(member, right)),
        };
        list.iter().map(one).collect()
    }

    /// Parses `seconds`, `ramp` or `limit`.
    pub(super) fn time_or_limit(
        &self,
        member: &Member<'_>,
        block: &mut Block,
    ) -> Result<(), SuiteFileError> {
        if member.name == "limit" {
            block.limits = self.limits(member)?;
            return Ok(());
        }
        let text = self.value(member)?;
        if member.name == "ramp" && text.ends_with('%') {
            let percent = parse_percent(&text).map_err(|error| self.wrong(member, error))?;
            block.ramp_share = Some(percent / 100.0);
            return Ok(());
        }
        let time = parse_duration_ns(&text);
        let time_ns = time.map_err(|error| self.wrong(member, error))?;
        if member.name == "ramp" {
            block.ramp_ns = Some(time_ns);
        } else if time_ns == 0 {
            return Err(self.wrong(member, "0 measures nothing; hint: use 10"));
        } else {
            block.runtime_ns = Some(time_ns);
        }
        Ok(())
    }

    pub(super) fn limits(&self, member: &Member<'_>) -> Result<Vec<Limit>, SuiteFileError> {
        let read = |text: String| text.parse().map_err(|error| self.wrong(member, error));
        self.values(member)?.into_iter().map(read).collect()
    }

    /// Parses a table.
    pub(super) fn block(
        &self,
        table: &DeTable<'_>,
        line: usize,
        kind: Kind,
    ) -> Result<Block, SuiteFileError> {
        let mut block = Block { line, ..Block::default() };
        if table.len() > MOST_MEMBERS {
            let reason = format!("a table has at most {MOST_MEMBERS} members");
            return Err(SuiteFileError { line, reason });
        }
        for member in self.members(table) {
            match (member.name, kind) {
                ("name", Kind::Step | Kind::Job) => block.name = Some(self.name(&member)?),
                ("key", Kind::Step) => block.key = Some(self.name(&member)?),
                ("seconds" | "ramp" | "limit", Kind::Step) => {
                    self.time_or_limit(&member, &mut block)?;
                }
                ("find", Kind::Step) => block.find = self.limits(&member)?,
                ("jobs", Kind::Step) => {
                    for (line, table) in self.tables(&member)? {
                        block.jobs.push(self.block(table, line, Kind::Job)?);
                    }
                    if block.jobs.is_empty() {
                        return Err(self.wrong(&member, "the list is empty"));
                    }
                }
                _ => block.options.push(self.option(&member, kind)?),
            }
        }
        if kind == Kind::Step && block.name.is_none() {
            let reason = "the step has no name; hint: use name = \"reads\"".to_owned();
            return Err(SuiteFileError { line, reason });
        }
        Ok(block)
    }

    pub(super) fn option(&self, member: &Member<'_>, kind: Kind) -> Result<Listed, SuiteFileError> {
        let elsewhere = match (member.name, kind) {
            (
                "name" | "source" | "require" | "limit" | "closed" | "rate_process" | "budget",
                Kind::Requirement,
            ) => Some("only a requirement can have it; hint: put it in a [[require]]"),
            ("seconds" | "ramp" | "limit", Kind::Defaults) => Some(
                "a table of options cannot have it; hint: put it above the first table, for all steps, or in a [[step]]",
            ),
            ("seconds" | "ramp" | "limit" | "find" | "jobs", _) => {
                Some("only a step can have it; hint: put it in a [[step]]")
            }
            ("name" | "key", _) => Some("only a step can have it; hint: put it in a [[step]]"),
            ("runtime", _) => Some("a suite calls it seconds; hint: use seconds"),
            ("ramp_time" | "ramp-time", _) => Some("a suite calls it ramp; hint: use ramp"),
            ("latency_target" | "latency_percentile", _) => {
                Some("a suite calls it find; hint: use find = \"p99<=5ms\"")
            }
            ("stonewall", _) => Some("steps run one after the other; hint: leave it out"),
            ("unlink", _) => Some("a suite file has no such option; hint: use --rm"),
            ("filename" | "directory", _) => {
                Some("the target is named on the command line; hint: leave it out")
            }
            _ => None,
        };
        if let Some(right) = elsewhere {
            return Err(self.wrong(member, right));
        }
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        if !member.name.starts_with(|c: char| c.is_ascii_lowercase())
            || !member.name.chars().all(is_word)
        {
            return Err(self.wrong(member, "is not an option; hint: use one such as rw"));
        }
        let values = self.values(member)?;
        let is_list = matches!(member.value, DeValue::Array(_)) || values.len() > 1;
        if is_list && kind == Kind::Requirement {
            let reason = "a requirement has one value; hint: use a [[require]] for each";
            return Err(self.wrong(member, reason));
        }
        if is_list && kind == Kind::Job {
            let reason = "a list makes steps of a step; hint: put it in the [[step]] itself";
            return Err(self.wrong(member, reason));
        }
        let name = member.name.replace('-', "_");
        let from = self.reference(member.value).map(|(name, _)| name.to_owned());
        Ok(Listed { name, values, is_list, line: member.line, from })
    }
}

fn in_one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.replace(char::is_control, " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
