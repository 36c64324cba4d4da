use domain::ItemId;
use jiff::Timestamp;
use jiff::civil::Date;

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Clock: Send + Sync {
    /// The current time, in microseconds.
    fn now(&self) -> Timestamp;

    /// The day at a time, in the configured time zone.
    fn day_of(&self, time: Timestamp) -> Date;
}

#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// A new identifier. MUST be a UUID version 7 and MUST sort after every earlier one of this
    /// process.
    fn next_id(&self) -> ItemId;
}
