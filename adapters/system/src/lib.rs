//! Parts of the system: identifiers, time, the service manager and an inherited socket. Other code
//! MUST NOT take identifiers or time from the system directly.

mod inherited_socket;
mod service_manager;

use application::{Clock, IdGenerator};
use domain::ItemId;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use uuid::Uuid;

pub use inherited_socket::{InheritedSocketError, inherited_listener};
pub use service_manager::inform_service_manager;

/// Identifiers that sort by time, then by a counter within a millisecond.
pub struct UuidV7Generator;

impl IdGenerator for UuidV7Generator {
    #[expect(clippy::disallowed_methods, reason = "this is the port's implementation")]
    fn next_id(&self) -> ItemId {
        ItemId::from_uuid(Uuid::now_v7())
    }
}

pub struct SystemClock {
    time_zone: TimeZone,
}

impl SystemClock {
    pub const fn in_zone(time_zone: TimeZone) -> Self {
        Self { time_zone }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::in_zone(TimeZone::UTC)
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port's implementation")]
    fn now(&self) -> Timestamp {
        to_the_microsecond(Timestamp::now())
    }

    fn day_of(&self, time: Timestamp) -> Date {
        self.time_zone.to_datetime(time).date()
    }
}

/// Truncates to microseconds, the precision of the stores.
fn to_the_microsecond(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use application::{Clock as _, IdGenerator as _};
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::{SystemClock, UuidV7Generator, to_the_microsecond};

    #[test]
    fn identifiers_are_version_7_and_ascend() {
        let ids: Vec<_> = (0..100_000).map(|_| UuidV7Generator.next_id()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
        assert!(ids.iter().all(|id| id.uuid().get_version_num() == 7));
    }

    #[test]
    fn identifiers_ascend_across_threads() {
        let before = UuidV7Generator.next_id();
        let made = thread::spawn(move || UuidV7Generator.next_id()).join().unwrap();
        assert!(before < made && made < UuidV7Generator.next_id());
    }

    #[test]
    fn a_day_begins_when_it_does_in_the_zone() {
        let time: Timestamp = "2026-11-20T16:00:00Z".parse().unwrap();
        for (zone, day) in [
            ("UTC", "2026-11-20"),
            ("Asia/Manila", "2026-11-21"),
            ("America/New_York", "2026-11-20"),
        ] {
            let clock = SystemClock::in_zone(TimeZone::get(zone).unwrap());
            assert_eq!(clock.day_of(time).to_string(), day, "{zone}");
        }
    }

    #[test]
    fn time_is_cut_to_the_microsecond() {
        let time: Timestamp = "2026-11-21T01:02:03.123456789Z".parse().unwrap();
        assert_eq!(to_the_microsecond(time).to_string(), "2026-11-21T01:02:03.123456Z");
        assert_eq!(SystemClock::default().now().subsec_nanosecond() % 1000, 0);
    }
}
