//! `filter[member][operator]=value`: conditions on items.
//!
//! A JSON object with only operators as names means several filters. Swagger UI sends
//! `filter[start_date]={"gte":"2026-01-01","lt":"2027-01-01"}` if the document describes an object.

use std::slice;

use application::query::Comparison::{self, AtLeast, AtMost, Equal, Greater, Less, NotEqual};
use application::query::{Condition, Filter, Operand, Subject};
use domain::json::Kind;
use domain::{Members, nearest};

use super::error::{fix, invalid, listed, quoted};
use super::names::{self, MOST_VALUE, TIMES};
use super::parameters::FilterParameter;
use crate::groups::Group;
use crate::problem::{Problem, Result};

const MOST_FILTERS: usize = 32;
const MOST_IN_LIST: usize = 100;

type Made = Result<Condition, String>;
type Make = fn(&Subject, &str) -> Made;

/// The first is the default.
pub const OPERATORS: [(&str, Make, &str); 9] = [
    ("eq", |it, value| compare(Equal, it, value), "Equals the value."),
    ("ne", |it, value| compare(NotEqual, it, value), "Exists and does not equal the value."),
    ("lt", |it, value| compare(Less, it, value), "Is less than the value."),
    ("lte", |it, value| compare(AtMost, it, value), "Is less than or equal to the value."),
    ("gt", |it, value| compare(Greater, it, value), "Is greater than the value."),
    ("gte", |it, value| compare(AtLeast, it, value), "Is greater than or equal to the value."),
    ("in", one_of, "Equals one of the values of a list, separated by commas."),
    ("contains", contains, "Is a string that contains the value, ignoring case."),
    ("exists", exists, "`true`: exists and is not `null`. `false`: is missing or `null`."),
];

pub fn read(filters: &[FilterParameter], group: Group) -> Result<Vec<Filter>> {
    let mut read = Vec::with_capacity(filters.len());
    for filter in filters {
        let subject = subject(&filter.member, group)?;
        let many = in_object(filter);
        for filter in many.as_deref().unwrap_or(slice::from_ref(filter)) {
            read.push(Filter { condition: condition(filter, &subject)?, subject: subject.clone() });
        }
        if read.len() > MOST_FILTERS {
            return Err(invalid(format!("Too many filters. Use at most {MOST_FILTERS}.")));
        }
    }
    Ok(read)
}

fn subject(member: &str, group: Group) -> Result<Subject> {
    if member == "id" {
        let detail =
            "`filter` does not support `id`. Read an item by its path, `<collection>/<id>`.";
        return Err(invalid(detail));
    }
    names::subject(group, "filter", member, &TIMES)
}

fn in_object(
    FilterParameter { member, operator, value }: &FilterParameter,
) -> Option<Vec<FilterParameter>> {
    if operator.is_some() || !value.starts_with('{') {
        return None;
    }
    let members = Members::read(value.as_bytes()).ok()??;
    let filters = members.iter().map(|(name, value)| {
        operator_named(&name)?;
        let value = match value.kind() {
            Kind::String => value.as_string()?.into_owned(),
            Kind::Number | Kind::Boolean => value.encoded().to_owned(),
            Kind::Null | Kind::Array | Kind::Object => return None,
        };
        Some(FilterParameter { member: member.clone(), operator: Some(name.into_owned()), value })
    });
    filters.collect::<Option<Vec<_>>>().filter(|filters| !filters.is_empty())
}

fn operator_named(name: &str) -> Option<Make> {
    OPERATORS.iter().find(|(known, ..)| *known == name).map(|(_, make, _)| *make)
}

fn condition(filter: &FilterParameter, subject: &Subject) -> Result<Condition> {
    let FilterParameter { member, operator, value } = filter;
    let operator = operator.as_deref().unwrap_or(OPERATORS[0].0);
    let make = operator_named(operator).ok_or_else(|| unknown_operator(operator))?;
    let condition = if value.chars().count() > MOST_VALUE || value.contains('\0') {
        Err(format!("takes at most {MOST_VALUE} characters, without U+0000"))
    } else {
        make(subject, value)
    };
    condition.map_err(|reason| {
        let name = quoted(&format!("filter[{member}]"));
        invalid(format!("{name} with the operator `{operator}` {reason}."))
    })
}

