//! Everything that reads what others say or may have changed, for tests that make up what that is: servers,
//! programs, files, URLs. None of it may panic, nor take more than its input is worth.

use crate::acknowledged::Remembered;
use crate::backend::{gtm, postgres};
use crate::marker::Marker;
use crate::url::DbUrl;

/// Reads what a PostgreSQL server may have sent: each message in all the ways that any is read. Tells how many
/// bytes were whole messages.
#[must_use]
pub fn postgres_messages(bytes: &[u8]) -> usize {
    postgres::read_untrusted(bytes)
}

/// Reads a line that a process of GT.M may have written, in all the ways that any is read.
pub fn gtm_line(line: &str) {
    gtm::read_untrusted(line);
}

/// Reads a database's marker, where the bytes are one.
#[must_use]
pub fn marker(bytes: &[u8]) -> Option<Marker> {
    Marker::read(bytes).ok()
}

/// Reads a note of what a run acknowledged, where the bytes are one.
#[must_use]
pub fn acknowledged(bytes: &[u8]) -> Option<Remembered> {
    Remembered::read(bytes)
}

/// Reads a URL; gives what is shown of it, or of its fault.
#[must_use]
pub fn shown_of_url(text: &str) -> String {
    match text.parse::<DbUrl>().and_then(|url| postgres::check_url(&url).map(|()| url)) {
        Ok(url) => url.to_string(),
        Err(error) => error.to_string(),
    }
}
