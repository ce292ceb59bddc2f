//! Files of requirements, for `iogauge check`: an acceptance test.

use super::block::{Kind, Listed, Member, Reader};
use super::unfold::{over, renamed};
use super::{FileJob, FileStep, OptionValues, SuiteFileError};
use crate::limit::Limit;
use crate::load::ArrivalProcess;
use crate::required_rate::RequiredRate;
use crate::units::{parse_duration_ns, parse_size_bytes};
use toml::de::{DeTable, DeValue};

/// Maximum number of requirements of a file.
const MOST: usize = 1000;

/// A file of requirements.
#[derive(Debug, Clone, PartialEq)]
pub struct RequirementFile {
    /// What the requirements are about, in one line.
    pub about: Option<String>,
    /// Size of a new test file, or the part of each device to use, in bytes.
    pub size_bytes: Option<u64>,
    /// The requirements, at least one, each with its own name.
    pub requirements: Vec<FileRequirement>,
}

/// A requirement of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRequirement {
    /// Its workload and limits, as a step with one job.
    pub step: FileStep,
    /// Where it comes from.
    pub source: Option<String>,
    /// The rate to be served.
    pub require: RequiredRate,
    /// True to keep a fixed queue depth instead of offering the rate.
    pub closed: bool,
    /// How arrivals are spaced; `None` if the file does not say it.
    pub rate_process: Option<ArrivalProcess>,
    /// Maximum time to measure, in nanoseconds; `None` if neither the requirement nor the file says it.
    pub budget_ns: Option<u64>,
}

impl RequirementFile {
    /// Parses a file.
    ///
    /// # Errors
    /// The first error: invalid TOML, an unknown member, a value of the wrong type, or two requirements with the same
    /// name. Workload options are not checked.
    pub fn parse(text: &str) -> Result<Self, SuiteFileError> {
        let values = OptionValues::new();
        let reader = Reader::new(text, &values);
        let root = reader.document()?;
        let mut file = Self { about: None, size_bytes: None, requirements: Vec::new() };
        let (mut budget_ns, mut defaults, mut tables) = (None, Vec::new(), Vec::new());
        for member in reader.members(&root) {
            match member.name {
                "about" => file.about = Some(reader.words(&member)?),
                "size" => {
                    let size = parse_size_bytes(&reader.value(&member)?);
                    let size = size.map_err(|error| reader.wrong(&member, error))?;
                    if size == 0 {
                        return Err(reader.wrong(&member, "0 is too little; hint: use \"1g\""));
                    }
                    file.size_bytes = Some(size);
                }
                "budget" => budget_ns = Some(budget(&reader, &member)?),
                "defaults" => {
                    let table = reader.table(&member, member.name)?;
                    defaults = reader.block(table, member.line, Kind::Requirement)?.options;
                }
                "require" => tables = reader.tables(&member)?,
                "step" => {
                    let reason = "is of a suite; hint: run iogauge suite FILE TARGET";
                    return Err(reader.wrong(&member, reason));
                }
                _ => {
                    let reason = "is not one of about, size, budget, [defaults] and [[require]]; hint: use options \
                                  under [defaults] or [[require]]";
                    return Err(reader.wrong(&member, reason));
                }
            }
        }
        if let Some(list) = defaults.iter().find(|option| option.is_list) {
            let reason = format!("{}: a requirement has one value; hint: use one value", list.name);
            return Err(SuiteFileError { line: list.line, reason });
        }
        for (line, table) in tables {
            let mut requirement = requirement(&reader, table, line, &defaults)?;
            requirement.budget_ns = requirement.budget_ns.or(budget_ns);
            file.add(requirement)?;
        }
        if file.requirements.is_empty() {
            let reason = "the file requires nothing; hint: use [[require]], with a name, options and require";
            return Err(SuiteFileError { line: 1, reason: reason.to_owned() });
        }
        Ok(file)
    }

