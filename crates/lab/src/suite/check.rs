//! `iogauge check`: requirements, one after the other, each measured until it is surely met or surely not.
//!
//! A suite, so that several requirements have one table, one verdict and one document, and are kept, resumed and shown
//! again like other steps.

mod words;

use super::kit::{Column, table, words as text};
use super::plan::{SuiteStep, Work};
use super::{Needs, Site, Suite, SuiteError};
use crate::search::CheckPlan;
use crate::session::HostsUsed;
use iogauge_model::Caveat;
use iogauge_model::limit::Bound;
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::result::{
    Cell, CheckBaseline, CheckFindings, CheckResult, CheckVerdict, CheckedRate, CheckedRequirement,
    Conclusion, Estimate, StepPlace, SuiteStepResult, SuiteTable, Table,
};

/// The phase of all steps.
const PHASE: &str = "require";

/// A requirement with its workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// Its name, which no other requirement has.
    pub name: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// Its workload.
    pub load: Load,
    /// The engine from its options; `None` for that of the target.
    pub engine: Option<EngineKind>,
    /// What is required, and how to check it.
    pub plan: CheckPlan,
}

/// Requirements to check.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What they are about, as their file says.
    pub about: Option<String>,
    /// Size of a new test file, or the part of each device to use, in bytes.
    pub size_bytes: Option<u64>,
    /// The requirements, at least one, each with its own name.
    pub requirements: Vec<Requirement>,
    /// The run that the requirement comes from, if it comes from one.
    pub baseline: Option<CheckBaseline>,
}

impl Check {
    fn checked(&self, steps: &[SuiteStepResult]) -> Vec<CheckedRequirement> {
        let check = |name: &str| {
            let step = steps.iter().find(|step| step.place.key == name)?;
            step.check.as_deref().cloned()
        };
        let one = |requirement: &Requirement| CheckedRequirement {
            name: requirement.name.clone(),
            source: requirement.source.clone(),
            check: check(&requirement.name),
        };
        self.requirements.iter().map(one).collect()
    }
}

impl Suite for Check {
    fn needs(&self) -> Needs {
        let loads = || self.requirements.iter().map(|requirement| &requirement.load);
        Needs {
            size_bytes: self.size_bytes,
            writes: loads().any(Load::writes),
            direct: loads().all(|load| load.direct),
            ..Needs::default()
        }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        let step = |requirement: &Requirement| {
            let engine = requirement.engine.unwrap_or(site.engine);
            let load = Load { engine, ..requirement.load.clone() };
            SuiteStep {
                place: StepPlace {
                    key: requirement.name.clone(),
                    phase: PHASE.to_owned(),
                    round: None,
                },
                work: Work::Check { load: Box::new(load), plan: requirement.plan.clone() },
                regions: Vec::new(),
                sums_up: false,
                hosts: HostsUsed::All,
            }
        };
        Ok(self.requirements.iter().map(step).collect())
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let requirements = self.checked(steps);
        let verdict = CheckVerdict::of_all(requirements.iter().map(|requirement| {
            requirement.check.as_ref().map_or(CheckVerdict::Undecided, |check| check.verdict)
        }));
        let title = self.about.clone().unwrap_or_else(|| "Requirements".to_owned());
        let mut sentences = words::verdict(verdict, &requirements);
        sentences.extend(self.baseline.as_ref().map(words::baseline));
        let findings =
            CheckFindings { check: verdict, requirements, baseline: self.baseline.clone() };
        let table = self.table(title, &findings.requirements);
        let conclusion = Conclusion {
            verdict: sentences,
            tables: vec![SuiteTable::Own(table)],
            findings: serde_json::to_value(findings).unwrap_or_default(),
        };
        (conclusion, Vec::new())
    }
}

/// An interval up to more than this times its value tells nothing.
const WIDEST: f64 = 100.0;
/// Number of characters of a name that the table has room for.
const LONGEST_NAME: usize = 28;

/// Returns a name as far as there is room for it.
fn cut(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A row of the table: the rate or a limit of a requirement.
struct Row {
    /// The requirement, in its first row.
    name: String,
    statistic: String,
    required: Cell,
    measured: Cell,
    ends: [Cell; 2],
    verdict: CheckVerdict,
}

impl Check {
    fn table(&self, title: String, requirements: &[CheckedRequirement]) -> Table {
        let rows = requirements.iter().filter_map(|r| Some(rows(&r.name, r.check.as_ref()?)));
        let columns: [Column<'_, Row>; 7] = [
            ("#requirement", &|row| text(cut(&row.name))),
            ("#statistic", &|row| text(row.statistic.clone())),
            ("required", &|row| row.required.clone()),
            ("measured", &|row| row.measured.clone()),
            ("from", &|row| row.ends[0].clone()),
            ("to", &|row| row.ends[1].clone()),
            ("#", &|row| text(row.verdict.word())),
        ];
        let mut table = table(title, rows.flatten(), &columns);
        table.notes.push(
            "From and to are a 95 % confidence interval that holds for all looks at the data."
                .to_owned(),
        );
        let mut checks = requirements.iter().filter_map(|requirement| requirement.check.as_ref());
        if checks.any(CheckResult::has_maximum) {
            table.notes.push(
                "A maximum is that of the time that was watched; a longer I/O may come later."
                    .to_owned(),
            );
        }
        for requirement in requirements {
            if let Some(source) = &requirement.source {
                table.notes.push(format!("{}: {source}", requirement.name));
            }
        }
        table
    }
}

fn rows(name: &str, check: &CheckResult) -> Vec<Row> {
    let rate = &check.rate;
    let ends = |estimate: &Estimate, cell: fn(f64) -> Cell| {
        let is_telling = estimate.n > 1 && estimate.ci95[1] < WIDEST * estimate.mean;
        estimate.ci95.map(|end| if is_telling { cell(end) } else { Cell::Empty })
    };
    let percent = |share: f64| Cell::Percent(share * 100.0);
    let (statistic, required, measured, ends) = match &rate.served {
        None => {
            let iops = Cell::Iops(rate.iops.mean);
            ("IOPS", Cell::Iops(rate.required_iops), iops, ends(&rate.iops, Cell::Iops))
        }
        Some(served) => {
            let required = text(format!(">= {:.1} %", CheckedRate::SERVED * 100.0));
            ("arrivals served", required, percent(served.mean), ends(served, percent))
        }
    };
    let (name, statistic) = (name.to_owned(), statistic.to_owned());
    let first = Row { name, statistic, required, measured, ends, verdict: rate.verdict };
    let limits = check.limits.iter().map(|limit| {
        let value = &limit.value;
        let end = |end: usize| value.ci95_ns.map_or(Cell::Empty, |ends| Cell::LatencyNs(ends[end]));
        Row {
            name: String::new(),
            statistic: value.limit.statistic(),
            required: text(format!("<= {}", Bound(value.limit.bound_ns))),
            measured: value.value_ns.map_or(Cell::Empty, Cell::LatencyNs),
            ends: [end(0), end(1)],
            verdict: limit.verdict,
        }
    });
    std::iter::once(first).chain(limits).collect()
}
