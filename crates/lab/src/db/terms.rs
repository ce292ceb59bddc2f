//! Words for what a search on a database does, out of those for devices.

/// What devices are asked for, and what databases are. Longer ones come before those they begin with.
const PAIRS: [(&str, &str); 8] = [
    ("sync:", "commit:"),
    ("iogauge run ", "iogauge db run "),
    ("--iodepth", "--processes"),
    ("--max-depth", "--max-processes"),
    ("IOPS", "operations/s"),
    ("I/Os", "operations"),
    ("depths ", "processes "),
    ("the depth before", "those before"),
];
/// What then has to be said of several.
const VERBS: [(&str, &str); 3] = [
    ("processes costs", "processes cost"),
    ("processes gives", "processes give"),
    ("processes is", "processes are"),
];

/// A sentence about a search over depths and I/Os as one over processes and operations:
/// `depth 8 gave 900 IOPS` is `8 processes gave 900 operations/s`.
#[must_use]
pub fn in_database_terms(text: &str) -> String {
    let text = PAIRS.iter().fold(text.to_owned(), |text, (device, own)| text.replace(device, own));
    let mut parts = text.split("depth");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number: String = part.trim_start().chars().take_while(char::is_ascii_digit).collect();
        let rest = part.trim_start().strip_prefix(&number).unwrap_or(part);
        // "at depth 8", and "depth costs it throughput".
        let begin = told.strip_suffix("at ").map(|begin| format!("{begin}with "));
        told = begin.filter(|_| !number.is_empty()).unwrap_or(told);
        match number.as_str() {
            "" => told.push_str(&format!("more processes{part}")),
            "1" => told.push_str(&format!("1 process{rest}")),
            number => told.push_str(&format!("{number} processes{rest}")),
        }
    }
    VERBS.iter().fold(told, |told, (one, several)| told.replace(one, several))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_processes() {
        for (device, own) in [
            (
                "depth 8 gave 9,890 IOPS, after 17,010 at depth 1: the target got slower during the \
                 search, unless depth costs it throughput",
                "8 processes gave 9,890 operations/s, after 17,010 with 1 process: the target got slower \
                 during the search, unless more processes cost it throughput",
            ),
            ("sync:p99 rests on 298 I/Os", "commit:p99 rests on 298 operations"),
            (
                "iogauge run with the answer's --iodepth",
                "iogauge db run with the answer's --processes",
            ),
            (
                "doubling   depth 4          1,965 IOPS",
                "doubling   4 processes          1,965 operations/s",
            ),
            (
                "next depth 4: doubled, since depth 2 is within the limit",
                "next 4 processes: doubled, since 2 processes are within the limit",
            ),
            (
                "the line through depths 2 and 4 meets it at 3.7",
                "the line through processes 2 and 4 meets it at 3.7",
            ),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(in_database_terms(device), own);
        }
    }
}
