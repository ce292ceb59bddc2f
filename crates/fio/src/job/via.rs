//! What happens to an option in jobs that fio runs: whether it is passed to fio, and with which values.

use super::error::{Fault, JobFileError};
use super::reader::Written;

/// What happens to an option in jobs that fio runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// The option only shapes the I/O: fio receives it as written.
    Pass,
    /// iogauge implements the option itself, because it decides which files a job uses and how they are
    /// created. fio receives iogauge's result, or nothing.
    Decided,
    /// With this option, fio writes a log to a directory of its own; iogauge moves the log to where it was
    /// requested.
    Log,
    /// fio receives the option with one of these values. Others are rejected.
    Only {
        values: &'static [&'static str],
        /// Why other values are rejected, and a hint.
        why: &'static str,
    },
}

/// Characters with a special meaning in fio's job files.
const SPECIAL: &[char] = &['#', ';', '\'', '"', '\\', '$', '`'];

/// Returns true if fio reads a text literally in every option.
pub(super) fn is_plain(text: &str) -> bool {
    text.trim_matches(' ') == text
        && text.chars().all(|c| matches!(c, ' '..='~') && !SPECIAL.contains(&c))
}

impl Via {
    /// Returns the line with which fio receives an option; `None` if fio does not receive it.
    ///
    /// # Errors
    /// Fails if fio must not receive the value, or might read it differently.
    pub(super) fn line(
        self,
        option: &'static str,
        written: &Written,
    ) -> Result<Option<String>, JobFileError> {
        let fail = |fault| Err(JobFileError { place: written.place.clone(), fault });
        let value = written.value.as_deref();
        match self {
            Self::Decided | Self::Log => return Ok(None),
            Self::Pass => {}
            Self::Only { values, why } => {
                if !value.is_some_and(|value| values.contains(&value)) {
                    return fail(Fault::RefusedVia { option, why: why.to_owned() });
                }
            }
        }
        let Some(value) = value else { return Ok(Some(option.to_owned())) };
        if !is_plain(value) {
            let reason = "the value has characters that fio may read in another way; hint: use \
                          ASCII without quotes, backslashes, # ; $"
                .to_owned();
            return fail(Fault::Value { option, reason });
        }
        Ok(Some(format!("{option}={value}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{SourceLine, options};
    use std::path::Path;

    fn line(via: Via, value: Option<&str>) -> Result<Option<String>, JobFileError> {
        let place = SourceLine { file: Path::new("a.fio").into(), line: 2 };
        let written = Written { place, name: "bs".into(), value: value.map(str::to_owned) };
        via.line("bs", &written)
    }

    #[test]
    fn only_plain_values_are_passed_to_fio() {
        for value in ["4k", "zipf:1.2", "4k/50:8k/50,16k/", "50%", "host name", ""] {
            assert_eq!(line(Via::Pass, Some(value)), Ok(Some(format!("bs={value}"))), "{value}");
        }
        for value in [
            "4k#", "a;b", "'f'", "\"t\"", "\\", "${X}", "$(x)", "`x`", "a\nb", "é", "a\u{a0}", " a",
        ] {
            assert!(line(Via::Pass, Some(value)).is_err(), "{value:?}");
        }
        assert_eq!(line(Via::Pass, None), Ok(Some("bs".to_owned())));
    }

    /// Checks the column of the table: rejections have a reason, and accepted values are plain.
    #[test]
    fn every_option_defines_how_it_is_passed_to_fio() {
        for row in options() {
            match row.via {
                Via::Only { values, why } => {
                    assert!(why.len() > 8 && !why.contains('\n') && !why.ends_with('.'), "{why}");
                    assert!(values.iter().all(|value| is_plain(value)), "{}", row.name);
                    assert!(line(row.via, Some("no such value")).is_err(), "{}", row.name);
                    assert!(line(row.via, None).is_err(), "{}", row.name);
                    for value in values {
                        assert!(line(row.via, Some(value)).is_ok(), "{}={value}", row.name);
                    }
                }
                Via::Decided | Via::Log => {
                    assert_eq!(line(row.via, Some("/a;b")), Ok(None), "{}", row.name);
                }
                Via::Pass => assert!(line(row.via, Some("a#b")).is_err(), "{}", row.name),
            }
        }
    }

    /// Options whose value is a path, a command or the name of something outside the job.
    #[test]
    fn options_with_paths_are_not_passed_to_fio() {
        for name in [
            "filename",
            "directory",
            "opendir",
            "read_iolog",
            "write_iolog",
            "merge_blktrace_file",
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "exec_prerun",
            "exec_postrun",
            "mem",
            "cgroup",
            "ioscheduler",
            "profile",
            "filename_format",
            "uid",
        ] {
            let row = super::super::find(name).unwrap();
            assert_ne!(row.via, Via::Pass, "{name}");
            if let Ok(Some(line)) = line(row.via, Some("/some/where")) {
                panic!("{line}");
            }
        }
    }
}
