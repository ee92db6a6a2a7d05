//! SQL fragments that sum a range of observations and combine consecutive ranges.
//!
//! Prices and drawdowns are computed exactly, as `numeric`, with the expression that `scoring::signals_from_readings` uses. The greatest
//! drawdown over two consecutive ranges is the maximum of each range's own drawdown and of the one from the first range's high to the
//! second's low. So the result does not depend on where a year is split.
//!
//! A *leap* is a price of more than [`MAX_PRICE_RISE`] times the price before it.

use rds_shared::research::outcome::MAX_PRICE_RISE;

/// A utilization above this counts for `high_util_72h`. Stored sums depend on it.
pub const HIGH_UTILIZATION: &str = "0.95";

/// The computed columns of a day, in the order of [`day_sums`].
const DAY_COLUMNS: &[&str] = &[
    "last_at",
    "used_at",
    "calm_at",
    "priced_at",
    "priced_before",
    "high",
    "high_at",
    "low",
    "drawdown_bp",
    "drawdown_from",
    "opened",
    "opened_at",
    "closed",
    "moved_at",
    "leapt_at",
    "day",
];

/// A query for the sums of the observations of `vault` after `after` and up to `upto`: one row, with nulls if there are none. All three
/// arguments are SQL expressions.
pub fn stretch(vault: &str, after: &str, upto: &str) -> String {
    let readings = format!(
        "SELECT observed_at, utilization, price_per_share FROM vault_snapshot h \
         WHERE h.vault_id = {vault} AND h.observed_at > {after} AND h.observed_at <= {upto}"
    );
    sums(&readings, "", "")
}

/// A query for the sums of the days of `asked (vault_id, day)`, in the columns of `vault_day`; days without observations have no row.
pub fn day_sums(asked: &str) -> String {
    // The offset enforces one index range scan per day; no estimate of the number of days can turn it into a scan of all observations.
    let readings = format!(
        "SELECT a.vault_id, a.day, h.* FROM {asked} AS a CROSS JOIN LATERAL ( \
             SELECT observed_at, utilization, price_per_share FROM vault_snapshot h \
             WHERE h.vault_id = a.vault_id AND h.observed_at > {} AND h.observed_at <= {} OFFSET 0) AS h",
        midnight("a.day"),
        midnight("a.day + 1")
    );
    sums(&readings, "vault_id, day, ", "GROUP BY vault_id, day")
}

/// The sums of `readings`, for each value of the columns of `key`.
///
/// The greatest drawdown is stored with the latest peak from which it was measured: it lies in a window if and only if that peak does.
fn sums(readings: &str, key: &str, grouped: &str) -> String {
    // Observations without a price are a partition of their own, so that each price is compared with the price before it.
    format!(
        "SELECT {key}max(observed_at) AS last_at, max(observed_at) FILTER (WHERE utilization IS NOT NULL) AS used_at, \
                max(observed_at) FILTER (WHERE NOT utilization > {HIGH_UTILIZATION}) AS calm_at, \
                max(observed_at) FILTER (WHERE price IS NOT NULL) AS priced_at, \
                max(observed_at) FILTER (WHERE price IS NOT NULL AND next_at IS NOT NULL) AS priced_before, \
                max(price) AS high, max(peak_at) AS high_at, min(price) AS low, max(fall) AS drawdown_bp, \
                (array_agg(peak_at ORDER BY fall DESC NULLS LAST, peak_at DESC NULLS LAST))[1] AS drawdown_from, \
                max(price) FILTER (WHERE number = 1) AS opened, min(observed_at) FILTER (WHERE price IS NOT NULL) AS opened_at, \
                max(price) FILTER (WHERE next_at IS NULL) AS closed, \
                max(observed_at) FILTER (WHERE pps <> pps_before) AS moved_at, \
                min(observed_at) FILTER (WHERE price > {MAX_PRICE_RISE} * price_before) AS leapt_at \
         FROM (SELECT *, div((peak - pps) * 10000, peak)::bigint AS fall, \
                      max(observed_at) FILTER (WHERE pps = peak) OVER in_order AS peak_at \
               FROM (SELECT *, max(pps) OVER in_order AS peak, lag(pps) OVER in_order AS pps_before, \
                            lag(price) OVER in_order AS price_before, lead(observed_at) OVER in_order AS next_at, \
                            row_number() OVER in_order AS number \
                     FROM (SELECT *, price::numeric AS pps \
                           FROM (SELECT *, CASE WHEN price_per_share > 0 THEN price_per_share END AS price \
                                 FROM ({readings}) AS reading) AS reading) AS priced \
                     WINDOW in_order AS (PARTITION BY {key}price IS NULL ORDER BY observed_at)) AS ordered \
               WINDOW in_order AS (PARTITION BY {key}price IS NULL ORDER BY observed_at)) AS fallen {grouped}"
    )
}

