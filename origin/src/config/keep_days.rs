//! How long histories are kept whole, before they are thinned.

use rds_shared::wire::Timestamp;
use rds_store::thinning::History;

const DAY: i64 = 86_400;

/// Days for which each history is kept whole; 0 keeps everything for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeepDays {
    pub readings: u32,
    pub chain_readings: u32,
    pub holders: u32,
}

impl KeepDays {
    /// Fewest days of readings that may be kept whole: routes show 365, and score runs read as many.
    pub const MIN_READINGS: u32 = 400;
    /// Fewest days of the other histories: a reorganisation of a chain takes back what was read in the last days.
    pub const MIN_OTHERS: u32 = 30;
    /// Most days that may be named: a century.
    pub const MAX: u32 = 36_500;

    const fn of(self, history: History) -> u32 {
        match history {
            History::Readings => self.readings,
            History::ChainReadings => self.chain_readings,
            History::Holders => self.holders,
        }
    }

    /// The instant before which whole days of a history are thinned; `None` if it is kept for ever.
    pub fn before(self, history: History, now: Timestamp) -> Option<Timestamp> {
        let days = self.of(history);
        (days > 0).then(|| now.plus_seconds(-i64::from(days) * DAY))
    }
}

#[cfg(test)]
mod tests {
    use super::KeepDays;
    use crate::config::Config;
    use rds_shared::wire::Timestamp;
    use rds_store::thinning::History;

    fn read(variable: &str, value: &str) -> Result<KeepDays, String> {
        let read = Config::read(|name| {
            let needed = [
                ("DATABASE_URL", "postgres://db"),
                ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
                ("RDS_EDGE_ASSERTION_KEYS", "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"),
                (variable, value),
            ];
            needed.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        read.map(|config| config.keep_days).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_is_kept_unless_a_policy_says_otherwise_and_never_less_than_the_routes_show() {
        let now = Timestamp::from_seconds(1_000 * 86_400);
        let usual = read("RDS_LOG", "info").unwrap();
        assert!(History::ALL.iter().all(|history| usual.before(*history, now).is_none()));
        let kept = read("RDS_KEEP_READINGS_DAYS", "400").unwrap();
        assert_eq!(kept.before(History::Readings, now), Some(Timestamp::from_seconds(600 * 86_400)));
        assert_eq!(kept.before(History::Holders, now), None);
        for (variable, bad) in
            [("RDS_KEEP_READINGS_DAYS", "399"), ("RDS_KEEP_CHAIN_READINGS_DAYS", "29"), ("RDS_KEEP_HOLDERS_DAYS", "-1")]
        {
            assert!(read(variable, bad).unwrap_err().contains(variable), "{variable}={bad}");
        }
    }
}
