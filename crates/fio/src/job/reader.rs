//! From text to sections with options: lines, comments, includes, `${NAME}` and `$ncpus`.

use super::error::JobFileError;
use super::source::Source;
use iogauge_model::load::options::{self, MOST, SourceLine, evaluate};
use std::path::Path;
use std::sync::Arc;

/// Maximum depth of nested includes; more means that a file includes itself.
const DEEPEST: u32 = 8;
/// Maximum number of files that a job file may include in total.
const MOST_INCLUDES: u32 = 256;
/// fio's limit on a line.
const LONGEST_LINE: usize = 8192;
/// Maximum size of a job file with all its includes, in bytes.
const LONGEST_TEXT: usize = 64 << 20;
/// Maximum number of options of one section, and of all `[global]` sections together. fio has about 250
/// options.
const MOST_OPTIONS: usize = 4096;
/// Name of the section whose options apply to every job. fio treats every name with this prefix alike.
const GLOBAL: &str = "global";

/// An option of a section, with everything in its value expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// Its line.
    pub place: SourceLine,
    /// Its name, with underscores for dashes.
    pub name: String,
    /// The text after the `=`; `None` if there is no `=`.
    pub value: Option<String>,
}

/// A section with its own options, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// Its first line.
    pub place: SourceLine,
    /// The text in its brackets.
    pub name: String,
    pub options: Vec<Written>,
}

/// Reads a job file with all its includes.
pub(super) fn read(path: &Path, source: &dyn Source) -> Result<Vec<Section>, JobFileError> {
    let mut reader =
        Reader { source, sections: Vec::new(), includes: 0, jobs: 0, globals: 0, bytes: 0 };
    let file = SourceLine { file: path.into(), line: 0 };
    let text = source
        .read(path)
        .map_err(|error| JobFileError::form(&file, format!("cannot be read: {error}")))?;
    reader.lines(&file.file, &text, 0)?;
    Ok(reader.sections)
}

struct Reader<'a> {
    source: &'a dyn Source,
    sections: Vec<Section>,
    includes: u32,
    /// Number of sections that are jobs.
    jobs: u32,
    /// Number of options in `[global]` sections.
    globals: usize,
    /// Number of bytes read.
    bytes: usize,
}

