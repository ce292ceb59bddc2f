//! PostgreSQL: a server, accessed with its own protocol. A schema contains a table for each global. Setup creates the
//! schema in the database of the URL.

mod activity;
mod address;
mod connection;
mod copy;
mod fault;
mod files;
mod login;
mod message;
mod password;
mod reads;
mod schema;
mod statistics;
mod stream;
mod watch;
mod writer;

use super::{
    About, Activity, BackendInfo, Database, FillPlace, Global, Purged, RunPlan, Setting, Size,
};
use crate::error::DbError;
use crate::exclusive_lock::{ExclusiveLock, retry_until_free};
use crate::progress::Progress;
use crate::url::DbUrl;
use activity::PostgresRun;
use address::{Address, Host, one_of};
use connection::{Connection, Patience};
use files::DataDirectory;
use schema::{Schema, block_bytes};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use stream::Lines;

/// The row of this backend.
pub const INFO: BackendInfo = BackendInfo {
    name: "postgres",
    url: "postgres://user@host:port/database",
    about: "a PostgreSQL server, with a schema for the database and a table for each global",
    is_server: true,
    is_directory: false,
    settings: SETTINGS,
    absent: || None,
    open,
};

const SETTINGS: &[Setting] = &[
    Setting {
        key: "host",
        default: "the URL's",
        help: "host, or the directory of the server's socket where it begins with /",
    },
    Setting { key: "port", default: "5432", help: "port of the server, or of its socket" },
    Setting {
        key: "passfile",
        default: "~/.pgpass",
        help: "file with passwords in libpq's form; without it, PGPASSWORD goes first",
    },
    Setting {
        key: "sslmode",
        default: "prefer",
        help: "disable, allow or prefer: all go without TLS, and whatever asks for it is refused",
    },
    Setting {
        key: "synchronous_commit",
        default: "the server's",
        help: "what a commit waits for: off, local, remote_write, on or remote_apply",
    },
    Setting {
        key: "reads",
        default: "auto",
        help: "direct reads blocks from the server's files, server asks it for rows by their place, auto \
               does the first where it can",
    },
    Setting {
        key: "fillfactor",
        default: "90",
        help: "percent of each block that a new global fills; the rest is room for updated rows",
    },
];

/// Settings of the server that affect a result.
const SERVER_SETTINGS: &[&str] = &[
    "shared_buffers",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "wal_sync_method",
    "wal_level",
    "wal_compression",
    "wal_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "checkpoint_completion_target",
    "bgwriter_delay",
    "bgwriter_lru_maxpages",
    "data_checksums",
    "huge_pages",
    "autovacuum",
];

fn open(url: &DbUrl) -> Result<Box<dyn Database>, DbError> {
    let server = Server::of(url)?;
    let words = ["direct", "server", "auto"];
    let reads = match one_of(&url.settings, "reads", "auto", &words)? {
        "direct" => Reads::Direct,
        "server" => Reads::Server,
        _ => Reads::Auto,
    };
    let fillfactor = url.settings.get("fillfactor").map_or("90", String::as_str);
    let fits = fillfactor.parse().ok().filter(|percent| (10..=100).contains(percent));
    let fillfactor = fits.ok_or_else(|| {
        DbError::Usage(format!("fillfactor=\"{fillfactor}\"; hint: use a number from 10 to 100"))
    })?;
    server.connect()?;
    let schema = Schema::new(&url.name);
    Ok(Box::new(Postgres { server, schema, reads, fillfactor }))
}

/// Checks the URL of a server without contacting it.
pub(crate) fn check_url(url: &DbUrl) -> Result<(), DbError> {
    if url.backend == INFO.name { Server::of(url).map(drop) } else { Ok(()) }
}

/// Parses data of a server with every parser.
pub(crate) fn read_untrusted(bytes: &[u8]) -> usize {
    let mut read = 0;
    while let Ok(Some(message)) = message::Message::first(&bytes[read..]) {
        let body = &bytes[read..][message.body.clone()];
        let _ = (message::fields(body), message::two_numbers(body), message::session_key(body));
        let _ = fault::Said::read(body).without(b"secret").fault("there");
        if let Some((_, challenge)) = message::asked(body)
            && message::is_bearable(challenge)
        {
            login::read_untrusted(challenge);
        }
        read += message.body.end;
    }
    read
}

/// How blocks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// From the server's files.
    Direct,
    /// Through the server.
    Server,
    /// From the server's files if they are accessible, otherwise through the server.
    Auto,
}

