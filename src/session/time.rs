//! ISO 8601 timestamps as `Date.parse` reads them and `toISOString` prints them.

/// Milliseconds since 1970 of a date, date-time with offset, or UTC date-time; NaN for any other
/// text. Date-times without offset are read as UTC: entries are always written with `Z`.
pub fn parse(text: &[u8]) -> f64 {
    parse_date_time(text).unwrap_or(f64::NAN)
}

fn parse_date_time(text: &[u8]) -> Option<f64> {
    let (year, mut rest) = year(text)?;
    let (mut month, mut day) = (1, 1);
    if let Some((value, tail)) = part(rest, b'-') {
        (month, rest) = (value, tail);
        if let Some((value, tail)) = part(rest, b'-') {
            (day, rest) = (value, tail);
        }
    }
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day) as f64 * 86_400_000.0;
    match rest.split_first() {
        None => Some(days),
        Some((b'T', clock)) => time_of_day(clock).map(|millis| days + millis),
        Some(_) => None,
    }
}

fn year(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = match text.first()? {
        b'+' => (false, 6),
        b'-' => (true, 6),
        _ => return digits(text, 4),
    };
    let (value, rest) = self::digits(text.get(1..)?, digits)?;
    Some((if negative { -value } else { value }, rest))
}

fn time_of_day(text: &[u8]) -> Option<f64> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, mut rest) = part(rest, b':')?;
    let (mut second, mut fraction) = (0, 0.0);
    if let Some((value, tail)) = part(rest, b':') {
        (second, rest) = (value, tail);
        if let Some((b'.', tail)) = rest.split_first() {
            let count = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let text = std::str::from_utf8(tail.get(..count)?).ok()?;
            fraction = (format!("0.{text}").parse::<f64>().ok()? * 1000.0).floor();
            rest = tail.get(count..)?;
        }
    }
    if hour > 24 || minute > 59 || second > 59 || (hour == 24 && (minute > 0 || second > 0)) {
        return None;
    }
    let millis = ((hour * 60 + minute) * 60 + second) as f64 * 1000.0 + fraction;
    Some(millis - offset(rest)? as f64 * 60_000.0)
}

/// Minutes east of UTC.
fn offset(text: &[u8]) -> Option<i64> {
    match text.split_first() {
        None | Some((b'Z', [])) => Some(0),
        Some((sign @ (b'+' | b'-'), rest)) => {
            let (hours, rest) = digits(rest, 2)?;
            let (minutes, rest) = part(rest, b':')?;
            let total = hours * 60 + minutes;
            rest.is_empty()
                .then_some(if *sign == b'-' { -total } else { total })
        }
        Some(_) => None,
    }
}

/// A separator and two digits.
fn part(text: &[u8], separator: u8) -> Option<(i64, &[u8])> {
    let (&first, rest) = text.split_first()?;
    if first != separator {
        return None;
    }
    digits(rest, 2)
}

fn digits(text: &[u8], count: usize) -> Option<(i64, &[u8])> {
    let (head, rest) = text.split_at_checked(count)?;
    if !head.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = head
        .iter()
        .fold(0, |value, &digit| value * 10 + i64::from(digit - b'0'));
    Some((value, rest))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (days beyond a month's end roll over).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_the_standard() {
        for (text, millis) in [
            ("1970-01-01T00:00:00.000Z", 0.0),
            ("2026-11-30T00:02:50.250Z", 1_795_996_970_250.0),
            ("2024-02-29", 1_709_164_800_000.0),
            ("2026-11-30T01:02:50+01:00", 1_795_996_970_000.0),
            ("2026-11", 1_793_491_200_000.0),
            ("+275760-09-13T00:00:00.000Z", 8.64e15),
            ("-000001-01-01T00:00:00Z", -62_198_755_200_000.0),
        ] {
            assert_eq!(parse(text.as_bytes()), millis, "{text}");
        }
    }

    #[test]
    fn other_text_is_not_a_time() {
        for text in [
            "",
            "garbage",
            "2026-13-01",
            "2026-11-30T25:00Z",
            "2026-11-30T00:00:00Q",
            "T",
        ] {
            assert!(parse(text.as_bytes()).is_nan(), "{text}");
        }
    }
}
