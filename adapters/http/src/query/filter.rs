//! `filter[member][operator]=value`: conditions on the items that are shown.
//!
//! A value that is a JSON object of nothing but operators stands for as many filters: Swagger UI
//! sends `filter[start_date]={"gte":"2026-01-01","lt":"2027-01-01"}` where the document describes
//! an object.

use application::query::{Comparison, Condition, Filter, Operand, OperandError, Subject};
use domain::json::Kind;
use domain::{Members, nearest};

use super::error::{fix, invalid, listed, quoted};
use super::names::{self, MOST_VALUE, TIMES};
use super::parameters::FilterParameter;
use crate::groups::Group;
use crate::problem::Problem;

/// Most filters of a request.
const MOST_FILTERS: usize = 32;
/// Most values of a list.
const MOST_IN_LIST: usize = 100;

/// The condition that an operator makes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// A comparison with the value.
    Compare(Comparison),
    /// The value is a list.
    In,
    /// The value is a piece of a string.
    Contains,
    /// The value is `true` or `false`.
    Exists,
}

/// Every operator with its meaning, for people. The first is meant where there is none.
pub const OPERATORS: [(&str, Operator, &str); 9] = [
    ("eq", Operator::Compare(Comparison::Equal), "Equals the value."),
    ("ne", Operator::Compare(Comparison::NotEqual), "Is there and does not equal the value."),
    ("lt", Operator::Compare(Comparison::Less), "Is less."),
    ("lte", Operator::Compare(Comparison::AtMost), "Is less or equal."),
    ("gt", Operator::Compare(Comparison::Greater), "Is greater."),
    ("gte", Operator::Compare(Comparison::AtLeast), "Is greater or equal."),
    ("in", Operator::In, "Equals one of the values of a list, separated by commas."),
    ("contains", Operator::Contains, "Is a string with the value in it, whatever the letter case."),
    ("exists", Operator::Exists, "`true`: is there and not `null`; `false`: is not."),
];

/// Reads the filters of a request.
pub fn read(filters: &[FilterParameter], group: Group) -> Result<Vec<Filter>, Problem> {
    let mut read = Vec::with_capacity(filters.len());
    for filter in filters {
        let subject = subject(&filter.member, group)?;
        for (operator, value) in conditions(filter) {
            let term = FilterTerm { member: &filter.member, subject: &subject, operator, value };
            read.push(Filter { condition: term.condition()?, subject: subject.clone() });
        }
        if read.len() > MOST_FILTERS {
            return Err(invalid(format!("there are more than {MOST_FILTERS} filters.")));
        }
    }
    Ok(read)
}

fn subject(member: &str, group: Group) -> Result<Subject, Problem> {
    if member == "id" {
        let detail = "`filter` does not take `id`; read an item by its path, `<collection>/<id>`.";
        return Err(invalid(detail));
    }
    names::subject(group, "filter", member, &TIMES)
}

/// The operators and values of a parameter: one, or those of an object.
fn conditions(filter: &FilterParameter) -> Vec<(String, String)> {
    let single = |operator: &str| vec![(operator.to_owned(), filter.value.clone())];
    match &filter.operator {
        Some(operator) => single(operator),
        None => in_object(&filter.value).unwrap_or_else(|| single(OPERATORS[0].0)),
    }
}

/// The members of an object that has nothing but operators for names.
fn in_object(value: &str) -> Option<Vec<(String, String)>> {
    if !value.starts_with('{') {
        return None;
    }
    let members = Members::read(value.as_bytes()).ok()??;
    let conditions = members.iter().map(|(name, value)| {
        operator(&name)?;
        let written = match value.kind() {
            Kind::String => value.as_string()?.into_owned(),
            Kind::Number | Kind::Boolean => value.encoded().to_owned(),
            Kind::Null | Kind::Array | Kind::Object => return None,
        };
        Some((name.into_owned(), written))
    });
    conditions.collect::<Option<Vec<_>>>().filter(|conditions| !conditions.is_empty())
}