/// A server and how to connect to it.
#[derive(Debug, Clone)]
struct Server {
    address: Address,
    passfile: Option<String>,
    synchronous_commit: Option<String>,
    /// Its open connections.
    lines: Arc<Lines>,
}

impl Server {
    fn of(url: &DbUrl) -> Result<Self, DbError> {
        let address = Address::of(url)?;
        let settings = &url.settings;
        let tls = settings.get("sslmode").map_or("prefer", String::as_str);
        if ["require", "verify-ca", "verify-full"].contains(&tls) {
            return Err(DbError::Usage(format!(
                "sslmode={tls}: iogauge talks to PostgreSQL without TLS; hint: use the server's \
                 socket, or a tunnel and sslmode=disable"
            )));
        }
        one_of(settings, "sslmode", "prefer", &["disable", "allow", "prefer"])?;
        let words = ["off", "local", "remote_write", "on", "remote_apply"];
        let synchronous_commit = one_of(settings, "synchronous_commit", "", &words)?;
        Ok(Self {
            address,
            passfile: settings.get("passfile").cloned(),
            synchronous_commit: Some(synchronous_commit.to_owned()).filter(|word| !word.is_empty()),
            lines: Arc::default(),
        })
    }

    /// Opens a session with the settings of the URL.
    fn connect(&self) -> Result<Connection, DbError> {
        let mut connection =
            Connection::open(&self.address, self.passfile.as_deref(), &self.lines)?;
        // Disables limits that may have been set for other programs.
        let mut sql = "SET statement_timeout = 0; SET lock_timeout = 0; \
                       SET idle_in_transaction_session_timeout = 0"
            .to_owned();
        if let Some(word) = &self.synchronous_commit {
            sql += &format!("; SET synchronous_commit = {word}");
        }
        connection.run(&sql)?;
        Ok(connection)
    }

    /// Returns the same server with a set of connections of its own, which can be closed together.
    fn for_a_run(&self) -> Self {
        Self { lines: Arc::default(), ..self.clone() }
    }

