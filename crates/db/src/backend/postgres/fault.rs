//! Conversion of a server's errors.

use crate::directory::system_words;
use crate::error::DbError;
use std::io::ErrorKind;

/// Maximum number of characters of a server's text that are shown.
const MOST_LETTERS: usize = 1000;

/// An error of a server: <https://www.postgresql.org/docs/current/protocol-error-fields.html>.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// SQLSTATE: five characters, the same in every language.
    pub code: String,
    /// True if the connection is closed with it.
    pub is_last: bool,
    message: String,
    /// Details, possibly of several lines.
    pub detail: String,
}

impl Said {
    /// Parses the fields of an `ErrorResponse`.
    pub(super) fn read(body: &[u8]) -> Self {
        let mut said = Self::default();
        for field in body.split(|byte| *byte == 0) {
            let Some((key, text)) = field.split_first() else { continue };
            let text = String::from_utf8_lossy(text).into_owned();
            match key {
                b'V' => said.is_last = text == "FATAL" || text == "PANIC",
                b'C' => said.code = text,
                b'M' => said.message = text,
                b'D' => said.detail = text,
                _ => {}
            }
        }
        said
    }

    /// Returns the same error without a secret that was sent to the server.
    pub(super) fn without(mut self, secret: &[u8]) -> Self {
        let secret = String::from_utf8_lossy(secret);
        if !secret.is_empty() {
            for text in [&mut self.message, &mut self.detail, &mut self.code] {
                *text = text.replace(&*secret, "***");
            }
        }
        self
    }

    /// Converts it to an error of the server at `place`.
    pub(super) fn fault(&self, place: &str) -> DbError {
        let Self { code, message, detail, .. } = self;
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let said: String = format!("{message}{detail}").chars().take(MOST_LETTERS).collect();
        let said = format!("{place}: {said}").replace(['\n', '\r'], " ");
        match code.as_str() {
            "28P01" | "28000" => DbError::Denied(format!(
                "{said}; hint: put the user's password in PGPASSWORD or ~/.pgpass"
            )),
            "42501" => DbError::Denied(format!("{said}; hint: connect as a user who may do that")),
            "3D000" => DbError::Missing(format!("{said}; hint: run createdb")),
            "3F000" | "42P01" => DbError::Missing(said),
            "53100" => {
                DbError::Full(format!("{said}; hint: use a smaller database or another disk"))
            }
            "53300" => DbError::Failed(format!(
                "{said}; hint: use fewer processes or a larger max_connections"
            )),
            "25006" => DbError::ReadOnly(format!(
                "{said}; hint: use the primary server, with default_transaction_read_only off"
            )),
            "57P01" | "57P02" => DbError::Gone(said),
            "57P03" => DbError::Unreachable(format!("{said}; hint: try again soon")),
            _ => DbError::Failed(format!("{said} [{code}]")),
        }
    }
}

/// Converts a system error on an open connection.
pub(super) fn lost(place: &str, error: &std::io::Error) -> DbError {
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected => {
            DbError::Gone(format!("{place}: the server went away; its own log says why"))
        }
        _ => DbError::Gone(format!("{place}: the connection broke: {}", system_words(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_errors_map_to_error_kinds_in_one_line() {
        let fault = |code: &str| {
            let body = format!("SFEHLER\0VERROR\0C{code}\0Mone\ntwo\0Dmore\0\0");
            let said = Said::read(body.as_bytes());
            assert!(!said.is_last);
            said.fault("there")
        };
        assert!(
            matches!(fault("53100"), DbError::Full(text) if text.starts_with("there: one two (more);"))
        );
        assert!(matches!(fault("28P01"), DbError::Denied(_)));
        assert!(matches!(fault("57P03"), DbError::Unreachable(_)));
        assert!(matches!(fault("XX000"), DbError::Failed(_)));
        assert!(Said::read(b"VPANIC\0C53100\0\0").is_last);
    }
}
