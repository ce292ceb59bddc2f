//! Tables and verdict of the rounds.

use iogauge_model::result::{
    Cell, Conclusion, DirectionResult, StepPlace, StepResult, SuiteStepResult, SuiteTable, Table,
    VerifyFinding,
};
use iogauge_model::units::{Bytes, Count};
use serde_json::{Value, json};

/// Number of wrong blocks that the verdict names.
const MOST_NAMED: usize = 3;
const CHECK: &str = "check ";

/// The work of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Writes a round.
    Write(u32),
    /// Reads a round back.
    Read(u32),
    /// Checks, after an interruption, that each block belongs to a round or to the next one.
    Check {
        /// Number of the check, from 1.
        number: u32,
        /// The last round that was acknowledged.
        round: u32,
    },
}

impl Stage {
    pub(super) fn key(self) -> String {
        match self {
            Self::Write(round) => format!("write {round}"),
            Self::Read(round) => format!("read {round}"),
            Self::Check { number, .. } => format!("{CHECK}{number}"),
        }
    }

    pub(super) fn place(self) -> StepPlace {
        StepPlace { key: self.key(), phase: self.phase().to_owned(), round: Some(self.round()) }
    }

    pub(super) fn is_check(key: &str) -> bool {
        key.starts_with(CHECK)
    }

    pub(super) fn phase(self) -> &'static str {
        match self {
            Self::Write(_) => "write",
            Self::Read(_) => "read",
            Self::Check { .. } => "after an interruption",
        }
    }

    pub(super) fn round(self) -> u32 {
        match self {
            Self::Write(round) | Self::Read(round) | Self::Check { round, .. } => round,
        }
    }
}

/// The rounds so far.
#[derive(Debug)]
pub(super) struct RoundsDone<'a> {
    /// Blocks of the target.
    pub blocks: u64,
    pub block_bytes: u64,
    /// Requested rounds.
    pub rounds: u32,
    pub steps: &'a [SuiteStepResult],
}

