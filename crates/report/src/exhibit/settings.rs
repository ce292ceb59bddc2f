//! The settings of runs, and those in which runs differ: they name the lines of a picture, and what differs in a
//! setting is not one line.

use super::{Exhibit, Shown};
use iogauge_model::load::Load;
use iogauge_model::load::options::ROWS;
use iogauge_model::plan::Job;
use iogauge_model::result::{
    DatabaseTarget, DeviceFacts, FindDocument, FioResult, Head, RealTarget, StepResult, SuiteAsked,
    TargetFacts, Workload,
};
use iogauge_model::{Limit, Vocabulary};
use std::collections::{BTreeMap, BTreeSet};

/// Settings under which something was measured: the name and the value of each, in words that stand alone, such as
/// `mq-deadline` or `numjobs=4`. The most important ones come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(Vec<(String, String)>);

/// Options that pictures have as an axis, or as a name of their own.
const AXES: [&str; 9] = [
    "rw",
    "bs",
    "bssplit",
    "bsrange",
    "blockalign",
    "iodepth",
    "numjobs",
    "rate_iops",
    "rwmixwrite",
];
/// Options that place the I/Os or end the job. Steps of one run often differ in them to keep apart.
const PLACES: [&str; 7] =
    ["offset", "offset_increment", "number_ios", "io_size", "loops", "startdelay", "size"];
/// Options that only choose random numbers.
const CHANCE: [&str; 1] = ["randseed"];

impl Settings {
    fn put(&mut self, name: &str, words: impl Into<String>) {
        let words = words.into();
        if !words.is_empty() {
            self.0.push((name.to_owned(), words));
        }
    }

    fn of(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, words)| words.as_str())
    }

    /// Returns the settings without this one.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(own, _)| own != name);
        self
    }

    /// Returns the values of these settings, joined by commas.
    pub(crate) fn words(&self, names: &[String]) -> String {
        let words = names.iter().filter_map(|name| self.of(name));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Adds the options of a workload that the pictures of this run do not show otherwise.
    fn put_options(&mut self, load: &Load, left_out: &[&str]) {
        for row in ROWS.iter().filter(|row| !left_out.contains(&row.name)) {
            match (row.name, (row.show)(load)) {
                ("ioengine", Some(engine)) => self.put("ioengine", engine),
                ("ioengine", None) => self.put("ioengine", row.default),
                ("direct", _) => {
                    self.put("direct", if load.direct { "direct" } else { "buffered" })
                }
                // A log records what is measured, and does not change it.
                ("buffered" | "name" | "per_job_logs", _) => {}
                (name, _) if name.starts_with("log_") || name.ends_with("_log") => {}
                // A closed loop has no arrivals to set.
                ("rate_iops" | "rate_process", shown) => {
                    if let Some(value) = shown {
                        self.put(row.name, format!("{}={value}", row.name));
                    }
                }
                (name, Some(value)) if value != row.default => {
                    self.put(name, format!("{name}={value}"));
                }
                (name, None) if PLACES.contains(&name) => {}
                (name, _) if !row.default.is_empty() => {
                    self.put(name, format!("{name}={}", row.default));
                }
                (name, _) => self.put(name, format!("no {name}")),
            }
        }
    }

    fn put_database(&mut self, target: &DatabaseTarget) {
        self.put("software", &*target.software);
        for (name, value) in &target.settings {
            self.put(name, format!("{name}={value}"));
        }
        if target.block_bytes > 0 {
            self.put("block", format!("blocks of {}", crate::rows::size_word(target.block_bytes)));
        }
    }

    fn put_devices(&mut self, target: &RealTarget) {
        let all = |of: fn(&DeviceFacts) -> Option<String>| {
            let values: BTreeSet<String> = target.devices.iter().filter_map(of).collect();
            values.into_iter().collect::<Vec<_>>().join(" and ")
        };
        self.put("scheduler", all(|device| device.scheduler.clone()));
        self.put("device", all(|device| Some(device.name.clone())));
        self.put("model", all(|device| device.model.clone()));
        self.put("write_cache", all(|device| device.write_cache.clone()));
        self.put("nr_requests", all(|d| Some(format!("nr_requests {}", d.nr_requests?))));
        self.put("read_ahead", all(|d| Some(format!("read-ahead {} KiB", d.read_ahead_kib?))));
        if target.size_bytes > 0 {
            let size = crate::chart::bytes(target.size_bytes as f64);
            self.put("target_size", format!("{size} measured"));
        }
        let systems: BTreeSet<&str> =
            target.parts.iter().filter_map(|part| part.file_system.as_deref()).collect();
        self.put("file_system", systems.into_iter().collect::<Vec<_>>().join(" and "));
    }

    /// Keeps the settings that others have as well.
    fn keep_common(&mut self, other: &Self) {
        self.0.retain(|(name, words)| other.of(name) == Some(words));
    }
}

