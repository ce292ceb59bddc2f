//! Logs that a job file requests from fio. fio writes them in its own directory; iogauge then
//! copies them to the requested paths. A log replaces only a log.

use crate::error::LabError;
use iogauge_io::kernel::is_among_devices;
use iogauge_io::logs::LogError;
use iogauge_io::output::{OutputError, OutputFile, Replace};
use iogauge_io::targets::ReserveWatch;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a log copied between two checks of the free space.
const COPIED_BYTES: usize = 1 << 20;

/// Suffixes that fio appends to the prefix of a log's name.
const KINDS: &[&str] = &["_bw.", "_iops.", "_lat.", "_slat.", "_clat.", "_clat_hist."];

/// Splits the prefix of a log into directory and name.
fn split(prefix: &Path) -> Option<(PathBuf, String)> {
    let name = prefix.file_name()?.to_str()?.to_owned();
    let directory = prefix.parent().filter(|parent| *parent != Path::new(""));
    Some((directory.unwrap_or(Path::new(".")).to_owned(), name))
}

/// Checks that logs with these prefixes can be made, and replace only logs.
///
/// # Errors
/// A log that would replace another file, or has no directory.
pub(crate) fn judge(prefixes: &[PathBuf]) -> Result<(), LabError> {
    for prefix in prefixes {
        let shown = prefix.display();
        let Some((directory, name)) = split(prefix) else {
            let text = format!("{shown}: a log needs a name; hint: use write_bw_log=DIR/NAME");
            return Err(LabError::Mismatch(text));
        };
        let entries = fs::read_dir(&directory).map_err(|error| {
            let directory = directory.display();
            LabError::Mismatch(format!("{directory}: logs cannot be put there: {error}"))
        })?;
        if File::open(&directory).is_ok_and(|directory| is_among_devices(&directory)) {
            return Err(LabError::Refused(format!(
                "{shown}: logs would be files named {shown}_bw.1.log and the like, and no file is made \
                 among devices; hint: use a name in another directory, or no log"
            )));
        }
        for entry in entries.flatten() {
            let found = entry.file_name();
            let found = found.to_string_lossy();
            let rest = found.strip_prefix(&name).unwrap_or_default();
            if KINDS.iter().any(|kind| rest.starts_with(kind)) {
                let path = directory.join(found.as_ref());
                OutputFile::check(&path, Replace::Logs).map_err(LogError::from)?;
            }
        }
    }
    Ok(())
}

/// The logs of fio, after it has ended.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    /// Those copied to their requested paths.
    pub made: Vec<PathBuf>,
    /// What is wrong with logs, one line each: a log is incomplete, or it could not be copied and
    /// is lost with fio's directory.
    pub wrong: Vec<String>,
}

/// Copies the logs from fio's directory to the requested paths. `logs` maps the prefix of a name
/// there to the requested prefix.
pub(crate) fn move_out(directory: &Path, logs: &[(String, PathBuf)]) -> Logs {
    let mut all = Logs::default();
    if logs.is_empty() {
        return all;
    }
    let mut found: Vec<_> = match fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect(),
        Err(error) => {
            all.wrong.push(format!("{}: the logs cannot be read: {error}", directory.display()));
            return all;
        }
    };
    found.sort();
    for name in found {
        let shown = name.to_string_lossy();
        let is_its = |(own, _): &&(String, PathBuf)| {
            shown.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        let Some((own, prefix)) = logs.iter().find(is_its) else { continue };
        let mut to = prefix.clone().into_os_string();
        to.push(&shown[own.len()..]);
        let to = PathBuf::from(to);
        match copy(&directory.join(&name), &to) {
            Ok(wrong) => {
                all.wrong.extend(wrong);
                all.made.push(to);
            }
            Err(error) => all.wrong.push(format!("log {} is lost: {error}", to.display())),
        }
    }
    all
}

