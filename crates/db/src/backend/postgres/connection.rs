//! A connection to a server that waits for each answer.
//!
//! The protocol: <https://www.postgresql.org/docs/current/protocol.html>, version 3.

use super::address::Address;
use super::fault::{Said, lost};
use super::login;
use super::message::{Message, Strange, fields};
use super::stream::{Lines, Stream};
use crate::directory::system_words;
use crate::error::DbError;
use crate::progress::Progress;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Maximum wait for a connection and for a login.
const LOGIN: Duration = Duration::from_secs(10);
/// Maximum wait for the end of a session.
const END: Duration = Duration::from_secs(3);
/// Maximum wait for a statement that reads no data.
const STATEMENT: Duration = Duration::from_secs(20);
/// Time without data after which iogauge checks whether the server still accepts other logins.
const SILENCE: Duration = Duration::from_secs(10);
/// Interval between checks while waiting.
const LOOK: Duration = Duration::from_millis(100);
/// Number of bytes read from the system at once.
const INPUT_BYTES: usize = 32 << 10;
/// Maximum number of notices and similar messages in one answer.
const MOST_ASIDES: u32 = 10_000;

/// Called with the tag and body of messages.
type See<'a> = dyn FnMut(u8, &[u8]) -> Result<(), DbError> + 'a;

/// Maximum wait for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// A total time, after which the server is treated as gone.
    For(Duration),
    /// As long as the server accepts other logins, so is merely busy.
    WhileAlive,
    /// Until the connection is closed. Costs nothing while it waits.
    Endless,
}

/// A connection. Dropping it waits until the server has ended the session. The session's counts are then visible to
/// others, and its locks are released.
pub(super) struct Connection {
    stream: Stream,
    /// Its name in error messages.
    place: String,
    address: Address,
    passfile: Option<String>,
    patience: Patience,
    /// Start of the wait for an answer, and time of the last data.
    asked: Instant,
    heard: Instant,
    /// Number of notices and similar messages since then.
    asides: u32,
    /// Data to send next.
    pub out: BytesMut,
    input: Vec<u8>,
    /// The part of `input` that was received but not parsed yet.
    unread: Range<usize>,
    /// Identifies the session in a cancel request.
    key: (i32, i32),
    /// True if the connection cannot be used any more.
    is_over: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects and logs in, each within ten seconds.
    ///
    /// # Errors
    /// Returns [`DbError::Unreachable`], [`DbError::Denied`], or [`DbError::Missing`] for the database.
    pub(super) fn open(
        address: &Address,
        passfile: Option<&str>,
        lines: &Lines,
    ) -> Result<Self, DbError> {
        let place = address.to_string();
        let unreachable = |error: std::io::Error| {
            let reason = format!("{place}: no server answers: {}", system_words(&error));
            DbError::Unreachable(format!("{reason}; hint: name a server that runs there"))
        };
        let mut stream = Stream::open(address, LOGIN).map_err(unreachable)?;
        lines.add(&stream);
        stream.set_timeout(Some(LOOK)).map_err(unreachable)?;
        let now = Instant::now();
        let mut connection = Self {
            stream,
            place: place.clone(),
            address: address.clone(),
            passfile: passfile.map(str::to_owned),
            patience: Patience::For(LOGIN),
            asked: now,
            heard: now,
            asides: 0,
            out: BytesMut::with_capacity(4096),
            input: vec![0; INPUT_BYTES],
            unread: 0..0,
            key: (0, 0),
            is_over: false,
        };
        connection.key = login::log_in(&mut connection, address, passfile).map_err(|error| {
            connection.is_over = true;
            // A peer that closes the connection here is not a server.
            if let DbError::Gone(text) = error { DbError::Unreachable(text) } else { error }
        })?;
        connection.patience = Patience::For(STATEMENT);
        Ok(connection)
    }

    /// Sets the maximum wait for answers, and returns the previous one.
    pub(super) fn set_patience(&mut self, patience: Patience) -> Patience {
        let timeout = (patience != Patience::Endless).then_some(LOOK);
        // If the socket refuses it, the connection is lost, which its next use reports.
        let _ = self.stream.set_timeout(timeout);
        std::mem::replace(&mut self.patience, patience)
    }

    /// Runs an action with a different maximum wait.
    pub(super) fn with_patience<T>(
        &mut self,
        patience: Patience,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.set_patience(patience);
        let done = act(self);
        self.set_patience(before);
        done
    }

