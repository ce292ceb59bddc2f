//! `snia-saturation`: random writes to a purged device until four times its capacity is written.

use super::super::kit::{latency_if_any, p99999, table, whole, words};
use super::super::{CaveatFilter, Needs, Site, Suite, SuiteError, SuiteOptions, SuiteStep};
use super::conformance::Conformance;
use super::rounds::report::{of_settings, outstanding};
use super::settings::Settings;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::result::{Cell, Conclusion, SuiteStepResult, SuiteTable, Table};
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, CaveatCode, Step};
use serde::Serialize;
use serde_json::json;

const BLOCK_BYTES: u64 = 4096;
/// Number of one-minute rounds in 24 hours.
const MOST_ROUNDS: u32 = 24 * 60;
/// How many times the capacity is written.
const PASSES: u64 = 4;
/// The result is the mean of this many rounds at the end.
const LAST_ROUNDS: usize = 5;
/// If the last IOPS are at least this share of the first, they count as not fallen.
const AS_FAST: f64 = 0.9;
/// Maximum number of table rows. If there are more rounds, a row combines several.
const MOST_ROWS: usize = 20;

#[derive(Debug)]
struct Saturation(Settings);

pub fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    Ok(Box::new(Saturation(Settings::read(options)?)))
}

impl Suite for Saturation {
    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        if !site.takes(BLOCK_BYTES) {
            let smallest = Bytes(u64::from(site.block_bytes));
            let reason =
                format!("the target accepts multiples of {smallest}, and the test writes 4 KiB");
            return Err(SuiteError::Unfit { suite: "snia-saturation".to_owned(), reason });
        }
        let round = |round: u32| {
            let load = Load {
                rw: Pattern::RandWrite,
                block: BlockSizes::fixed(BLOCK_BYTES),
                iodepth: self.0.iodepth,
                numjobs: self.0.threads,
                // Each round draws its own offsets.
                seed: u64::from(round),
                ..site.load()
            };
            let step = Step::single(load, 0, self.0.minute_ns());
            SuiteStep::single("rounds", format!("round {round}"), step).in_round(round)
        };
        Ok((1..=MOST_ROUNDS).map(round).collect())
    }

    fn wants(&self, site: &Site, _: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        written_bytes(done) < PASSES * site.size_bytes()
    }

    fn caveat_filter<'a>(&'a self, _: &'a Site, _: &'a [SuiteStepResult]) -> CaveatFilter<'a> {
        // The test measures the fall itself.
        Box::new(|caveat, _| {
            !matches!(caveat.code, CaveatCode::NotSteady | CaveatCode::PerformanceShift)
        })
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let rounds = Round::of(steps);
        let course = SaturationCurve::of(&rounds);
        let mut conformance = Conformance::of(&self.0, site, steps);
        let written_bytes = rounds.last().map_or(0, |round| round.written_bytes);
        if written_bytes < PASSES * site.size_bytes() && rounds.len() < MOST_ROUNDS as usize {
            conformance.because(format!(
                "it ended before four times the capacity was written, after {}",
                Bytes(written_bytes)
            ));
        }
        let mut verdict = match &course {
            Some(course) => course.sentences(site),
            None => vec!["Nothing was measured: no round was finished.".to_owned()],
        };
        verdict.push(conformance.sentence());
        let conclusion = Conclusion {
            verdict,
            tables: vec![SuiteTable::Own(self.table(site, &rounds))],
            findings: json!({
                "conforms": conformance.reasons.is_empty(),
                "reasons": conformance.reasons,
                "settings": of_settings(&self.0),
                "capacity_bytes": site.size_bytes(),
                "written_bytes": written_bytes,
                "iops_first": course.as_ref().map(|c| c.first_iops),
                "iops_last": course.as_ref().map(|c| c.last_iops),
                "falls_at_bytes": course.as_ref().and_then(|c| c.falls_at_bytes),
                "rounds": rounds,
            }),
        };
        (conclusion, Vec::new())
    }
}

