//! `page`, `page_size` and `total`.

use super::fault::{invalid, listed};
use super::parameters::Parameters;
use crate::problem::Problem;

/// Items per page when the client does not say.
pub const DEFAULT_PAGE_SIZE: u64 = 25;
/// Most items per page.
pub const MAX_PAGE_SIZE: u64 = 250;
/// The values of `total`: the items are counted, as by default, or they are not.
pub const TOTALS: [&str; 2] = ["exact", "none"];

/// Reads `page` and `page_size`.
///
/// # Errors
/// 400 for what is no whole number within the limits.
pub fn read(parameters: &Parameters<'_>) -> Result<(u64, u64), Problem> {
    let page = number(parameters, "page", u64::MAX)?.unwrap_or(1);
    Ok((page, page_size(parameters)?))
}

/// Reads `page_size`.
///
/// # Errors
/// 400 for what is no whole number within the limits.
pub fn page_size(parameters: &Parameters<'_>) -> Result<u64, Problem> {
    Ok(number(parameters, "page_size", MAX_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE))
}

/// Reads `total`: whether the items are counted.
///
/// # Errors
/// 400 for another word.
pub fn is_counted(parameters: &Parameters<'_>) -> Result<bool, Problem> {
    let wanted = parameters.get("total").unwrap_or(TOTALS[0]);
    if TOTALS.contains(&wanted) {
        Ok(wanted == TOTALS[0])
    } else {
        Err(invalid(format!("`total` takes {}.", listed(TOTALS))))
    }
}

fn number(parameters: &Parameters<'_>, name: &str, most: u64) -> Result<Option<u64>, Problem> {
    let Some(written) = parameters.get(name) else { return Ok(None) };
    match written.parse::<u64>() {
        Ok(number)
            if (1..=most).contains(&number)
                && written.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Ok(Some(number))
        }
        _ => {
            let limit = if most == u64::MAX {
                "of 1 or more".to_owned()
            } else {
                format!("from 1 to {most}")
            };
            Err(invalid(format!("`{name}` is wrong; it takes one whole number {limit}.")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Parameters, is_counted, read};

    const KNOWN: [&str; 3] = ["page", "page_size", "total"];

    #[test]
    fn pages_are_whole_numbers_within_limits() {
        for (query, expected) in [
            ("", Some((1, 25))),
            ("page=3", Some((3, 25))),
            ("%70age=%33", Some((3, 25))),
            ("page=3&page_size=250", Some((3, 250))),
            ("page=18446744073709551615", Some((u64::MAX, 25))),
            ("page=18446744073709551616", None),
            ("page=0", None),
            ("page=-1", None),
            ("page=+1", None),
            ("page=%2B1", None),
            ("page=", None),
            ("page", None),
            ("page=1&page=2", None),
            ("page=1.5", None),
            ("page_size=251", None),
            ("page_size=0", None),
        ] {
            let found =
                Parameters::read(query, &KNOWN).and_then(|parameters| read(&parameters)).ok();
            assert_eq!(found, expected, "{query}");
        }
    }

    #[test]
    fn items_are_counted_unless_the_client_says_otherwise() {
        for (query, expected) in [
            ("", Some(true)),
            ("total=exact", Some(true)),
            ("total=none", Some(false)),
            ("total=", None),
            ("total=None", None),
        ] {
            let found =
                Parameters::read(query, &KNOWN).and_then(|parameters| is_counted(&parameters)).ok();
            assert_eq!(found, expected, "{query}");
        }
    }
}
