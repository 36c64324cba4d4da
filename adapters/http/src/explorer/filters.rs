//! Malformed filters: the table ignores them, and the form shows their errors.

use std::borrow::Cow;

use crate::groups::Group;
use crate::query::{
    CollectionQuery, FilterParameter, OF_A_PAGE, OPERATORS, Parameter, pieces, without,
};

pub struct RefusedFilter {
    pub filter: FilterParameter,
    pub detail: String,
}

impl RefusedFilter {
    pub fn has(&self, operator: &str) -> bool {
        self.filter.operator.as_deref().unwrap_or(OPERATORS[0].0) == operator
    }
}

/// Removes malformed filters. Also removes page and cursor, which belong to another selection.
pub fn without_refused(group: Group, query: &str) -> (Cow<'_, str>, Vec<RefusedFilter>) {
    let mut refused = Vec::new();
    let mut is_understood = |piece: &&str| {
        let Ok(Parameter::Filter(filter)) = Parameter::read(piece) else { return true };
        let Err(problem) = CollectionQuery::read(group, piece, None) else { return true };
        refused.push(RefusedFilter { filter, detail: problem.detail });
        false
    };
    let kept: Vec<_> = pieces(query).filter(|piece| is_understood(piece)).collect();
    if refused.is_empty() {
        return (query.into(), refused);
    }
    (without(&kept.join("&"), &OF_A_PAGE).join("&").into(), refused)
}

#[cfg(test)]
mod tests {
    use super::without_refused;
    use crate::groups::named;

    #[test]
    fn what_can_be_read_stays() {
        for (query, kept, refused) in [
            (
                "q=a&filter[start_date]=2026-01-01&page=2",
                "q=a&filter[start_date]=2026-01-01&page=2",
                vec![],
            ),
            (
                "filter[start_date][gte]=2026&q=a&page=2&filter[colour]=red&sort=nothing",
                "q=a&sort=nothing",
                vec![("start_date", "gte", "2026"), ("colour", "eq", "red")],
            ),
            ("filter[start_date=1", "filter[start_date=1", vec![]),
        ] {
            let (found, filters) = without_refused(named("proposals"), query);
            let filters = filters.iter().map(|it| {
                assert!(["eq", "gte"].iter().filter(|name| it.has(name)).count() == 1);
                let operator = if it.has("eq") { "eq" } else { "gte" };
                (&*it.filter.member, operator, &*it.filter.value)
            });
            assert_eq!((&*found, filters.collect::<Vec<_>>()), (kept, refused), "{query}");
        }
    }
}
