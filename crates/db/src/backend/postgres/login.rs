//! The start of a session: user and authentication.

use super::address::Address;
use super::connection::{Connection, strange, unsayable};
use super::fault::Said;
use super::{message, password};
use crate::error::DbError;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

/// Maximum number of authentication requests in one login.
const MOST_ROUNDS: u32 = 4;

/// Logs in. Returns the session's key for cancel requests.
pub(super) fn log_in(
    connection: &mut Connection,
    address: &Address,
    passfile: Option<&str>,
) -> Result<(i32, i32), DbError> {
    let Address { user, database, .. } = address;
    let parameters = [
        ("user", user.as_str()),
        ("database", database),
        ("application_name", "iogauge"),
        ("client_encoding", "UTF8"),
    ];
    let said = frontend::startup_message(parameters, &mut connection.out);
    said.map_err(|error| unsayable(connection.place(), &error))?;
    connection.send()?;
    prove(connection, address, passfile)?;
    let (mut key, place) = ((0, 0), connection.place().to_owned());
    connection.until_ready(|tag, body| {
        if tag == b'K' {
            key = message::session_key(body).ok_or_else(|| strange(&place))?;
        }
        Ok(())
    })?;
    Ok(key)
}

/// Returns the next message of a login: its first four bytes as a number, and the rest. Errors of the server are
/// returned without the secret that was sent to it.
fn asked(connection: &mut Connection, secret: &[u8]) -> Result<(i32, Vec<u8>), DbError> {
    let message = connection.message()?;
    let body = connection.body(&message);
    match (message.tag, message::asked(body)) {
        (b'E', _) => Err(Said::read(body).without(secret).fault(connection.place())),
        (b'R', Some((kind, rest))) => Ok((kind, rest.to_owned())),
        _ => Err(strange(connection.place())),
    }
}

/// Answers the server's authentication requests until it accepts the login.
fn prove(
    connection: &mut Connection,
    address: &Address,
    passfile: Option<&str>,
) -> Result<(), DbError> {
    let place = connection.place().to_owned();
    let password = || {
        let found = password::find(address, passfile, &|key| std::env::var(key).ok());
        found.map_err(|why| {
            DbError::Denied(format!(
                "{place}: the server wants a password, but {why}; hint: use the variable \
                 PGPASSWORD or a line in ~/.pgpass"
            ))
        })
    };
    let mut secret = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let (kind, rest) = asked(connection, &secret)?;
        let password = match kind {
            0 => return Ok(()),
            3 => {
                secret = password()?;
                secret.clone()
            }
            5 => {
                let salt = rest.first_chunk().ok_or_else(|| strange(&place))?;
                md5_hash(address.user.as_bytes(), &password()?, *salt).into_bytes()
            }
            10 => {
                prove_by_scram(connection, &rest, &password()?)?;
                continue;
            }
            other => return Err(unknown(&place, &other.to_string())),
        };
        let said = frontend::password_message(&password, &mut connection.out);
        said.map_err(|error| unsayable(&place, &error))?;
        connection.send()?;
    }
    Err(strange(&place))
}

fn unknown(place: &str, method: &str) -> DbError {
    DbError::Denied(format!(
        "{place}: the server wants a proof that iogauge does not know ({method}); hint: use \
         scram-sha-256, md5, password, peer or trust in pg_hba.conf"
    ))
}

fn prove_by_scram(
    connection: &mut Connection,
    mechanisms: &[u8],
    password: &[u8],
) -> Result<(), DbError> {
    let place = connection.place().to_owned();
    if !mechanisms.split(|byte| *byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes()) {
        return Err(unknown(&place, &String::from_utf8_lossy(mechanisms).replace('\0', " ")));
    }
    let failed = |error: std::io::Error| {
        DbError::Denied(format!("{place}: the server does not know the password either: {error}"))
    };
    let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
    let said = frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut connection.out);
    said.map_err(|error| unsayable(&place, &error))?;
    connection.send()?;
    let (11, challenge) = asked(connection, password)? else { return Err(strange(&place)) };
    if !message::is_bearable(&challenge) {
        return Err(DbError::Denied(format!(
            "{place}: the server requires more than a second of hashing; hint: use scram_iterations of \
             1000000 or less"
        )));
    }
    scram.update(&challenge).map_err(failed)?;
    let said = frontend::sasl_response(scram.message(), &mut connection.out);
    said.map_err(|error| unsayable(&place, &error))?;
    connection.send()?;
    let (12, proof) = asked(connection, password)? else { return Err(strange(&place)) };
    scram.finish(&proof).map_err(failed)
}

/// Parses data of a server as a challenge and as a proof of SCRAM.
pub(super) fn read_untrusted(challenge: &[u8]) {
    let mut scram = ScramSha256::new(b"password", ChannelBinding::unsupported());
    // Errors are expected: the data comes from the server.
    if scram.update(challenge).is_ok() {
        let _ = scram.finish(challenge);
    }
}
