//! The parser of ISO 8601 dates and times, which is as strict as `java.time`.
//!
//! Seconds, fractions of a second, and the minutes of an offset may be omitted. Omitted parts are zero.

/// Microseconds in a day.
pub const DAY: i64 = 86_400_000_000;

/// Parses a date at the start of a text, and returns the days since 1970 and the rest of the text.
fn leading_date(text: &str) -> Option<(i64, &str)> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (0, text),
    };
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    // A year of more than four digits needs a sign. Only such a year may have a plus sign.
    let fits = match sign {
        0 => digits == 4,
        1 => (5..=9).contains(&digits),
        _ => (4..=9).contains(&digits),
    };
    let year: i64 = unsigned.get(..digits)?.parse().ok().filter(|_| fits)?;
    let (month, rest) = two_digits(unsigned.get(digits..)?.strip_prefix('-')?)?;
    let (day, rest) = two_digits(rest.strip_prefix('-')?)?;
    Some((days(if sign < 0 { -year } else { year }, month, day)?, rest))
}

/// Parses a time at the start of a text, and returns the nanoseconds since midnight and the rest of the text.
fn leading_time(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = two_digits(text)?;
    let (minutes, rest) = two_digits(rest.strip_prefix(':')?)?;
    let Some(rest) = rest.strip_prefix(':') else { return Some((nanos(hours, minutes, 0, 0)?, rest)) };
    let (seconds, rest) = two_digits(rest)?;
    let Some(fraction) = rest.strip_prefix('.') else {
        return Some((nanos(hours, minutes, seconds, 0)?, rest));
    };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let number: i64 = fraction.get(..digits).filter(|_| (1..=9).contains(&digits))?.parse().ok()?;
    let scale = 10i64.checked_pow(9u32.checked_sub(u32::try_from(digits).ok()?)?)?;
    Some((nanos(hours, minutes, seconds, number * scale)?, fraction.get(digits..)?))
}

fn two_digits(text: &str) -> Option<(i64, &str)> {
    let digits = text.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((digits.parse().ok()?, text.get(2..)?))
}

/// Parses an offset, such as `Z`, `+02:00`, `+0200` or `+02`, and returns the seconds east of UTC.
fn offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'Z' if text.len() == 1 => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = two_digits(text.get(1..)?)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" if rest.is_empty() => 0,
        minutes => two_digits(minutes).filter(|(_, end)| end.is_empty())?.0,
    };
    let seconds = (hours * 60 + minutes) * 60;
    (minutes < 60 && seconds <= 18 * 3600).then_some(sign * seconds)
}

/// Parses a date, and returns the days since 1970. A time of day after the date is checked, but not returned.
pub fn date(text: &str) -> Option<i64> {
    let (days, rest) = leading_date(text)?;
    if !rest.is_empty() {
        local_date_time(text)?;
    }
    Some(days)
}

/// Parses a time of day, and returns the microseconds since midnight.
pub fn time_of_day(text: &str) -> Option<i64> {
    leading_time(text).filter(|(_, rest)| rest.is_empty()).map(|(nanos, _)| nanos / 1000)
}

/// Parses a local date and time, and returns the microseconds since 1970 on a local clock.
///
/// A `Z` at the end is ignored, as in Java.
pub fn local_date_time(text: &str) -> Option<i64> {
    let (days, rest) = leading_date(text)?;
    let (nanos, rest) = leading_time(rest.strip_prefix('T')?)?;
    matches!(rest, "" | "Z").then(|| micros(days, nanos))?
}

/// Parses a date and time with an offset, and returns the microseconds since 1970 in UTC.
pub fn instant(text: &str) -> Option<i64> {
    let (days, rest) = leading_date(text)?;
    let (nanos, rest) = leading_time(rest.strip_prefix('T')?)?;
    micros(days, nanos)?.checked_sub(offset(rest)? * 1_000_000)
}

/// Returns the microseconds since 1970. The nanoseconds are rounded down to microseconds.
pub fn micros(days: i64, nanos: i64) -> Option<i64> {
    // The start of the first day with valid microseconds is outside the range of 64 bits, so 128 bits are needed.
    i64::try_from(i128::from(days) * i128::from(DAY) + i128::from(nanos / 1000)).ok()
}

/// Returns the nanoseconds since midnight, or `None` if the time of day does not exist.
pub fn nanos(hours: i64, minutes: i64, seconds: i64, nanos: i64) -> Option<i64> {
    let exists = (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0..60).contains(&seconds)
        && (0..1_000_000_000).contains(&nanos);
    exists.then(|| ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

/// Returns the days since 1970 in the Gregorian calendar, extended to all years, or `None` if the date does not exist.
pub fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(-999_999_999..=999_999_999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=longest).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last day of a year.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days_of_years = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(days_of_years + (153 * month + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_each_other() {
        assert_eq!(days(1970, 1, 1), Some(0));
        assert_eq!(days(2024, 5, 6), Some(19_849));
        let mut next = days(-401, 1, 1).unwrap();
        for year in -401..2401 {
            for (month, day) in (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day))) {
                if let Some(found) = days(year, month, day) {
                    assert_eq!(found, next, "{year}-{month}-{day}");
                    next += 1;
                }
            }
        }
    }

    #[test]
    fn texts_are_exact() {
        assert_eq!(instant("1970-01-01T02:00:00.000001+02:00"), Some(1));
        assert_eq!(instant("1969-12-31T23:59:59.999999999Z"), Some(-1));
        assert_eq!(instant("1970-01-01T00:00-0130"), Some(5_400_000_000));
        assert_eq!(instant("+10000-01-01T00:00:00Z"), Some(253_402_300_800_000_000));
        assert_eq!(local_date_time("-0001-12-31T00:00"), Some(-62_167_305_600_000_000));
        assert_eq!(time_of_day("23:59:59.9"), Some(86_399_900_000));
        assert_eq!(date("2024-05-06T01:02:03Z"), Some(19_849));
        let odd = [
            "",
            "2024-05-06T07:08:09",
            "2024-05-06 07:08:09Z",
            "2024-02-30T00:00:00Z",
            "2024-05-06T24:00:00Z",
            "2024-05-06T23:59:60Z",
            "2024-05-06T00:00:00.Z",
            "2024-05-06T00:00:00.0000000001Z",
            "2024-5-6T00:00:00Z",
            "+2024-05-06T00:00:00Z",
            "2024-05-06T00:00:00+02:00[Europe/Berlin]",
            "2024-05-06T00:00:00+02:",
            "éé",
            "+999999999-01-01T00:00:00Z",
        ];
        for text in odd {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