/// Returns the names of the settings in which these differ, in the order of their importance. A setting that some do
/// not have, such as a limit of what is no search, does not count.
pub(crate) fn differing<'a>(all: impl Iterator<Item = &'a Settings> + Clone) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    for (name, words) in all.flat_map(|settings| &settings.0) {
        if !values.contains_key(name.as_str()) {
            names.push(name);
        }
        values.entry(name).or_default().insert(words);
    }
    names.retain(|name| values[name].len() > 1);
    names.into_iter().map(str::to_owned).collect()
}

/// Splits what was measured into parts without differing settings, in the order of their first members. Each part has
/// the words for its settings, which are empty if there is only one part.
pub(crate) fn split<T>(all: Vec<T>, of: impl Fn(&T) -> &Settings) -> Vec<(String, Vec<T>)> {
    let names = differing(all.iter().map(&of).collect::<Vec<_>>().into_iter());
    split_by(all, &names, of)
}

/// As [`split`], by these settings.
pub(crate) fn split_by<T>(
    all: Vec<T>,
    names: &[String],
    of: impl Fn(&T) -> &Settings,
) -> Vec<(String, Vec<T>)> {
    let mut parts: Vec<(String, Vec<T>)> = Vec::new();
    for one in all {
        let words = of(&one).words(names);
        match parts.iter_mut().find(|(known, _)| *known == words) {
            Some((_, part)) => part.push(one),
            None => parts.push((words, vec![one])),
        }
    }
    parts
}

impl Exhibit {
    /// Returns the settings of the whole run, without those of its workload: programs, database, devices, kernel.
    fn surroundings(&self) -> Settings {
        let mut settings = Settings::default();
        let Head { target, via, version, .. } = self.head();
        match (target, via) {
            (TargetFacts::Fio(_), _) => {}
            (_, Some(via)) => settings.put("program", &*via.version),
            (_, None) => settings.put("program", format!("iogauge {version}")),
        }
        match target {
            TargetFacts::Database(database) => settings.put_database(database),
            TargetFacts::Real(real) => settings.put_devices(real),
            _ => {}
        }
        let environment = self.environment();
        if !environment.kernel.is_empty() {
            settings.put("kernel", format!("kernel {}", environment.kernel));
        }
        settings
    }

    /// Returns the settings of the whole run that pictures of its steps do not show: its surroundings, and where its
    /// I/Os go if all steps have that in common.
    pub(super) fn run_wide(&self) -> Settings {
        let jobs: Vec<Job> = match &self.document {
            Shown::Suite(suite) => {
                suite.measured().flat_map(|(step, _)| step.asked.jobs.clone()).collect()
            }
            _ => self.head().load.jobs_of_steps().into_iter().flatten().collect(),
        };
        let shown = |name: &&str| !PLACES.contains(name);
        let left_out: Vec<&str> = ROWS.iter().map(|row| row.name).filter(shown).collect();
        let mut settings = common_options(&jobs, &left_out).unwrap_or_default();
        settings.put_database_load(&self.head().load);
        settings.0.extend(self.surroundings().0);
        settings
    }

    /// Returns the settings of a step with these jobs, in a run with these. Options that are an axis of pictures are
    /// left out.
    pub(super) fn step_settings(
        run_wide: &Settings,
        step: Option<&StepResult>,
        jobs: &[Job],
    ) -> Settings {
        let left_out = [&AXES[..], &PLACES, &CHANCE].concat();
        let mut settings = Settings::default();
        if let Some(fio) = step.and_then(|step| step.fio.as_ref()) {
            settings.put_fio(fio);
        } else if let Some(common) = common_options(jobs, &left_out) {
            settings = common;
        }
        settings.0.extend(run_wide.0.clone());
        settings
    }

