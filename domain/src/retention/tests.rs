//! Tests of the decision, and of what a policy may say.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{RetentionPolicy, RetentionTime, ThinningSchedule, VersionAge};

fn policy(keep: &str, thin: &str) -> Result<RetentionPolicy, String> {
    let text = |error: super::RetentionError| error.to_string();
    let keep =
        (!keep.is_empty()).then(|| keep.parse::<RetentionTime>()).transpose().map_err(text)?;
    let thin = if thin.is_empty() { Ok(ThinningSchedule::default()) } else { thin.parse() };
    RetentionPolicy::new(keep, thin.map_err(text)?).map_err(text)
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_with_its_reason() {
    for (keep, thin, reason) in [
        ("", "", ""),
        ("90d", "", ""),
        ("1w", "daily:90d,weekly:1y,monthly:7y,yearly:100y", ""),
        ("2d", "monthly:3d", ""),
        ("0d", "", "from 1d to 100y"),
        ("101y", "", "from 1d to 100y"),
        ("99999999999999999999d", "", "from 1d to 100y"),
        ("36525d", "", ""),
        ("36526d", "", "from 1d to 100y"),
        ("90", "", "from 1d"),
        ("24h", "", "from 1d"),
        ("-1d", "", "from 1d"),
        ("1 d", "", "from 1d"),
        ("", "daily", "`daily` is not a valid step"),
        ("", "daily:90d,", "`` is not a valid step"),
        ("", "hourly:2d", "`hourly` is not a valid period"),
        ("", "daily:2", "from 1d"),
        ("", "daily:90d,daily:1y", "daily must not follow daily"),
        ("", "monthly:90d,daily:1y", "daily must not follow monthly"),
        ("", "daily:90d,monthly:90d", "monthly:90d ends no later than daily:90d"),
        ("", "daily:1y,monthly:12mo", "monthly:12mo ends no later than daily:1y"),
        ("90d", "daily:90d", "daily:90d has no effect because every version is kept for 90d"),
        ("", "daily:1d", "daily:1d has no effect because every version is kept for 1d"),
    ] {
        match policy(keep, thin) {
            Ok(policy) => assert!(reason.is_empty(), "{keep} {thin} makes {policy}"),
            Err(said) => {
                assert!(!reason.is_empty() && said.contains(reason), "{keep} {thin}: {said}");
            }
        }
    }
}

#[test]
fn a_policy_is_shown_as_its_options() {
    assert_eq!(
        policy("8w", "daily:90d,monthly:7y").unwrap().to_string(),
        "8w daily:90d,monthly:7y"
    );
    assert_eq!(policy("", "").unwrap().to_string(), "1d");
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn versions_at_the_end_of_a_period_are_kept_for_its_time() {
    let policy = policy("7d", "daily:30d,monthly:1y").unwrap();
    let now = at("2026-11-23T10:00:00Z");
    for (what, written, superseded, is_kept) in [
        ("in the last days", "2026-11-16T00:00:00Z", "2026-11-16T00:00:01Z", true),
        ("within a day, before that", "2026-11-15T00:00:00Z", "2026-11-15T23:59:59Z", false),
        ("over the end of a day", "2026-11-15T23:59:59Z", "2026-11-16T00:00:00Z", true),
        ("over the end of a day of steps", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z", true),
        ("on the first day that counts", "2026-10-23T12:00:00Z", "2026-10-24T00:00:00Z", true),
        ("a day before", "2026-10-22T12:00:00Z", "2026-10-23T23:59:59Z", false),
        ("within a month", "2026-09-01T00:00:00Z", "2026-09-30T23:59:59Z", false),
        ("over the end of a month", "2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z", true),
        ("over a month's end, long ago", "2025-10-01T00:00:00Z", "2025-11-22T00:00:00Z", false),
        ("over many months until a year ago", "2011-10-01T00:00:00Z", "2025-11-23T00:00:00Z", true),
    ] {
        let version =
            VersionAge { written: at(written), superseded: Some(at(superseded)), is_held: false };
        assert_eq!(policy.at(now, TimeZone::UTC).keeps(&version), is_kept, "{what}");
        let held = VersionAge { is_held: true, ..version };
        assert!(policy.at(now, TimeZone::UTC).keeps(&held), "{what}, held");
    }
    let (written, superseded) = (at("2026-11-10T15:00:00Z"), Some(at("2026-11-10T17:00:00Z")));
    let over_midnight_of_manila = VersionAge { written, superseded, is_held: false };
    for (zone, is_kept) in [(TimeZone::fixed(jiff::tz::offset(8)), true), (TimeZone::UTC, false)] {
        assert_eq!(policy.at(now, zone).keeps(&over_midnight_of_manila), is_kept);
    }
}

/// A zone that changes its clocks twice a year, at midnight once.
fn zones() -> impl Strategy<Value = TimeZone> {
    let names = ["UTC0", "<+08>-8", "EST5EDT,M3.2.0,M11.1.0", "<-03>3<-02>,M10.3.0/0,M2.3.0/0"];
    proptest::sample::select(names.map(|name| TimeZone::posix(name).unwrap()).to_vec())
}

fn policies() -> impl Strategy<Value = RetentionPolicy> {
    let plain = ["1d", "31d", "1mo", "7y"].map(|keep| policy(keep, "").unwrap());
    let stepped = [
        ("", "daily:90d,monthly:7y"),
        ("1w", "weekly:3mo"),
        ("2d", "daily:1mo,weekly:1y,monthly:3y,yearly:9y"),
        ("1mo", "yearly:2y"),
    ];
    let stepped = stepped.map(|(keep, thin)| policy(keep, thin).unwrap());
    proptest::sample::select([plain, stepped].concat())
}

/// The versions of one item: each is superseded when the next is written, the last one, unless it is
/// deleted, is current.
fn histories() -> impl Strategy<Value = Vec<VersionAge>> {
    let gap = prop_oneof![0..7_200_i64, 0..200_000_i64, 0..20_000_000_i64];
    (1_300_000_000..1_700_000_000_i64, proptest::collection::vec(gap, 1..30), any::<bool>())
        .prop_map(|(begin, gaps, is_deleted)| {
            let times: Vec<_> = std::iter::once(0)
                .chain(gaps)
                .scan(begin, |time, gap| {
                    *time += gap;
                    Timestamp::from_second(*time).ok()
                })
                .collect();
            let version = |written, superseded| VersionAge { written, superseded, is_held: false };
            let mut versions: Vec<_> =
                times.windows(2).map(|pair| version(pair[0], Some(pair[1]))).collect();
            if !is_deleted {
                versions.extend(times.last().map(|last| version(*last, None)));
            }
            versions
        })
}

proptest! {
    #[test]
    fn the_current_body_and_held_ones_are_always_kept(
        policy in policies(), zone in zones(), versions in histories(), now in 1_300_000_000..4_000_000_000_i64,
    ) {
        let retention = policy.at(Timestamp::from_second(now).unwrap(), zone);
        for version in versions {
            let held = VersionAge { is_held: true, ..version };
            let current = VersionAge { superseded: None, ..version };
            prop_assert!(retention.keeps(&held) && retention.keeps(&current));
            prop_assert!(version.superseded.is_some_and(|time| time < retention.kept_since()) || retention.keeps(&version));
        }
    }

    /// A later decision never brings back what was removed, so it does not matter how often and
    /// when it is decided.
    #[test]
    fn what_is_kept_now_was_kept_before(
        policy in policies(), zone in zones(), versions in histories(),
        now in 1_700_000_000..2_000_000_000_i64, later in 0..100_000_000_i64,
    ) {
        let at = |seconds| policy.at(Timestamp::from_second(seconds).unwrap(), zone.clone());
        let (before, after) = (at(now), at(now + later));
        for version in versions {
            prop_assert!(before.keeps(&version) || !after.keeps(&version), "{version:?}");
        }
    }

    /// The promise of a step: the item can be shown as it was at the end of each of its periods.
    #[test]
    fn the_end_of_each_day_can_be_shown_as_long_as_days_are_kept(
        versions in histories(), zone in zones(), day in 0..92_i64,
    ) {
        let policy = policy("", "daily:90d,monthly:7y").unwrap();
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let today = zone.to_datetime(now).date();
        let end = today.checked_sub(SignedDuration::from_hours(24 * day)).unwrap();
        let end = end.to_zoned(zone.clone()).unwrap().timestamp();
        let retention = policy.at(now, zone);
        let then = versions.iter().find(|version| {
            version.written < end && version.superseded.is_none_or(|superseded| superseded >= end)
        });
        if let Some(then) = then.filter(|_| day <= 90) {
            prop_assert!(retention.keeps(then), "{then:?}");
        }
    }

    #[test]
    fn every_string_is_read_or_refused(text in "\\PC{0,40}|[a-z0-9:,]{0,40}") {
        let _ = text.parse::<RetentionTime>();
        if let Ok(schedule) = text.parse::<ThinningSchedule>() {
            let _ = RetentionPolicy::new(None, schedule).map(|policy| {
                [Timestamp::MIN, Timestamp::MAX].map(|time| policy.at(time, TimeZone::UTC))
            });
        }
    }
}
