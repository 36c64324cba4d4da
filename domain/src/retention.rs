//! The retention of superseded versions: a pure decision from times.
//!
//! The next version, or the deletion of the item, supersedes a version. The decision is separate
//! for each version, so order and repetition do not matter.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Weekday, date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use thiserror::Error;

const MOST_YEARS: i64 = 100;

/// A length of time in whole days, weeks, months or years: `90d`, `8w`, `6mo`, `7y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionTime {
    count: i64,
    unit: TimeUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    Day,
    Week,
    Month,
    Year,
}

const UNITS: [(&str, TimeUnit); 4] =
    [("d", TimeUnit::Day), ("w", TimeUnit::Week), ("mo", TimeUnit::Month), ("y", TimeUnit::Year)];

/// A calendar period in the time zone of the service. Weeks begin on Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Period {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

const PERIODS: [(&str, Period); 4] = [
    ("daily", Period::Daily),
    ("weekly", Period::Weekly),
    ("monthly", Period::Monthly),
    ("yearly", Period::Yearly),
];

/// A step of thinning: the version at the end of each period is kept for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinning {
    period: Period,
    keep: RetentionTime,
}

/// The steps of thinning, from the shortest period to the longest: `daily:90d,monthly:7y`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThinningSchedule(Vec<Thinning>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    keep: RetentionTime,
    thinning: ThinningSchedule,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RetentionError {
    #[error(
        "use a time in days, weeks, months or years, such as 90d, 8w, 6mo or 7y, from 1d to {MOST_YEARS}y"
    )]
    Time,
    #[error("`{0}` is not a valid step; use a period and a time, such as daily:90d,monthly:7y")]
    Step(String),
    #[error("`{0}` is not a valid period; use daily, weekly, monthly or yearly")]
    Period(String),
    #[error("{1} must not follow {0}; use each period once, the shorter one first")]
    Order(Period, Period),
    #[error(
        "{1} ends no later than {0} and has no effect; give each step a longer time than the previous one"
    )]
    Overlap(Thinning, Thinning),
    #[error("{1} has no effect because every version is kept for {0}; give it a longer time")]
    WithinKeep(RetentionTime, Thinning),
}

impl RetentionTime {
    /// The minimum: versions superseded today or yesterday are always kept.
    pub const ONE_DAY: Self = Self { count: 1, unit: TimeUnit::Day };

    /// The first day within this time before a day. It never goes back from one day to the next.
    fn first_day(self, today: Date) -> Date {
        let span = match self.unit {
            TimeUnit::Day => Span::new().try_days(self.count),
            TimeUnit::Week => Span::new().try_weeks(self.count),
            TimeUnit::Month => Span::new().try_months(self.count),
            TimeUnit::Year => Span::new().try_years(self.count),
        };
        span.and_then(|span| today.checked_sub(span)).unwrap_or(Date::MIN)
    }

    /// Compares as of the end of the year 2000.
    fn is_longer_than(self, other: Self) -> bool {
        let day = date(2000, 12, 31);
        self.first_day(day) < other.first_day(day)
    }
}

impl FromStr for RetentionTime {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (count, name) = text.split_at(digits);
        let unit = UNITS.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit);
        let time = count.parse().ok().zip(unit).map(|(count, unit)| Self { count, unit });
        let longest = Self { count: MOST_YEARS, unit: TimeUnit::Year };
        time.filter(|time| (1..=50_000).contains(&time.count) && !time.is_longer_than(longest))
            .ok_or(RetentionError::Time)
    }
}

impl fmt::Display for RetentionTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().find(|(_, unit)| *unit == self.unit).map_or("", |(name, _)| name);
        write!(formatter, "{}{unit}", self.count)
    }
}

impl Period {
    fn first_day(self, day: Date) -> Date {
        match self {
            Self::Daily => day,
            Self::Weekly => {
                let days = i64::from(day.weekday().since(Weekday::Monday));
                day.checked_sub(Span::new().days(days)).unwrap_or(Date::MIN)
            }
            Self::Monthly => day.first_of_month(),
            Self::Yearly => day.first_of_year(),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = PERIODS.iter().find(|(_, period)| period == self).map_or("", |(name, _)| name);
        formatter.write_str(name)
    }
}

impl FromStr for Thinning {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        let (name, time) =
            text.split_once(':').ok_or_else(|| RetentionError::Step(text.to_owned()))?;
        let period = PERIODS.iter().find(|(known, _)| *known == name);
        let (_, period) = *period.ok_or_else(|| RetentionError::Period(name.to_owned()))?;
        Ok(Self { period, keep: time.parse()? })
    }
}

impl fmt::Display for Thinning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.period, self.keep)
    }
}

impl FromStr for ThinningSchedule {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        let steps = text.split(',').map(str::parse).collect::<Result<Vec<Thinning>, _>>()?;
        for pair in steps.windows(2) {
            let [shorter, longer] = [pair[0], pair[1]];
            if longer.period <= shorter.period {
                return Err(RetentionError::Order(shorter.period, longer.period));
            }
            if !longer.keep.is_longer_than(shorter.keep) {
                return Err(RetentionError::Overlap(shorter, longer));
            }
        }
        Ok(Self(steps))
    }
}

impl RetentionPolicy {
    /// Keeps every version for a time after it was superseded (one day by default), and some for
    /// longer. Fails if the first step ends before that time.
    pub fn new(
        keep: Option<RetentionTime>,
        thinning: ThinningSchedule,
    ) -> Result<Self, RetentionError> {
        let keep = keep.unwrap_or(RetentionTime::ONE_DAY);
        match thinning.0.first() {
            Some(first) if !first.keep.is_longer_than(keep) => {
                Err(RetentionError::WithinKeep(keep, *first))
            }
            _ => Ok(Self { keep, thinning }),
        }
    }

    /// Days begin at midnight in the time zone.
    pub fn at(&self, now: Timestamp, zone: TimeZone) -> Retention {
        let today = zone.to_datetime(now).date();
        let since = |time: RetentionTime| {
            let begins = time.first_day(today).to_zoned(zone.clone());
            begins.map_or(Timestamp::MIN, |begins| begins.timestamp())
        };
        let kept_since = since(self.keep);
        let steps = self.thinning.0.iter().map(|step| (step.period, since(step.keep))).collect();
        Retention { kept_since, steps, zone }
    }
}

/// The format is that of the options.
impl fmt::Display for RetentionPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.keep)?;
        for (index, step) in self.thinning.0.iter().enumerate() {
            write!(formatter, "{}{step}", if index == 0 { " " } else { "," })?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Retention {
    kept_since: Timestamp,
    steps: Vec<(Period, Timestamp)>,
    zone: TimeZone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionAge {
    pub written: Timestamp,
    /// The time when it was superseded; `None` for the current version.
    pub superseded: Option<Timestamp>,
    pub is_held: bool,
}

impl Retention {
    /// The time before which a superseded version can lose its body.
    pub const fn kept_since(&self) -> Timestamp {
        self.kept_since
    }

    /// Returns whether a version keeps its body. Reasons: it is current, its item has a legal hold,
    /// it was superseded recently, or it was current at the end of a retained period.
    pub fn keeps(&self, version: &VersionAge) -> bool {
        let Some(superseded) = version.superseded else { return true };
        if version.is_held || superseded >= self.kept_since {
            return true;
        }
        let day = |time| self.zone.to_datetime(time).date();
        let (first, last) = (day(version.written), day(superseded));
        self.steps.iter().any(|(period, since)| {
            superseded >= *since && period.first_day(first) < period.first_day(last)
        })
    }
}

#[cfg(test)]
mod tests;