fn operator(name: &str) -> Option<Operator> {
    OPERATORS.iter().find(|(known, ..)| *known == name).map(|(_, operator, _)| *operator)
}

/// A filter with one operator, not yet understood.
struct FilterTerm<'a> {
    member: &'a str,
    subject: &'a Subject,
    operator: String,
    value: String,
}

impl FilterTerm<'_> {
    fn condition(&self) -> Result<Condition, Problem> {
        let operator = operator(&self.operator).ok_or_else(|| self.unknown_operator())?;
        let value = self.value.as_str();
        if value.chars().count() > MOST_VALUE || value.contains('\0') {
            let detail = format!("takes at most {MOST_VALUE} characters, none of them U+0000");
            return Err(self.refuse(&detail));
        }
        match (operator, self.subject) {
            (Operator::Compare(comparison), _) => {
                Ok(Condition::Compare(comparison, self.operand(value)?))
            }
            (Operator::In, _) if value.split(',').count() > MOST_IN_LIST => {
                Err(self.refuse(&format!("takes at most {MOST_IN_LIST} values")))
            }
            (Operator::In, _) => {
                let operands = value.split(',').map(|value| self.operand(value));
                Ok(Condition::In(operands.collect::<Result<_, _>>()?))
            }
            (Operator::Contains, Subject::Member { .. }) if value.is_empty() => {
                Err(self.refuse("takes a string that is not empty"))
            }
            (Operator::Contains, Subject::Member { .. }) => Ok(Condition::Contains(value.into())),
            (Operator::Contains, _) => Err(self.refuse(
                "looks for a piece of a string, and this is a time; compare it with `gte` and `lt`",
            )),
            (Operator::Exists, _) => match value {
                "true" => Ok(Condition::Exists(true)),
                "false" => Ok(Condition::Exists(false)),
                _ => Err(self.refuse("takes `true` or `false`")),
            },
        }
    }

    fn operand(&self, written: &str) -> Result<Operand, Problem> {
        Operand::read(self.subject, written)
            .map_err(|OperandError { wanted }| self.refuse(&format!("takes {wanted}")))
    }

    fn refuse(&self, reason: &str) -> Problem {
        let name = quoted(&format!("filter[{}]", self.member));
        invalid(format!("{name} with the operator `{}` {reason}.", self.operator))
    }

    fn unknown_operator(&self) -> Problem {
        let names = || OPERATORS.iter().map(|(name, ..)| *name);
        let nearest = nearest(&self.operator, names());
        let fix = fix(nearest, || format!("it takes {}.", listed(names())));
        invalid(format!("{} is no operator of a filter; {fix}", quoted(&self.operator)))
    }
}

#[cfg(test)]
mod tests {
    use application::query::{Comparison, Condition, Filter};

    use super::{MOST_FILTERS, read};
    use crate::groups::{Group, named};
    use crate::query::parameters::Parameters;

    fn filters(group: Group, query: &str) -> Result<Vec<Filter>, String> {
        let read = Parameters::read(query, &["filter"])
            .and_then(|parameters| read(&parameters.filters, group));
        read.map_err(|problem| problem.to_string())
    }

    fn shown(group: Group, query: &str) -> Result<String, String> {
        let show = |filter: &Filter| match &filter.condition {
            Condition::Compare(comparison, operand) => {
                format!("{comparison:?} {:?}", operand.text.as_ref().or(operand.number.as_ref()))
            }
            other => format!("{other:?}"),
        };
        filters(group, query)
            .map(|filters| filters.iter().map(show).collect::<Vec<_>>().join(" & "))
    }

