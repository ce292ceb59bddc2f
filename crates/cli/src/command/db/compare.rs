//! `iogauge db compare`: databases, or settings of one, measured in turns.

use super::load;
use crate::args::DbCompareArgs;
use crate::command::compare::turns::{self, Turns};
use crate::command::record::{Outcome, Record};
use crate::exit::{Exit, Usage};
use iogauge_lab::compare::{Comparison, Rule, Subject};
use iogauge_lab::db::{self, DbLoad, DbTarget, DbTurn, DbUrl};
use iogauge_lab::measure::Watch;
use iogauge_lab::session::trace::Tracing;
use iogauge_lab::suite::{self, Ground, Ran, Suite, SuiteStep};
use iogauge_lab::{Interrupt, LabError, caveats, session};
use iogauge_model::Vocabulary;
use iogauge_model::caveat::Command;
use iogauge_model::result::{
    CompareSubject, SUITE_FORMAT, SuiteAsked, SuiteDocument, SuiteStepResult, Workload,
};
use iogauge_report::terminal;

/// Time of a turn with a number of processes, and of one that searches.
const RUNTIME_NS: u64 = 2_000_000_000;
const SEARCH_NS: u64 = 10_000_000_000;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a database that cannot be opened, or a fault while measuring.
pub fn run(args: &DbCompareArgs, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let urls = urls(args)?;
    let runtime_ns = args.comparing.runtime.unwrap_or(match args.processes {
        Some(_) => RUNTIME_NS,
        None => SEARCH_NS,
    });
    if runtime_ns == 0 {
        return Err(Usage("--runtime 0 measures nothing; hint: use 2s".to_owned()).into());
    }
    let load = load::load(&args.load, args.processes.unwrap_or(1))?;
    let (turn, ramp_ns) = match args.processes {
        Some(_) if !args.search.limits.is_empty() || args.search.guide.is_some() => {
            let text = "--limit: a number of processes is not searched; hint: leave out --limit, or --processes";
            return Err(Usage(text.to_owned()).into());
        }
        Some(_) => {
            let ramp_ns = args.comparing.ramp_time;
            (DbTurn::Run { ramp_ns, runtime_ns }, ramp_ns)
        }
        None => (DbTurn::Find(load::plan(&args.search, runtime_ns, &load)?), 0),
    };
    let most = turns::blocks(&args.comparing, urls.len(), ramp_ns + runtime_ns)?;
    let baseline = turns::baseline(&args.comparing, urls.len())?;
    let mut targets = Vec::new();
    for (url, _) in &urls {
        let mut target = DbTarget::open(url.clone())?;
        target.cadence = args.sampling.every;
        target.command = Command::DbRun;
        target.check_globals(&load)?;
        targets.push(target);
    }
    let (mut subjects, mut described) = (Vec::new(), Vec::new());
    for (index, ((_, about), target)) in urls.iter().zip(&targets).enumerate() {
        let name = char::from(b'A' + index as u8).to_string();
        let setup = args.comparing.setup(index).map(str::to_owned);
        described.push(CompareSubject {
            name: name.clone(),
            about: about.clone(),
            target: target.describe(),
            load: Workload::Database(load.describe()),
            setup,
        });
        subjects.push(Subject { name, about: about.clone(), work: turn.work(target, &load) });
    }
    let seed = args.load.randseed.unwrap_or_else(turns::new_seed);
    let margin = args.comparing.margin / 100.0;
    let rule = Rule::new(args.comparing.metric, margin, subjects.len() - 1, most);
    let asked = turns::asked(&args.comparing, &described, seed);
    let comparison = Comparison { subjects, baseline, rule, seed };
    let mut record = Record::new("suite", &args.output, false)?;
    let databases = Databases { targets: &targets, load: &load, turn: &turn };
    let measured = measure(&mut record, &comparison, described, asked, &databases, &interrupt);
    let measured = measured.map(|document| {
        let exit = turns::exit(&document);
        Outcome { document, instead: None, exit }
    });
    let ended = record.end(measured, terminal::suite_brief, terminal::suite);
    crate::detach::done();
    ended
}

