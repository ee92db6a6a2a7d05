//! Thinning a series for a chart (min-max decimation).
//!
//! Points are selected, never interpolated: the first and the last point, then the lowest and the highest point of each charted column
//! in every bucket of equal length. The remaining budget goes to evenly spaced points.

use alloc::{vec, vec::Vec};

/// Reads one charted column of a point; `None` is a gap.
pub type Series<T> = fn(&T) -> Option<f64>;

/// Selects exactly `min(points.len(), budget)` points, in their order, keeping the extremes of `series`.
///
/// Order of preference: the last point (the current value), the first point, the extremes over the whole range column by column, then
/// the extremes of ever shorter buckets as far as the budget allows. Columns that never change have no extremes. The selection is
/// deterministic.
pub fn downsample<'a, T>(points: &'a [T], budget: usize, series: &[Series<T>]) -> Vec<&'a T> {
    if points.len() <= budget {
        return points.iter().collect();
    }
    let mut kept = Kept::ends(points.len(), budget);
    // A gap becomes NaN. Comparisons with NaN are false, so a gap is never an extreme.
    let read = |column: &Series<T>| -> Vec<f64> {
        points.iter().map(|point| column(point).filter(|number| number.is_finite()).unwrap_or(f64::NAN)).collect()
    };
    let columns: Vec<Vec<f64>> = series.iter().map(read).filter(|column| varies(column)).collect();
    kept.keep_extremes(&columns);
    kept.fill_evenly();
    points.iter().zip(&kept.flags).filter_map(|(point, &keep)| keep.then_some(point)).collect()
}

fn varies(column: &[f64]) -> bool {
    let mut values = column.iter().filter(|value| !value.is_nan());
    values.next().is_some_and(|first| values.any(|value| value != first))
}

/// The points kept so far, and how many more may be kept.
struct Kept {
    flags: Vec<bool>,
    room: usize,
}

impl Kept {
    fn ends(len: usize, budget: usize) -> Self {
        let mut kept = Kept { flags: vec![false; len], room: budget };
        kept.keep(len.saturating_sub(1));
        kept.keep(0);
        kept
    }

    /// Keeps point `at` if there is room.
    fn keep(&mut self, at: usize) {
        if let Some(flag) = self.flags.get_mut(at)
            && !*flag
            && self.room > 0
        {
            *flag = true;
            self.room -= 1;
        }
    }

    /// Keeps the extremes of as many equal buckets as the budget allows.
    ///
    /// Columns often peak together, so far fewer points are needed than two per column and bucket. The number of buckets is therefore
    /// doubled until their extremes exceed the budget, then refined by bisection. If the budget is too small for one bucket, it goes to
    /// the global extremes in column order.
    fn keep_extremes(&mut self, columns: &[Vec<f64>]) {
        for at in extremes(columns, self.flags.len()) {
            self.keep(at);
        }
        let (mut buckets, mut chosen) = (1, Vec::new());
        while self.room > 0 && buckets < self.flags.len() {
            buckets *= 2;
            let finer = self.missing(columns, self.flags.len().div_ceil(buckets));
            if finer.len() > self.room {
                self.bisect(columns, buckets / 2, buckets, &mut chosen);
                break;
            }
            chosen = finer;
        }
        for at in chosen {
            self.keep(at);
        }
    }

    /// Finds the largest number of buckets whose extremes fit the budget, between `fits` and `too_many`. `chosen` receives these extremes.
    fn bisect(&self, columns: &[Vec<f64>], mut fits: usize, mut too_many: usize, chosen: &mut Vec<usize>) {
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            let finer = self.missing(columns, self.flags.len().div_ceil(middle));
            if finer.len() > self.room {
                too_many = middle;
            } else {
                (fits, *chosen) = (middle, finer);
            }
        }
    }

    /// The extremes of buckets of `bucket_len` points, without the points that are already kept.
    fn missing(&self, columns: &[Vec<f64>], bucket_len: usize) -> Vec<usize> {
        let mut found = extremes(columns, bucket_len);
        found.sort_unstable();
        found.dedup();
        found.retain(|&at| self.flags.get(at) == Some(&false));
        found
    }

    /// Spends the remaining budget on points that are evenly spaced among the points not yet kept.
    fn fill_evenly(&mut self) {
        let open: Vec<usize> = self.flags.iter().enumerate().filter_map(|(at, &keep)| (!keep).then_some(at)).collect();
        let (slots, room) = (open.len(), self.room);
        for slot in 0..room.min(slots) {
            // The middle of each of `room` equal parts; u128 so that the product cannot overflow.
            let middle = (slot as u128 * 2 + 1) * slots as u128 / (room as u128 * 2);
            if let Some(&at) = open.get(middle as usize) {
                self.keep(at);
            }
        }
    }
}

