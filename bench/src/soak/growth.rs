//! Growth of memory: the limits, and the slope of a series' regression line.

/// Maximum difference between the memory growth of the edge's runtime and of the bare Worker's in the last half of the run, in MB per
/// minute. At a hundred requests per second, 3 MB per minute are half a KB per request, less than one leaked header map.
pub const MAX_EXCESS_GROWTH: f64 = 3.0;
/// Maximum resident memory of the edge's runtime in MB; the limit that `origin/OPERATING.md` recommends.
pub const MAX_MB: f64 = 512.0;

/// The slope of a series of `(time, value)` by least squares, in values per unit of time. `None` without two distinct times.
pub fn slope(series: &[(f64, f64)]) -> Option<f64> {
    let count = series.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| series.iter().map(of).sum::<f64>() / count;
    let (at, value) = (mean(|(at, _)| *at), mean(|(_, value)| *value));
    let spread: f64 = series.iter().map(|(x, _)| (x - at).powi(2)).sum();
    let shared: f64 = series.iter().map(|(x, y)| (x - at) * (y - value)).sum();
    (spread > 0.0).then(|| shared / spread)
}

/// The readings in the second half of the time.
pub fn last_half(series: &[(f64, f64)]) -> &[(f64, f64)] {
    let middle = series.last().map_or(0.0, |(at, _)| at / 2.0);
    series.get(series.partition_point(|(at, _)| *at < middle)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_saw_tooth_is_that_of_its_trend() {
        let series: Vec<_> = (0..30)
            .map(|minute| (f64::from(minute), 100.0 + 2.0 * f64::from(minute) + f64::from(minute % 2)))
            .collect();
        let slope = slope(&series).unwrap();
        assert!((slope - 2.0).abs() < 0.02, "{slope}");
    }

    #[test]
    fn a_series_that_levels_off_does_not_grow_in_the_last_half() {
        let series: Vec<_> = (0..=30).map(|minute| (f64::from(minute), f64::from(minute.min(14)) * 10.0)).collect();
        assert_eq!(slope(last_half(&series)), Some(0.0));
        assert!(slope(&series).unwrap() > 2.0);
    }

    #[test]
    fn one_reading_has_no_slope() {
        assert_eq!(slope(&[(1.0, 1.0)]), None);
        assert_eq!(slope(last_half(&[])), None);
    }
}