impl RoundsDone<'_> {
    pub(super) fn conclusion(&self) -> Conclusion {
        let mut tables = vec![SuiteTable::Own(self.table())];
        tables.extend(self.wrong_blocks().map(SuiteTable::Own));
        Conclusion { verdict: self.verdict(), tables, findings: self.findings() }
    }

    fn measured(&self) -> impl Iterator<Item = (&SuiteStepResult, &StepResult)> {
        self.steps.iter().filter_map(|step| Some((step, step.step()?)))
    }

    fn is_whole(&self, key: &str) -> bool {
        self.measured().any(|(step, result)| {
            step.place.key == key && !step.interrupted && result.errors() == 0
        })
    }

    /// Returns the number of rounds that were read back completely.
    fn rounds_read(&self) -> u32 {
        (1..=self.rounds).filter(|round| self.is_whole(&Stage::Read(*round).key())).count() as u32
    }

    fn corrupted(&self) -> u64 {
        self.measured().map(|(_, result)| result.corrupted()).sum()
    }

    /// Returns the wrong blocks that were saved, with the step that found them.
    fn found(&self) -> impl Iterator<Item = (&SuiteStepResult, &VerifyFinding)> {
        self.measured().flat_map(|(step, result)| {
            result.verify.iter().flat_map(|verify| &verify.findings).map(move |found| (step, found))
        })
    }

    fn verdict(&self) -> Vec<String> {
        let mut sentences = vec![self.first_sentence()];
        for (_, found) in self.found().take(MOST_NAMED) {
            sentences.push(format!("{}.", named(found)));
        }
        let more = self.corrupted().saturating_sub(MOST_NAMED as u64);
        if more > 0 {
            sentences.push(format!("And {} more.", Count(more as f64)));
        }
        sentences.extend(self.failures());
        sentences.extend(self.checks());
        if self.corrupted() > 0 {
            let text = "Nothing was written after that, so you can inspect the blocks.";
            sentences.push(text.to_owned());
        }
        sentences
    }

    fn first_sentence(&self) -> String {
        let blocks = Count(self.blocks as f64);
        let corrupted = self.corrupted();
        if corrupted > 0 {
            let when = self.measured().find(|(_, result)| result.corrupted() > 0);
            let when = when.map_or_else(String::new, |(step, _)| told(step));
            let are = if corrupted == 1 { "is" } else { "are" };
            return format!(
                "{} of {blocks} blocks {are} not as written, found {when}.",
                Count(corrupted as f64)
            );
        }
        match self.rounds_read() {
            0 => "No round was written and read back: nothing is known yet.".to_owned(),
            done if done < self.rounds => format!(
                "{blocks} blocks in {done} of {} rounds written and read back: every one as it was \
                 written so far.",
                self.rounds
            ),
            1 => format!("{blocks} blocks written and read back: every one as it was written."),
            done => format!(
                "{blocks} blocks written {done} times and read back: every one as it was written."
            ),
        }
    }

    /// Describes failed I/Os, which end the suite because the state of their blocks is unknown.
    fn failures(&self) -> Option<String> {
        let (step, result) = self.measured().find(|(_, result)| result.errors() > 0)?;
        let errors = result.errors();
        let ios = if errors == 1 { "1 I/O".to_owned() } else { format!("{errors} I/Os") };
        Some(format!("{ios} failed {}, which ended the suite.", told(step)))
    }

    /// Describes the result of the last check after an interruption.
    fn checks(&self) -> Option<String> {
        let is_check =
            |step: &SuiteStepResult| Stage::is_check(&step.place.key) && !step.interrupted;
        let (step, result) = self.measured().filter(|(step, _)| is_check(step)).last()?;
        let round = step.place.round?;
        if result.corrupted() > 0 || result.errors() > 0 {
            return None;
        }
        Some(format!(
            "After the interruption every block was there as it was acknowledged: of round {round}, \
             which had been flushed, or whole of the one behind it."
        ))
    }

    fn table(&self) -> Table {
        let title = format!("Rounds over {}", Bytes(self.blocks * self.block_bytes));
        let headings = ["#step", "bytes", "bandwidth", "IOPS", "blocks checked", "wrong"];
        let mut table = Table::new(title, &headings);
        for (step, result) in self.measured() {
            let moved: Vec<&DirectionResult> = result.read.iter().chain(&result.write).collect();
            let verify = result.verify.as_ref();
            let is_write = step.place.phase == Stage::Write(0).phase();
            let checked = |count: u64| if is_write { Cell::Empty } else { Cell::Count(count) };
            let cut = if step.interrupted { " (interrupted)" } else { "" };
            table.row([
                Cell::Text(format!("{}{cut}", told_short(step))),
                Cell::SizeBytes(moved.iter().map(|d| d.bytes).sum()),
                Cell::BytesPerSec(moved.iter().map(|d| d.bytes_per_sec).sum()),
                Cell::Iops(moved.iter().map(|d| d.iops.mean).sum()),
                checked(verify.map_or(0, |verify| verify.units)),
                checked(verify.map_or(0, |verify| verify.corrupted)),
            ]);
        }
        table
    }

    fn wrong_blocks(&self) -> Option<Table> {
        let mut table = Table::new(
            "Blocks that are not as they were written",
            &["#file or device", "offset", "bytes", "#what is wrong"],
        );
        for (_, found) in self.found() {
            table.row([
                Cell::Text(found.place()),
                Cell::Text(found.offset_bytes.to_string()),
                Cell::Text(found.length_bytes.to_string()),
                Cell::Text(found.reason.to_string()),
            ]);
        }
        let (shown, all) = (table.rows.len() as u64, self.corrupted());
        if all > shown {
            table.notes.push(format!("The first {shown} of {}.", Count(all as f64)));
        }
        (shown > 0).then_some(table)
    }

    fn findings(&self) -> Value {
        let wrong: Vec<Value> = self
            .found()
            .map(|(step, found)| json!({ "step": step.place.key, "block": found }))
            .collect();
        let checks = self.steps.iter().filter(|step| Stage::is_check(&step.place.key));
        json!({
            "blocks": self.blocks,
            "block_bytes": self.block_bytes,
            "rounds_read_back": self.rounds_read(),
            "checks_after_interruption": checks.count(),
            "corrupted": self.corrupted(),
            "wrong": wrong,
        })
    }
}

/// Example: `/dev/sdb, offset 4096: corrupt: bit 3 of byte 17 is flipped`.
fn named(found: &VerifyFinding) -> String {
    format!("{}, offset {}: {}", found.place(), found.offset_bytes, found.reason)
}