fn operand(subject: &Subject, value: &str) -> Result<Operand, String> {
    Operand::read(subject, value).map_err(|wanted| format!("takes {wanted}"))
}

fn compare(comparison: Comparison, subject: &Subject, value: &str) -> Made {
    Ok(Condition::Compare(comparison, operand(subject, value)?))
}

fn one_of(subject: &Subject, list: &str) -> Made {
    if list.split(',').count() > MOST_IN_LIST {
        return Err(format!("takes at most {MOST_IN_LIST} values"));
    }
    let operands = list.split(',').map(|value| operand(subject, value));
    Ok(Condition::In(operands.collect::<Result<_, _>>()?))
}

fn contains(subject: &Subject, piece: &str) -> Made {
    let Subject::Member { .. } = subject else {
        let reason = "applies to strings, but this is a time. Compare it with `gte` and `lt`";
        return Err(reason.to_owned());
    };
    if piece.is_empty() {
        return Err("takes a non-empty string".to_owned());
    }
    Ok(Condition::Contains(piece.into()))
}

fn exists(_: &Subject, value: &str) -> Made {
    match value {
        "true" => Ok(Condition::Exists(true)),
        "false" => Ok(Condition::Exists(false)),
        _ => Err("takes `true` or `false`".to_owned()),
    }
}

fn unknown_operator(name: &str) -> Problem {
    let names = || OPERATORS.iter().map(|(name, ..)| *name);
    let fix = fix(nearest(name, names()), || format!("Use {}.", listed(names())));
    invalid(format!("Unknown filter operator {}. {fix}", quoted(name)))
}

#[cfg(test)]
mod tests {
    use application::query::{Condition, Filter};

    use super::{MOST_FILTERS, read};
    use crate::groups::named;
    use crate::query::parameters::Parameters;

    /// The conditions of a query.
    fn shown(group: &str, query: &str) -> Result<String, String> {
        let show = |filter: &Filter| match &filter.condition {
            Condition::Compare(comparison, operand) => {
                format!("{comparison:?} {:?}", operand.text.as_ref().or(operand.number.as_ref()))
            }
            other => format!("{other:?}"),
        };
        Parameters::read(query, &["filter"])
            .and_then(|parameters| read(&parameters.filters, named(group)))
            .map(|filters| filters.iter().map(show).collect::<Vec<_>>().join(" & "))
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn an_object_of_operators_is_several_filters() {
        for (query, expected) in [
            (r#"filter[n]={"gte":"x","lt":"y"}"#, "AtLeast Some(\"x\") & Less Some(\"y\")"),
            (r#"filter[n]={"gt":7,"exists":true}"#, "Greater Some(\"7\") & Exists(true)"),
            (r#"filter[n]={"than":"x"}"#, "Equal Some(\"{\\\"than\\\":\\\"x\\\"}\")"),
            ("filter[n]={}", "Equal Some(\"{}\")"),
            ("filter[n]={", "Equal Some(\"{\")"),
            (r#"filter[n][eq]={"gte":"x"}"#, "Equal Some(\"{\\\"gte\\\":\\\"x\\\"}\")"),
            ("filter[_meta]=1", "Equal Some(\"1\")"),
        ] {
            assert_eq!(shown("files", query).as_deref(), Ok(expected), "{query}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = format!("filter[research_type]={}", "x".repeat(1001));
        let many = "filter[research_type]=x&".repeat(MOST_FILTERS + 1);
        let list = format!("filter[research_type][in]={}", "x,".repeat(100));
        for (query, expected) in [
            ("filter[colour]=x", "Unknown field"),
            ("filter[start_date][gt=]=2026-01-01", "not a valid filter"),
            ("filter[start_date][]=2026-01-01", "Unknown filter operator"),
            ("filter[created_at][contains]=2026", "this is a time"),
            ("filter[research_type][contains]=", "non-empty"),
            ("filter[]=x", "empty name"),
            ("filter[id]=x", "by its path"),
            (r#"filter[research_type]={"eq":"\u0000"}"#, "U+0000"),
            (&long, "at most 1000 characters"),
            (&many, "at most 32"),
            (&list, "at most 100 values"),
        ] {
            let error = shown("proposals", query).err().unwrap_or_default();
            assert!(error.contains(expected), "{query}: {error}");
        }
    }
}
