//! HTTP dates, in the three forms that a recipient must accept (RFC 9110, section 5.6.7).

use rds_shared::wire::Timestamp;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses a date; `now` decides the century of a two-digit year.
pub fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    match text.split_once(", ") {
        // Sun, 06 Nov 1994 08:49:37 GMT
        Some((day_name, rest)) if day_name.len() == 3 => {
            let mut words = rest.split(' ');
            let (day, month, year) = (words.next()?, words.next()?, words.next()?);
            let time = words.next()?;
            (words.eq(["GMT"])).then_some(())?;
            instant(digits(year, 4)?, month, digits(day, 2)?, time)
        }
        // Sunday, 06-Nov-94 08:49:37 GMT
        Some((_, rest)) => {
            let (date, time) = rest.strip_suffix(" GMT")?.split_once(' ')?;
            let mut parts = date.split('-');
            let (day, month, year) = (parts.next()?, parts.next()?, digits(parts.next()?, 2)?);
            parts.next().is_none().then_some(())?;
            // RFC 9110, section 5.6.7: a two-digit year that appears more than 50 years in the future is in the past century.
            let read = |century: u32| instant(century.saturating_add(year), month, digits(day, 2)?, time);
            let limit = now.plus_seconds(50 * 31_556_952);
            read(2000).filter(|read| *read <= limit).or_else(|| read(1900))
        }
        // Sun Nov  6 08:49:37 1994
        None => {
            let mut words = text.split_ascii_whitespace();
            let (_day_name, month, day, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
            let year = digits(words.next()?, 4)?;
            words.next().is_none().then_some(())?;
            instant(year, month, day.parse().ok()?, time)
        }
    }
}

/// Writes a date in the preferred form, IMF-fixdate.
pub fn write(instant: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let number = instant.as_seconds().div_euclid(86_400).rem_euclid(7);
    let day_name = usize::try_from(number).ok().and_then(|number| DAYS.get(number)).copied().unwrap_or_default();
    // 1994-11-06T08:49:37Z
    let stamp = instant.to_string();
    let part = |range: std::ops::Range<usize>| stamp.get(range).unwrap_or_default();
    let month = part(5..7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?)).copied();
    format!("{day_name}, {} {} {} {} GMT", part(8..10), month.unwrap_or_default(), part(0..4), part(11..19))
}

fn instant(year: u32, month: &str, day: u32, time: &str) -> Option<Timestamp> {
    let month = MONTHS.iter().position(|known| *known == month)?.saturating_add(1);
    let mut parts = time.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    // A leap second (60) is read as second 59.
    let second = digits(parts.next()?, 2).filter(|second| *second <= 60)?.min(59);
    parts.next().is_none().then_some(())?;
    Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

fn digits(text: &str, count: usize) -> Option<u32> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THEN: i64 = 784_111_777;

    fn now() -> Timestamp {
        Timestamp::from_seconds(1_795_219_200)
    }

    fn read(text: &str) -> Option<i64> {
        parse(text, now()).map(Timestamp::as_seconds)
    }

    #[test]
    fn the_three_forms_of_one_second() {
        assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT"), Some(THEN));
        assert_eq!(read("Sunday, 06-Nov-94 08:49:37 GMT"), Some(THEN));
        assert_eq!(read("Sun Nov  6 08:49:37 1994"), Some(THEN));
        assert_eq!(write(Timestamp::from_seconds(THEN)), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn a_two_digit_year_is_at_most_fifty_years_ahead() {
        let year = |text: &str| parse(text, now()).map(|read| read.to_string().get(..4).unwrap_or_default().to_owned());
        assert_eq!(year("Sunday, 06-Nov-70 08:49:37 GMT").as_deref(), Some("2070"));
        assert_eq!(year("Sunday, 06-Nov-80 08:49:37 GMT").as_deref(), Some("1980"));
    }

    #[test]
    fn malformed_dates_are_rejected() {
        for text in [
            "",
            "0",
            "-1",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_parsed(text in "[ -~]{0,40}") {
            let _ = parse(&text, now());
        }

        #[test]
        fn written_values_are_read_back(seconds in 0i64..4_102_444_800) {
            let text = write(Timestamp::from_seconds(seconds));
            prop_assert_eq!(read(&text), Some(seconds));
        }
    }
}
