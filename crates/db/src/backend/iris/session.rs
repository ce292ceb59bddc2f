//! Sessions of an instance: the program `iris`, iogauge's routines, and the messages of IRIS.
//!
//! A session reads commands from standard input, as `iris session INSTANCE -U NAMESPACE <file` does in scripts. Its first
//! command sets an error trap, so that an error ends it, and starts a routine, which reads the other lines.

use crate::backend::m::{self, Installation, Session};
use crate::directory::fault;
use crate::error::DbError;
use rustix::process::Signal;
use std::fmt;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// IRIS's own routines, with their names.
const OWN_ROUTINES: [(&str, &str); 2] = [
    ("RanDialect", include_str!("routines/RanDialect.m")),
    ("RanKeeper", include_str!("routines/RanKeeper.m")),
];
/// Maximum wait for a session's first answer. A session that asks for a user's name gives none.
const GREETING: Duration = Duration::from_secs(60);
/// Number of letters that an error shows of what a session said.
const MOST_SHOWN: usize = 400;
/// The error trap of a session: it tells the error and ends (KEY=RCOS_vetrap).
const TRAP: &str = r#"set $etrap="write !,""! "",$zerror,! halt""#;

/// Returns every routine with its name.
pub fn routines() -> impl Iterator<Item = (&'static str, &'static str)> {
    OWN_ROUTINES.into_iter().chain(m::ROUTINES)
}

/// Returns why IRIS cannot be used here; `None` if it can.
pub fn absent() -> Option<String> {
    find().err().map(|error| error.to_string())
}

/// Finds the program `iris`.
///
/// # Errors
/// Returns [`DbError::Absent`] if there is none.
pub fn find() -> Result<PathBuf, DbError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = [PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")];
    let found = std::env::split_paths(&path)
        .chain(usual)
        .map(|folder| folder.join("iris"))
        .find(|program| program.is_file());
    found.ok_or_else(|| {
        DbError::Absent(
            "there is no InterSystems IRIS on this machine; hint: run iogauge on the host of the instance, \
             with the program iris in PATH"
                .to_owned(),
        )
    })
}

/// A namespace of an instance, and the program that opens sessions in it.
#[derive(Debug, Clone)]
pub struct Instance {
    program: PathBuf,
    name: String,
    namespace: String,
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.namespace)
    }
}

impl Instance {
    /// Names a namespace. Both names are words without special signs.
    pub fn new(program: PathBuf, name: &str, namespace: &str) -> Self {
        Self { program, name: name.to_owned(), namespace: namespace.to_owned() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // Terminal signals reach only iogauge, which handles them.
        command.args(["session", &self.name, "-U", &self.namespace]).process_group(0);
        command
    }

    /// Runs commands in a session of its own, and returns what it wrote.
    fn run(&self, commands: &str) -> Result<String, DbError> {
        let system = |error: std::io::Error| fault(Path::new("iris"), &error);
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(system)?;
        let input = child.stdin.take();
        let text = format!("{TRAP}\n{commands}halt\n");
        // The session may write before it has read everything.
        let writing = std::thread::spawn(move || {
            // A session that ends early says why.
            input.map(|mut input| input.write_all(text.as_bytes()))
        });
        let output = child.wait_with_output().map_err(system)?;
        let _ = writing.join();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        match self.last_error(&said) {
            Some(error) => Err(error),
            None => Ok(said),
        }
    }

    /// Writes and compiles iogauge's routines. Refuses to replace a routine that iogauge did not write.
    ///
    /// # Errors
    /// Returns [`DbError::Foreign`] for another routine of the same name, or errors of IRIS.
    pub fn install_routines(&self) -> Result<(), DbError> {
        let said = self.run(&installation())?;
        let saved = said.lines().filter(|line| *line == ". saved").count();
        if saved == routines().count() {
            return Ok(());
        }
        let words: Vec<&str> = said.split_whitespace().collect();
        let begin: String = words.join(" ").chars().take(MOST_SHOWN).collect();
        Err(DbError::Failed(format!(
            "{self}: {saved} of {} routines were saved, and the session said: \"{begin}\"; hint: see what \
             iris session {} -U {} says",
            routines().count(),
            self.name,
            self.namespace
        )))
    }

    /// Returns true if the routines are installed.
    ///
    /// # Errors
    /// Returns errors of IRIS.
    pub fn has_routines(&self) -> Result<bool, DbError> {
        let said = self.run("write !,\". \",''##class(%Routine).Exists(\"RanKeeper.INT\"),!\n")?;
        Ok(said.lines().any(|line| line == ". 1"))
    }

    /// Removes iogauge's routines.
    ///
    /// # Errors
    /// Returns errors of IRIS.
    pub fn remove_routines(&self) -> Result<(), DbError> {
        let commands: String = routines()
            .map(|(name, _)| format!("set s=##class(%Routine).Delete(\"{name}.INT\")\n"))
            .collect();
        self.run(&commands).map(|_| ())
    }
}

/// Returns the commands that install the routines, each followed by its text, which `READ` takes up to a line with a dot
/// (class %Routine).
pub fn installation() -> String {
    let install = |(name, text): (&str, &str)| {
        format!(
            "if ##class(%Routine).Exists(\"{name}.INT\") set r=##class(%Routine).%OpenId(\"{name}.INT\") \
             if $piece(r.ReadLine(),\" \",1,2)'=\"{name} ;\" write !,\"! foreign {name}\",! halt\n\
             set r=##class(%Routine).%New(\"{name}.INT\") do r.Clear() for  read l quit:l=\".\"  do r.WriteLine(l)\n\
             {text}.\n\
             set s=r.Save() set:s s=r.Compile(\"-d\") write !,$select(s:\". saved\",1:\"! failed \"_$system.Status.GetErrorText(s)),!\n"
        )
    };
    routines().map(install).collect()
}

impl Installation for Instance {
    fn name(&self) -> &'static str {
        "IRIS"
    }

