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

/// A server that has not let anybody in by then is none.
const LOGIN: Duration = Duration::from_secs(10);
/// A server that is asked to end a session does so sooner.
const END: Duration = Duration::from_secs(3);
/// How long a statement takes at most that has no data to go through.
const STATEMENT: Duration = Duration::from_secs(20);
/// After so long without a word it is asked whether the server still answers others.
const SILENCE: Duration = Duration::from_secs(10);
/// How often somebody who waits looks around.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes that are asked of the system at once.
const INPUT_BYTES: usize = 32 << 10;
/// Notices and the like that may come with one answer.
const MOST_ASIDES: u32 = 10_000;

/// Sees messages by their tag and what they say.
type See<'a> = dyn FnMut(u8, &[u8]) -> Result<(), DbError> + 'a;

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// So long in all: a server that is not done by then is gone.
    For(Duration),
    /// For as long as the server lets somebody else in: it has much to do.
    WhileAlive,
    /// Until the line is hung up. Costs nothing while it waits.
    Endless,
}

/// A connection. Dropped, it waits until the server has ended the session: its counts are there for all
/// to see then, and its locks are free.
pub(super) struct Connection {
    stream: Stream,
    /// As it is named in faults.
    place: String,
    address: Address,
    passfile: Option<String>,
    patience: Patience,
    /// Since when an answer is waited for, and since when nothing came.
    asked: Instant,
    heard: Instant,
    /// Notices and the like since then.
    asides: u32,
    /// What is to be sent next.
    pub out: BytesMut,
    input: Vec<u8>,
    /// Of `input`, what was received and not looked at yet.
    unread: Range<usize>,
    /// Names the session to one who wants to cancel its statement.
    key: (i32, i32),
    /// Nothing can be said any more.
    is_over: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects and logs in, in ten seconds each at most.
    ///
    /// # Errors
    /// [`DbError::Unreachable`], [`DbError::Denied`], [`DbError::Missing`] for the database.
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
            // Whoever goes away here never was a server.
            if let DbError::Gone(text) = error { DbError::Unreachable(text) } else { error }
        })?;
        connection.patience = Patience::For(STATEMENT);
        Ok(connection)
    }

    /// Changes how long answers are waited for; gives what it was.
    pub(super) fn set_patience(&mut self, patience: Patience) -> Patience {
        let timeout = (patience != Patience::Endless).then_some(LOOK);
        // A socket that refuses it is lost, and says so when it is used.
        let _ = self.stream.set_timeout(timeout);
        std::mem::replace(&mut self.patience, patience)
    }

    /// Does something with another patience.
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

    /// As it is named in faults.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Sends what stands in `out`.
    pub(super) fn send(&mut self) -> Result<(), DbError> {
        if !matches!(self.patience, Patience::For(LOGIN)) {
            // A login has its time for all that is said.
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

    /// The next message that is not a notice. An error is given back as any other.
    pub(super) fn message(&mut self) -> Result<Message, DbError> {
        loop {
            if let Some(message) = self.message_at_hand()? {
                return Ok(message);
            }
            while !self.receive()? {}
        }
    }

    /// What a message says.
    pub(super) fn body(&self, message: &Message) -> &[u8] {
        &self.input[message.body.clone()]
    }

    /// The next message that was received in whole.
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

    /// What follows on what no server says is nobody's.
    fn strange(&mut self) -> DbError {
        self.is_over = true;
        strange(&self.place)
    }

    fn over(&self) -> DbError {
        DbError::Gone(format!("{}: the connection is over", self.place))
    }

    /// Waits a moment for more; false where nothing came.
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
                        // One who never stops speaking is not waited for either.
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

    /// Room behind what was not looked at yet. Messages are bounded, and so is what is kept.
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

    /// Fails where it was waited for long enough.
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

    /// Reads until the server is ready for the next statement, and shows what comes before. What the
    /// server says is wrong is the error then, and the connection can be used again.
    pub(super) fn until_ready(
        &mut self,
        mut see: impl FnMut(u8, &[u8]) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.until_ready_or_said(&mut see)?.map_err(|said| said.fault(&self.place))
    }

    /// The same with the very words of the server.
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
                        // What is still to come is nobody's.
                        self.is_over = true;
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Does a statement, and shows each row: its fields as text, `None` for null.
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

    /// Does a statement, and gives back its rows.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, DbError> {
        let mut rows = Vec::new();
        self.each_row(sql, |row| {
            rows.push(row.iter().map(|field| field.map(str::to_owned)).collect());
            Ok(())
        })?;
        Ok(rows)
    }

    /// Does a statement that gives one row.
    pub(super) fn row(&mut self, sql: &str) -> Result<Vec<Option<String>>, DbError> {
        let row = self.rows(sql)?.into_iter().next();
        row.ok_or_else(|| DbError::Failed(format!("{}: no row for {sql}", self.place)))
    }

    /// Does a statement that gives one field.
    pub(super) fn field(&mut self, sql: &str) -> Result<Option<String>, DbError> {
        Ok(self.row(sql)?.into_iter().next().flatten())
    }

    /// Does a statement whose rows do not matter.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), DbError> {
        self.query(sql)?;
        self.until_ready(|_, _| Ok(()))
    }

    /// The same; what the server says against it is given back in its own words.
    pub(super) fn try_run(&mut self, sql: &str) -> Result<Result<(), Said>, DbError> {
        self.query(sql)?;
        self.until_ready_or_said(&mut |_, _| Ok(()))
    }

    /// Does a statement that takes long: tells the same progress until it is done, and cancels it where
    /// the user does not want it.
    pub(super) fn run_long(
        &mut self,
        sql: &str,
        progress: &mut Progress<'_>,
        (done, of): (u64, u64),
    ) -> Result<(), DbError> {
        self.until_told(sql, &mut || progress.done(done, of))
    }

    /// Does a statement that takes long. `tell` hears every tenth of a second that it is not done; where it
    /// fails, the statement is cancelled.
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

    /// Asks the server to end what this session is doing.
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

    /// What the server has said against a statement meanwhile, without waiting for it.
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

    /// Nothing can be said any more; says why.
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
        // The server's process closes its end last of all.
        while told && self.receive().is_ok() {
            self.unread = 0..0;
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The server said what the protocol does not know.
pub(super) fn strange(place: &str) -> DbError {
    DbError::Failed(format!("{place}: the server does not speak PostgreSQL's protocol 3"))
}

/// What cannot be put into a message: text with a zero in it, or too long.
pub(super) fn unsayable(place: &str, error: &std::io::Error) -> DbError {
    DbError::Failed(format!("{place}: a statement cannot be sent: {}", system_words(error)))
}
