//! Splits a JSON document into pieces while its bytes arrive: one for each member, and one for each element
//! of a member that is an array, so that only one job is in memory and not the document. The receiver of
//! the pieces may parse objects before they are split off, so that their bytes are scanned only once.

use memchr::memchr_iter;

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Name of the member.
    pub(super) key: &'a str,
    /// True if it is an element of the member's array.
    pub(super) is_element: bool,
    /// The JSON text.
    pub(super) value: &'a [u8],
    /// The line on which it begins.
    pub(super) line: u64,
}

/// Receives the pieces of a document.
pub(super) trait Take {
    fn piece(&mut self, piece: &Piece<'_>);

    /// Parses the object at the beginning of `ahead.value`, an element of the member's array, and returns
    /// its length. Returns `None` if the object is incomplete or not JSON: then it arrives as a piece.
    fn whole(&mut self, ahead: &Piece<'_>) -> Option<usize>;
}

/// State of a document after some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It continues.
    More,
    /// It ended with the last byte taken.
    Ended,
    /// It was cut off after the last byte taken; the next one does not belong to it.
    Broken(&'static str),
}

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begin,
    /// A name, or the end of the document.
    Name,
    InName {
        escaped: bool,
    },
    Colon,
    /// The value of a member.
    Value,
    /// An element of a member's array, or the end of the array.
    Element,
    /// Inside a value that is neither text, object nor array.
    Plain,
    /// Inside a value with quotes or braces.
    Nested {
        in_string: bool,
        escaped: bool,
    },
    End,
}

/// Splits one document.
#[derive(Debug)]
pub(super) struct Splitter {
    state: State,
    name: Vec<u8>,
    in_array: bool,
    value: Vec<u8>,
    value_line: u64,
    /// Open braces and brackets in the value.
    open: Vec<u8>,
    /// The last non-blank byte outside of strings, and the last byte of all.
    significant: u8,
    previous: u8,
    line: u64,
}

const IN_THE_MIDDLE: &str = "the document ends in the middle";
/// fio's longest value, a job with all its latencies, has a few mebibytes.
const LONGEST_VALUE: usize = 256 << 20;
const TOO_LONG: &str = "a value of more than 256 MiB, which fio does not write";
/// Names of fio's members have a few characters.
const LONGEST_NAME: usize = 1 << 16;

impl Splitter {
    /// Creates a splitter for a document whose first brace is on this line.
    pub(super) fn new(line: u64) -> Self {
        Self {
            state: State::Begin,
            name: Vec::new(),
            in_array: false,
            value: Vec::new(),
            value_line: line,
            open: Vec::new(),
            significant: 0,
            previous: b'\n',
            line,
        }
    }

    /// Returns the current line.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Returns true if nothing of the current line was taken.
    pub(super) fn is_at_line_start(&self) -> bool {
        self.previous == b'\n'
    }

    /// Takes bytes and emits pieces. Returns how many bytes it took, and why not more.
    pub(super) fn feed(&mut self, bytes: &[u8], take: &mut impl Take) -> (usize, Step) {
        let mut at = 0;
        while at < bytes.len() {
            let (taken, step) = match self.state {
                State::Element if bytes[at] == b'{' => self.element(&bytes[at..], take),
                State::Nested { .. } => self.nested(&bytes[at..], take),
                _ => self.one(bytes[at], take),
            };
            at += taken;
            if step != Step::More {
                return (at, step);
            }
            if self.state == State::End {
                return (at, Step::Ended);
            }
        }
        (at, Step::More)
    }

    fn one(&mut self, byte: u8, take: &mut impl Take) -> (usize, Step) {
        match self.byte(byte, take) {
            Step::More => {
                self.line += u64::from(byte == b'\n');
                self.previous = byte;
                (1, Step::More)
            }
            step => (0, step),
        }
    }

    /// Takes an object, in one step if possible. For valid JSON, a parser finds the same end as this
    /// splitter, which never reports it as cut off.
    fn element(&mut self, bytes: &[u8], take: &mut impl Take) -> (usize, Step) {
        let key = &String::from_utf8_lossy(&self.name);
        let ahead = Piece { key, is_element: true, value: bytes, line: self.line };
        let Some(length) = take.whole(&ahead) else { return self.one(bytes[0], take) };
        self.line += memchr_iter(b'\n', &bytes[..length]).count() as u64;
        self.previous = b'}';
        (length, Step::More)
    }

    fn byte(&mut self, byte: u8, take: &mut impl Take) -> Step {
        match self.state {
            State::End | State::Nested { .. } => Step::Ended,
            State::InName { escaped } => self.name(byte, escaped),
            State::Plain => self.plain(byte, take),
            _ if byte.is_ascii_whitespace() => Step::More,
            State::Begin => {
                self.state = State::Name;
                Step::More
            }
            State::Name => self.between(byte),
            State::Colon if byte == b':' => self.goes_on(State::Value),
            State::Colon => Step::Broken("a name without a colon"),
            State::Value => self.value(byte),
            State::Element => match byte {
                b',' => Step::More,
                b']' => {
                    self.in_array = false;
                    self.goes_on(State::Name)
                }
                _ => self.begin_value(byte),
            },
        }
    }

