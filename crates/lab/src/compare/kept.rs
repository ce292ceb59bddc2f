//! Saved runs compared with each other. They were not measured in turns, so whatever changed between them counts as a
//! difference.

use super::figures::of_turn;
use super::judge::{self, ALPHA, LEAST_RUNS};
use super::report;
use crate::stats::{Spread, welch};
use iogauge_model::caveat::{CaveatCode, Command, FigureFact, Impact};
use iogauge_model::result::{
    COMPARE_FORMAT, CompareDifference, CompareDocument, CompareFindings, CompareVerdict, Compared,
    ComparedFigure, ComparedRuns, Estimate, Figure, Search, StepResult, SuiteOutcome,
};
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, Limit};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A saved run with one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRun {
    /// Its ID.
    pub id: String,
    /// A search, or a step.
    pub outcome: SuiteOutcome,
    /// What its answer leaves in doubt.
    caveats: Vec<Caveat>,
    /// Load, target, machine and version.
    circumstances: BTreeMap<String, String>,
}

/// Runs on one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The runs as typed.
    pub about: String,
    pub runs: Vec<KeptRun>,
}

/// What decides between sides of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeptRule {
    /// The figure that decides.
    pub metric: Figure,
    /// Relative difference up to which sides are equivalent.
    pub margin: f64,
    /// Index of the side with which the others are compared.
    pub baseline: usize,
}

impl KeptRun {
    /// Reads a run from its document. `None` if it has no single answer: a suite, or several steps.
    #[must_use]
    pub fn of(id: &str, document: &Value) -> Option<Self> {
        let format = document.get("format")?.as_str()?;
        let outcome = match format.split('/').next()? {
            "iogauge.find" => {
                let search: Search = Deserialize::deserialize(document).ok()?;
                SuiteOutcome::Search(Box::new(search))
            }
            "iogauge.run" => {
                let steps = document.get("steps")?.as_array()?;
                let [step] = steps.as_slice() else { return None };
                let step: StepResult = Deserialize::deserialize(step).ok()?;
                SuiteOutcome::Step(Box::new(step))
            }
            _ => return None,
        };
        let of = |name: &str| document.get(name).cloned().unwrap_or_default();
        let limits: Vec<Limit> = Deserialize::deserialize(&of("limits")).unwrap_or_default();
        let limits: Vec<String> = limits.iter().map(Limit::to_string).collect();
        let all = json!({
            "kind": if matches!(outcome, SuiteOutcome::Search(_)) { "search" } else { "run" },
            "load": load_of(of("load"), &outcome),
            "limits": limits.join(" and "),
            "target": of("target"),
            "via": of("via"),
            "environment": of("environment"),
        });
        let mut circumstances = BTreeMap::new();
        flatten("", &all, &mut circumstances);
        let mut caveats: Vec<Caveat> = Deserialize::deserialize(&of("caveats")).unwrap_or_default();
        caveats.retain(|caveat| caveat.impact == Impact::Doubt);
        Some(Self { id: id.to_owned(), outcome, caveats, circumstances })
    }

    /// Returns true if I/Os failed in the run.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.caveats.iter().any(|caveat| caveat.code == CaveatCode::IoErrors)
    }
}

/// Returns a workload as it is shown: sizes in words, and no queue depth where it was searched.
fn load_of(mut load: Value, outcome: &SuiteOutcome) -> Value {
    for side in ["read", "write"] {
        let Some(sizes) = load.pointer_mut(&format!("/block/{side}")) else { continue };
        let typed: Result<Vec<(u64, u32)>, _> = Deserialize::deserialize(&*sizes);
        let words = typed.unwrap_or_default().into_iter().map(|(bytes, percent)| match percent {
            100 => Bytes(bytes).to_string(),
            _ => format!("{} {percent} %", Bytes(bytes)),
        });
        *sizes = words.collect::<Vec<_>>().join(", ").into();
    }
    if let (SuiteOutcome::Search(_), Some(load)) = (outcome, load.as_object_mut()) {
        load.remove("iodepth");
    }
    load
}

/// Adds the values within a value, each with its path.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, into);
            }
        }
        Value::Null => {}
        Value::String(text) => drop(into.insert(path.to_owned(), text.clone())),
        other => drop(into.insert(path.to_owned(), other.to_string())),
    }
}