impl Saturation {
    /// Returns the table of the rounds. If there are many, a row combines several.
    fn table(&self, site: &Site, rounds: &[Round]) -> Table {
        let together = rounds.len().div_ceil(MOST_ROWS).max(1);
        let mean = |rounds: &[Round], figure: fn(&Round) -> f64| {
            rounds.iter().map(figure).sum::<f64>() / rounds.len() as f64
        };
        let written = |rounds: &[Round]| rounds[rounds.len() - 1].written_bytes;
        let mut table = table(
            "Random 4 KiB writes",
            rounds.chunks(together),
            &[
                ("#rounds", &|rounds| {
                    words(match (rounds[0].number, rounds[rounds.len() - 1].number) {
                        (a, b) if a == b => a.to_string(),
                        (a, b) => format!("{a}–{b}"),
                    })
                }),
                ("written", &|rounds| Cell::SizeBytes(written(rounds))),
                ("of capacity", &|rounds| Cell::Ratio(of_capacity(written(rounds), site))),
                ("IOPS", &|rounds| Cell::Iops(mean(rounds, |round| round.iops))),
                ("mean", &|rounds| Cell::LatencyNs(mean(rounds, |round| round.latency_ns_mean))),
                ("99.999 %", &|rounds| {
                    let largest = rounds.iter().map(|round| round.latency_ns_p99999).max();
                    latency_if_any(largest.flatten().map(|ns| ns as f64))
                }),
                ("longest", &|rounds| {
                    let longest = rounds.iter().map(|round| round.latency_ns_max).max();
                    Cell::LatencyNs(longest.unwrap_or(0) as f64)
                }),
            ],
        );
        table.notes.push(format!("Written so far at the end; {}.", outstanding(&self.0)));
        if together > 1 {
            table.notes.push(format!(
                "Each row has {together} rounds: means of their IOPS and latencies, the largest of \
                 their percentiles."
            ));
        }
        table
    }
}

fn of_capacity(bytes: u64, site: &Site) -> f64 {
    bytes as f64 / site.size_bytes().max(1) as f64
}

fn written_bytes(steps: &[SuiteStepResult]) -> u64 {
    let writes = steps.iter().filter_map(|step| step.step()?.write.as_ref());
    writes.map(|write| write.bytes).sum()
}

/// One round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Round {
    #[serde(skip)]
    number: u32,
    /// Bytes written from the first round to the end of this one.
    written_bytes: u64,
    iops: f64,
    latency_ns_mean: f64,
    /// `None` for fewer than 100 000 I/Os.
    latency_ns_p99999: Option<u64>,
    latency_ns_max: u64,
}

impl Round {
    /// Returns the complete rounds, in order. A round without I/Os has 0 IOPS.
    fn of(steps: &[SuiteStepResult]) -> Vec<Self> {
        let mut written_bytes = 0;
        let whole = steps.iter().filter(|step| !step.interrupted);
        let one = |step: &SuiteStepResult| {
            let (number, result) = (step.place.round?, step.step()?);
            let figures = result.total();
            written_bytes += result.write.as_ref().map_or(0, |write| write.bytes);
            Some(Self {
                number,
                written_bytes,
                iops: figures.map_or(0.0, |f| f.iops),
                latency_ns_mean: figures.map_or(0.0, |f| f.mean_ns),
                latency_ns_p99999: p99999(&result.service_histogram()),
                latency_ns_max: figures.map_or(0, |f| f.max_ns),
            })
        };
        whole.filter_map(one).collect()
    }
}

/// How the IOPS of the writes fell.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SaturationCurve {
    /// IOPS of the first round.
    first_iops: f64,
    /// Mean IOPS of the last rounds.
    last_iops: f64,
    /// Bytes written before the IOPS fell permanently below the midpoint of first and last; `None`
    /// if they did not fall.
    falls_at_bytes: Option<u64>,
    written_bytes: u64,
    rounds: usize,
}

impl SaturationCurve {
    /// Returns `None` if there are no rounds.
    fn of(rounds: &[Round]) -> Option<Self> {
        let (first, last) = (rounds.first()?, rounds.last()?);
        let tail = &rounds[rounds.len().saturating_sub(LAST_ROUNDS)..];
        let last_iops = tail.iter().map(|round| round.iops).sum::<f64>() / tail.len() as f64;
        let half_way = (first.iops + last_iops) / 2.0;
        let slow = rounds.iter().rev().take_while(|round| round.iops < half_way).count();
        let before = rounds[..rounds.len() - slow].last();
        let falls = last_iops < AS_FAST * first.iops && slow > 0;
        Some(Self {
            first_iops: first.iops,
            last_iops,
            falls_at_bytes: before.filter(|_| falls).map(|round| round.written_bytes),
            written_bytes: last.written_bytes,
            rounds: rounds.len(),
        })
    }

    fn sentences(&self, site: &Site) -> Vec<String> {
        let (first, last) = (whole(self.first_iops), whole(self.last_iops));
        let fall = match self.falls_at_bytes {
            Some(bytes) => format!(
                "Random 4 KiB writes fall from {first} IOPS to {last} once {} are written, {:.2} \
                 times the capacity.",
                Bytes(bytes),
                of_capacity(bytes, site)
            ),
            None if self.rounds == 1 => {
                format!("Random 4 KiB writes run at {first} IOPS; one round shows no trend.")
            }
            None => format!(
                "Random 4 KiB writes do not fall: they begin at {first} IOPS and end at {last}."
            ),
        };
        let (bytes, times) = (Bytes(self.written_bytes), of_capacity(self.written_bytes, site));
        vec![fall, format!("{bytes} were written in all, {times:.2} times the capacity.")]
    }
}