    fn goes_on(&mut self, state: State) -> Step {
        self.state = state;
        Step::More
    }

    fn between(&mut self, byte: u8) -> Step {
        match byte {
            b',' => Step::More,
            b'}' => self.goes_on(State::End),
            b'"' => {
                self.name.clear();
                self.goes_on(State::InName { escaped: false })
            }
            _ => Step::Broken(IN_THE_MIDDLE),
        }
    }

    fn name(&mut self, byte: u8, escaped: bool) -> Step {
        match byte {
            b'\n' => Step::Broken(IN_THE_MIDDLE),
            b'"' if !escaped => self.goes_on(State::Colon),
            _ if self.name.len() == LONGEST_NAME => Step::Broken("a name of more than 64 KiB"),
            _ => {
                self.name.push(byte);
                self.goes_on(State::InName { escaped: byte == b'\\' && !escaped })
            }
        }
    }

    fn value(&mut self, byte: u8) -> Step {
        if byte == b'[' {
            self.in_array = true;
            return self.goes_on(State::Element);
        }
        self.begin_value(byte)
    }

    fn begin_value(&mut self, byte: u8) -> Step {
        self.value.clear();
        self.value_line = self.line;
        self.open.clear();
        self.value.push(byte);
        self.significant = byte;
        match byte {
            b'{' | b'[' => {
                self.open.push(byte);
                self.goes_on(State::Nested { in_string: false, escaped: false })
            }
            b'"' => self.goes_on(State::Nested { in_string: true, escaped: false }),
            b'}' | b']' | b':' | b',' => Step::Broken(IN_THE_MIDDLE),
            _ => self.goes_on(State::Plain),
        }
    }

    fn plain(&mut self, byte: u8, take: &mut impl Take) -> Step {
        if !byte.is_ascii_whitespace() && !matches!(byte, b',' | b'}' | b']') {
            if self.value.len() == LONGEST_VALUE {
                return Step::Broken(TOO_LONG);
            }
            self.value.push(byte);
            return Step::More;
        }
        self.hand_out(take);
        // The byte follows the value.
        self.byte(byte, take)
    }

    /// Takes bytes of a value with quotes or braces, up to its end.
    fn nested(&mut self, bytes: &[u8], take: &mut impl Take) -> (usize, Step) {
        let State::Nested { mut in_string, mut escaped } = self.state else {
            return (0, Step::More);
        };
        let (mut at, mut step, mut ended) = (0, Step::More, false);
        while at < bytes.len() && !ended {
            let run = if escaped { 0 } else { self.run(&bytes[at..], in_string) };
            if run > 0 {
                at += run;
                continue;
            }
            let byte = bytes[at];
            if in_string {
                if byte == b'\n' {
                    step = Step::Broken(IN_THE_MIDDLE);
                    break;
                }
                in_string = byte != b'"' || escaped;
                escaped = byte == b'\\' && !escaped;
            } else {
                match byte {
                    b'"' => in_string = true,
                    b'{' if self.begins_another() => {
                        step = Step::Broken(IN_THE_MIDDLE);
                        break;
                    }
                    b'{' | b'[' => self.open.push(byte),
                    b'}' | b']' => {
                        self.open.pop();
                    }
                    b'\n' => self.line += 1,
                    _ => {}
                }
                if !byte.is_ascii_whitespace() {
                    self.significant = byte;
                }
            }
            self.previous = byte;
            at += 1;
            ended = !in_string && self.open.is_empty();
        }
        if self.value.len() + at > LONGEST_VALUE {
            return (at, Step::Broken(TOO_LONG));
        }
        self.value.extend_from_slice(&bytes[..at]);
        self.state = State::Nested { in_string, escaped };
        if ended {
            self.hand_out(take);
        }
        (at, step)
    }

    /// Takes the bytes that do not begin or end a string or a value and do not end a line; returns how
    /// many. Almost all bytes are such.
    fn run(&mut self, bytes: &[u8], in_string: bool) -> usize {
        let end = if in_string {
            bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n'))
        } else {
            bytes.iter().position(|b| matches!(b, b'"' | b'{' | b'[' | b'}' | b']' | b'\n'))
        };
        let run = &bytes[..end.unwrap_or(bytes.len())];
        self.previous = run.last().copied().unwrap_or(self.previous);
        if !in_string {
            let significant = run.iter().rfind(|byte| !byte.is_ascii_whitespace());
            self.significant = significant.copied().unwrap_or(self.significant);
        }
        run.len()
    }

