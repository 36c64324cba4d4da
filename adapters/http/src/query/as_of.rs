//! `as_of`: the time at which something is looked at.

use jiff::Timestamp;

use super::fault::invalid;
use super::parameters::Parameters;
use crate::problem::Problem;

/// The parameters that go with `as_of`.
const GOES_WITH: [&str; 5] = ["page", "page_size", "cursor", "fields", "total"];

/// Reads `as_of`, to the microsecond.
///
/// # Errors
/// 400 for what is no time, and beside a parameter that asks for what is now.
pub fn read(parameters: &Parameters<'_>) -> Result<Option<Timestamp>, Problem> {
    let Some(written) = parameters.get("as_of") else { return Ok(None) };
    let time = written
        .parse::<Timestamp>()
        .ok()
        .and_then(|time| Timestamp::from_microsecond(time.as_microsecond()).ok());
    let time = time.ok_or_else(|| {
        invalid("`as_of` takes a time as RFC 3339 writes it, such as 2026-11-20T10:00:00Z; a `+` before an offset is written %2B.")
    })?;
    let now_only = ["sort", "embed", "q"].into_iter().find(|name| parameters.get(name).is_some());
    let now_only = now_only.or_else(|| (!parameters.filters.is_empty()).then_some("filter"));
    match now_only {
        Some(name) => Err(invalid(format!(
            "`{name}` asks for what is there now and does not go with `as_of`, which takes {}.",
            super::fault::listed(GOES_WITH)
        ))),
        None => Ok(Some(time)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Parameters, read};

    #[test]
    fn a_time_is_one_of_rfc_3339() {
        let known = &["as_of", "sort", "q", "embed", "filter", "page"];
        for (query, expected) in [
            ("page=2", Some(None)),
            ("as_of=2026-11-20T10:00:00Z", Some(Some("2026-11-20T10:00:00Z"))),
            (
                "as_of=2026-11-20T10:00:00.1234567%2B02:00&page=2",
                Some(Some("2026-11-20T08:00:00.123456Z")),
            ),
            ("as_of=2026-11-20T10:00:00+02:00", None),
            ("as_of=2026-11-20", None),
            ("as_of=yesterday", None),
            ("as_of=", None),
            ("as_of=99999-11-20T10:00:00Z", None),
            ("as_of=2026-11-20T10:00:00Z&sort=id", None),
            ("as_of=2026-11-20T10:00:00Z&filter[a]=1", None),
            ("as_of=2026-11-20T10:00:00Z&q=a", None),
        ] {
            let found =
                Parameters::read(query, known).and_then(|parameters| read(&parameters)).ok();
            assert_eq!(
                found.map(|time| time.map(|time| time.to_string())),
                expected.map(|time| time.map(str::to_owned)),
                "{query}"
            );
        }
    }
}