/// A statement that replaces the days of `sums` and returns each day's vault and number of days since 2000-01-01. Leaps between two days
/// are not included; see [`note_leaps`].
pub fn write_days(sums: &str) -> String {
    let (columns, summed) = (DAY_COLUMNS.join(", "), DAY_COLUMNS.iter().filter(|column| **column != "day"));
    let replaced = summed.map(|column| format!("{column} = EXCLUDED.{column}")).collect::<Vec<_>>().join(", ");
    format!(
        "INSERT INTO vault_day (vault_id, {columns}) SELECT vault_id, {columns} FROM {sums} \
         ORDER BY vault_id, day ON CONFLICT (vault_id, day) DO UPDATE SET {replaced} RETURNING vault_id, day - date '2000-01-01'"
    )
}

/// A statement for days that were just written, given as [`write_days`] returns them. If a day's first price is a leap over the last price
/// of an earlier day, the statement sets the day's `leapt_at` to it. It reads days instead of observations, because years may lie between
/// the two prices.
pub fn note_leaps() -> String {
    format!(
        "UPDATE vault_day d SET leapt_at = d.opened_at \
         FROM unnest($1::text[], $2::int[]) AS a (vault_id, number) \
         CROSS JOIN LATERAL (SELECT date '2000-01-01' + a.number AS day) AS the \
         CROSS JOIN LATERAL (SELECT b.closed FROM vault_day b WHERE b.vault_id = a.vault_id AND b.day < the.day AND b.high IS NOT NULL \
                             ORDER BY b.day DESC LIMIT 1) AS before \
         WHERE d.vault_id = a.vault_id AND d.day = the.day AND d.opened > {MAX_PRICE_RISE} * before.closed"
    )
}

/// The instant at which a date begins.
pub fn midnight(date: &str) -> String {
    format!("(({date})::timestamp AT TIME ZONE 'UTC')")
}

/// The columns that [`fold`] needs from each range.
pub const PART_COLUMNS: &str =
    "used_at, calm_at, priced_at, priced_before, high, high_at, low, drawdown_bp, drawdown_from";

/// A query that combines the consecutive ranges of `parts`, ordered by `day`, into one row.
pub fn fold(parts: &str) -> String {
    format!(
        "SELECT max(used_at) AS used_at, max(calm_at) AS calm_at, max(priced_at) AS priced_at, \
                max(greatest(priced_before, CASE WHEN priced_at < newest_at THEN priced_at END)) AS priced_before, \
                max(high) AS high, max(high_at) FILTER (WHERE high = top) AS high_at, max(fall) AS drawdown_bp, \
                (array_agg(fallen_from ORDER BY fall DESC NULLS LAST, fallen_from DESC NULLS LAST))[1] AS drawdown_from \
         FROM (SELECT *, greatest(drawdown_bp, crossed) AS fall, \
                      CASE WHEN crossed IS NULL OR drawdown_bp > crossed THEN drawdown_from \
                           WHEN crossed > drawdown_bp THEN peak_at ELSE greatest(drawdown_from, peak_at) END AS fallen_from \
               FROM (SELECT *, div((peak::numeric - low::numeric) * 10000, peak::numeric)::bigint AS crossed \
                     FROM (SELECT *, max(high) OVER before AS peak, max(high_at) FILTER (WHERE high = top) OVER before AS peak_at, \
                                  max(priced_at) OVER () AS newest_at \
                           FROM (SELECT *, max(high) OVER (ORDER BY day) AS top FROM ({parts}) AS part) AS topped \
                           WINDOW before AS (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS peaked) AS crossing) AS fallen"
    )
}