    fn add(&mut self, requirement: FileRequirement) -> Result<(), SuiteFileError> {
        let FileStep { line, name, .. } = &requirement.step;
        let wrong = |reason| Err(SuiteFileError { line: *line, reason });
        if let Some(known) = self.requirements.iter().find(|known| known.step.name == *name) {
            let of = known.step.line;
            return wrong(format!("the requirement of line {of} already has the name \"{name}\""));
        }
        if self.requirements.len() == MOST {
            return wrong(format!("the file has more than {MOST} requirements"));
        }
        self.requirements.push(requirement);
        Ok(())
    }
}

fn budget(reader: &Reader<'_>, member: &Member<'_>) -> Result<u64, SuiteFileError> {
    let time = parse_duration_ns(&reader.value(member)?);
    let time = time.map_err(|error| reader.wrong(member, error))?;
    if time < 1_000_000_000 {
        return Err(reader.wrong(member, "is too short to check in; hint: use 1 or more seconds"));
    }
    Ok(time)
}

fn requirement(
    reader: &Reader<'_>,
    table: &DeTable<'_>,
    line: usize,
    defaults: &[Listed],
) -> Result<FileRequirement, SuiteFileError> {
    let (mut name, mut source, mut require, mut rate_process) = (None, None, None, None);
    let (mut closed, mut budget_ns) = (false, None);
    let (mut limits, mut options): (Vec<Limit>, Vec<Listed>) = (Vec::new(), Vec::new());
    for member in reader.members(table) {
        match member.name {
            "name" => name = Some(reader.name(&member)?),
            "source" => source = Some(reader.words(&member)?),
            "require" if matches!(member.value, DeValue::Boolean(_)) => {
                let reason = "must be a rate; hint: use \"20k\" for IOPS, or \"500MB/s\"";
                return Err(reader.wrong(&member, reason));
            }
            "require" => {
                let rate = reader.value(&member)?.parse::<RequiredRate>();
                require = Some(rate.map_err(|error| reader.wrong(&member, error))?);
            }
            "limit" => limits = reader.limits(&member)?,
            "closed" => {
                closed = match reader.value(&member)?.as_str() {
                    "1" => true,
                    "0" => false,
                    _ => return Err(reader.wrong(&member, "must be true or false")),
                }
            }
            "rate_process" => {
                let process = reader.value(&member)?.parse::<ArrivalProcess>();
                rate_process = Some(process.map_err(|error| reader.wrong(&member, error.reason))?);
            }
            "budget" => budget_ns = Some(budget(reader, &member)?),
            "seconds" | "runtime" => {
                return Err(reader.wrong(&member, "a check calls it budget; hint: use budget"));
            }
            "rate" | "rate_iops" => {
                return Err(reader.wrong(&member, "a check calls it require; hint: use require"));
            }
            "key" | "ramp" | "find" | "jobs" => {
                return Err(reader.wrong(&member, "only a suite can have it; hint: leave it out"));
            }
            _ => options.push(reader.option(&member, Kind::Requirement)?),
        }
    }
    let fail = |reason: &str| SuiteFileError { line, reason: reason.to_owned() };
    let name = name.ok_or_else(|| fail("the requirement has no name; hint: use name = \"log\""))?;
    let require = require.ok_or_else(|| {
        fail("the requirement has no rate; hint: use require = \"500\" or require = \"500MB/s\"")
    })?;
    let options: Vec<_> = over(defaults, &options)
        .iter()
        .filter_map(|option| Some(option.with(option.values.first()?)))
        .collect();
    if let Some(depth) = options.iter().find(|option| option.name == "iodepth").filter(|_| !closed)
    {
        let reason =
            "iodepth: has no effect, because the arrivals decide; hint: use closed = true, too";
        return Err(SuiteFileError { line: depth.line, reason: reason.to_owned() });
    }
    if closed && rate_process.is_some() {
        return Err(fail("rate_process: a closed loop has no arrivals; hint: leave it out"));
    }
    let step = FileStep {
        line,
        key: name.clone(),
        name,
        jobs: vec![FileJob { name: None, options: renamed(options) }],
        runtime_ns: None,
        ramp_ns: None,
        limits,
        has_own_limits: true,
        find: Vec::new(),
    };
    Ok(FileRequirement { step, source, require, closed, rate_process, budget_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "\
about = \"a log\"
size = \"64m\"
budget = 30
[defaults]
rw = \"write\"
bs = \"8k\"

[[require]]
name = \"log\"
source = \"https://example.com/log\"
fdatasync = 1
closed = true
require = 500
limit = [\"sync:p99<=10ms\", \"mean<=5ms\"]

[[require]]
name = \"scan\"
rw = \"read\"
bs = \"1m\"
require = \"500MB/s\"
rate_process = \"linear\"
budget = \"2m\"
";

    #[test]
    fn requirements_have_their_options_and_defaults() {
        let file = RequirementFile::parse(FILE).unwrap();
        assert_eq!((file.about.as_deref(), file.size_bytes), (Some("a log"), Some(64 << 20)));
        let [log, scan] = &file.requirements[..] else { panic!("{file:?}") };
        assert_eq!((log.step.name.as_str(), log.step.line), ("log", 8));
        assert_eq!(log.source.as_deref(), Some("https://example.com/log"));
        assert_eq!((log.require, log.closed), (RequiredRate::Iops(500.0), true));
        assert_eq!(log.step.limits.len(), 2);
        assert_eq!((log.budget_ns, scan.budget_ns), (Some(30_000_000_000), Some(120_000_000_000)));
        assert_eq!(scan.rate_process, Some(ArrivalProcess::Linear));
        assert_eq!(scan.require, RequiredRate::BytesPerSec(500e6));
        let options = |of: &FileRequirement| -> Vec<String> {
            let options = of.step.jobs[0].options.iter();
            options.map(|option| format!("{}={}", option.name, option.value)).collect()
        };
        assert_eq!(options(log), ["rw=write", "bs=8k", "fdatasync=1"]);
        assert_eq!(options(scan), ["rw=read", "bs=1m"]);
    }

    #[test]
    fn mistakes_name_their_line() {
        let with = |line: &str| format!("[[require]]\nname = \"a\"\nrequire = 5\n{line}\n");
        for (text, line, word) in [
            ("requirement = 5\n".to_owned(), 1, "is not one of"),
            ("about = \"x\"\n".to_owned(), 1, "requires nothing"),
            ("[[require]]\nrequire = 5\n".to_owned(), 1, "has no name"),
            ("\n[[require]]\nname = \"a\"\n".to_owned(), 2, "has no rate"),
            ("[[require]]\nname = \"a\"\nrequire = 0\n".to_owned(), 3, "requires nothing"),
            ("[[require]]\nname = \"a\"\nrequire = \"fast\"\n".to_owned(), 3, "is not a rate"),
            (with("closed = \"maybe\""), 4, "true or false"),
            (with("iodepth = 4"), 4, "closed = true"),
            (with("limit = \"p99\""), 4, "has no \"<=\""),
            (with("bs = [\"4k\", \"8k\"]"), 4, "a [[require]] for each"),
            (with("seconds = 5"), 4, "use budget"),
            (with("rate_iops = 5"), 4, "use require"),
            (with("find = \"p99<=5ms\""), 4, "only a suite"),
            (with("rate_process = \"none\""), 4, "linear, poisson"),
            (with("budget = \"1ms\""), 4, "too short"),
            (with("[[require]]\nname = \"a\"\nrequire = 5"), 4, "already has the name"),
            (
                "[defaults]\nbs = [1, 2]\n[[require]]\nname = \"a\"\nrequire = 5\n".to_owned(),
                2,
                "one value",
            ),
            ("a = [\n".to_owned(), 1, ""),
        ] {
            let error = RequirementFile::parse(&text).expect_err(&text);
            assert!(error.reason.contains(word), "{text}: {error}");
            assert!(error.line == line || word.is_empty(), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[a-z\\[\\]{}=\"0-9\n.,]{0,120}") {
            let _ = RequirementFile::parse(&text);
        }
    }
}
