//! GT.M's programs and their messages.

use crate::backend::m::{Installation, Session};
use crate::directory::fault;
use crate::error::DbError;
use crate::exclusive_lock::retry;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of bytes of a program's output that are kept.
const MOST_SAID: u64 = 4 << 20;

/// Reads all output of a program, so that it never blocks, and returns the beginning.
fn read_said(mut reader: impl Read) -> String {
    let mut said = Vec::new();
    // A read error ends the output.
    let _ = reader.by_ref().take(MOST_SAID).read_to_end(&mut said);
    let _ = std::io::copy(&mut reader, &mut std::io::sink());
    String::from_utf8_lossy(&said).into_owned()
}

/// The message about a semaphore that another process holds while it opens or closes a database.
const SEMAPHORE: &str = "CRITSEMFAIL";
/// Maximum wait for such a semaphore. It is held for milliseconds, unless a closing process has much to write.
const SEMAPHORE_WAIT: Duration = Duration::from_secs(10);
/// Number of messages that an error contains.
const MOST_REASONS: usize = 4;

/// Runs GT.M's programs in the folder of one database.
#[derive(Debug, Clone)]
pub struct Tools {
    dist: PathBuf,
    folder: PathBuf,
}

impl Tools {
    /// Returns the programs of the installation `dist`, to be run in `folder`.
    pub fn new(dist: PathBuf, folder: &Path) -> Self {
        Self { dist, folder: folder.to_owned() }
    }

    /// Returns how the routines of every M database run here.
    pub fn installation(&self) -> Arc<dyn Installation> {
        Arc::new(self.clone())
    }

    /// Returns the command for a program. Paths are relative to the folder, because GT.M splits routine paths at
    /// spaces.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.dist.join(program));
        let inherited = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy().to_ascii_lowercase();
            name.starts_with("gtm") || name.starts_with("ydb")
        });
        for name in inherited {
            command.env_remove(name);
        }
        let dist = self.dist.display();
        command
            .current_dir(&self.folder)
            // Terminal signals reach only iogauge, which handles them.
            .process_group(0)
            .env("gtm_dist", &self.dist)
            .env("gtmgbldir", super::files::DIRECTORY)
            .env("gtmroutines", format!("{} {dist}/libgtmutil.so {dist}", super::files::ROUTINES))
            .env("gtm_tmp", &self.folder)
            .env("gtm_log", &self.folder)
            .env("gtm_chset", "M")
            // Without this, GT.M would continue without a journal if it cannot be written.
            .env("gtm_error_on_jnl_file_lost", "1");
        command
    }

    /// Runs a program to its end and returns its output.
    ///
    /// # Errors
    /// Returns its message if it failed.
    pub fn run(&self, program: &str, arguments: &[&str], input: &str) -> Result<String, DbError> {
        let mut command = self.command(program);
        let path = self.dist.join(program);
        let system = |error: std::io::Error| fault(&path, &error);
        let (reader, writer) = std::io::pipe().map_err(system)?;
        command.args(arguments).stdin(Stdio::piped());
        command.stdout(writer.try_clone().map_err(system)?).stderr(writer);
        let mut child = command.spawn().map_err(system)?;
        // The command holds a copy of the pipe's write end, which must be closed.
        drop(command);
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends before it has read all input reports the reason.
            let _ = stdin.write_all(input.as_bytes());
        }
        let said = read_said(reader);
        let status = child.wait().map_err(system)?;
        if status.success() && !is_faulty(&said) {
            Ok(said)
        } else if said.trim().is_empty() {
            Err(DbError::Failed(format!("{}: it ended with {}", path.display(), status)))
        } else {
            Err(self.said(&said))
        }
    }

    /// Releases the shared memory of a database that no process has open. `mupip` fails at once if another process is
    /// opening or closing a database with the same FTOK key, so this tries again.
    ///
    /// # Errors
    /// Returns [`DbError::Busy`] if a process has it open.
    pub fn rundown(&self, options: &[&str]) -> Result<String, DbError> {
        let arguments = [&["rundown", "-region", "DEFAULT"], options].concat();
        let is_held =
            |error: &DbError| matches!(error, DbError::Busy(text) if text.contains(SEMAPHORE));
        retry(SEMAPHORE_WAIT, is_held, || self.run("mupip", &arguments, ""))
    }

    /// Converts messages of GT.M to a one-line error.
    pub fn said(&self, text: &str) -> DbError {
        let place = self.folder.display();
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        // The first one says what failed, the following ones say why.
        let mut reasons: Vec<&str> = lines().filter(|line| is_faulty(line)).collect();
        reasons.truncate(MOST_REASONS);
        if reasons.is_empty() {
            reasons.extend(lines().next());
        }
        let line = reasons.join("; ");
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&[
            "No space left",
            "ENO28",
            "NOSPACE",
            "DSKSPACE",
            "NOSPC",
            "GBLOFLOW",
            "Disk quota",
            "ENO122",
        ]) {
            let right = "hint: use a smaller database or another disk";
            DbError::Full(format!("{place}: no room on the disk ({line}); {right}"))
        } else if has(&["Permission denied", "ENO13", "Read-only file", "ENO30", "DBPRIVERR"]) {
            let right = "hint: use a directory that you may write";
            DbError::ReadOnly(format!("{place}: {line}; {right}"))
        } else if has(&[
            "MUSTANDALONE",
            "MUFILRNDWNFL",
            "FILEINUSE",
            "in use",
            "already open by another",
            SEMAPHORE,
        ]) {
            let right = "hint: wait for it";
            DbError::Busy(format!(
                "{place}: another process has the database open ({line}); {right}"
            ))
        } else if text.contains("TRANS2BIG") {
            let right = "hint: use shorter transactions or a larger cache";
            DbError::Usage(format!("{place}: a transaction touches too many blocks; {right}"))
        } else if has(&[
            "DBNOTGDS",
            "DBFLCORRP",
            "DBBADNSUB",
            "BADDBVER",
            "DBMISALIGN",
            "JNLBADLABEL",
            "GDINVALID",
        ]) {
            let right = "hint: run purge, then setup";
            DbError::Failed(format!("{place}: it is damaged ({line}); {right}"))
        } else {
            DbError::Failed(format!("{place}: {line}"))
        }
    }
}

impl Installation for Tools {
    fn name(&self) -> &'static str {
        "GT.M"
    }

    fn session(&self, entry: &str) -> Session {
        let mut command = self.command("mumps");
        command.args(["-run", entry]);
        Session { command, first_line: None, greeting: None }
    }

    fn error(&self, status: &str) -> DbError {
        self.said(&message(status))
    }

    fn last_error(&self, output: &str) -> Option<DbError> {
        is_faulty(output).then(|| self.said(&message(output)))
    }
}

/// Returns true if a text has a message about an error (E) or a fatal error (F).
pub fn is_faulty(text: &str) -> bool {
    text.contains("-E-") || text.contains("-F-")
}

/// Returns the message in `150372778,label+1^routine,%GTM-E-WORD, text`.
pub fn message(line: &str) -> String {
    line.find('%').map_or(line, |at| &line[at..]).to_owned()
}