/// Trims the white space that fio trims, which is that of ASCII only.
fn trimmed(line: &str) -> &str {
    line.trim_matches(is_blank)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

impl Reader<'_> {
    fn lines(&mut self, file: &Arc<Path>, text: &str, depth: u32) -> Result<(), JobFileError> {
        self.bytes += text.len();
        if self.bytes > LONGEST_TEXT {
            let what =
                format!("the job file with its includes is longer than {} MiB", LONGEST_TEXT >> 20);
            return Err(JobFileError::form(&SourceLine { file: file.clone(), line: 0 }, what));
        }
        for (index, line) in text.lines().enumerate() {
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let place = SourceLine { file: file.clone(), line: number };
            if line.len() > LONGEST_LINE {
                let what = format!("the line is longer than fio's {LONGEST_LINE} bytes");
                return Err(JobFileError::form(&place, what));
            }
            if line.contains('\0') {
                let what = "the line has a NUL, where fio would end it; hint: use plain text";
                return Err(JobFileError::form(&place, what));
            }
            // fio ends a line at either character, wherever it occurs.
            let line = trimmed(line.split([';', '#']).next().unwrap_or(""));
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                self.section(&place, rest, depth)?;
            } else if let Some(path) = included(line) {
                self.include(&place, path, depth)?;
            } else {
                self.option(place, line)?;
            }
        }
        Ok(())
    }

    fn section(&mut self, place: &SourceLine, rest: &str, depth: u32) -> Result<(), JobFileError> {
        if depth > 0 {
            let what = "an included file has options only; hint: put the section in the \
                        file that includes it";
            return Err(JobFileError::form(place, what));
        }
        let name = rest.rsplit_once(']').map(|(name, _)| trimmed(name)).unwrap_or_default();
        if name.is_empty() {
            let what = format!("\"[{rest}\" is not a section; hint: use [NAME]");
            return Err(JobFileError::form(place, what));
        }
        if name != GLOBAL && name.starts_with(GLOBAL) {
            let what = format!(
                "fio takes [{name}] as [{GLOBAL}], because it begins with it; hint: use another name"
            );
            return Err(JobFileError::form(place, what));
        }
        self.jobs += u32::from(name != GLOBAL);
        if self.jobs > MOST {
            let what = format!("the file has more than {MOST} jobs; hint: use numjobs=N");
            return Err(JobFileError::form(place, what));
        }
        let section = Section { place: place.clone(), name: name.to_owned(), options: Vec::new() };
        self.sections.push(section);
        Ok(())
    }

    /// Includes a file: the one with this path, or else one relative to the including file.
    fn include(&mut self, place: &SourceLine, path: &str, depth: u32) -> Result<(), JobFileError> {
        self.includes += 1;
        if depth == DEEPEST || self.includes > MOST_INCLUDES {
            let what = format!(
                "include {path}: too many includes within includes; a file must not include itself"
            );
            return Err(JobFileError::form(place, what));
        }
        let named = Path::new(path).to_owned();
        let beside = place.file.parent().unwrap_or(Path::new("")).join(path);
        let found = match self.source.read(&named) {
            Ok(text) => Ok((named, text)),
            Err(error) => self.source.read(&beside).map(|text| (beside, text)).map_err(|_| error),
        };
        let (path, text) = found.map_err(|error| {
            JobFileError::form(place, format!("include {path}: cannot be read: {error}"))
        })?;
        self.lines(&path.into(), &text, depth + 1)
    }

    fn option(&mut self, place: SourceLine, line: &str) -> Result<(), JobFileError> {
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (trimmed(name), Some(trimmed(value))),
            None => (line, None),
        };
        let Some(section) = self.sections.last_mut() else {
            let what = format!("{name} is outside a section; hint: put [NAME] above it");
            return Err(JobFileError::form(&place, what));
        };
        if name.is_empty() || name.contains(char::is_whitespace) {
            let what = format!("\"{line}\" is neither [SECTION], include FILE nor OPTION=VALUE");
            return Err(JobFileError::form(&place, what));
        }
        self.globals += usize::from(section.name == GLOBAL);
        if section.options.len() >= MOST_OPTIONS || self.globals > MOST_OPTIONS {
            let what = format!("[{}] has more than {MOST_OPTIONS} options", section.name);
            return Err(JobFileError::form(&place, what));
        }
        let mut value = value.map(|value| expand(value, &place, self.source)).transpose()?;
        let name = name.replace('-', "_");
        if let Some(row) = options::find(&name) {
            let read = |path: &Path, most| self.source.read_bytes(path, most);
            value = value
                .map(|text| row.with_files(text, &read))
                .transpose()
                .map_err(|error| JobFileError::form(&place, format!("{name}: {error}")))?;
        }
        section.options.push(Written { place, name, value });
        Ok(())
    }
}

/// Returns the path after `include`, if the line is one.
fn included(line: &str) -> Option<&str> {
    let path = line.strip_prefix("include")?;
    let path = trimmed(path.strip_prefix(is_blank)?);
    (!path.is_empty() && !path.starts_with('=')).then_some(path)
}

