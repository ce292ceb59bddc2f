//! Calendar dates: UTC, proleptic Gregorian.
//!
//! A year is counted from March, so that the leap day is its last day. Source: Howard Hinnant,
//! "chrono-Compatible Low-Level Date Algorithms", `days_from_civil` and `civil_from_days`.

/// Abbreviations of the months, as C and fio write them.
pub const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;
const ERA_DAYS: i64 = 146_097;
const DAY_SECONDS: i64 = 86_400;

/// A date and time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// Year; 0 is 1 BC.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: i64,
    /// Day of the month, 1 to 31.
    pub day: i64,
    /// Hour, 0 to 23.
    pub hour: i64,
    /// Minute, 0 to 59.
    pub minute: i64,
    /// Second, 0 to 59.
    pub second: i64,
}

impl Civil {
    /// Converts seconds since 1970-01-01T00:00:00Z (negative before) to a date.
    #[must_use]
    pub fn of_unix_seconds(seconds: i64) -> Self {
        let of_day = seconds.rem_euclid(DAY_SECONDS);
        let days = seconds.div_euclid(DAY_SECONDS) + EPOCH_DAYS;
        let era = days.div_euclid(ERA_DAYS);
        let of_era = days.rem_euclid(ERA_DAYS);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        }
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z. A day or a time of day outside its range carries over:
    /// January 32 is February 1.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
        let days = era * ERA_DAYS + of_era - EPOCH_DAYS;
        days * DAY_SECONDS + self.hour * 3600 + self.minute * 60 + self.second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn civil_dates_match_known_unix_seconds() {
        let at = |year, month, day| Civil { year, month, day, hour: 0, minute: 0, second: 0 };
        for (civil, seconds) in [
            (at(1970, 1, 1), 0),
            (at(2000, 2, 29), 951_782_400),
            (at(1969, 12, 31), -86_400),
            (at(2026, 11, 21), 1_795_219_200),
        ] {
            assert_eq!(civil.unix_seconds(), seconds);
            assert_eq!(Civil::of_unix_seconds(seconds), civil);
        }
    }

    proptest! {
        #[test]
        fn civil_date_conversion_round_trips(seconds in -62_135_596_800i64..253_402_300_800) {
            prop_assert_eq!(Civil::of_unix_seconds(seconds).unix_seconds(), seconds);
        }
    }
}
