//! The files of a check: JUnit XML and Markdown.

use crate::args::CheckArgs;
use crate::exit::{Refused, Usage};
use iogauge_lab::Rig;
use iogauge_lab::history::HistoryPath;
use iogauge_lab::output::{OutputError, OutputFile, Replace};
use iogauge_model::result::SuiteDocument;
use iogauge_report::ci;
use std::path::{Path, PathBuf};

type Form = fn(&SuiteDocument) -> String;

/// Files that were checked before the measurement.
#[derive(Debug)]
pub(super) struct Outputs(Vec<(OutputFile, Form)>);

impl Outputs {
    /// Checks that the files can be written.
    ///
    /// # Errors
    /// A file of others, one that cannot be written, or one that is named twice.
    pub(super) fn check(args: &CheckArgs) -> anyhow::Result<Self> {
        let history = match &args.output.history {
            HistoryPath::File(path) => Some(path),
            HistoryPath::Default | HistoryPath::None => None,
        };
        let outputs = [args.junit.as_ref(), args.markdown.as_ref(), history];
        let outputs = outputs.into_iter().flatten().map(PathBuf::as_path);
        // The requirements are not to be replaced, with --force either.
        let requirements = super::file::named(&args.target.target);
        let named: Vec<&Path> = requirements.into_iter().chain(outputs).collect();
        if let Some(path) = twice(&named) {
            let text = format!("{} is named twice; hint: use a file for each", path.display());
            return Err(Usage(text).into());
        }
        let forms: [(_, Form); 2] = [(&args.junit, ci::junit), (&args.markdown, ci::markdown)];
        let typed = forms.into_iter().filter_map(|(path, form)| Some((path.as_ref()?, form)));
        let check = |(path, form): (&std::path::PathBuf, Form)| {
            Ok((OutputFile::check(path, Replace::from(args.force))?, form))
        };
        Ok(Self(typed.map(check).collect::<Result<_, OutputError>>()?))
    }

    /// Refuses a file that is a target.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn refuse_target(&self, rig: &Rig) -> Result<(), Refused> {
        for (file, _) in &self.0 {
            if rig.paths_on_hosts().iter().any(|path| place(path) == place(file.path())) {
                let path = file.path().display();
                let text = format!("{path} is measured; hint: use another file for the verdict");
                return Err(Refused(text));
            }
        }
        Ok(())
    }

    /// Writes all files.
    ///
    /// # Errors
    /// The first one that cannot be written; the others are written nevertheless.
    pub(super) fn put(self, document: &SuiteDocument) -> Result<(), OutputError> {
        let put = |(file, form): (OutputFile, Form)| file.put(form(document).as_bytes());
        let written: Vec<_> = self.0.into_iter().map(put).collect();
        written.into_iter().collect()
    }
}

/// Returns the first path that names the same file as one before it.
fn twice<'a>(paths: &[&'a Path]) -> Option<&'a Path> {
    let is_known = |(index, path): (usize, &&'a Path)| {
        paths[..index].iter().any(|known| place(known) == place(path))
    };
    paths.iter().enumerate().find(|entry| is_known(*entry)).map(|(_, path)| *path)
}

/// Returns the absolute path of a file, which may not exist yet, without symbolic links.
fn place(path: &Path) -> PathBuf {
    let beside = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}
