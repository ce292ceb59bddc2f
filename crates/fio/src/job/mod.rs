//! Reads fio's job files: from text to sections to planned jobs, in fio's order.
//!
//! [`JobFile::read`] reads the text and its includes. [`JobFile::plan`] expands it to [`Group`]s of jobs
//! that run together. [`FioJobs::read`] reads a job file that fio is to run, and [`FioJobs::text`] writes
//! the job file that fio receives. [`options`] says what happens to each of fio's options.

mod engines;
mod error;
mod for_fio;
mod newer;
mod plan;
mod reader;
mod source;
mod table;
mod via;

pub use engines::OPTIONS as ENGINE_OPTIONS;
pub use error::{Fault, JobFileError};
pub use for_fio::{FioJob, FioJobs, FioText, GivenFile};
pub use iogauge_model::load::options::SourceLine;
pub use plan::{Group, PlannedJob, Search};
pub use source::{MemorySource, Source};
pub use table::{OptionInfo, Status, find, nearest, options};
pub use via::Via;

use iogauge_model::load::options::Typed;
use reader::Written;
use std::path::Path;

/// A valid job file.
#[derive(Debug, Clone)]
pub struct JobFile {
    sections: Vec<Section>,
    /// Options that iogauge lacks, in their order in the file. Plans leave them out.
    pub unsupported: Vec<JobFileError>,
    /// The random number that `randrepeat=0` uses.
    random: u64,
}

/// A job as written in its section.
#[derive(Debug, Clone)]
struct Section {
    name: String,
    place: SourceLine,
    options: Typed,
}

impl JobFile {
    /// Reads a job file.
    ///
    /// # Errors
    /// Returns the first line that fio would reject too, or whose value requests a workload that iogauge
    /// cannot run.
    pub fn read(path: &Path, source: &dyn Source) -> Result<Self, JobFileError> {
        let mut file =
            Self { sections: Vec::new(), unsupported: Vec::new(), random: source.random() };
        let mut global = Typed::fio();
        for section in reader::read(path, source)? {
            if section.name == "global" {
                file.take(&mut global, &section.options)?;
                // A name applies to one job only.
                global.name = None;
            } else {
                let mut options = global.clone();
                file.take(&mut options, &section.options)?;
                let (name, place) = (section.name, section.place);
                file.sections.push(Section { name, place, options });
            }
        }
        if file.sections.is_empty() {
            let place = SourceLine { file: path.into(), line: 0 };
            return Err(JobFileError::form(&place, "has no job; hint: use [NAME]"));
        }
        Ok(file)
    }

    /// Applies options to a section. `kb_base`, which determines how sizes are read, is applied first,
    /// wherever it occurs.
    fn take(&mut self, options: &mut Typed, written: &[Written]) -> Result<(), JobFileError> {
        let is_base = |written: &&Written| written.name == "kb_base";
        let bases = written.iter().filter(is_base);
        for written in bases.chain(written.iter().filter(|written| !is_base(written))) {
            self.take_one(options, written)?;
        }
        Ok(())
    }

    fn take_one(&mut self, options: &mut Typed, written: &Written) -> Result<(), JobFileError> {
        let fail = |fault| JobFileError { place: written.place.clone(), fault };
        let Some(row) = find(&written.name) else {
            let Some((option, engine, _)) = engines::option(&written.name) else {
                let (name, nearest) = (written.name.clone(), nearest(&written.name));
                return Err(fail(Fault::UnknownOption { name, nearest }));
            };
            let why = format!("it belongs to engine {engine}, which iogauge lacks");
            self.unsupported.push(fail(Fault::Unsupported { option, why }));
            return Ok(());
        };
        let option = row.spelled(&written.name);
        match row.status {
            Status::Accepted(_) => {}
            Status::Unsupported { off, why } => {
                if !written.value.as_deref().is_some_and(|value| requests_nothing(off, value)) {
                    let newer = if row.is_newer() { "it is newer than fio 3.33, and " } else { "" };
                    let why = format!("{newer}{why}");
                    self.unsupported.push(fail(Fault::Unsupported { option, why }));
                }
            }
            Status::Handled(handled) => {
                let value = written.value.as_deref();
                let set = options.set(handled, value, Some(&written.place));
                set.map_err(|wrong| fail(Fault::of_value(option, value, wrong)))?;
            }
        }
        Ok(())
    }

    /// Returns the plan of the file: groups one after the other, the jobs of a group together.
    ///
    /// # Errors
    /// Returns the first job whose options contradict each other.
    pub fn plan(&self) -> Result<Vec<Group>, JobFileError> {
        plan::plan(&self.sections, self.random)
    }
}

/// Returns true if a value of an unsupported option requests nothing. Zero may have a unit.
fn requests_nothing(off: &[&str], value: &str) -> bool {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let is_zero = !digits.is_empty() && digits.bytes().all(|digit| digit == b'0');
    off.contains(&value) || (is_zero && off.contains(&"0"))
}

#[cfg(test)]
mod for_fio_tests;
#[cfg(test)]
mod tests;