    /// Returns all settings of the run: limits of a search, workload, and its surroundings.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        let head = self.head();
        let jobs: Vec<Job> = head.load.jobs_of_steps().into_iter().flatten().collect();
        if let Shown::Suite(suite) = &self.document {
            // The last ones are chosen at random or identify a file.
            let unlike = |name: &str| !matches!(name, "seed" | "randseed" | SuiteAsked::CONTENT);
            let options = suite.suite.options.iter().filter(|(name, _)| unlike(name));
            options.for_each(|(name, value)| settings.put(name, format!("{name}={value}")));
        }
        if let TargetFacts::Fio(file) = &head.target {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            settings.put("file", name);
        }
        // The words for the load of a database consist of settings that are named below.
        if !matches!(head.target, TargetFacts::Fio(_)) && head.load.database().is_none() {
            settings.put("load", crate::terminal::load_words(&head.load));
        }
        settings.put("loop", self.loop_words(&jobs));
        // A search varies the queue depth or the rate itself.
        let left_out = ["rw", "bs", "bssplit", "bsrange", "rwmixread", "rwmixwrite", "randseed"];
        let is_search = matches!(self.document, Shown::Find(_));
        let searched = if is_search { &["iodepth", "rate_iops"][..] } else { &[] };
        let options = common_options(&jobs, &[&left_out[..], searched].concat());
        settings.0.extend(options.unwrap_or_default().0);
        settings.put_database_load(&head.load);
        if !is_search {
            settings.put_processes(&head.load);
        }
        settings.0.extend(self.surroundings().0);
        if let Shown::Find(find) = &self.document {
            let words = match self.terms().is_database() {
                true => Limit::database_words,
                false => Limit::to_string,
            };
            let limits: Vec<String> = find.search.limits.iter().map(words).collect();
            settings.put("limits", crate::terminal::listed(&limits));
        }
        settings
    }

    /// Returns whether I/Os of these jobs arrive by a schedule (open loop) or when others complete; nothing if jobs
    /// differ in that, or if there are none.
    fn loop_words(&self, jobs: &[Job]) -> &'static str {
        let rated = |find: &FindDocument| find.search.curve.iter().any(|p| p.rate_iops.is_some());
        // A search without an answer stores no arrivals.
        let is_rated = matches!(&self.document, Shown::Find(find) if rated(find));
        let mut kinds = jobs.iter().map(|job| is_rated || job.load.arrivals.is_some());
        match kinds.next() {
            Some(first) if kinds.all(|kind| kind == first) => {
                if first {
                    "open loop"
                } else {
                    "closed loop"
                }
            }
            _ => "",
        }
    }
}

impl Settings {
    fn put_fio(&mut self, fio: &FioResult) {
        self.put("ioengine", &*fio.engine);
        if !fio.fio_version.is_empty() {
            self.put("program", format!("fio-{}", fio.fio_version));
        }
        if let Some(waits) = fio.is_synchronous {
            self.put("sync", if waits { "sync=sync" } else { "sync=none" });
        }
    }

    /// Adds the numbers of processes of a database's load that were measured.
    fn put_processes(&mut self, load: &Workload) {
        let Some(load) = load.database() else { return };
        let one = std::slice::from_ref(&load.processes);
        let all = load.ladder.as_ref().map_or(one, |ladder| &ladder.processes);
        let Some((last, before)) = all.split_last().filter(|(last, _)| **last > 0) else { return };
        let mut words: Vec<String> = before.iter().map(ToString::to_string).collect();
        words.push(Vocabulary::Database.amount(*last));
        self.put("processes", crate::terminal::listed(&words));
    }

    fn put_database_load(&mut self, load: &Workload) {
        let Some(load) = load.database() else { return };
        let length = load.transaction_length;
        self.put("mode", format!("mode {}", load.mode));
        self.put("transaction_length", format!("{length} operations a transaction"));
        if load.hang_ns > 0 {
            let hang = crate::chart::latency_ns(load.hang_ns as f64);
            self.put("hang", format!("hang time {hang}"));
        }
        if let Some(percent) = load.read_percent {
            self.put("read_percent", format!("{percent} % reads"));
        }
        if let Some(writers) = load.writers {
            let s = if writers == 1 { "" } else { "s" };
            self.put("writers", format!("{writers} writer{s}"));
        }
    }
}

/// Returns the options that jobs have in common; `None` without jobs.
fn common_options(jobs: &[Job], left_out: &[&str]) -> Option<Settings> {
    let options = |job: &Job| {
        let mut settings = Settings::default();
        settings.put_options(&job.load, left_out);
        settings
    };
    let mut common = options(jobs.first()?);
    jobs[1..].iter().for_each(|job| common.keep_common(&options(job)));
    Some(common)
}