    fn is_socket(&self) -> bool {
        matches!(self.address.host, Host::Socket(_))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// A schema on a server.
#[derive(Debug)]
struct Postgres {
    server: Server,
    schema: Schema,
    reads: Reads,
    fillfactor: u32,
}

impl Postgres {
    /// Connects to an existing database.
    fn connect(&self) -> Result<Connection, DbError> {
        let mut connection = self.server.connect()?;
        self.schema.must_be_there(&mut connection)?;
        Ok(connection)
    }

    /// Returns a connection that reads the table of a global in index order, and the table's name.
    fn tree(&self, global: u32) -> Result<(Connection, String), DbError> {
        let mut connection = self.connect()?;
        if !self.schema.globals(&mut connection)?.iter().any(|other| other.number == global) {
            return Err(DbError::Missing(format!("{}: there is no global {global}", self.server)));
        }
        connection.run("SET enable_seqscan = off; SET enable_bitmapscan = off")?;
        // The whole table is read.
        connection.set_patience(Patience::WhileAlive);
        Ok((connection, self.schema.global(global)))
    }
}

impl Database for Postgres {
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.schema.make(&mut self.server.connect()?, size_bytes, progress)
    }

    fn is_there(&self) -> Result<bool, DbError> {
        self.schema.is_there(&mut self.server.connect()?)
    }

    fn about(&self) -> Result<About, DbError> {
        let mut connection = self.connect()?;
        let names: Vec<String> = SERVER_SETTINGS.iter().map(|name| format!("'{name}'")).collect();
        let rows = connection.rows(&format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}) ORDER BY name",
            names.join(", ")
        ))?;
        let settings = rows.into_iter().filter_map(|row| match <[_; 2]>::try_from(row) {
            Ok([Some(name), Some(value)]) => Some((name, value)),
            _ => None,
        });
        let settings: Vec<(String, String)> = settings.collect();
        let version = connection.field("SHOW server_version")?.unwrap_or_default();
        // The version of Debian's package follows after a space.
        let version = version.split(' ').next().unwrap_or_default();
        Ok(About {
            software: format!("PostgreSQL {version}"),
            block_bytes: block_bytes(&mut connection)?,
            may_lose: may_lose(&mut connection)?,
            settings,
        })
    }

    fn globals(&self) -> Result<Vec<Global>, DbError> {
        self.schema.globals(&mut self.server.connect()?)
    }

    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let mut connection = self.server.connect()?;
        self.schema.make_global(&mut connection, global, self.fillfactor, progress)
    }

    fn drop_globals(&self) -> Result<(), DbError> {
        self.schema.drop_globals(&mut self.server.connect()?)
    }

    fn fill_places(&self) -> Result<Vec<FillPlace>, DbError> {
        let mut connection = self.server.connect()?;
        match DataDirectory::find(&mut connection, self.server.is_socket())? {
            Some(directory) => directory.fill_places(&mut connection),
            None => Ok(Vec::new()),
        }
    }

    fn subscript_bytes(&self, value_bytes: u64) -> u64 {
        schema::row_bytes(value_bytes, self.fillfactor)
    }

    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError> {
        let (mut connection, table) = self.tree(global)?;
        let sql = format!("SELECT subscript, value FROM {table} ORDER BY subscript");
        connection.each_row(&sql, |row| match row {
            [Some(subscript), Some(value)] => match subscript.parse() {
                Ok(subscript) => see(subscript, value),
                Err(_) => Err(DbError::Failed(format!("{table}: {subscript} is not a subscript"))),
            },
            _ => Err(DbError::Failed(format!("{table}: a row has no value"))),
        })
    }

    fn count_subscripts(&self, global: u32) -> Result<u64, DbError> {
        let (mut connection, table) = self.tree(global)?;
        let count = connection.field(&format!("SELECT count(subscript) FROM {table}"))?;
        count
            .and_then(|count| count.parse().ok())
            .ok_or_else(|| DbError::Failed(format!("{}: {table} has no count", self.server)))
    }

    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
        let mut connection = self.connect()?;
        let globals = self.schema.globals(&mut connection)?;
        let mut committed = Vec::with_capacity(globals.len());
        for Global { number, .. } in globals {
            let sql = format!("SELECT sequence FROM {}", self.schema.worker(number));
            let sequence = connection.field(&sql)?.and_then(|sequence| sequence.parse().ok());
            committed.push((number, sequence.unwrap_or(0)));
        }
        Ok(committed)
    }

    fn size(&self) -> Result<Size, DbError> {
        let mut connection = self.connect()?;
        let data_bytes = self.schema.data_bytes(&mut connection)?;
        let log = connection.try_run("SELECT sum(size) FROM pg_ls_waldir()")?;
        let log_bytes = match log {
            Ok(()) => connection.field("SELECT sum(size) FROM pg_ls_waldir()")?,
            // Only roles with monitoring rights may see it.
            Err(_) => None,
        };
        let log_bytes = log_bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        Ok(Size { data_bytes, log_bytes })
    }

    fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
        let mut connection = self.connect()?;
        let by_socket = self.server.is_socket();
        match DataDirectory::find(&mut connection, by_socket)? {
            Some(directory) => directory.paths(&mut connection, &[self.schema.table("filler")]),
            None => Ok(Vec::new()),
        }
    }

    fn identity(&self) -> Result<String, DbError> {
        self.schema.identity(&mut self.server.connect()?)
    }

    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        Ok(Box::new(PostgresRun::begin(&self.server, &self.schema, self.reads, plan)?))
    }

    fn join(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        Ok(Box::new(PostgresRun::join(&self.server, &self.schema, self.reads, plan)?))
    }

    fn hold(&self) -> Result<ExclusiveLock, DbError> {
        let mut connection = self.connect()?;
        retry_until_free(|| self.schema.lock(&mut connection, "pg_try_advisory_lock"))?;
        // A session whose client is gone completes its current commit.
        retry_until_free(|| self.schema.nobody_writes(&mut connection))?;
        Ok(ExclusiveLock::new(connection))
    }

    fn purge(&self) -> Result<Purged, DbError> {
        self.schema.purge(&mut self.server.connect()?)
    }
}

/// Returns what a crash may lose if commits do not wait for the log.
fn may_lose(connection: &mut Connection) -> Result<Option<String>, DbError> {
    let mut setting = |name: &str| {
        Ok::<_, DbError>(connection.field(&format!("SHOW {name}"))?.unwrap_or_default())
    };
    if setting("fsync")? == "off" {
        return Ok(Some(
            "fsync is off: nothing is forced to the device; a crash of the server loses nothing, one of \
             the machine may lose everything"
                .to_owned(),
        ));
    }
    if setting("synchronous_commit")? != "off" {
        return Ok(None);
    }
    let delay = setting("wal_writer_delay")?;
    Ok(Some(format!(
        "synchronous_commit is off: commits do not wait for the log; a crash of the server or of the \
         machine loses the transactions of up to three times wal_writer_delay, which is {delay}"
    )))
}