/// Why a log could not be copied.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum CopyError {
    Output(#[from] OutputError),
    Io(#[from] io::Error),
}

/// Copies a log to its requested name, as far as there is room. Returns what is wrong with the
/// copy, if anything.
fn copy(from: &Path, to: &Path) -> Result<Option<String>, CopyError> {
    // fio may have made something other than a file.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let from = rustix::fs::open(from, flags, Mode::empty()).map_err(io::Error::from)?;
    let mut from = File::from(from);
    if !from.metadata()?.is_file() {
        return Err(io::Error::from(ErrorKind::InvalidInput).into());
    }
    let shown = to.display();
    let mut file = OutputFile::check(to, Replace::Logs)?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let room = ReserveWatch::of_directory(parent.unwrap_or(Path::new(".")));
    let mut room = room.map_err(io::Error::other)?;
    let (mut buffer, mut last) = (vec![0; COPIED_BYTES], None);
    loop {
        if let Err(error) = room.check() {
            let wrong = format!("log {shown} is cut off: {error}");
            return file.commit().map(|()| Some(wrong)).map_err(CopyError::from);
        }
        let n = from.read(&mut buffer)?;
        let Some(byte) = n.checked_sub(1).map(|end| buffer[end]) else { break };
        file.write_all(&buffer[..n])?;
        last = Some(byte);
    }
    // Each entry of a log is a line. An empty log is as fio left it, for example after a run
    // shorter than log_avg_msec.
    let is_whole = last.is_none_or(|byte| byte == b'\n');
    let wrong = (!is_whole)
        .then(|| format!("log {shown} is cut off: fio did not write its last line whole"));
    file.commit()?;
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_log_replaces_only_a_log() {
        let place = tempfile::tempdir().unwrap();
        let (own, out) = (place.path().join("own"), place.path().join("out"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&out).unwrap();
        let line = "1, 2, 0, 4096, 0\n";
        for name in ["log0_bw.1.log", "log0_clat.2.log", "log1_iops.log", "other", "log10_bw.log"] {
            fs::write(own.join(name), line).unwrap();
        }
        fs::write(own.join("log0_clat.2.log"), format!("{line}5, 6")).unwrap();
        fs::write(own.join("log1_iops.log"), "").unwrap();
        let logs = [("log0".to_owned(), out.join("x")), ("log1".to_owned(), out.join("y"))];
        let prefixes: Vec<PathBuf> = logs.iter().map(|(_, prefix)| prefix.clone()).collect();
        judge(&prefixes).unwrap();
        let Logs { made, wrong } = move_out(&own, &logs);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("x_clat.2.log is cut off"), "{wrong:?}");
        let wanted = ["x_bw.1.log", "x_clat.2.log", "y_iops.log"].map(|name| out.join(name));
        assert_eq!(made, wanted);
        assert_eq!(fs::read_to_string(&wanted[0]).unwrap(), line);
        judge(&prefixes).unwrap();
        // A log whose name was taken in the meantime is lost; the others replace the logs there.
        fs::write(own.join("log0_clat.2.log"), line).unwrap();
        fs::write(&wanted[0], "another's").unwrap();
        assert!(judge(&prefixes).unwrap_err().is_refusal());
        let Logs { made, wrong } = move_out(&own, &logs);
        assert_eq!((made, wrong.len()), (wanted[1..].to_vec(), 1));
        assert!(wrong[0].contains(wanted[0].to_str().unwrap()), "{wrong:?}");
        assert_eq!(fs::read_to_string(&wanted[1]).unwrap(), line);
        assert_eq!(fs::read_to_string(&wanted[0]).unwrap(), "another's");
        assert!(
            judge(&[place.path().join("no/x")]).is_err() && judge(&[PathBuf::from("/")]).is_err()
        );
    }

    #[test]
    fn symlink_in_place_of_a_log_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(place.path().join("secret"), place.path().join("log0_bw.log"))
            .unwrap();
        let logs = [("log0".to_owned(), place.path().join("out"))];
        let Logs { made, wrong } = move_out(place.path(), &logs);
        assert_eq!((made.len(), wrong.len()), (0, 1));
        assert!(!place.path().join("out_bw.log").exists());
    }
}
