//! Tests of component statuses: each threshold just below and just above.

use super::*;
use proptest::prelude::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_795_219_200 + seconds)
}

#[test]
fn each_component_degrades_at_its_bound_and_not_before() {
    for (found, expected) in [
        (api(true), Operational),
        (api(false), Down),
        (reachability(None), Operational),
        (reachability(Some(2)), Operational),
        (reachability(Some(3)), Down),
        (errors(199, 199), Operational),
        (errors(200, 1), Operational),
        (errors(200, 2), Degraded),
        (errors(0, 0), Operational),
        (events_stream(false), Operational),
        (events_stream(true), Degraded),
        (webhooks(9, 0, false), Operational),
        (webhooks(10, 8, false), Operational),
        (webhooks(10, 7, false), Degraded),
        (webhooks(0, 0, true), Degraded),
        (data_freshness(Some(at(0)), at(5_400)), Operational),
        (data_freshness(Some(at(0)), at(5_401)), Degraded),
        (data_freshness(Some(at(60)), at(0)), Operational),
        (data_freshness(None, at(0)), Degraded),
        (fail_safe(FailSafeMode::Normal, None), Operational),
        (fail_safe(FailSafeMode::Degraded, None), Degraded),
        (fail_safe(FailSafeMode::FailClosed, None), Down),
    ] {
        assert_eq!(found.0, expected, "{found:?}");
        assert!(found.1.is_some() || expected == Operational, "a problem has a detail: {found:?}");
    }
}

#[test]
fn the_detail_includes_the_reason_of_the_fail_safe_mode() {
    let (_, detail) = fail_safe(FailSafeMode::FailClosed, Some("a source lies"));
    assert_eq!(detail.as_deref(), Some("scores are withheld: a source lies"));
}

#[test]
fn three_components_determine_the_status_and_all_of_them_the_rollup() {
    let component = |name, status| Component { name, status, detail: None, checked_at: at(0) };
    let statuses = |changed: ComponentName, status| {
        let of = |name: &ComponentName| component(*name, if *name == changed { status } else { Operational });
        let feed =
            feed(ComponentName::ALL.iter().map(of).collect(), Uptime::default(), StatusSignals::default(), at(0));
        (feed.status, feed.rollup)
    };
    for name in ComponentName::ALL {
        let leads = matches!(name.as_str(), "api" | "reachability" | "errors");
        assert_eq!(statuses(*name, Down), (if leads { Down } else { Operational }, Down), "{name}");
        assert_eq!(statuses(*name, Degraded), (if leads { Degraded } else { Operational }, Degraded), "{name}");
    }
}

#[test]
fn without_a_feed_the_service_is_down_only_if_it_does_not_answer() {
    for (answers, status) in [(false, Down), (true, Degraded)] {
        let feed = unavailable_feed(answers, at(7));
        assert_eq!((feed.status, feed.rollup, feed.last_checked_at), (status, status, at(7)));
        assert_eq!((feed.uptime, feed.signals), (Uptime::default(), StatusSignals::default()));
        assert_eq!(feed.components.len(), ComponentName::ALL.len());
        for row in &feed.components[1..] {
            assert!(row.status == Degraded && row.detail.is_some(), "{row:?}");
        }
    }
}

#[test]
fn a_hundred_percent_means_every_minute() {
    assert_eq!((uptime(1_440, 1_440), uptime(43_199, 43_200), uptime(0, 5)), (Some(100.0), Some(99.997), Some(0.0)));
    assert_eq!(uptime(0, 0), None);
}

proptest! {
    /// Degraded exactly when more than 1 in 200 of at least 200 responses are 5xx.
    #[test]
    fn errors_are_judged_by_the_rate_and_never_panic(requests in 0u64..=u64::MAX, failed in 0u64..=u64::MAX) {
        let failed = failed.min(requests);
        let expected = requests >= 200 && u128::from(failed) * 200 > u128::from(requests);
        // Above this number of requests the products saturate.
        if requests < u64::MAX / 1_000 {
            prop_assert_eq!(errors(requests, failed).0 == Degraded, expected);
        }
        prop_assert!(uptime(failed, requests).is_none_or(|percent| (0.0..=100.0).contains(&percent)));
    }
}
