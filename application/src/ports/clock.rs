//! Time and identifiers.

use domain::ItemId;
use jiff::Timestamp;
use jiff::civil::Date;

/// Tells the time.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait Clock: Send + Sync {
    /// Now, to the microsecond.
    fn now(&self) -> Timestamp;

    /// The day it is at a time, in the time zone of those whose rules ask for it.
    fn day_of(&self, time: Timestamp) -> Date;
}

/// Makes identifiers.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
pub trait IdGenerator: Send + Sync {
    /// A new identifier. MUST be a UUID version 7 and MUST sort after every identifier this process
    /// made before.
    fn next_id(&self) -> ItemId;
}