/// Returns in what sides differ. Seeds and what changes while a target is used do not count.
fn differences(sides: &[Side]) -> Vec<CompareDifference> {
    let is_told = |path: &str| {
        let last = path.rsplit('.').next().unwrap_or(path);
        !matches!(last, "seed" | "parts" | "randseed")
    };
    let all = sides.iter().flat_map(|side| &side.runs).flat_map(|run| run.circumstances.keys());
    let paths: BTreeSet<&String> = all.filter(|path| is_told(path)).collect();
    let values = |path: &str, side: &Side| -> String {
        let values = side.runs.iter().map(|run| run.circumstances.get(path));
        let values: BTreeSet<&str> = values.map(|v| v.map_or("none", String::as_str)).collect();
        values.into_iter().collect::<Vec<_>>().join(" / ")
    };
    let difference = |path: &String| {
        let values: Vec<String> = sides.iter().map(|side| values(path, side)).collect();
        let differs = values.iter().any(|value| *value != values[0] || value.contains(" / "));
        differs.then(|| CompareDifference { what: path.clone(), values })
    };
    paths.into_iter().filter_map(difference).collect()
}

/// Returns the first difference of loads, which makes a comparison pointless.
#[must_use]
pub fn unlike(sides: &[Side]) -> Option<CompareDifference> {
    let is_of_load = |difference: &CompareDifference| {
        ["kind", "load", "limits"].iter().any(|name| {
            let rest = difference.what.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    differences(sides).into_iter().find(is_of_load)
}

/// Returns the first run that is on two sides, which a comparison cannot tell from itself.
#[must_use]
pub fn on_two_sides(sides: &[Side]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    let mut ids = sides.iter().flat_map(|side| &side.runs).map(|run| run.id.as_str());
    ids.find(|id| !seen.insert(*id))
}

/// Returns the logarithms of a figure of the runs of a side; `None` if one lacks it.
fn logs(side: &Side, figure: Figure) -> Option<Vec<f64>> {
    side.runs.iter().map(|run| of_turn(&run.outcome, figure).map(f64::ln)).collect()
}

/// Compares sides of runs. With fewer than five runs on a side there is no interval and no verdict.
#[must_use]
pub fn compare(sides: &[Side], rule: KeptRule) -> CompareDocument {
    let names: Vec<String> = ('A'..='Z').take(sides.len()).map(String::from).collect();
    let others = (0..sides.len()).filter(|index| *index != rule.baseline);
    let level = ALPHA / (sides.len().saturating_sub(1)).max(1) as f64;
    let compared = |index: usize| {
        let figures = Figure::ALL.iter().filter_map(|figure| {
            compared_figure(*figure, &sides[rule.baseline], &sides[index], level)
        });
        let figures: Vec<ComparedFigure> = figures.collect();
        let deciding = figures.iter().find(|compared| compared.figure == rule.metric);
        let interval = deciding.map(|compared| compared.ratio).filter(|ratio| ratio.n > 1);
        let verdict = interval.map_or(CompareVerdict::Undecided, |ratio| {
            let log = Estimate { ci95: ratio.ci95.map(f64::ln), ..ratio };
            judge::verdict(rule.metric, rule.margin, &log)
        });
        Compared {
            subject: names[index].clone(),
            verdict,
            figures,
            block_ratios: Vec::new(),
            smallest_difference: None,
            blocks_wanted: None,
        }
    };
    let findings = CompareFindings {
        metric: rule.metric,
        margin: rule.margin,
        baseline: names[rule.baseline].clone(),
        compared: others.map(compared).collect(),
        blocks: 0,
        blocks_left_out: 0,
        blocks_most: 0,
    };
    let fewest = sides.iter().map(|side| side.runs.len()).min().unwrap_or(0);
    let subjects = sides.iter().zip(&names).map(|(side, name)| ComparedRuns {
        name: name.clone(),
        about: side.about.clone(),
        runs: side.runs.iter().map(|run| run.id.clone()).collect(),
    });
    let subjects: Vec<ComparedRuns> = subjects.collect();
    CompareDocument {
        format: COMPARE_FORMAT.to_owned(),
        differences: differences(sides),
        conclusion: report::of_runs(&subjects, &findings, fewest),
        subjects,
        caveats: not_interleaved().into_iter().chain(doubts(sides)).collect(),
    }
}

fn compared_figure(
    figure: Figure,
    baseline: &Side,
    subject: &Side,
    level: f64,
) -> Option<ComparedFigure> {
    let sides = [logs(baseline, figure)?, logs(subject, figure)?];
    let means = [Spread::of(&sides[0])?.mean, Spread::of(&sides[1])?.mean];
    let is_enough = sides.iter().all(|logs| logs.len() >= LEAST_RUNS);
    let interval = welch(&sides[0], &sides[1], level, 1.0).filter(|_| is_enough);
    let ratio = match interval {
        Some(log) => Estimate { mean: log.mean.exp(), ci95: log.ci95.map(f64::exp), n: log.n },
        None => Estimate { n: 1, ..Estimate::exact((means[1] - means[0]).exp()) },
    };
    Some(ComparedFigure { figure, baseline: means[0].exp(), subject: means[1].exp(), ratio })
}

/// Returns what the answers of the runs leave in doubt, a caveat of each kind, with the number of its runs.
fn doubts(sides: &[Side]) -> Vec<Caveat> {
    let runs: Vec<&KeptRun> = sides.iter().flat_map(|side| &side.runs).collect();
    let mut doubts: Vec<(Caveat, BTreeSet<&str>)> = Vec::new();
    for run in &runs {
        for caveat in &run.caveats {
            match doubts.iter_mut().find(|(known, _)| known.code == caveat.code) {
                Some((_, ids)) => drop(ids.insert(&run.id)),
                None => doubts.push((caveat.clone(), BTreeSet::from([run.id.as_str()]))),
            }
        }
    }
    let told = |(caveat, ids): (Caveat, BTreeSet<&str>)| {
        let (count, first) = (ids.len(), ids.first().copied().unwrap_or_default());
        let of = format!("in {count} of {} runs; of {first}: {}", runs.len(), caveat.message);
        Caveat { message: of, ..caveat }
    };
    doubts.into_iter().map(told).collect()
}

fn not_interleaved() -> Vec<Caveat> {
    Command::Compare.caveats([FigureFact::NotInterleaved.into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::made_up;
    use iogauge_model::result::StepPlace;

    fn side(about: &str, rates: &[f64], load: Value) -> Side {
        let run = |(number, rate): (usize, &f64)| {
            let place = StepPlace { key: String::new(), phase: String::new(), round: None };
            let outcome = made_up::step(place, Some((*rate, 100_000)), None).result;
            let mut circumstances = BTreeMap::new();
            flatten("", &json!({ "load": load, "target": { "name": about } }), &mut circumstances);
            KeptRun { id: format!("{about}-{number}"), outcome, caveats: Vec::new(), circumstances }
        };
        Side { about: about.to_owned(), runs: rates.iter().enumerate().map(run).collect() }
    }

    fn verdict(before: &[f64], after: &[f64]) -> CompareVerdict {
        let sides = [side("before", before, json!({})), side("after", after, json!({}))];
        let rule = KeptRule { metric: Figure::LatencyNsMean, margin: 0.05, baseline: 0 };
        let found = CompareFindings::of(&compare(&sides, rule).conclusion.findings).unwrap();
        found.verdict()
    }

    #[test]
    fn few_runs_never_decide() {
        assert_eq!(verdict(&[1000.0], &[5000.0]), CompareVerdict::Undecided);
        assert_eq!(verdict(&[1000.0; 4], &[1000.0; 9]), CompareVerdict::Undecided);
        assert_eq!(verdict(&[1000.0; 5], &[1000.0; 5]), CompareVerdict::Equivalent);
    }

    #[test]
    fn unlike_loads_and_other_differences_are_named() {
        let load = |iodepth: u32, seed: u32| json!({ "iodepth": iodepth, "seed": seed });
        let same = [side("a", &[1.0], load(4, 1)), side("b", &[1.0], load(4, 2))];
        assert_eq!(unlike(&same), None);
        let told = differences(&same);
        assert_eq!((told.len(), told[0].what.as_str()), (1, "target.name"));
        let other = [side("a", &[1.0], load(4, 1)), side("a", &[1.0], load(8, 1))];
        let found = unlike(&other).unwrap();
        assert_eq!(
            (found.what.as_str(), found.values),
            ("load.iodepth", vec!["4".into(), "8".into()])
        );
    }
}
