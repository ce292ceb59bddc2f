//! Subjects measured in turns, as a suite whose steps are turns.

use super::figures::{mean_log, of_turn};
use super::judge::{self, LEAST_BLOCKS, Pair, Rule};
use super::report;
use super::schedule::{Turn, schedule};
use crate::session::HostsUsed;
use crate::suite::{Needs, Site, Suite, SuiteError, SuiteStep, Work, counted};
use iogauge_model::Caveat;
use iogauge_model::result::{
    CompareFindings, CompareVerdict, Compared, Conclusion, Figure, StepPlace, SuiteStepResult,
};

/// What is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Its letter.
    pub name: String,
    /// What distinguishes it from the others.
    pub about: String,
    /// What each of its turns does.
    pub work: Work,
}

/// A comparison of subjects with a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The subjects, at least two.
    pub subjects: Vec<Subject>,
    /// Index of the one with which the others are compared.
    pub baseline: usize,
    /// The rule that decides.
    pub rule: Rule,
    /// Decides the order of the turns.
    pub seed: u64,
}

/// The turns of a subject in a block.
type Turns<'a> = Vec<&'a SuiteStepResult>;

/// The turns of each subject in a block.
type Block<'a> = Vec<Turns<'a>>;

/// Complete blocks.
struct Blocks<'a> {
    /// Those in which every turn has the figure that decides.
    used: Vec<Block<'a>>,
    /// The first turn without it in each of the others.
    left_out: Vec<&'a SuiteStepResult>,
}

impl Blocks<'_> {
    /// Returns true if too many are left out for a verdict, so far.
    fn lack_too_many(&self) -> bool {
        let left_out = self.left_out.len() as u64;
        CompareFindings::leaves_out_too_many(left_out, self.used.len() as u64 + left_out)
    }

    /// Returns true if too many are left out whatever the others of `most` blocks are, or the first two are.
    fn are_hopeless(&self, most: u64) -> bool {
        CompareFindings::leaves_out_too_many(self.left_out.len() as u64, most)
            || self.used.is_empty() && self.left_out.len() > 1
    }
}

impl Comparison {
    fn schedule(&self) -> Vec<Turn> {
        let most = u32::try_from(self.rule.looks.most()).unwrap_or(u32::MAX);
        schedule(self.subjects.len(), most, self.seed)
    }

    /// Returns the first turn in words.
    #[must_use]
    pub fn first(&self) -> Option<String> {
        self.schedule().first().map(|turn| self.words(&self.place(*turn)))
    }

    /// Returns a turn in words, with what distinguishes its subject.
    #[must_use]
    pub fn words(&self, place: &StepPlace) -> String {
        report::named(&place.key, self.about(&place.phase))
    }

    /// Returns what distinguishes a subject.
    fn about(&self, name: &str) -> &str {
        self.subjects.iter().find(|subject| subject.name == name).map_or("", |it| &it.about)
    }

    /// Returns the names of the subjects in the order of all turns.
    pub fn order(&self) -> impl Iterator<Item = &str> {
        self.schedule().into_iter().map(|turn| self.subjects[turn.subject].name.as_str())
    }

    fn place(&self, turn: Turn) -> StepPlace {
        let name = &self.subjects[turn.subject].name;
        let key = format!("block {} turn {}: {name}", turn.block + 1, turn.turn + 1);
        StepPlace { key, phase: name.clone(), round: None }
    }

