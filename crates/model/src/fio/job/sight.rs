//! What can be told of a job file that fio itself is to run: which files its jobs touch and how, for
//! the guards. Options that decide neither are passed over, whether iogauge has them or not.

use super::engines::{self, Reach};
use super::options::Options;
use super::reader::{self, Written};
use super::{Fault, Group, JobFile, JobFileError, Place, Section, Source, find};
use std::path::Path;

/// Options that decide which files a job touches, and how; engine and direction are looked at
/// apart.
const DECIDING: &[&str] = &[
    "name",
    "filename",
    "directory",
    "filename_format",
    "nrfiles",
    "size",
    "filesize",
    "offset",
    "offset_increment",
    "numjobs",
    "direct",
    "buffered",
    "kb_base",
    "allow_file_create",
];
/// Options by which a job does more than its direction and its files say.
const BEYOND: &[&str] = &[
    "opendir",
    "read_iolog",
    "merge_blktrace_file",
    "fill_device",
    "trim_percentage",
    "exec_prerun",
    "exec_postrun",
    "profile",
    "zonemode",
    "create_only",
];

/// A job file as the guards see it.
#[derive(Debug, Clone)]
pub struct Sight {
    /// Its jobs.
    pub jobs: Vec<SeenJob>,
    /// The files of its jobs, where all of them can be told; why not otherwise.
    pub groups: Result<Vec<Group>, String>,
}

/// A job of a file that fio is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenJob {
    /// Its section's name.
    pub name: String,
    /// fio's word for its direction.
    pub rw: String,
    /// Its engine.
    pub engine: String,
    /// True where the engine has one I/O outstanding in each thread.
    pub synchronous: bool,
    /// True where it only reads, and from something that fio does not make first.
    pub harmless: bool,
}

impl JobFile {
    /// Looks at a job file that fio is to run.
    ///
    /// # Errors
    /// Where it cannot be read as sections of options.
    pub fn sight(path: &Path, source: &dyn Source) -> Result<Sight, JobFileError> {
        let mut global = Vec::new();
        let mut jobs = Vec::new();
        let mut sections = Vec::new();
        let mut hidden: Option<String> = None;
        for section in reader::read(path, source)? {
            if section.name == "global" {
                global.extend(section.options);
                continue;
            }
            let options: Vec<&Written> = global.iter().chain(&section.options).collect();
            let job = seen(&section.name, &options);
            let told = hides(&job, &options)
                .map_or_else(|| sighted(&section.name, &section.place, &options, &job), Err);
            match told {
                Ok(section) => sections.push(section),
                Err(why) => hidden = hidden.or(Some(format!("[{}]: {why}", section.name))),
            }
            jobs.push(job);
        }
        if jobs.is_empty() {
            let place = Place { file: path.into(), line: 0 };
            return Err(JobFileError::form(&place, "has no job; right would be [NAME]"));
        }
        let groups = match hidden {
            Some(why) => Err(why),
            None => {
                let file = Self { sections, unsupported: Vec::new(), random: 0 };
                file.plan().map_err(|error| error.to_string())
            }
        };
        Ok(Sight { jobs, groups })
    }
}

impl JobFile {
    /// The text of a job file, with the files it includes named so that they are found from
    /// anywhere: as the file itself would find them.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn with_includes_found(path: &Path, source: &dyn Source) -> Result<String, JobFileError> {
        let place = Place { file: path.into(), line: 0 };
        let failed = |error| JobFileError::form(&place, format!("cannot be read: {error}"));
        let text = source.read(path).map_err(failed)?;
        let found = |line: &str| {
            let beside = |named: &str| path.parent().unwrap_or(Path::new("")).join(named);
            match reader::included(line.trim()) {
                Some(named) if source.read(Path::new(named)).is_err() => {
                    format!("include {}\n", beside(named).display())
                }
                _ => format!("{line}\n"),
            }
        };
        Ok(text.lines().map(found).collect())
    }
}

/// The last value of an option, by any of its names.
fn value<'a>(options: &[&'a Written], name: &str) -> Option<&'a str> {
    let is_it = |written: &&&Written| find(&written.name).is_some_and(|row| row.name == name);
    options.iter().rev().find(is_it).and_then(|written| written.value.as_deref())
}

fn seen(name: &str, options: &[&Written]) -> SeenJob {
    let rw = value(options, "rw").unwrap_or("read").to_owned();
    let engine = value(options, "ioengine").unwrap_or("psync").to_owned();
    let reads = matches!(rw.split(':').next(), Some("read" | "randread"));
    let elsewhere = engines::reach(&engine) == Reach::Elsewhere;
    let harmless = reads && elsewhere && beyond(options).is_none();
    let synchronous = engines::is_synchronous(&engine);
    SeenJob { name: name.to_owned(), rw, engine, synchronous, harmless }
}