/// Returns the database of each subject, and what distinguishes it from the others.
fn urls(args: &DbCompareArgs) -> anyhow::Result<Vec<(DbUrl, String)>> {
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    let sets = [&args.set_a, &args.set_b];
    let is_set = sets.iter().any(|set| !set.is_empty())
        || args.comparing.setup_a.is_some()
        || args.comparing.setup_b.is_some();
    let texts = match args.urls.as_slice() {
        [only] if is_set => vec![only.clone(); 2],
        [_] => {
            return refuse(
                "db compare needs two subjects; hint: name another database, or use --set-a and --set-b",
            );
        }
        several if several.len() > 2 && is_set => {
            return refuse("--set-a, --set-b, --setup-a and --setup-b are for two subjects");
        }
        several if several.len() > 26 => return refuse("db compare takes at most 26 subjects"),
        several => several.to_vec(),
    };
    let is_one = texts.iter().all(|text| *text == texts[0]);
    let mut urls = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let url = text.parse::<DbUrl>()?.with_name(&args.name)?;
        let own = sets.get(index).map_or(&[][..], |set| set.as_slice());
        let mut settings = args.settings.iter().chain(own);
        let url = settings.try_fold(url, |url, setting| url.with_setting(setting))?;
        let mut words: Vec<String> = if is_one { Vec::new() } else { vec![url.to_string()] };
        words.extend(own.iter().cloned());
        words.extend(args.comparing.setup(index).map(str::to_owned));
        let about = if words.is_empty() { "as given".to_owned() } else { words.join(", ") };
        urls.push((url, about));
    }
    Ok(urls)
}

/// The databases, and what their turns do.
struct Databases<'a> {
    targets: &'a [DbTarget],
    load: &'a DbLoad,
    turn: &'a DbTurn,
}

/// The databases with the turns of a comparison.
struct Measured<'a, 'b> {
    databases: &'a Databases<'a>,
    turns: &'a mut Turns<'b>,
}

impl Ground for Measured<'_, '_> {
    fn run(
        &mut self,
        step: &SuiteStep,
        _: Option<&mut Tracing>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<SuiteStepResult>, LabError> {
        let Some(subject) = self.turns.begin(step)? else { return Ok(None) };
        let Databases { targets, load, turn } = self.databases;
        db::turn(&targets[subject], load, turn, step, watch).map(Some)
    }
}

fn measure(
    record: &mut Record,
    comparison: &Comparison,
    described: Vec<CompareSubject>,
    asked: SuiteAsked,
    databases: &Databases<'_>,
    interrupt: &Interrupt,
) -> anyhow::Result<SuiteDocument> {
    let target = &databases.targets[comparison.baseline];
    let workload = Workload::Suite { label: asked.name.clone(), suite: asked.clone() };
    let head = |record: &Record| record.head(SUITE_FORMAT, target.describe(), workload.clone());
    let words: Vec<String> = described.iter().map(|s| format!("{} {}", s.name, s.about)).collect();
    record.begin(&target.text(), &format!("compare {}", words.join(", ")), &head(record))?;
    record.screen.progress.set_vocabulary(Vocabulary::Database);
    let setups = described.iter().map(|subject| subject.setup.clone()).collect();
    let mut turns = Turns::new(comparison, setups, interrupt.clone(), false);
    let site = target.site();
    let plan = comparison.plan(&site)?;
    let mut watch = Watch { observer: &mut record.screen, interrupt };
    let mut ground = Measured { databases, turns: &mut turns };
    let ran = suite::run(&mut ground, comparison, &site, &plan, Vec::new(), None, &mut watch)?;
    let Ran { steps, conclusion, caveats: mut found, steps_left, interrupted } = ran;
    found.extend(turns.caveats(interrupted));
    record.tell_nothing(&found);
    Ok(SuiteDocument {
        head: head(record),
        suite: asked,
        subjects: described,
        setups: turns.setups_ran,
        steps,
        conclusion,
        steps_left,
        resumed: 0,
        interrupted,
        caveats: caveats::distinct(found),
        environment: session::environment_on(session::real_clock()),
    })
}