/// Returns a name for each run: where it was measured, and the settings in which runs from there differ. Runs that do
/// not differ have their ids.
pub(crate) fn run_names(exhibits: &[&Exhibit]) -> Vec<String> {
    let places: Vec<String> = exhibits.iter().map(|exhibit| exhibit.place()).collect();
    let settings: Vec<Settings> = exhibits.iter().map(|exhibit| exhibit.settings()).collect();
    let words = |number: usize| {
        let here = settings.iter().zip(&places).filter(|(_, place)| **place == places[number]);
        let here: Vec<&Settings> = here.map(|(settings, _)| settings).collect();
        settings[number].words(&differing(here.into_iter()))
    };
    let several_places = places.iter().collect::<BTreeSet<_>>().len() > 1;
    let name = |number: usize| {
        let place = if several_places { places[number].as_str() } else { "" };
        [place, &*words(number)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let names: Vec<String> = (0..exhibits.len()).map(name).collect();
    let ids: BTreeSet<&str> = exhibits.iter().map(|run| run.head().run_id.as_str()).collect();
    let unique = |(name, exhibit): (&String, &&Exhibit)| {
        if !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1 {
            return name.clone();
        }
        let id = format!("run {}", short_id(&exhibit.head().run_id, &ids));
        if name.is_empty() { id } else { format!("{id}: {name}") }
    };
    names.iter().zip(exhibits).map(unique).collect()
}

/// Returns a title for each run: its place, and what distinguishes it from the others.
pub(crate) fn run_titles(exhibits: &[&Exhibit]) -> Vec<String> {
    let title = |(exhibit, name): (&&Exhibit, String)| {
        let place = exhibit.place();
        if name.contains(&place) { name } else { format!("{place}, {name}") }
    };
    match exhibits {
        [one] => vec![one.place()],
        several => several.iter().zip(run_names(several)).map(title).collect(),
    }
}

/// Returns the end of a run's id that no other run's id has: `x7k2`; the whole id if its last two parts are not enough.
fn short_id<'a>(id: &'a str, all: &BTreeSet<&str>) -> &'a str {
    let ends = id.rmatch_indices('-').map(|(dash, _)| &id[dash + 1..]).take(2);
    let is_own = |end: &&str| all.iter().filter(|other| **other != id).all(|o| !o.ends_with(end));
    ends.filter(|end| !end.is_empty()).find(is_own).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_run_id_is_its_shortest_unique_suffix() {
        let all = ["20261121-101530-x7k2", "20261121-101531-x7k2", "20261121-101530-9b3c", "one"];
        let short = all.map(|id| short_id(id, &all.into()));
        assert_eq!(short, ["101530-x7k2", "101531-x7k2", "9b3c", "one"]);
    }

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        Settings(pairs.iter().map(|(name, words)| ((*name).into(), (*words).into())).collect())
    }

    #[test]
    fn logs_are_no_setting_of_the_measurement() {
        let logs = iogauge_model::load::Logs {
            bandwidth: Some("a".to_owned()),
            window_ms: 100,
            histogram: Some("a".to_owned()),
            histogram_window_ms: 1000,
            per_job: false,
            has_offset: true,
            ..Default::default()
        };
        let of = |logs| {
            let mut settings = Settings::default();
            settings.put_options(&Load { logs, ..Load::default() }, &[]);
            settings.0
        };
        assert_eq!(of(Some(logs)), of(None));
    }

    #[test]
    fn only_settings_that_differ_split_and_name_the_parts() {
        let all = [
            settings(&[("ioengine", "libaio"), ("scheduler", "none"), ("kernel", "6.1")]),
            settings(&[("ioengine", "libaio"), ("scheduler", "mq-deadline"), ("kernel", "6.1")]),
            settings(&[("ioengine", "libaio"), ("scheduler", "none"), ("kernel", "6.1")]),
            settings(&[("ioengine", "libaio"), ("kernel", "6.1")]),
        ];
        let numbered: Vec<(usize, Settings)> = all.into_iter().enumerate().collect();
        let split = |all: &[&(usize, Settings)]| {
            let parts = split(all.to_vec(), |one| &one.1).into_iter();
            let numbers = |part: Vec<&(usize, Settings)>| part.iter().map(|one| one.0).collect();
            parts.map(|(words, part)| (words, numbers(part))).collect::<Vec<(String, Vec<usize>)>>()
        };
        let parts = split(&numbered.iter().collect::<Vec<_>>());
        let part = |words: &str, numbers: &[usize]| (words.to_owned(), numbers.to_vec());
        assert_eq!(parts, [part("none", &[0, 2]), part("mq-deadline", &[1]), part("", &[3])]);
        assert_eq!(split(&[&numbered[0], &numbered[2]]), [part("", &[0, 2])]);
    }
}
