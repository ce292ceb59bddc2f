//! A connection to a server that waits for each answer.
//!
//! The protocol: <https://www.postgresql.org/docs/current/protocol.html>, version 3.

use super::address::Address;
use super::fault::{Said, lost};
use super::login;
use super::stream::Stream;
use crate::error::DbError;
use crate::progress::Progress;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::time::Duration;

/// A server that has not answered by then is none.
const LOGIN_PATIENCE: Duration = Duration::from_secs(10);
/// A server that is asked to end a session does so sooner.
const END_PATIENCE: Duration = Duration::from_secs(2);
/// How often those who wait for a long statement hear of it.
const TELL: Duration = Duration::from_millis(100);
/// Bytes that are asked of the system at once.
const INPUT_BYTES: usize = 32 << 10;

/// Sees messages by their tag and what they say.
type See<'a> = dyn FnMut(u8, &[u8]) -> Result<(), DbError> + 'a;

/// What a server answers to a statement.
pub(super) struct Message {
    /// Which kind.
    pub tag: u8,
    /// Where it stands among what was received, up to the next one.
    body: Range<usize>,
}

/// A connection. Dropped, it waits until the server has ended the session: its counts are there for all
/// to see then, and its locks are free.
pub(super) struct Connection {
    stream: Stream,
    /// As it is named in faults.
    place: String,
    address: Address,
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
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`DbError::Unreachable`], [`DbError::Denied`], [`DbError::Missing`] for the database.
    pub(super) fn open(address: &Address, passfile: Option<&str>) -> Result<Self, DbError> {
        let place = address.to_string();
        let unreachable = |error: std::io::Error| {
            let reason = format!("{place}: no server answers: {error}");
            DbError::Unreachable(format!("{reason}; right would be a server that runs there"))
        };
        let mut stream = Stream::open(address, LOGIN_PATIENCE).map_err(unreachable)?;
        stream.set_read_timeout(Some(LOGIN_PATIENCE)).map_err(unreachable)?;
        let mut connection = Self {
            stream,
            place: place.clone(),
            address: address.clone(),
            out: BytesMut::with_capacity(4096),
            input: vec![0; INPUT_BYTES],
            unread: 0..0,
            key: (0, 0),
            is_over: false,
        };
        connection.key = login::log_in(&mut connection, address, passfile).map_err(|error| {
            // Whoever goes away here never was a server.
            if let DbError::Gone(text) = error { DbError::Unreachable(text) } else { error }
        })?;
        connection.stream.set_read_timeout(None).map_err(unreachable)?;
        Ok(connection)
    }

    /// As it is named in faults.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Sends what stands in `out`.
    pub(super) fn send(&mut self) -> Result<(), DbError> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent.map_err(|error| self.lost(&error))
    }

    /// The next message that is not a notice. An error is given back as any other.
    pub(super) fn message(&mut self) -> Result<Message, DbError> {
        loop {
            if let Some(message) = self.message_at_hand() {
                return Ok(message);
            }
            self.receive().map_err(|error| self.lost(&error))?;
        }
    }

    /// What a message says.
    pub(super) fn body(&self, message: &Message) -> &[u8] {
        &self.input[message.body.clone()]
    }

    /// The next message that was received in whole.
    fn message_at_hand(&mut self) -> Option<Message> {
        loop {
            let unread = &self.input[self.unread.clone()];
            let (head, _) = unread.split_first_chunk::<5>()?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let (tag, end) = (head[0], 1 + length.max(4));
            if unread.len() < end {
                return None;
            }
            let body = self.unread.start + 5..self.unread.start + end;
            self.unread.start += end;
            // Notices, settings that changed, notifications.
            if !matches!(tag, b'N' | b'S' | b'A') {
                return Some(Message { tag, body });
            }
        }
    }

    fn receive(&mut self) -> std::io::Result<()> {
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
        loop {
            match self.stream.read(&mut self.input[self.unread.end..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => {
                    self.unread.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
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
            let body = &self.input[message.body];
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
        self.query(sql)?;
        let set = self.stream.set_read_timeout(Some(TELL));
        set.map_err(|error| self.lost(&error))?;
        let mut told = Ok(());
        while told.is_ok() && self.unread.is_empty() {
            match self.receive() {
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    told = progress.done(done, of);
                }
                received => received.map_err(|error| self.lost(&error))?,
            }
        }
        let set = self.stream.set_read_timeout(None);
        set.map_err(|error| self.lost(&error))?;
        if told.is_err() {
            self.cancel()?;
        }
        let result = self.until_ready(|_, _| Ok(()));
        told.and(result)
    }

    /// Asks the server to end what this session is doing.
    fn cancel(&self) -> Result<(), DbError> {
        let mut out = BytesMut::new();
        frontend::cancel_request(self.key.0, self.key.1, &mut out);
        let sent = Stream::open(&self.address, LOGIN_PATIENCE)
            .and_then(|mut stream| stream.write_all(&out));
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
        let set = self.stream.set_nonblocking(true);
        let received = set.and_then(|()| self.receive());
        self.stream.set_nonblocking(false).map_err(|error| self.lost(&error))?;
        match received {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            received => received.map_err(|error| self.lost(&error))?,
        }
        let said = self.message_at_hand().filter(|message| message.tag == b'E');
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
        let told = self.stream.set_read_timeout(Some(END_PATIENCE)).is_ok() && self.send().is_ok();
        // The server's process closes its end last of all.
        while told && self.receive().is_ok() {
            self.unread = 0..0;
        }
    }
}

/// The server said what the protocol does not know.
pub(super) fn strange(place: &str) -> DbError {
    DbError::Failed(format!("{place}: the server does not speak PostgreSQL's protocol 3"))
}

/// What cannot be put into a message: text with a zero in it, or too long.
pub(super) fn unsayable(place: &str, error: &std::io::Error) -> DbError {
    DbError::Failed(format!("{place}: a statement cannot be sent: {error}"))
}

/// The fields of a row.
fn fields(body: &[u8]) -> Option<Vec<Option<&str>>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut fields = Vec::with_capacity(usize::from(u16::from_be_bytes(*count)));
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        // Below 0 for null.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            fields.push(None);
            rest = behind;
            continue;
        };
        let (field, behind) = behind.split_at_checked(length)?;
        fields.push(Some(std::str::from_utf8(field).ok()?));
        rest = behind;
    }
    Some(fields)
}