/// Example: `when round 2 was read back`.
fn told(step: &SuiteStepResult) -> String {
    let round = step.place.round.unwrap_or_default();
    match step.place.phase.as_str() {
        "write" => format!("when round {round} was written"),
        "read" => format!("when round {round} was read back"),
        _ => "after the interruption".to_owned(),
    }
}

fn told_short(step: &SuiteStepResult) -> String {
    let round = step.place.round.unwrap_or_default();
    match step.place.phase.as_str() {
        "write" => format!("round {round} written"),
        "read" => format!("round {round} read back"),
        phase => format!("round {round} {phase}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::made_up;
    use iogauge_model::result::{FioResult, VerifyEnd, VerifyFault, VerifyResult};

    fn step(stage: Stage, corrupted: u64) -> SuiteStepResult {
        let mut result = FioResult::default().to_step();
        let findings = (0..corrupted.min(16)).map(|block| VerifyFinding {
            host: None,
            path: "/t".to_owned(),
            offset_bytes: block * 4096,
            length_bytes: 4096,
            reason: VerifyFault::Stale { sequence: 1, expected_sequence: 2 },
        });
        result.verify = Some(VerifyResult {
            algorithm: "crc32c".to_owned(),
            units: 1000,
            bytes: 4_096_000,
            unjudged: 0,
            unwritten: 0,
            jobs: Vec::new(),
            corrupted,
            seconds: 0.0,
            read: None,
            end: VerifyEnd::Complete,
            findings: findings.collect(),
        });
        made_up::measured(stage.place(), result)
    }

    fn conclusion(steps: &[SuiteStepResult]) -> Conclusion {
        RoundsDone { blocks: 1000, block_bytes: 4096, rounds: 2, steps }.conclusion()
    }

    #[test]
    fn intact_blocks_are_reported_as_verified() {
        let whole: Vec<_> = [1, 2]
            .into_iter()
            .flat_map(|round| [step(Stage::Write(round), 0), step(Stage::Read(round), 0)])
            .collect();
        let two = "1,000 blocks written 2 times and read back: every one as it was written.";
        assert_eq!(conclusion(&whole).verdict, [two]);
        let one = conclusion(&whole[..3]).verdict;
        let begin = "1,000 blocks in 1 of 2 rounds written and read back: every one";
        assert!(one[0].starts_with(begin), "{one:?}");
        let none = conclusion(&whole[..1]);
        assert!(none.verdict[0].starts_with("No round"), "{none:?}");
        assert_eq!(none.findings["rounds_read_back"], 0);
        assert_eq!(none.tables.len(), 1);
    }

    #[test]
    fn corrupt_blocks_are_reported_with_detecting_step() {
        let steps = [step(Stage::Write(1), 0), step(Stage::Read(1), 20)];
        let Conclusion { verdict, tables, findings } = conclusion(&steps);
        let first = "20 of 1,000 blocks are not as written, found when round 1 was read back.";
        assert_eq!(verdict[0], first);
        let stale = "/t, offset 4096: stale: holds write 1, and write 2 was acknowledged.";
        assert_eq!(verdict[2], stale);
        assert_eq!(verdict[4], "And 17 more.");
        let SuiteTable::Own(wrong) = &tables[1] else { panic!("no table") };
        assert_eq!((wrong.rows.len(), wrong.notes.len()), (16, 1));
        assert_eq!(findings["wrong"][0]["step"], "read 1");
    }

    #[test]
    fn check_after_interruption_is_reported() {
        let check = Stage::Check { number: 1, round: 1 };
        assert!(Stage::is_check(&check.key()) && !Stage::is_check(&Stage::Read(1).key()));
        let right = [step(Stage::Write(1), 0), step(Stage::Read(1), 0), step(check, 0)];
        let verdict = conclusion(&right).verdict;
        assert!(verdict[1].starts_with("After the interruption every block"), "{verdict:?}");
        let wrong = [step(Stage::Write(1), 0), step(Stage::Read(1), 0), step(check, 1)];
        let verdict = conclusion(&wrong).verdict;
        let first = "1 of 1,000 blocks is not as written, found after the interruption.";
        assert_eq!(verdict[0], first);
        assert!(verdict.iter().all(|sentence| !sentence.starts_with("After")), "{verdict:?}");
    }
}
