//! The value of a subscript: the worker and transaction that wrote it, and a checksum.
//!
//! A value is text of a fixed length, `worker:sequence:check:padding`. It is determined by global, subscript, worker
//! and sequence, so a reader can compute it and compare all of it. The padding repeats [`PADDING_LETTERS`], starting
//! with the letter whose index is the checksum modulo their number. All products stay below 10¹⁸, so that languages
//! without 64-bit integers compute the same values.

/// Default length of a value, in bytes.
pub const DEFAULT_BYTES: usize = 100;
/// Minimum length of a value, in bytes. It has room for all its numbers.
pub const LEAST_BYTES: usize = 64;
/// Maximum length of a value, in bytes. It fits into a block of every database.
pub const MOST_BYTES: usize = 2000;
/// Modulus of the checksum.
const CHECK_MODULUS: u64 = 999_999_937;
/// Letters of the padding, repeated in this order.
pub const PADDING_LETTERS: &str = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ";

/// Identifies a value: where it is and who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the global, starting at 1.
    pub global: u32,
    /// The subscript, starting at 1.
    pub subscript: u64,
    /// The worker, starting at 1; 0 for the initial value.
    pub worker: u32,
    /// The worker's transaction, counted from 1 over all its runs; 0 for the initial value.
    pub sequence: u64,
}

impl Stamp {
    /// Returns the initial value of a subscript.
    #[must_use]
    pub fn initial(global: u32, subscript: u64) -> Self {
        Self { global, subscript, worker: 0, sequence: 0 }
    }

    /// Returns the checksum.
    #[must_use]
    pub fn check(&self) -> u64 {
        let Self { global, subscript, worker, sequence } = *self;
        // Each product stays below 10¹⁷ for up to 10⁷ workers and globals, 10¹² subscripts and
        // transactions.
        (u64::from(worker) * 1_000_003
            + sequence % 1_000_000_000_000 * 7_919
            + subscript % 1_000_000_000_000 * 104_729 % CHECK_MODULUS
            + u64::from(global) * 611_953)
            % CHECK_MODULUS
    }

    /// Replaces `text` with the value of `bytes` bytes. Does not allocate if the capacity is large enough.
    pub fn write(&self, bytes: usize, text: &mut String) {
        let check = self.check();
        // Three numbers of up to 20, 10 and 9 digits, written from the last to the first.
        let mut head = [0; 64];
        let mut first = head.len();
        for number in [check, self.sequence, self.worker.into()] {
            first = digits_before(number, &mut head, first);
        }
        text.clear();
        // Digits and colons are valid UTF-8.
        text.push_str(std::str::from_utf8(&head[first..]).unwrap_or_default());
        let mut start = check as usize % PADDING_LETTERS.len();
        while text.len() < bytes {
            let end = PADDING.len().min(start + (bytes - text.len()));
            text.push_str(&PADDING[start..end]);
            start = 0;
        }
        text.truncate(bytes);
    }

    /// Parses a value that was read from a subscript.
    ///
    /// # Errors
    /// Fails if it is not a value of this subscript.
    pub fn read(global: u32, subscript: u64, value: &str) -> Result<Self, WrongValue> {
        let mut parts = value.splitn(4, ':');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        let (Some(worker), Some(sequence), Some(_)) = (number(), number(), number()) else {
            return Err(WrongValue::Form);
        };
        let worker = u32::try_from(worker).map_err(|_| WrongValue::Form)?;
        let stamp = Self { global, subscript, worker, sequence };
        let mut right = String::with_capacity(value.len());
        stamp.write(value.len(), &mut right);
        if right == value { Ok(stamp) } else { Err(WrongValue::Check) }
    }
}

/// The repeated letters, so that most values need only one copy.
const PADDING: &str = {
    const TIMES: usize = MOST_BYTES / PADDING_LETTERS.len() + 2;
    const BYTES: [u8; TIMES * PADDING_LETTERS.len()] = {
        let mut bytes = [0; TIMES * PADDING_LETTERS.len()];
        let mut at = 0;
        while at < bytes.len() {
            bytes[at] = PADDING_LETTERS.as_bytes()[at % PADDING_LETTERS.len()];
            at += 1;
        }
        bytes
    };
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => panic!(),
    }
};

/// Writes a number and a colon that end before `end`, and returns where they begin. `write!` takes three times as long,
/// which matters for millions of values.
fn digits_before(mut number: u64, text: &mut [u8; 64], end: usize) -> usize {
    let mut first = end - 1;
    text[first] = b':';
    loop {
        first -= 1;
        text[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return first;
        }
    }
}

/// Why a value is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongValue {
    /// It does not have the form of iogauge's values.
    #[error("it does not have the form of a value")]
    Form,
    /// It belongs to another subscript, or was changed.
    #[error("its checksum does not match its content and position")]
    Check,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(stamp: Stamp, bytes: usize) -> String {
        let mut text = String::new();
        stamp.write(bytes, &mut text);
        text
    }

    #[test]
    fn values_match_those_written_by_other_languages() {
        let stamp = Stamp { global: 3, subscript: 123_456, worker: 3, sequence: 42 };
        // 3×1000003 + 42×7919 + 123456×104729 mod 999999937 + 3×611953, mod 999999937.
        assert_eq!(stamp.check(), 934_592_646);
        let value = text(stamp, 64);
        assert!(value.starts_with("3:42:934592646:"), "{value}");
        // 934592646 mod 62 is 58.
        assert_eq!(&value[15..18], &PADDING_LETTERS[58..61]);
    }

    proptest! {
        #[test]
        fn values_match_the_documented_format(
            global: u32, subscript: u64, worker: u32, sequence: u64, shift in 0u32..64,
            bytes in LEAST_BYTES..2 * MOST_BYTES,
        ) {
            let (subscript, sequence) = (subscript >> shift, sequence >> shift);
            let stamp = Stamp { global, subscript, worker, sequence };
            let check = stamp.check();
            let from = check as usize % PADDING_LETTERS.len();
            let padding = PADDING_LETTERS.chars().cycle().skip(from).take(bytes);
            let mut right = format!("{worker}:{sequence}:{check}:");
            right.extend(padding);
            right.truncate(bytes);
            prop_assert_eq!(text(stamp, bytes), right);
        }

        #[test]
        fn written_values_are_read_back(
            global in 1u32..100_000, subscript in 1u64..1_000_000_000_000, worker in 0u32..100_000,
            sequence in 0u64..1_000_000_000_000, bytes in LEAST_BYTES..MOST_BYTES,
        ) {
            let stamp = Stamp { global, subscript, worker, sequence };
            let value = text(stamp, bytes);
            prop_assert_eq!(value.len(), bytes);
            prop_assert_eq!(Stamp::read(global, subscript, &value), Ok(stamp));
        }

        #[test]
        fn changed_or_misplaced_values_are_detected(
            subscript in 1u64..1_000_000, sequence in 1u64..1_000_000, at in 0usize..100, by in 1u8..20,
        ) {
            let stamp = Stamp { global: 2, subscript, worker: 2, sequence };
            let value = text(stamp, 100);
            let mut changed = value.clone().into_bytes();
            changed[at] = changed[at].wrapping_add(by) & 0x7f;
            let changed = String::from_utf8(changed).unwrap();
            prop_assert!(changed == value || Stamp::read(2, subscript, &changed).is_err());
            prop_assert!(Stamp::read(3, subscript, &value).is_err());
            prop_assert!(Stamp::read(2, subscript + 1, &value).is_err());
        }
    }
}