    /// Returns its name for error messages.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Sends the contents of `out`.
    pub(super) fn send(&mut self) -> Result<(), DbError> {
        if !matches!(self.patience, Patience::For(LOGIN)) {
            // The time limit of a login covers all its messages.
            self.asked = Instant::now();
        }
        (self.heard, self.asides) = (Instant::now(), 0);
        let out = std::mem::take(&mut self.out);
        let mut rest = &out[..];
        let mut sent = if self.is_over { Err(self.over()) } else { Ok(()) };
        while sent.is_ok() && !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(bytes) => rest = &rest[bytes..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => sent = self.go_on_waiting(),
                Err(error) => sent = Err(self.lost(&error)),
            }
        }
        self.out = out;
        self.out.clear();
        sent
    }

    /// Returns the next message that is not a notice. Errors are returned like other messages.
    pub(super) fn message(&mut self) -> Result<Message, DbError> {
        loop {
            if let Some(message) = self.message_at_hand()? {
                return Ok(message);
            }
            while !self.receive()? {}
        }
    }

    /// Returns the body of a message.
    pub(super) fn body(&self, message: &Message) -> &[u8] {
        &self.input[message.body.clone()]
    }

    /// Returns the next message that has been received completely.
    fn message_at_hand(&mut self) -> Result<Option<Message>, DbError> {
        loop {
            let start = self.unread.start;
            let first = Message::first(&self.input[self.unread.clone()]);
            let Some(message) = first.map_err(|Strange| self.strange())? else { return Ok(None) };
            self.unread.start += message.body.end;
            if !message.is_aside() {
                let body = start + message.body.start..start + message.body.end;
                return Ok(Some(Message { tag: message.tag, body }));
            }
            self.asides += 1;
            if self.asides > MOST_ASIDES {
                return Err(self.strange());
            }
        }
    }

    /// Marks the connection as unusable: data after an invalid message cannot be parsed.
    fn strange(&mut self) -> DbError {
        self.is_over = true;
        strange(&self.place)
    }

    fn over(&self) -> DbError {
        DbError::Gone(format!("{}: the connection is over", self.place))
    }

    /// Waits a moment for more data. Returns false if there is none.
    fn receive(&mut self) -> Result<bool, DbError> {
        if self.is_over {
            return Err(self.over());
        }
        self.make_room();
        loop {
            match self.stream.read(&mut self.input[self.unread.end..]) {
                Ok(0) => return Err(self.lost(&ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => {
                    self.unread.end += bytes;
                    if self.patience != Patience::Endless {
                        self.heard = Instant::now();
                        // The time limit also covers a peer that never stops sending.
                        self.go_on_waiting()?;
                    }
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => {
                    self.go_on_waiting()?;
                    return Ok(false);
                }
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    /// Makes space after the data that was not parsed yet. Messages are bounded, and so is the buffer.
    fn make_room(&mut self) {
        let Range { start, end } = self.unread;
        if start == end {
            self.unread = 0..0;
        } else if end == self.input.len() {
            if start == 0 {
                self.input.resize(end * 2, 0);
            } else {
                self.input.copy_within(start..end, 0);
                self.unread = 0..end - start;
            }
        }
    }

    /// Fails if the maximum wait is over.
    fn go_on_waiting(&mut self) -> Result<(), DbError> {
        let silent = |seconds: u64| {
            DbError::Gone(format!(
                "{}: the server has not answered for {seconds} s; hint: name a server that answers",
                self.place
            ))
        };
        match self.patience {
            Patience::For(patience) if self.asked.elapsed() > patience => {
                self.is_over = true;
                Err(silent(patience.as_secs()))
            }
            Patience::WhileAlive if self.heard.elapsed() > SILENCE => {
                let other = Self::open(&self.address, self.passfile.as_deref(), &Lines::default());
                if matches!(other, Err(DbError::Unreachable(_) | DbError::Gone(_))) {
                    self.is_over = true;
                    return Err(silent(self.heard.elapsed().as_secs()));
                }
                self.heard = Instant::now();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reads until the server is ready for the next statement, and calls `see` with the messages before that. If the
    /// server reports an error, it is returned afterwards, and the connection remains usable.
    pub(super) fn until_ready(
        &mut self,
        mut see: impl FnMut(u8, &[u8]) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.until_ready_or_said(&mut see)?.map_err(|said| said.fault(&self.place))
    }

    /// Like [`Self::until_ready`], with the server's own error.
    fn until_ready_or_said(&mut self, see: &mut See<'_>) -> Result<Result<(), Said>, DbError> {
        let mut result = Ok(());
        loop {
            let message = self.message()?;
            let body = &self.input[message.body.clone()];
            match message.tag {
                b'Z' => return Ok(result),
                b'E' => {
                    let said = Said::read(body);
                    if said.is_last {
                        self.is_over = true;
                        return Ok(Err(said));
                    }
                    result = Err(said);
                }
                tag => {
                    if let Err(error) = see(tag, body) {
                        // The remaining messages cannot be used.
                        self.is_over = true;
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Executes a statement and calls `see` with each row: its fields as text, `None` for null.
    pub(super) fn each_row(
        &mut self,
        sql: &str,
        mut see: impl FnMut(&[Option<&str>]) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.query(sql)?;
        let place = self.place.clone();
        self.until_ready(|tag, body| {
            if tag != b'D' {
                return Ok(());
            }
            let fields = fields(body).ok_or_else(|| strange(&place))?;
            see(&fields)
        })
    }

    /// Executes a statement and returns its rows.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, DbError> {
        let mut rows = Vec::new();
        self.each_row(sql, |row| {
            rows.push(row.iter().map(|field| field.map(str::to_owned)).collect());
            Ok(())
        })?;
        Ok(rows)
    }

    /// Executes a statement that returns one row.
    pub(super) fn row(&mut self, sql: &str) -> Result<Vec<Option<String>>, DbError> {
        let row = self.rows(sql)?.into_iter().next();
        row.ok_or_else(|| DbError::Failed(format!("{}: no row for {sql}", self.place)))
    }

    /// Executes a statement that returns one field.
    pub(super) fn field(&mut self, sql: &str) -> Result<Option<String>, DbError> {
        Ok(self.row(sql)?.into_iter().next().flatten())
    }

    /// Executes a statement and ignores its rows.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), DbError> {
        self.query(sql)?;
        self.until_ready(|_, _| Ok(()))
    }

    /// Like [`Self::run`], with the server's own error.
    pub(super) fn try_run(&mut self, sql: &str) -> Result<Result<(), Said>, DbError> {
        self.query(sql)?;
        self.until_ready_or_said(&mut |_, _| Ok(()))
    }

    /// Executes a long statement. Reports the same progress until it is done, and cancels it if the user stops it.
    pub(super) fn run_long(
        &mut self,
        sql: &str,
        progress: &mut Progress<'_>,
        (done, of): (u64, u64),
    ) -> Result<(), DbError> {
        self.until_told(sql, &mut || progress.done(done, of))
    }

    /// Executes a long statement. Calls `tell` every tenth of a second until it is done, and cancels the statement if
    /// `tell` fails.
    pub(super) fn until_told(
        &mut self,
        sql: &str,
        tell: &mut dyn FnMut() -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.with_patience(Patience::WhileAlive, |connection| {
            connection.query(sql)?;
            let mut told = Ok(());
            while told.is_ok() && connection.unread.is_empty() {
                if !connection.receive()? {
                    told = tell();
                }
            }
            if told.is_err() {
                connection.cancel()?;
                connection.set_patience(Patience::For(END));
                connection.asked = Instant::now();
            }
            let result = connection.until_ready(|_, _| Ok(()));
            told.and(result)
        })
    }

    /// Asks the server to cancel the current statement of this session.
    fn cancel(&self) -> Result<(), DbError> {
        let mut out = BytesMut::new();
        frontend::cancel_request(self.key.0, self.key.1, &mut out);
        let sent = Stream::open(&self.address, END).and_then(|mut stream| {
            stream.set_timeout(Some(END))?;
            stream.write_all(&out)
        });
        sent.map_err(|error| lost(&self.place, &error))
    }

    fn query(&mut self, sql: &str) -> Result<(), DbError> {
        frontend::query(sql, &mut self.out).map_err(|error| unsayable(&self.place, &error))?;
        self.send()
    }

    /// Prepares a statement whose parameters have these types.
    pub(super) fn prepare(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<(), DbError> {
        let parsed = frontend::parse(name, sql, types.iter().copied(), &mut self.out);
        parsed.map_err(|error| unsayable(&self.place, &error))?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.until_ready(|_, _| Ok(()))
    }

    /// Returns an error of the server that has already arrived, without waiting.
    pub(super) fn overheard(&mut self) -> Result<Option<Said>, DbError> {
        self.make_room();
        match self.stream.read_at_hand(&mut self.input[self.unread.end..]) {
            Ok(0) => return Err(self.lost(&ErrorKind::UnexpectedEof.into())),
            Ok(bytes) => self.unread.end += bytes,
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(self.lost(&error)),
        }
        let said = self.message_at_hand()?.filter(|message| message.tag == b'E');
        Ok(said.map(|message| Said::read(self.body(&message))))
    }

    /// Marks the connection as lost and returns the error.
    fn lost(&mut self, error: &std::io::Error) -> DbError {
        self.is_over = true;
        lost(&self.place, error)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.out.clear();
        frontend::terminate(&mut self.out);
        self.set_patience(Patience::For(END));
        let told = self.send().is_ok();
        // The server's process closes its end last.
        while told && self.receive().is_ok() {
            self.unread = 0..0;
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Returns the error for a message that violates the protocol.
pub(super) fn strange(place: &str) -> DbError {
    DbError::Failed(format!("{place}: the server does not speak PostgreSQL's protocol 3"))
}

/// Returns the error for text that does not fit into a message: it contains a zero byte, or is too long.
pub(super) fn unsayable(place: &str, error: &std::io::Error) -> DbError {
    DbError::Failed(format!("{place}: a statement cannot be sent: {}", system_words(error)))
}