/// Why the files of a job cannot be told, where that shows at once.
fn hides(job: &SeenJob, options: &[&Written]) -> Option<String> {
    if engines::reach(&job.engine) != Reach::Files {
        return Some(format!("engine {} goes where iogauge cannot look", job.engine));
    }
    beyond(options).map(|option| format!("{option} does more than its I/O"))
}

/// The option by which a job does more than its direction and its files say, if any.
fn beyond<'a>(options: &[&'a Written]) -> Option<&'a str> {
    let is_beyond = |written: &&&Written| {
        let name = find(&written.name).map_or(written.name.as_str(), |row| row.name);
        BEYOND.contains(&name) && !matches!(written.value.as_deref(), Some("0" | "none"))
    };
    options.iter().find(is_beyond).map(|written| written.name.as_str())
}

/// The section with what decides its files, as the guards of other job files see it.
fn sighted(
    name: &str,
    place: &Place,
    options: &[&Written],
    job: &SeenJob,
) -> Result<Section, String> {
    let mut file = JobFile { sections: Vec::new(), unsupported: Vec::new(), random: 0 };
    let mut sighted = Options::default();
    let decides =
        |written: &&&Written| find(&written.name).is_some_and(|row| DECIDING.contains(&row.name));
    let mut deciding: Vec<Written> =
        options.iter().filter(decides).map(|written| (*written).clone()).collect();
    let word = job.rw.split(':').next().unwrap_or("read");
    // What is trimmed is lost as well.
    let rw = if word.contains("trim") { "randwrite" } else { word };
    let engine = if job.engine == "null" { "null" } else { "psync" };
    for (option, value) in [("rw", rw), ("ioengine", engine)] {
        let value = Some(value.to_owned());
        deciding.push(Written { place: place.clone(), name: option.to_owned(), value });
    }
    file.take(&mut sighted, &deciding).map_err(|error| match error.fault {
        Fault::UnsupportedValue { option, .. } => {
            format!("what its {option} comes to is not known here")
        }
        _ => error.to_string(),
    })?;
    Ok(Section { name: name.to_owned(), place: place.clone(), options: sighted })
}

#[cfg(test)]
mod tests {
    use super::super::MemorySource;
    use super::*;

    fn sight(text: &str) -> Sight {
        JobFile::sight(Path::new("a.fio"), &MemorySource::default().file("a.fio", text)).unwrap()
    }

    #[test]
    fn files_are_seen_past_options_that_iogauge_lacks() {
        let seen = sight(
            "[global]\nioengine=posixaio\nbsrange=4k-64k\nfoo=1\n[a]\nrw=randwrite:8\nsize=1m\n\
             filename=/x/y\nverify=md5\nverify_interval=512\n[b]\nrw=randtrim\nfilename=/dev/z\n",
        );
        let groups = seen.groups.unwrap();
        let jobs: Vec<_> = groups.iter().flat_map(|group| &group.jobs).collect();
        assert_eq!(jobs.len(), 2);
        assert!(jobs[0].writes() && jobs[0].files == [Path::new("/x/y")]);
        assert_eq!(jobs[0].file_size_bytes, Some(1 << 20));
        assert!(jobs[1].writes(), "a trim loses data");
        assert_eq!((seen.jobs[0].engine.as_str(), seen.jobs[0].synchronous), ("posixaio", false));
        assert!(!seen.jobs[0].harmless);
    }

    #[test]
    fn what_goes_elsewhere_is_not_judged() {
        for (text, harmless, word) in [
            ("[a]\nioengine=http\nhttp_host=h\nrw=read\n", true, "engine http"),
            ("[a]\nioengine=http\nrw=write\n", false, "engine http"),
            ("[a]\nioengine=http\nrw=read\nexec_postrun=rm x\n", false, "engine http"),
            ("[a]\nioengine=sg\nrw=randread\nfilename=/dev/sg0\n", true, "engine sg"),
            ("[a]\nioengine=exec\nprogram=/bin/x\n", false, "engine exec"),
            ("[a]\nioengine=external:./x.so\nrw=read\n", false, "engine external"),
            ("[a]\nioengine=psync\nrw=read\nsize=1m\nexec_prerun=rm x\n", false, "exec_prerun"),
            ("[a]\nread_iolog=log\nsize=1m\n", false, "read_iolog"),
            ("[a]\nsize=1m\nfilesize=1m-2m\n", false, "filesize"),
        ] {
            let seen = sight(text);
            let why = seen.groups.unwrap_err();
            assert!(why.starts_with("[a]: ") && why.contains(word), "{why}");
            assert_eq!(seen.jobs[0].harmless, harmless, "{text}");
        }
    }
}