    fn session(&self, entry: &str) -> Session {
        Session {
            command: self.command(),
            first_line: Some(format!("{TRAP} do {entry} halt")),
            greeting: Some(GREETING),
        }
    }

    /// A process that is killed within the database may stop the instance; one that is asked to end leaves it.
    fn end_signal(&self) -> Signal {
        Signal::TERM
    }

    fn error(&self, status: &str) -> DbError {
        let (kind, rest) = status.split_once(' ').unwrap_or((status, ""));
        let has = |words: &[&str]| words.iter().any(|word| status.contains(word));
        if kind == "foreign" {
            DbError::Foreign(format!(
                "{self}: there is {rest}, which iogauge did not make; hint: use another --name or namespace"
            ))
        } else if kind == "busy" {
            DbError::Busy(format!("{self}: another process has it; hint: wait for it"))
        } else if has(&["<NOROUTINE>"]) || kind == "missing" {
            DbError::Missing(format!(
                "{self}: there is no database of iogauge; hint: run iogauge db setup first"
            ))
        } else if has(&["<PROTECT>", "Access Denied"]) {
            DbError::Denied(format!(
                "{self}: {status}; hint: run iogauge as a user of the instance who may make databases \
                 (%Admin_Manage), with authentication by the system"
            ))
        } else if has(&["<NAMESPACE>"]) {
            DbError::Usage(format!(
                "{self}: there is no such namespace ({status}); hint: use another"
            ))
        } else if has(&["<FILEFULL>", "<DISKHARD>", "No space left"]) {
            DbError::Full(format!(
                "{self}: no room on the disk ({status}); hint: use a smaller database or another disk"
            ))
        } else if has(&["not running", "not found", "does not exist", "not exist"]) {
            DbError::Unreachable(format!(
                "{self}: {status}; hint: start the instance with iris start"
            ))
        } else {
            DbError::Failed(format!("{self}: {}", status.strip_prefix("failed ").unwrap_or(status)))
        }
    }

    fn last_error(&self, output: &str) -> Option<DbError> {
        let lines = || output.lines().map(str::trim);
        let told = lines().find_map(|line| line.strip_prefix("! ")).or_else(|| {
            lines().find(|line| {
                ["Access Denied", "not running", "not found", "not exist", "<NAMESPACE>"]
                    .iter()
                    .any(|word| line.contains(word))
            })
        });
        told.map(|status| self.error(status))
    }
}
