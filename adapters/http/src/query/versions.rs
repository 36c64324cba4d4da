//! The parameters of an item's history, and the number of a version.

use domain::Version;

use super::fault::invalid;
use super::parameters::Parameters;
use super::{known, paging};
use crate::groups::Operation;
use crate::problem::Problem;

/// Which versions are asked for.
#[derive(Clone, Copy, Debug)]
pub struct VersionsQuery {
    /// The page, from 1.
    pub page: u64,
    /// Versions on a page.
    pub page_size: u64,
}

impl VersionsQuery {
    /// Reads the query of an item's versions.
    ///
    /// # Errors
    /// 400 for what is unknown, given twice or makes no sense.
    pub fn read(query: &str) -> Result<Self, Problem> {
        let (page, page_size) =
            paging::read(&Parameters::read(query, known(Operation::ListVersions))?)?;
        Ok(Self { page, page_size })
    }
}

/// Reads the query of a difference: the version it begins at, if that is said.
///
/// # Errors
/// 400 for what is unknown, given twice or no number of a version.
pub fn difference_from(query: &str) -> Result<Option<Version>, Problem> {
    let parameters = Parameters::read(query, known(Operation::Compare))?;
    let Some(from) = parameters.get("from") else { return Ok(None) };
    let from =
        version(from).ok_or_else(|| invalid("`from` takes the number of a version, from 1."))?;
    Ok(Some(from))
}

/// The version a string names: digits alone, from 1, without leading zeros.
#[must_use]
pub fn version(text: &str) -> Option<Version> {
    let number = text.parse::<i64>().ok()?;
    (number > 0 && number.to_string() == text).then(|| Version::from_number(number))
}

#[cfg(test)]
mod tests {
    use super::{difference_from, version};

    #[test]
    fn versions_are_numbers_from_1() {
        for (text, expected) in [
            ("1", Some(1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("0", None),
            ("-1", None),
            ("+1", None),
            ("01", None),
            ("", None),
            ("9223372036854775808", None),
        ] {
            assert_eq!(version(text).map(domain::Version::number), expected, "{text}");
        }
        assert_eq!(difference_from("").ok(), Some(None));
        assert!(difference_from("from=x").is_err() && difference_from("to=1").is_err());
    }
}
