//! Parsers of a server's messages, which do not trust their contents.
//!
//! The formats: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.

use std::ops::Range;

/// Maximum size of a message without its tag, in bytes. Rows and errors are far shorter. No memory is allocated for a
/// longer message, whatever length the server claims.
const MOST_BYTES: u32 = 1 << 20;
/// Maximum number of hash iterations of a password proof, which takes about a second. Servers request 4096.
const MOST_ITERATIONS: u32 = 1_000_000;

/// The error that a message violates the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Strange;

/// One message of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its kind.
    pub tag: u8,
    /// Range of its body in the received data.
    pub body: Range<usize>,
}

impl Message {
    /// Returns the first message in the received data; `None` if it is incomplete.
    pub(super) fn first(received: &[u8]) -> Result<Option<Self>, Strange> {
        let Some((head, _)) = received.split_first_chunk::<5>() else { return Ok(None) };
        let [tag, length @ ..] = *head;
        // The length includes its own four bytes.
        let length = u32::from_be_bytes(length);
        if !(4..=MOST_BYTES).contains(&length) || !tag.is_ascii_graphic() {
            return Err(Strange);
        }
        let end = 1 + length as usize;
        Ok((received.len() >= end).then_some(Self { tag, body: 5..end }))
    }

    /// Returns true for notices, changed settings and notifications, which may arrive at any time.
    pub(super) fn is_aside(&self) -> bool {
        matches!(self.tag, b'N' | b'S' | b'A')
    }
}

/// Returns the fields of a row as text, `None` for null.
pub(super) fn fields(body: &[u8]) -> Option<Vec<Option<&str>>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_be_bytes(*count));
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        let field = match i32::from_be_bytes(*length) {
            -1 => None,
            length => {
                let (field, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                rest = behind;
                Some(std::str::from_utf8(field).ok()?)
            }
        };
        fields.push(field);
    }
    rest.is_empty().then_some(fields)
}

/// Returns the first two fields of a row of bigints in binary format.
pub(super) fn two_numbers(body: &[u8]) -> Option<(i64, i64)> {
    let number = |at: usize| {
        let field = body.get(at + 4..)?.first_chunk()?;
        Some(i64::from_be_bytes(*field))
    };
    Some((number(2)?, number(14)?))
}

/// Parses the session's key for cancel requests.
pub(super) fn session_key(body: &[u8]) -> Option<(i32, i32)> {
    let (process, secret) = body.split_first_chunk()?;
    // A longer secret belongs to a newer protocol, which was not requested.
    let secret = secret.first_chunk()?;
    Some((i32::from_be_bytes(*process), i32::from_be_bytes(*secret)))
}

/// Parses an authentication request: its number, and the data that follows.
pub(super) fn asked(body: &[u8]) -> Option<(i32, &[u8])> {
    let (kind, rest) = body.split_first_chunk()?;
    Some((i32::from_be_bytes(*kind), rest))
}

/// Returns true if the hashing that a SCRAM challenge requests takes at most about a second.
pub(super) fn is_bearable(challenge: &[u8]) -> bool {
    let parts = challenge.split(|byte| *byte == b',');
    let counts: Vec<&[u8]> = parts.filter_map(|part| part.strip_prefix(b"i=")).collect();
    let count = |digits: &&[u8]| std::str::from_utf8(digits).ok()?.parse::<u32>().ok();
    !counts.is_empty()
        && counts
            .iter()
            .all(|digits| count(digits).is_some_and(|count| (1..=MOST_ITERATIONS).contains(&count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_message_lengths_are_rejected_without_waiting() {
        let head = |length: u32| [&[b'D'][..], &length.to_be_bytes()].concat();
        for length in [0, 3, MOST_BYTES + 1, 2 << 30, u32::MAX, (-1i32) as u32] {
            assert_eq!(Message::first(&head(length)), Err(Strange), "{length}");
        }
        assert_eq!(Message::first(&head(MOST_BYTES)), Ok(None));
        let empty = Message { tag: b'D', body: 5..5 };
        assert_eq!(Message::first(&head(4)), Ok(Some(empty)));
        assert_eq!(Message::first(b"HTTP/1.1 400 Bad Request"), Err(Strange));
        for part in 0..5 {
            assert_eq!(Message::first(&head(4)[..part]), Ok(None));
        }
    }

    #[test]
    fn row_with_wrong_field_lengths_is_rejected() {
        let row = |count: u16, rest: &[u8]| [&count.to_be_bytes()[..], rest].concat();
        let two = row(2, b"\0\0\0\x02ab\xff\xff\xff\xff");
        assert_eq!(fields(&two), Some(vec![Some("ab"), None]));
        for wrong in [
            row(1, b"\0\0\0\x02a"),
            row(1, b"\x7f\xff\xff\xffa"),
            row(1, b"\xff\xff\xff\xfea"),
            row(2, b"\0\0\0\x02ab"),
            row(1, b"\0\0\0\x01ab"),
            row(1, b"\0\0\0\x01\xff"),
            vec![0],
        ] {
            assert_eq!(fields(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn scram_iteration_count_is_bounded() {
        let challenge = |count: &str| format!("r=nonce,s=c2FsdA==,i={count}");
        assert!(is_bearable(challenge("4096").as_bytes()));
        for count in ["2147483647", "1000001", "0", "-1", "99999999999999999999", ""] {
            assert!(!is_bearable(challenge(count).as_bytes()), "{count}");
        }
        assert!(!is_bearable(b"r=nonce"));
        assert!(!is_bearable(b"r=x,s=y,i=1,i=2147483647"));
    }

    proptest! {
        #[test]
        fn arbitrary_messages_are_parsed_within_bounds(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            if let Ok(Some(message)) = Message::first(&bytes) {
                prop_assert!(bytes.get(message.body).is_some());
            }
            if let Some(fields) = fields(&bytes) {
                prop_assert!(fields.len() <= bytes.len());
            }
            let _ = (two_numbers(&bytes), session_key(&bytes), asked(&bytes), is_bearable(&bytes));
        }
    }
}