/// The positions of the highest and the lowest value of every column in every bucket of `bucket_len` points. Of equal values the earliest
/// counts.
fn extremes(columns: &[Vec<f64>], bucket_len: usize) -> Vec<usize> {
    let bucket_len = bucket_len.max(1);
    let mut found = Vec::new();
    for column in columns {
        for (start, values) in (0..).step_by(bucket_len).zip(column.chunks(bucket_len)) {
            let (mut highest, mut lowest) = (None, None);
            let (mut high, mut low) = (f64::NEG_INFINITY, f64::INFINITY);
            for (at, &value) in (start..).zip(values) {
                if value > high {
                    (high, highest) = (value, Some(at));
                }
                if value < low {
                    (low, lowest) = (value, Some(at));
                }
            }
            found.extend(highest);
            found.extend(lowest);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Point = (usize, Option<f64>, Option<f64>);
    const COLUMNS: &[Series<Point>] = &[|point| point.1, |point| point.2];

    fn series(len: usize) -> impl Strategy<Value = Vec<Point>> {
        let value = proptest::option::weighted(0.9, -5.0..5.0f64);
        proptest::collection::vec((value.clone(), value), 0..len)
            .prop_map(|rows| rows.into_iter().enumerate().map(|(at, (a, b))| (at, a, b)).collect())
    }

    #[test]
    fn a_year_of_hours_keeps_its_ends_and_its_one_hour_crash() {
        let year: Vec<Point> = (0..8_760)
            .map(|hour| (hour, Some(1e6 + hour as f64), Some(if hour == 5_001 { 0.2 } else { 1.0 })))
            .collect();
        let thinned = downsample(&year, 360, COLUMNS);
        assert_eq!(thinned.len(), 360);
        assert_eq!((thinned[0].0, thinned[359].0), (0, 8_759));
        assert!(thinned.iter().any(|point| point.0 == 5_001));
    }

    #[test]
    fn a_steady_series_is_thinned_evenly() {
        let steady: Vec<Point> = (0..1_000).map(|at| (at, Some(1.0), None)).collect();
        let thinned = downsample(&steady, 11, COLUMNS);
        assert_eq!(thinned.len(), 11);
        assert!(thinned.windows(2).all(|pair| pair[1].0 - pair[0].0 < 150));
    }

    #[test]
    fn the_smallest_budgets_keep_the_current_value_then_the_first() {
        let points: Vec<Point> = (0..9).map(|at| (at, Some([0.0, 3.0, -3.0][at % 3]), None)).collect();
        assert_eq!(downsample(&points, 0, COLUMNS).len(), 0);
        assert_eq!(downsample(&points, 1, COLUMNS), [&points[8]]);
        assert_eq!(downsample(&points, 2, COLUMNS), [&points[0], &points[8]]);
        assert_eq!(downsample(&points, 3, COLUMNS), [&points[0], &points[1], &points[8]]);
    }

    proptest! {
        #[test]
        fn the_selection_keeps_the_order_and_uses_the_whole_budget(
            points in series(300), budget in 1usize..120,
        ) {
            let thinned = downsample(&points, budget, COLUMNS);
            prop_assert_eq!(thinned.len(), points.len().min(budget));
            prop_assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(thinned.iter().all(|point| points.get(point.0) == Some(point)));
            if budget >= 2 && !points.is_empty() {
                prop_assert_eq!(thinned.first().copied(), points.first());
                prop_assert_eq!(thinned.last().copied(), points.last());
            }
            prop_assert_eq!(&thinned, &downsample(&points, budget, COLUMNS));
        }

        #[test]
        fn the_highest_and_lowest_of_every_column_survive(points in series(300), budget in 6usize..120) {
            let thinned = downsample(&points, budget, COLUMNS);
            for column in COLUMNS {
                let of = |points: &mut dyn Iterator<Item = &Point>| {
                    points.filter_map(column).fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
                };
                prop_assert_eq!(of(&mut points.iter()), of(&mut thinned.iter().copied()));
            }
        }

        #[test]
        fn no_peak_in_the_middle_of_a_window_is_flattened(points in series(600), budget in 60usize..200) {
            // Worst case of the bucket length: two points per column and bucket, beside the ends and the global extremes.
            let bucket_len = points.len().div_ceil((budget - 6) / 4).max(1);
            let thinned = downsample(&points, budget, COLUMNS);
            let peak = |points: &mut dyn Iterator<Item = &Point>, column: &Series<Point>| {
                points.filter_map(column).fold(f64::MIN, f64::max)
            };
            for column in COLUMNS {
                for window in points.chunks(bucket_len * 3) {
                    let middle = peak(&mut window.iter().skip(bucket_len).take(bucket_len), column);
                    let within = window[0].0..window[0].0 + window.len();
                    let shown = peak(&mut thinned.iter().copied().filter(|point| within.contains(&point.0)), column);
                    prop_assert!(shown >= middle, "the selection peaks at {shown}, the series at {middle}");
                }
            }
        }
    }
}
