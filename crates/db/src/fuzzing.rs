//! Entry points for fuzzing: everything that parses untrusted input from servers, programs, files and URLs. None of
//! them may panic, or use memory or time out of proportion to its input.

use crate::acknowledged::Remembered;
use crate::backend::{gtm, postgres};
use crate::marker::Marker;
use crate::url::DbUrl;

/// Parses data from a PostgreSQL server: each message with every parser. Returns the number of bytes in complete
/// messages.
#[must_use]
pub fn postgres_messages(bytes: &[u8]) -> usize {
    postgres::read_untrusted(bytes)
}

/// Parses a line of a GT.M process with every parser.
pub fn gtm_line(line: &str) {
    gtm::read_untrusted(line);
}

/// Parses a marker; `None` if the bytes are not a marker.
#[must_use]
pub fn marker(bytes: &[u8]) -> Option<Marker> {
    Marker::read(bytes).ok()
}

/// Parses a record of acknowledged transactions; `None` if the bytes are not a record.
#[must_use]
pub fn acknowledged(bytes: &[u8]) -> Option<Remembered> {
    Remembered::read(bytes)
}

/// Parses a URL. Returns the text that is shown for it, or the error message.
#[must_use]
pub fn shown_of_url(text: &str) -> String {
    match text.parse::<DbUrl>().and_then(|url| postgres::check_url(&url).map(|()| url)) {
        Ok(url) => url.to_string(),
        Err(error) => error.to_string(),
    }
}
