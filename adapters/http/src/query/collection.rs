use application::query::{PageStart, Selection, Subject};
use application::{AdjacentPage, Listing, PageRequest, Search, View};
use domain::ItemId;
use jiff::Timestamp;

use super::error::{invalid, listed};
use super::fingerprint::Fingerprint;
use super::names::{self, MOST_VALUE, TIMES};
use super::parameters::{
    DEFAULT_PAGE_SIZE, DISPOSITIONS, OF_A_PAGE, Parameter, Parameters, TOTALS, pieces, with_query,
    without,
};
use super::{cursor, filter, known, sort, view};
use crate::groups::{Group, GroupOperation};
use crate::headers::link::Targets;
use crate::problem::Result;

const GOES_WITH_AS_OF: [&str; 5] = ["page", "page_size", "cursor", "fields", "total"];

#[derive(Clone, Debug, Default)]
pub struct ItemQuery {
    pub view: View,
    /// `None` is the present.
    pub as_of: Option<Timestamp>,
    /// True if the rules check the current item.
    pub is_checked: bool,
    /// True if the permitted operations are shown.
    pub has_access: bool,
}

impl ItemQuery {
    pub fn read(group: Group, query: &str) -> Result<Self> {
        if query.is_empty() {
            return Ok(Self::default());
        }
        let parameters = Parameters::read(query, known(GroupOperation::Get))?;
        let is_checked = parameters.is_on("check")?;
        if is_checked && ["fields", "as_of"].iter().any(|name| parameters.get(name).is_some()) {
            return Err(invalid(
                "`check` applies the rules to the whole current item. Omit `fields` and `as_of`.",
            ));
        }
        let view = view::read(group, &parameters)?;
        let (as_of, has_access) = (as_of(&parameters)?, parameters.is_on("access")?);
        Ok(Self { view, as_of, is_checked, has_access })
    }
}

pub fn item_time(query: &str) -> Result<Option<Timestamp>> {
    as_of(&Parameters::read(query, &["as_of"])?)
}

#[derive(Clone, Copy, Debug)]
pub struct ContentQuery {
    pub as_of: Option<Timestamp>,
    pub is_attachment: bool,
}

impl ContentQuery {
    pub fn read(operation: GroupOperation, query: &str) -> Result<Self> {
        let parameters = Parameters::read(query, known(operation))?;
        let is_attachment = parameters.choice("disposition", DISPOSITIONS)?.unwrap_or(false);
        Ok(Self { as_of: as_of(&parameters)?, is_attachment })
    }
}

#[derive(Clone, Debug)]
pub struct CollectionQuery<'a> {
    pub request: PageRequest,
    pub as_of: Option<Timestamp>,
    /// True if the permitted operations are shown.
    pub has_access: bool,
    raw: &'a str,
    fingerprint: Fingerprint,
}

impl<'a> CollectionQuery<'a> {
    pub fn plain(group: Group, parent: Option<ItemId>) -> Self {
        let fingerprint = Fingerprint::of(group.collection, parent, &Parameters::default());
        let request = PageRequest::plain(1, DEFAULT_PAGE_SIZE);
        Self { request, as_of: None, has_access: false, raw: "", fingerprint }
    }

    pub fn read(group: Group, raw: &'a str, parent: Option<ItemId>) -> Result<Self> {
        if raw.is_empty() {
            return Ok(Self::plain(group, parent));
        }
        let parameters = Parameters::read(raw, known(GroupOperation::List))?;
        let mut request = PageRequest::plain(parameters.page()?, parameters.page_size()?);
        let filters = filter::read(&parameters.filters, group)?;
        request.selection = Selection { filters, search: search(&parameters)? };
        request.order = sort::read(&parameters, group)?;
        request.is_counted = parameters.choice("total", TOTALS)?.unwrap_or(true);
        request.count_by = count_by(group, &parameters)?;
        request.view = view::read(group, &parameters)?;
        let fingerprint = Fingerprint::of(group.collection, parent, &parameters);
        if let Some(cursor) = parameters.get("cursor") {
            request.position = Some(cursor::read(cursor, fingerprint, &remembered(&request))?);
        }
        let (as_of, has_access) = (as_of(&parameters)?, parameters.is_on("access")?);
        Ok(Self { request, as_of, has_access, raw, fingerprint })
    }

    /// Returns the URLs of this page and of the first, previous, next and last pages that exist.
    pub fn targets(&self, url: &str, listing: &Listing) -> Targets {
        let Listing { page_count, previous, next, .. } = listing;
        let adjacent = |page: &AdjacentPage| self.page(url, page.page, Some(&page.position));
        let numbered = |number: u64| self.page(url, number, None);
        let targets = [
            ("self", Some(with_query(url, self.raw))),
            ("first", page_count.is_none_or(|count| count > 0).then(|| numbered(1))),
            ("prev", previous.as_ref().map(adjacent)),
            ("next", next.as_ref().map(adjacent)),
            ("last", page_count.filter(|count| *count > 0).map(numbered)),
        ];
        targets.into_iter().filter_map(|(relation, target)| Some((relation, target?))).collect()
    }

