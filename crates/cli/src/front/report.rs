//! What the working process reports to the front process: that it was signalled, that it becomes mpirun, and its exit
//! code.

use crate::exit::Exit;
use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::low_level::pipe;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// The byte that a handler of signal-hook writes.
const SIGNALLED: u8 = b'X';
/// Precedes the byte of the exit code.
const ENDS: u8 = b'=';

/// The process becomes mpirun.
const LAUNCHES: u8 = b'L';

/// The working process's end of the pipe.
#[derive(Debug)]
pub struct Reporter(File);

/// The front's end of the pipe.
#[derive(Debug)]
pub(super) struct Reports {
    pipe: File,
    /// True once the process has ended or closed its end.
    closed: bool,
    /// The next byte is an exit code.
    code_follows: bool,
}

/// Reports received since the last read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) was_signalled: bool,
    pub(super) launches: bool,
    pub(super) code: Option<u8>,
}

/// Makes a pipe from the working process to the front. Programs that they start do not inherit it.
pub(super) fn channel() -> io::Result<(Reports, Reporter)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let reports = Reports { pipe: reader.into(), closed: false, code_follows: false };
    Ok((reports, Reporter(writer.into())))
}

impl Reporter {
    /// Reports each of these signals from now on.
    ///
    /// # Errors
    /// A handler cannot be installed.
    pub fn reports_signal(&self, signal: i32) -> io::Result<()> {
        pipe::register(signal, self.0.try_clone()?).map(|_| ())
    }

    /// Reports that this process becomes mpirun.
    pub fn launches(&self) {
        // If the front was killed, so is this process.
        let _ = (&self.0).write_all(&[LAUNCHES]);
    }

    /// Reports the exit code; nothing but the exit is left to do.
    pub(super) fn ends_with(&self, exit: Exit) {
        // If the front was killed, so is this process.
        let _ = (&self.0).write_all(&[ENDS, exit as u8]);
    }
}

impl Reports {
    pub(super) fn read(&mut self) -> Heard {
        let mut heard = Heard::default();
        let mut bytes = [0; 256];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => {
                    self.closed = true;
                    return heard;
                }
                Ok(read) => bytes[..read].iter().for_each(|byte| self.take(*byte, &mut heard)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return heard,
            }
        }
    }

    fn take(&mut self, byte: u8, heard: &mut Heard) {
        match byte {
            code if std::mem::take(&mut self.code_follows) => heard.code = Some(code),
            SIGNALLED => heard.was_signalled = true,
            LAUNCHES => heard.launches = true,
            ENDS => self.code_follows = true,
            _ => {}
        }
    }

    /// True once nothing more can arrive.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
}

impl AsFd for Reports {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_and_exit_code_parse_from_partial_reads() {
        let (mut reports, reporter) = channel().unwrap();
        assert_eq!(reports.read(), Heard::default());
        (&reporter.0).write_all(b"XX").unwrap();
        assert_eq!(reports.read(), Heard { was_signalled: true, ..Heard::default() });
        reporter.launches();
        assert_eq!(reports.read(), Heard { launches: true, ..Heard::default() });
        (&reporter.0).write_all(b"=").unwrap();
        assert_eq!(reports.read(), Heard::default());
        // An exit code may be any byte.
        (&reporter.0).write_all(b"X").unwrap();
        assert_eq!(reports.read(), Heard { code: Some(b'X'), ..Heard::default() });
        reporter.ends_with(Exit::Interrupted);
        assert_eq!(reports.read(), Heard { code: Some(130), ..Heard::default() });
        assert!(!reports.is_closed());
        drop(reporter);
        reports.read();
        assert!(reports.is_closed());
    }
}