/// Expands environment variables and the machine's figures; arithmetic with the latter needs no
/// parentheses.
fn expand(value: &str, place: &SourceLine, source: &dyn Source) -> Result<String, JobFileError> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    let too_long = || {
        let what = format!("the value has more than {LONGEST_LINE} bytes");
        Err(JobFileError::form(place, what))
    };
    while let Some((before, name)) = rest.split_once("${") {
        let Some((name, behind)) = name.split_once('}') else {
            let what = format!("\"{value}\" has a ${{ without its }}; hint: use ${{NAME}}");
            return Err(JobFileError::form(place, what));
        };
        text.push_str(before);
        text.push_str(&source.variable(name).unwrap_or_default());
        if text.len() > LONGEST_LINE {
            return too_long();
        }
        rest = behind;
    }
    text.push_str(rest);
    let figures: [(&str, u64); 3] = [
        ("$ncpus", source.processors()),
        ("$pagesize", source.page_bytes()),
        ("$mb_memory", source.memory_bytes() >> 20),
    ];
    let mut replaced = false;
    for (word, figure) in figures {
        if text.contains(word) {
            replaced = true;
            text = text.replace(word, &figure.to_string());
        }
    }
    if text.len() > LONGEST_LINE {
        return too_long();
    }
    match evaluate(&text, &|_| None).filter(|_| replaced) {
        Some(number) if (0.0..9e15).contains(&number) => Ok(format!("{}", number.trunc())),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::MemorySource;
    use super::*;
    use proptest::prelude::*;

    type JobOptions = Vec<(String, Option<String>)>;

    fn sections(source: &MemorySource) -> Vec<(String, JobOptions)> {
        let read = read(Path::new("a.fio"), source).unwrap();
        let plain = |s: Section| {
            (s.name, s.options.into_iter().map(|o| (o.name, o.value)).collect::<Vec<_>>())
        };
        read.into_iter().map(plain).collect()
    }

    fn options(text: &str) -> JobOptions {
        let source = MemorySource::default()
            .file("a.fio", &format!("[a]\n{text}"))
            .variable("SIZE", "64m")
            .variable("DISK", "sdz");
        sections(&source).remove(0).1
    }

    fn error(source: &MemorySource) -> String {
        read(Path::new("a.fio"), source).unwrap_err().to_string()
    }

    #[test]
    fn sections_options_and_comments_are_parsed() {
        let text = "; one\n# two\n[global]\r\n  rw = read ; three\n\n[a b%]\nbs=4k # four\n\
                    time_based\niodepth-batch=2\n[c]";
        let some = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(
            sections(&MemorySource::default().file("a.fio", text)),
            [
                ("global".to_owned(), vec![some("rw", "read")]),
                (
                    "a b%".to_owned(),
                    vec![
                        some("bs", "4k"),
                        ("time_based".to_owned(), None),
                        some("iodepth_batch", "2")
                    ]
                ),
                ("c".to_owned(), vec![]),
            ]
        );
    }

    #[test]
    fn variables_in_values_are_expanded() {
        let wanted = [
            ("size=${SIZE}", "64m"),
            ("filename=/dev/${DISK}:/x/${NOT_SET}y", "/dev/sdz:/x/y"),
            ("numjobs=$ncpus", "4"),
            ("numjobs=2*$ncpus", "8"),
            ("bs=$pagesize", "4096"),
            ("size=$mb_memory/2", "4096"),
            ("filename=disk$ncpus", "disk4"),
            ("filename_format=$jobname.$jobnum", "$jobname.$jobnum"),
        ];
        for (line, value) in wanted {
            assert_eq!(options(line)[0].1.as_deref(), Some(value), "{line}");
        }
    }

    #[test]
    fn included_options_belong_to_the_section_that_includes_them() {
        let source = MemorySource::default()
            .file("a.fio", "[global]\ninclude inc/g.fio\n[a]\nbs=8k\ninclude inc/g.fio\nrw=read")
            .file("inc/g.fio", "iodepth=4\ninclude h.fio\n")
            .file("inc/h.fio", "thread\n");
        let read = sections(&source);
        let names =
            |index: usize| read[index].1.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(0), ["iodepth", "thread"]);
        assert_eq!(names(1), ["bs", "iodepth", "thread", "rw"]);
    }

    #[test]
    fn syntax_errors_report_file_and_line() {
        let file = |text: &str| MemorySource::default().file("a.fio", text);
        for (source, wanted) in [
            (MemorySource::default(), "a.fio: cannot be read"),
            (file("rw=read"), "a.fio:1: rw is outside a section"),
            (file("[a]\n[b\n"), "a.fio:2: \"[b\" is not a section; hint: use [NAME]"),
            (file("[a]\n[ ]\n"), "a.fio:2: "),
            (file("[a]\n\nrw read"), "a.fio:3: \"rw read\" is neither"),
            (file("[a]\n=5"), "a.fio:2: \"=5\" is neither"),
            (file("[globalx]\nunlink=1\n[a]"), "a.fio:1: fio takes [globalx] as [global]"),
            (file("[a]\nfilename=x\0y"), "a.fio:2: the line has a NUL"),
            (file("[a]\nsize=${SIZE"), "a.fio:2: \"${SIZE\" has a ${ without its }"),
            (file("[a]\ninclude b.fio"), "a.fio:2: include b.fio: cannot be read"),
            (file("[a]\ninclude b.fio").file("b.fio", "\n[c]"), "b.fio:2: an included file"),
            (file("[a]\ninclude a.inc").file("a.inc", "include a.inc"), "a.inc:1: include a.inc"),
        ] {
            let message = error(&source);
            assert!(message.starts_with(wanted), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        let long = file(&format!("[a]\nfilename={}", "x".repeat(9000)));
        assert!(error(&long).contains("8192"));
    }

    #[test]
    fn only_ascii_whitespace_is_trimmed() {
        assert_eq!(options("filename=\tx\u{a0} ")[0].1.as_deref(), Some("x\u{a0}"));
        assert_eq!(options("filename=\u{2003}x")[0].1.as_deref(), Some("\u{2003}x"));
    }

    /// Input that would take much time or memory is rejected early.
    #[test]
    fn huge_job_files_are_rejected_early() {
        let include = "include b\n".repeat(1_000_000);
        let sections = "[a]\n".repeat(100_000);
        let global = format!("[global]\n{}[a]\n", "rw=read\n".repeat(1_000_000));
        let globals = format!("{}[a]\n", "[global]\nbs=4k\n".repeat(1_000_000));
        let braces = "{".repeat(60 << 20);
        for (text, wanted) in [
            (format!("[a]\n{include}"), "a.fio:258: include b: too many includes"),
            (include, "b:1: rw is outside"),
            (sections, "a.fio:4097: the file has more than 4096 jobs"),
            (global, "a.fio:4098: [global] has more than 4096 options"),
            (globals, "a.fio:8194: [global] has more than 4096 options"),
            (braces, "a.fio:1: the line is longer"),
            ("[a]\n".repeat(17 << 20), "a.fio: the job file with its includes is longer"),
        ] {
            let source = MemorySource::default().file("a.fio", &text).file("b", "rw=read");
            let message = error(&source);
            assert!(message.starts_with(wanted), "{message}");
        }
        let source = MemorySource::default()
            .file("a.fio", &format!("[a]\nfilename={}", "${X}".repeat(1000)))
            .variable("X", &"x".repeat(100_000));
        assert!(error(&source).contains("has more than 8192 bytes"));
    }

    #[test]
    fn exponentially_nested_includes_are_rejected() {
        let mut source = MemorySource::default().file("a.fio", "[a]\ninclude 0");
        for depth in 0..7 {
            let line = format!("include {}\n", depth + 1);
            source = source.file(depth.to_string(), &line.repeat(50));
        }
        assert!(error(&source.file("7", "")).contains("too many includes"));
    }

    proptest! {
        #[test]
        fn reading_arbitrary_job_file_never_panics(text in "(\\PC|[\\[\\]=;#${}\n ]){0,80}") {
            let _ = read(Path::new("a.fio"), &MemorySource::default().file("a.fio", &text));
        }
    }
}