    /// URLs of adjacent pages have a cursor in addition to the number (keyset pagination): their
    /// cost does not depend on the depth, and concurrent writes cause no gaps or repeats.
    pub(super) fn page(&self, url: &str, page: u64, position: Option<&PageStart>) -> String {
        let cursor = position.and_then(|position| cursor::write(position, self.fingerprint));
        format!("{url}?{}", with_page(self.raw, page, cursor.as_deref()))
    }
}

fn with_page(query: &str, page: u64, cursor: Option<&str>) -> String {
    let mut query: Vec<_> = without(query, &OF_A_PAGE).into_iter().map(str::to_owned).collect();
    query.push(format!("page={page}"));
    query.extend(cursor.map(|cursor| format!("cursor={cursor}")));
    query.join("&")
}

/// Detects a partial collection, which must not replace the whole.
pub fn shows_a_part(query: &str) -> bool {
    let is_part = |parameter| match parameter {
        Parameter::Filter(_) => true,
        Parameter::Plain { name, .. } => ["q", "fields", "cursor", "as_of"].contains(&&*name),
    };
    pieces(query).any(|piece| Parameter::read(piece).is_ok_and(is_part))
}

/// The id is the last key of any order. Keys after it have no effect.
fn remembered(request: &PageRequest) -> Vec<&Subject> {
    if request.order.is_empty() && request.selection.search.is_some() {
        return vec![&Subject::Score];
    }
    let subjects = request.order.iter().map(|key| &key.subject);
    subjects.take_while(|subject| **subject != Subject::Id).collect()
}

pub(super) fn search(parameters: &Parameters) -> Result<Option<Search>> {
    let Some(written) = parameters.get("q") else { return Ok(None) };
    if written.chars().count() > MOST_VALUE {
        return Err(invalid(format!(
            "`q` has more than {MOST_VALUE} characters. Use fewer words."
        )));
    }
    Search::read(written).map(Some).map_err(|error| {
        invalid(format!(
            "`q` {error}. Use words, \"phrases\" in quotation marks, or beginnings of words such as ric*."
        ))
    })
}

/// The id and the times of an item are not members.
fn count_by(group: Group, parameters: &Parameters) -> Result<Option<Subject>> {
    let Some(name) = parameters.get("count_by") else { return Ok(None) };
    if name == "id" || TIMES.iter().any(|(time, _)| *time == name) {
        return Err(invalid(format!("`count_by` must name a member. `{name}` is not a member.")));
    }
    names::subject(group, "count_by", name, &[]).map(Some)
}

/// Truncates to microseconds. Rejects parameters that apply only to current items.
pub(super) fn as_of(parameters: &Parameters) -> Result<Option<Timestamp>> {
    let Some(written) = parameters.get("as_of") else { return Ok(None) };
    let time = written.parse::<Timestamp>();
    let time = time.and_then(|time| Timestamp::from_microsecond(time.as_microsecond()));
    let time = time.map_err(|_| {
        invalid("`as_of` must be an RFC 3339 time, such as 2026-11-20T10:00:00Z. Write a `+` before an offset as %2B.")
    })?;
    let now_only = ["sort", "embed", "q", "count_by", "access"]
        .into_iter()
        .find(|name| parameters.get(name).is_some());
    match now_only.or((!parameters.filters.is_empty()).then_some("filter")) {
        Some(name) => Err(invalid(format!(
            "`{name}` cannot be combined with `as_of`. Use `as_of` only with {}.",
            listed(GOES_WITH_AS_OF)
        ))),
        None => Ok(Some(time)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Parameters, as_of, with_page};

    #[test]
    fn links_keep_the_other_parameters() {
        for (query, expected) in [
            ("", "page=7"),
            ("page=2", "page=7"),
            ("cursor=old&q=%20b&p%61ge=2&page_size=5", "q=%20b&page_size=5&page=7"),
            ("filter[a%5D][gte]=1&&filter%5Bb%5D=2", "filter[a%5D][gte]=1&filter%5Bb%5D=2&page=7"),
        ] {
            assert_eq!(with_page(query, 7, None), expected);
            assert_eq!(with_page(query, 7, Some("x")), format!("{expected}&cursor=x"));
        }
    }

    #[test]
    fn a_time_is_one_of_rfc_3339() {
        let known = &["as_of", "page"];
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
        ] {
            let found =
                Parameters::read(query, known).and_then(|parameters| as_of(&parameters)).ok();
            assert_eq!(
                found.map(|time| time.map(|time| time.to_string())),
                expected.map(|time| time.map(str::to_owned)),
                "{query}"
            );
        }
    }
}
