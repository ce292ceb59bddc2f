//! What the process that works reports to its front: that it was signalled, and its exit code.

use crate::exit::Exit;
use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::low_level::pipe;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// A handler of signal-hook writes this byte.
const SIGNALLED: u8 = b'X';
/// Stands before the byte of the exit code.
const ENDS: u8 = b'=';

/// The end of the process that works.
#[derive(Debug)]
pub struct Reporter(File);

/// The end of its front.
#[derive(Debug)]
pub(super) struct Reports {
    pipe: File,
    /// The process has gone, or closed its end.
    closed: bool,
    /// The next byte is an exit code.
    code_follows: bool,
}

/// What was reported since the last time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) was_signalled: bool,
    pub(super) code: Option<u8>,
}

/// A pipe from one to the other, which no program that they start inherits.
pub(super) fn channel() -> io::Result<(Reports, Reporter)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let reports = Reports { pipe: reader.into(), closed: false, code_follows: false };
    Ok((reports, Reporter(writer.into())))
}

impl Reporter {
    /// From now on each of these signals is reported.
    ///
    /// # Errors
    /// Where a handler cannot be installed.
    pub fn reports_signal(&self, signal: i32) -> io::Result<()> {
        pipe::register(signal, self.0.try_clone()?).map(|_| ())
    }

    /// Reports the exit code: all that is left is to end.
    pub(super) fn ends_with(&self, exit: Exit) {
        // The front may have been killed; then so is this process.
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
            ENDS => self.code_follows = true,
            _ => {}
        }
    }

    /// True once nothing more can come.
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
    fn signals_and_the_exit_code_arrive_in_any_pieces() {
        let (mut reports, reporter) = channel().unwrap();
        assert_eq!(reports.read(), Heard::default());
        (&reporter.0).write_all(b"XX").unwrap();
        assert_eq!(reports.read(), Heard { was_signalled: true, code: None });
        (&reporter.0).write_all(b"=").unwrap();
        assert_eq!(reports.read(), Heard::default());
        // An exit code may be any byte.
        (&reporter.0).write_all(b"X").unwrap();
        assert_eq!(reports.read(), Heard { was_signalled: false, code: Some(b'X') });
        reporter.ends_with(Exit::Interrupted);
        assert_eq!(reports.read(), Heard { was_signalled: false, code: Some(130) });
        assert!(!reports.is_closed());
        drop(reporter);
        reports.read();
        assert!(reports.is_closed());
    }
}
