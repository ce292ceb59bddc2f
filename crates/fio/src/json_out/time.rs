//! Dates in the head of the document, in UTC.

use iogauge_model::calendar::{Civil, MONTHS};

/// 1970-01-01 was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Returns the seconds since 1970 of an RFC 3339 time in UTC, such as `2026-11-21T10:15:30Z`, without
/// fractions of a second. Earlier years are rejected: no run has them.
pub(super) fn unix_seconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    in_range.then(|| Civil { year, month, day, hour, minute, second }.unix_seconds())
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut numbers = [0; 3];
    let mut words = text.split(separator);
    for number in &mut numbers {
        let word = words.next()?;
        *number = word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok())??;
    }
    words.next().is_none().then_some(numbers)
}

/// Formats a time since 1970 like asctime(3): `Sat Nov 21 10:15:30 2026`.
pub(super) fn shown(unix_seconds: i64) -> String {
    let weekday = WEEKDAYS[unix_seconds.div_euclid(86_400).rem_euclid(7) as usize];
    let Civil { year, month, day, hour, minute, second } = Civil::of_unix_seconds(unix_seconds);
    let month = MONTHS[(month - 1) as usize];
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_timestamps_are_converted() {
        // From fio 3.33 with TZ=UTC.
        assert_eq!(shown(1_795_252_006), "Sat Nov 21 09:06:46 2026");
        assert_eq!(unix_seconds("2026-11-21T09:06:46Z"), Some(1_795_252_006));
        assert_eq!(shown(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(unix_seconds("2000-02-29T00:00:00.5Z"), Some(951_782_400));
        assert_eq!(shown(951_782_400), "Tue Feb 29 00:00:00 2000");
    }

    #[test]
    fn invalid_timestamps_are_rejected() {
        for text in [
            "",
            "2026-11-21",
            "2026-11-21T10:15Z",
            "2026-13-21T10:15:30Z",
            "1969-12-31T23:59:59Z",
            "2026-11-21T10:15:30",
            "2026-11-21T+1:15:30Z",
            "2026-11-21T10:15:30:00Z",
        ] {
            assert_eq!(unix_seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn timestamp_parsing_never_panics(text in "[0-9TZ:.-]{0,24}") {
            let _ = unix_seconds(&text).map(shown);
        }

        #[test]
        fn formatted_timestamp_matches_parsed_date(
            year in 1970i64..=9999, month in 1i64..=12, day in 1i64..=28, second in 0i64..60,
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T23:00:{second:02}Z");
            let shown = shown(unix_seconds(&text).unwrap());
            let wanted = format!(
                "{} {day:2} 23:00:{second:02} {year}",
                MONTHS[(month - 1) as usize]
            );
            prop_assert!(shown.ends_with(&wanted), "{} {}", shown, wanted);
        }
    }
}