    /// Returns the next turn of a plan after the turns `done`; `None` if the comparison is over.
    #[must_use]
    pub fn next<'a>(
        &self,
        site: &Site,
        plan: &'a [SuiteStep],
        done: &[SuiteStepResult],
    ) -> Option<&'a SuiteStep> {
        let is_done = |step: &SuiteStep| {
            done.iter().any(|known| known.place.key == step.place.key && !known.interrupted)
        };
        plan.iter().find(|step| !is_done(step)).filter(|step| self.wants(site, step, done))
    }

    /// Returns the complete blocks before block `end`: for each, the turns of each subject.
    fn complete<'a>(&self, steps: &'a [SuiteStepResult], end: u32) -> Vec<Block<'a>> {
        let mut blocks = Vec::new();
        let schedule = self.schedule();
        for turns in schedule.chunks(2 * self.subjects.len()) {
            if turns[0].block >= end {
                break;
            }
            let mut block = vec![Vec::new(); self.subjects.len()];
            for turn in turns {
                let key = self.place(*turn).key;
                let done = steps.iter().find(|step| step.place.key == key && !step.interrupted);
                block[turn.subject].extend(done);
            }
            if block.iter().any(|turns| turns.len() < 2) {
                break;
            }
            blocks.push(block);
        }
        blocks
    }

    /// Returns the complete blocks before block `end`, with and without the figure that decides.
    fn blocks<'a>(&self, steps: &'a [SuiteStepResult], end: u32) -> Blocks<'a> {
        let lacks = |step: &&'a SuiteStepResult| of_turn(&step.result, self.rule.metric).is_none();
        let mut blocks = Blocks { used: Vec::new(), left_out: Vec::new() };
        for block in self.complete(steps, end) {
            let lacking = block.iter().flatten().copied().find(lacks);
            match lacking {
                Some(turn) => blocks.left_out.push(turn),
                None => blocks.used.push(block),
            }
        }
        blocks
    }

    /// Returns the indices of the subjects other than the baseline.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let baseline = self.baseline;
        (0..self.subjects.len()).filter(move |index| *index != baseline)
    }

    /// Returns a figure of a subject in each block; `None` if a turn lacks it.
    fn pairs(&self, blocks: &[Block<'_>], index: usize, figure: Figure) -> Option<Vec<Pair>> {
        let mean =
            |turns: &Turns<'_>| mean_log(turns.iter().map(|step| of_turn(&step.result, figure)));
        let pair = |block: &Block<'_>| {
            Some(Pair { baseline: mean(&block[self.baseline])?, subject: mean(&block[index])? })
        };
        blocks.iter().map(pair).collect()
    }

    /// Returns true if the blocks before block `end` decide on every subject, or no number of blocks will.
    fn is_decided(&self, steps: &[SuiteStepResult], end: u32) -> bool {
        let blocks = self.blocks(steps, end);
        let is_decided = |index| {
            let pairs = self.pairs(&blocks.used, index, self.rule.metric).unwrap_or_default();
            judge::verdict_on(&self.rule, &pairs) != CompareVerdict::Undecided
        };
        blocks.are_hopeless(self.rule.looks.most())
            || !blocks.lack_too_many() && self.others().all(is_decided)
    }

    fn findings(&self, blocks: &Blocks<'_>) -> CompareFindings {
        let compared = |index: usize| -> Compared {
            let name = &self.subjects[index].name;
            let pairs = |figure| self.pairs(&blocks.used, index, figure);
            let mut compared = judge::compared(name, &self.rule, pairs);
            if blocks.lack_too_many() {
                compared.verdict = CompareVerdict::Undecided;
                compared.blocks_wanted = None;
            }
            compared
        };
        CompareFindings {
            metric: self.rule.metric,
            margin: self.rule.margin,
            baseline: self.subjects[self.baseline].name.clone(),
            compared: self.others().map(compared).collect(),
            blocks: blocks.used.len() as u64,
            blocks_left_out: blocks.left_out.len() as u64,
            blocks_most: self.rule.looks.most(),
        }
    }
}

impl Suite for Comparison {
    fn needs(&self) -> Needs {
        let writes = self.subjects.iter().any(|subject| subject.work.writes());
        Needs { writes, ..Needs::default() }
    }

    fn plan(&self, _site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        let step = |(number, turn): (usize, &Turn)| SuiteStep {
            place: self.place(*turn),
            work: self.subjects[turn.subject].work.with_seed(number as u64),
            regions: Vec::new(),
            sums_up: false,
            hosts: HostsUsed::All,
        };
        Ok(self.schedule().iter().enumerate().map(step).collect())
    }

    fn wants(&self, _site: &Site, step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        let schedule = self.schedule();
        let of_block = schedule
            .chunks(2 * self.subjects.len())
            .find(|turns| turns.iter().any(|turn| self.place(*turn).key == step.place.key));
        let Some(first) = of_block.and_then(|turns| turns.first()) else { return false };
        let key = self.place(*first).key;
        // A block that was begun is completed.
        match step.place.key == key {
            true => !self.is_decided(done, first.block),
            false => done.iter().any(|step| step.place.key == key),
        }
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let blocks = self.blocks(steps, u32::MAX);
        let findings = self.findings(&blocks);
        let about = |name: &str| report::named(name, self.about(name));
        let mut conclusion = report::conclusion(&about, &findings, &blocks.left_out);
        let is_open = blocks.left_out.is_empty() && !steps.is_empty();
        let verdict = &mut conclusion.verdict;
        if is_open && findings.blocks == 0 {
            let kept = counted(steps.len() as u64, "turn");
            *verdict = vec![format!("No verdict yet: {kept}, and no complete block.")];
        }
        if is_open && findings.blocks < LEAST_BLOCKS {
            let turns = 2 * self.subjects.len();
            verdict.push(format!("A verdict needs {LEAST_BLOCKS} blocks of {turns} turns."));
        }
        (conclusion, Vec::new())
    }
}