    /// Returns true for a brace that begins a line where no value is allowed: it belongs to the next
    /// document, after one that was cut off.
    fn begins_another(&self) -> bool {
        let may_stand = match self.significant {
            b'[' | b':' => true,
            b',' => self.open.last() == Some(&b'['),
            _ => false,
        };
        self.previous == b'\n' && !may_stand
    }

    fn hand_out(&mut self, take: &mut impl Take) {
        take.piece(&Piece {
            key: &String::from_utf8_lossy(&self.name),
            is_element: self.in_array,
            value: &self.value,
            line: self.value_line,
        });
        self.state = if self.in_array { State::Element } else { State::Name };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pieces = Vec<(String, bool, String, u64)>;

    struct Taken {
        pieces: Pieces,
        reads_ahead: bool,
    }

    impl Take for Taken {
        fn piece(&mut self, piece: &Piece<'_>) {
            let value = String::from_utf8_lossy(piece.value).into_owned();
            self.pieces.push((piece.key.to_owned(), piece.is_element, value, piece.line));
        }

        fn whole(&mut self, ahead: &Piece<'_>) -> Option<usize> {
            let values = serde_json::Deserializer::from_slice(ahead.value);
            let mut values = values.into_iter::<serde::de::IgnoredAny>();
            values.next().filter(|_| self.reads_ahead)?.ok()?;
            let length = values.byte_offset();
            self.piece(&Piece { value: &ahead.value[..length], ..*ahead });
            Some(length)
        }
    }

    fn split(text: &[u8], chunk: usize) -> (Pieces, usize, Step) {
        split_by(text, chunk, false)
    }

    fn split_by(text: &[u8], chunk: usize, reads_ahead: bool) -> (Pieces, usize, Step) {
        let mut splitter = Splitter::new(1);
        let mut take = Taken { pieces: Vec::new(), reads_ahead };
        let mut taken = 0;
        for chunk in text.chunks(chunk) {
            let (n, step) = splitter.feed(chunk, &mut take);
            taken += n;
            if step != Step::More {
                return (take.pieces, taken, step);
            }
        }
        (take.pieces, taken, Step::More)
    }

    #[test]
    fn top_level_members_and_array_elements_are_split() {
        let text = "{\n \"a\" : \"x}\\\"y\",\n \"jobs\": [ {\"b\": [1, {}]}, 7 ,\"c\"],\n \"n\":-1.5 }\nrest";
        let (pieces, taken, step) = split(text.as_bytes(), 4096);
        let piece = |key: &str, is_element, value: &str, line| {
            (key.to_owned(), is_element, value.to_owned(), line)
        };
        assert_eq!(
            pieces,
            [
                piece("a", false, "\"x}\\\"y\"", 2),
                piece("jobs", true, "{\"b\": [1, {}]}", 3),
                piece("jobs", true, "7", 3),
                piece("jobs", true, "\"c\"", 3),
                piece("n", false, "-1.5", 4),
            ]
        );
        assert_eq!((&text[taken..], step), ("\nrest", Step::Ended));
        for chunk in 1..9 {
            assert_eq!(split(text.as_bytes(), chunk), (pieces.clone(), taken, step));
        }
    }

    #[test]
    fn truncated_document_does_not_affect_the_next() {
        for cut in
            ["{\n \"jobs\": [\n {\"a\": 1", "{\n \"jobs\": [\n {\"a\": {", "{ \"a\"", "{\"a", "{"]
        {
            let text = format!("{cut}\n{{\"b\": 2}}");
            let (_, taken, step) = split(text.as_bytes(), 3);
            assert!(matches!(step, Step::Broken(_)), "{cut}");
            assert_eq!(text[taken..].trim_start(), "{\"b\": 2}", "{cut}");
        }
        let formatted = "{\n\"jobs\": [\n{\n\"a\": 1\n},\n{\n\"a\":\n{\n}\n}\n]\n}\n";
        assert_eq!(split(formatted.as_bytes(), 1).2, Step::Ended, "no indentation");
    }

    proptest! {
        #[test]
        fn json_splitting_is_independent_of_chunk_size(
            text in prop::collection::vec(prop::sample::select(b"{}[]\":,\\\n a1-".to_vec()), 0..60),
            chunk in 1usize..9,
        ) {
            prop_assert_eq!(split(&text, 4096), split(&text, chunk));
        }

        #[test]
        fn read_ahead_and_incremental_splitting_agree(
            words in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "\n", " ", "1", "{}", "[{}]",
                "\"a\":", "{\"a\": {\n\"b\": [{}, 1]}}", "\n{\n\"a\": \"}\\\"\"\n}\n", "nan",
            ]), 0..40),
            chunk in 1usize..60,
        ) {
            let text = format!("{{\"jobs\": [{}", words.concat());
            prop_assert_eq!(split(text.as_bytes(), 4096), split_by(text.as_bytes(), chunk, true));
        }
    }
}