    #[test]
    fn operators_are_understood() {
        for (query, expected) in [
            ("filter[research_type]=Applied", "Equal Some(\"Applied\")"),
            ("filter[research_type][ne]=", "NotEqual Some(\"\")"),
            (
                "filter[start_date][gte]=2026-01-01&filter[start_date][lt]=2027-01-01",
                "AtLeast Some(\"2026-01-01\") & Less Some(\"2027-01-01\")",
            ),
            ("filter[created_at][lte]=1970-01-02", "AtMost Some(\"86400000000\")"),
            ("filter[created_at][exists]=true", "Exists(true)"),
            ("filter[literature][exists]=false", "Exists(false)"),
            ("filter[start_date][contains]=2026-", "Contains(\"2026-\")"),
            (
                r#"filter[start_date]={"gte":"2026-01-01","lt":"2027-01-01"}"#,
                "AtLeast Some(\"2026-01-01\") & Less Some(\"2027-01-01\")",
            ),
            (r#"filter[project_id]={"gt":7,"exists":true}"#, "Greater Some(\"7\") & Exists(true)"),
            (r#"filter[research_type]={"than":"x"}"#, "Equal Some(\"{\\\"than\\\":\\\"x\\\"}\")"),
            ("filter[research_type]={}", "Equal Some(\"{}\")"),
            ("filter[research_type]={", "Equal Some(\"{\")"),
            (r#"filter[research_type][eq]={"gte":"x"}"#, "Equal Some(\"{\\\"gte\\\":\\\"x\\\"}\")"),
        ] {
            assert_eq!(shown(named("proposals"), query).as_deref(), Ok(expected), "{query}");
        }
    }

    #[test]
    fn a_list_is_separated_by_commas() {
        let filters = filters(named("files"), "filter[n][in]=1,x%2Cy").unwrap();
        let Condition::In(operands) = &filters[0].condition else { panic!("{filters:?}") };
        assert_eq!(
            operands.iter().map(|operand| operand.text.as_deref()).collect::<Vec<_>>(),
            [Some("1"), Some("x"), Some("y")]
        );
    }

    #[test]
    fn open_groups_have_any_member() {
        for name in ["any%20thing", "_meta", "%5Ba%5D", "%E2%82%B1", "a.b"] {
            let filters = filters(named("files"), &format!("filter[{name}]=1")).unwrap();
            assert!(
                matches!(filters[0].condition, Condition::Compare(Comparison::Equal, _)),
                "{name}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = format!("filter[research_type]={}", "x".repeat(1001));
        let many = "filter[research_type]=x&".repeat(MOST_FILTERS + 1);
        let list = format!("filter[research_type][in]={}", "x,".repeat(100));
        for (query, expected) in [
            ("filter[researchtype]=x", "did you mean `research_type`?"),
            ("filter[create_at]=x", "did you mean `created_at`?"),
            ("filter[colour]=x", "no such field"),
            ("filter[_meta]=x", "no such field"),
            ("filter[start_date][after]=2026-01-01", "it takes `eq`"),
            ("filter[start_date][gt=]=2026-01-01", "no filter"),
            ("filter[start_date][gteq]=2026-01-01", "did you mean `gte`?"),
            ("filter[start_date][]=2026-01-01", "no operator"),
            ("filter[start_date]=2026", "takes a day"),
            ("filter[start_date][in]=2026-01-01,x", "takes a day"),
            ("filter[start_date]=", "takes a day"),
            ("filter[created_at]=yesterday", "takes a time"),
            ("filter[created_at][contains]=2026", "this is a time"),
            ("filter[research_type][contains]=", "not empty"),
            ("filter[research_type][exists]=yes", "`true` or `false`"),
            ("filter[]=x", "empty name"),
            ("filter[id]=x", "by its path"),
            (r#"filter[research_type]={"eq":"\u0000"}"#, "U+0000"),
            (&long, "at most 1000 characters"),
            (&many, "more than 32 filters"),
            (&list, "at most 100 values"),
        ] {
            let error = filters(named("proposals"), query).err().unwrap_or_default();
            assert!(error.contains(expected), "{query}: {error}");
        }
    }
}
