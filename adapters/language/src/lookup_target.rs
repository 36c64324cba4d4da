//! Target of a lookup: `COLLECTION[ID]`, `COLLECTION[MEMBER = VALUE]` or `COLLECTION[parent = ID]`.

use domain::Collection;
use domain::proposal::FIELDS;

use crate::error::ErrorCollector;
use crate::expression::{
    Expression, ExpressionError, KEY, LookupBy, LookupTarget, Shape, Variables,
};
use crate::keys::{did_you_mean, known_words};
use crate::yaml::Scalar;

/// Splits at `=`: the member, without quotes, and the rest. Without a member, returns the whole
/// text.
fn split_member(inside: &str) -> (Option<&str>, &str) {
    let whole = (None, inside);
    let start = inside.trim_start();
    let (name, rest) = match start.chars().next() {
        Some(quote @ ('"' | '\'')) => match start[1..].split_once(quote) {
            Some(parts) => parts,
            None => return whole,
        },
        _ => start.split_at(
            start
                .find(|character: char| !character.is_alphanumeric() && character != '_')
                .unwrap_or(start.len()),
        ),
    };
    match rest.trim_start().strip_prefix('=') {
        Some(value) if !value.starts_with('=') && !name.is_empty() => (Some(name), value),
        _ => whole,
    }
}

fn impossible(collection: Collection, by: &LookupBy) -> Option<String> {
    let group = collection.name();
    let has_field = |name: &str| FIELDS.iter().any(|field| field.name == name);
    Some(match by {
        LookupBy::Parent if collection.parent().is_none() => {
            format!("items of `{group}` have no parent; only those of `lib` have one, a proposal")
        }
        LookupBy::Member(name) if &**name == "id" => {
            format!("write `{group}[ID]`, without `id =`, to find an item by its id")
        }
        LookupBy::Member(name) if !collection.is_open() && !has_field(name) => {
            let guess = did_you_mean(name, FIELDS.iter().map(|field| field.name));
            format!("a proposal has no field `{name}`{guess}")
        }
        _ => return None,
    })
}

impl LookupTarget {
    /// Reads a target whose key has these variables and may use the `earlier` lookups.
    pub fn read(
        scalar: &Scalar,
        variables: Variables,
        earlier: &[(String, Self)],
        errors: &mut ErrorCollector<'_>,
    ) -> (Shape, Option<Self>) {
        let text = scalar.text.as_str();
        let end = text.trim_end().strip_suffix(']');
        let Some((name, inside)) = end.and_then(|text| text.split_once('[')) else {
            let reason = format!(
                "`{text}` is not a lookup; write `COLLECTION[ID]`, `COLLECTION[MEMBER = VALUE]` or `COLLECTION[parent = ID]`"
            );
            errors.add(scalar.place, reason);
            return (Shape::Many, None);
        };
        let collection = Collection::named(name.trim());
        if collection.is_none() {
            let (name, words) = (name.trim(), known_words(name.trim(), &Collection::names()));
            errors.add(scalar.place, format!("there is no collection `{name}`; {words}"));
        }
        let (member, value) = split_member(inside);
        let by = match member {
            None => LookupBy::Id,
            Some("parent") => LookupBy::Parent,
            Some(name) => LookupBy::Member(name.into()),
        };
        let shape = by.shape();
        if let Some(reason) = collection.and_then(|collection| impossible(collection, &by)) {
            errors.add(scalar.place_of(name.len() + 1), reason);
        }
        let offset = name.len() + 1 + inside.len() - value.len();
        let place = |error: ExpressionError| (scalar.place_of(offset + error.offset), error.reason);
        let value = Expression::compile_with(variables, value, KEY, &Self::variables(earlier));
        let target = errors.take(value.map_err(place)).zip(collection);
        let target = target.map(|(value, collection)| Self { collection, by, value, offset });
        let is_sound = |target: &Self| {
            errors.take(target.check_key(variables, earlier).map_err(place)).is_some()
        };
        (shape, target.filter(is_sound))
    }
}

#[cfg(test)]
mod tests {
    use super::split_member;

    #[test]
    fn a_member_is_followed_by_a_single_equals_sign() {
        for (inside, member, value) in [
            ("self.program_id", None, "self.program_id"),
            ("parent = self.id", Some("parent"), " self.id"),
            (" month=self.month", Some("month"), "self.month"),
            ("\"project no\" = self.x", Some("project no"), " self.x"),
            ("a == b ? self.x : self.y", None, "a == b ? self.x : self.y"),
            ("a >= 'x' ? self.x : self.y", None, "a >= 'x' ? self.x : self.y"),
            ("'a=b'", None, "'a=b'"),
            ("= self.x", None, "= self.x"),
            ("", None, ""),
        ] {
            assert_eq!(split_member(inside), (member, value), "{inside}");
        }
    }
}
