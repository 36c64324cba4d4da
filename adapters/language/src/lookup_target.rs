//! Targets of lookups: `COLLECTION[ID]`, `COLLECTION[MEMBER = VALUE]` or `COLLECTION[parent = ID]`.

use domain::proposal::FIELDS;
use domain::{Collection, Lookup};

use crate::error::{ErrorCollector, Located};
use crate::expression::{
    Expression, ExpressionError, KEY, LookupBy, LookupTarget, Shape, Variables,
};
use crate::keys::{self, Keys, did_you_mean, known_words};
use crate::yaml::{MappingEntry, Scalar};

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

/// The lookups under a key `lookup`.
pub struct Lookups<'a> {
    /// The variables of all lookups: an expression may name one that has an error.
    pub variables: Vec<(String, Shape)>,
    /// Those without errors, in the order in which they are made.
    pub targets: Vec<(String, LookupTarget)>,
    /// The texts of these.
    pub texts: Vec<&'a Scalar>,
}

/// The text of a lookup, whose key is not compiled yet.
struct Written<'a> {
    text: &'a Scalar,
    collection: Option<Collection>,
    by: LookupBy,
    offset: usize,
}

impl<'a> Lookups<'a> {
    /// Reads lookups whose keys have these variables and may use earlier lookups. `misnamed` returns
    /// the reason why a name is not allowed.
    pub fn read(
        keys: &Keys<'a>,
        variables: Variables,
        misnamed: impl Fn(&str) -> Option<String>,
        errors: &mut ErrorCollector<'_>,
    ) -> Self {
        let (mut names, mut in_keys, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let entries =
            keys.get("lookup").and_then(|node| errors.take(keys::entries(node, "`lookup`")));
        for (index, MappingEntry { key, place, value }) in
            entries.unwrap_or_default().iter().enumerate()
        {
            if index == Lookup::MOST {
                let reason = format!("at most {} lookups are allowed; remove some", Lookup::MOST);
                errors.add(*place, reason);
                break;
            }
            let reason = misnamed(key);
            // Such a name must not hide a variable from the keys.
            let in_key = if reason.is_some() { String::new() } else { key.clone() };
            if let Some(reason) = reason {
                errors.add(*place, reason);
            }
            let text = errors.take(keys::expression(value, key));
            let of = text.and_then(|text| Written::read(text, errors));
            let shape = of.as_ref().map_or(Shape::Many, |of| of.by.shape());
            names.push((key.clone(), shape));
            in_keys.push((in_key, shape));
            written.push(of);
        }
        let values: Vec<_> = written
            .iter()
            .map(|of| of.as_ref().and_then(|of| of.value(variables, &in_keys, errors)))
            .collect();
        let used: Vec<_> = values
            .iter()
            .map(|value| value.as_ref().map(Expression::lookups).unwrap_or_default())
            .collect();
        let mut lookups = Self { variables: names, targets: Vec::new(), texts: Vec::new() };
        for (place, (of, value)) in written.into_iter().zip(values).enumerate() {
            let Some((of, value)) = of.zip(value) else { continue };
            let text = of.text;
            let checked = lookups.check(place, of, value, (variables, &used));
            if let Some(target) = errors.take(checked).flatten() {
                lookups.targets.push((lookups.variables[place].0.clone(), target));
                lookups.texts.push(text);
            }
        }
        lookups
    }

    fn check(
        &self,
        place: usize,
        of: Written<'_>,
        value: Expression,
        (variables, used): (Variables, &[Vec<(usize, usize)>]),
    ) -> Result<Option<LookupTarget>, Located> {
        let Written { text, collection, by, offset } = of;
        let located = |error: ExpressionError| (text.place_of(offset + error.offset), error.reason);
        let target = match (self.disorder(place, used), collection) {
            (Some(error), _) => return Err(located(error)),
            (None, None) => return Ok(None),
            (None, Some(collection)) => LookupTarget { collection, by, value, offset },
        };
        // After an error, the places of the others are unknown.
        if self.targets.len() == place {
            target.check_key(variables, &self.targets).map_err(located)?;
        }
        Ok(Some(target))
    }

    /// Returns an error if a key uses a lookup that is not made before it.
    fn disorder(&self, place: usize, used: &[Vec<(usize, usize)>]) -> Option<ExpressionError> {
        let (later, offset) = used[place].iter().copied().find(|(other, _)| *other >= place)?;
        let [own, other] = [place, later].map(|place| &self.variables[place].0);
        let reason = if later == place {
            format!("the key of `{own}` uses `{own}` itself; it may use earlier lookups only")
        } else if needs(later, place, used, &mut [false; Lookup::MOST]) {
            format!("`{own}` needs `{other}`, which needs `{own}`; change one of their keys")
        } else {
            format!(
                "`{other}` is looked up later than `{own}`, whose key uses it; move `{other}` before `{own}`"
            )
        };
        Some(ExpressionError { offset, reason })
    }
}

/// Returns whether the key of a lookup uses another one, perhaps over several steps.
fn needs(
    from: usize,
    to: usize,
    used: &[Vec<(usize, usize)>],
    is_seen: &mut [bool; Lookup::MOST],
) -> bool {
    let is_new = !std::mem::replace(&mut is_seen[from], true);
    is_new && used[from].iter().any(|(next, _)| *next == to || needs(*next, to, used, is_seen))
}

impl<'a> Written<'a> {
    fn read(scalar: &'a Scalar, errors: &mut ErrorCollector<'_>) -> Option<Self> {
        let text = scalar.text.as_str();
        let end = text.trim_end().strip_suffix(']');
        let Some((name, inside)) = end.and_then(|text| text.split_once('[')) else {
            let reason = format!(
                "`{text}` is not a lookup; write `COLLECTION[ID]`, `COLLECTION[MEMBER = VALUE]` or `COLLECTION[parent = ID]`"
            );
            errors.add(scalar.place, reason);
            return None;
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
        if let Some(reason) = collection.and_then(|collection| impossible(collection, &by)) {
            errors.add(scalar.place_of(name.len() + 1), reason);
        }
        let offset = name.len() + 1 + inside.len() - value.len();
        Some(Self { text: scalar, collection, by, offset })
    }

    fn value(
        &self,
        variables: Variables,
        names: &[(String, Shape)],
        errors: &mut ErrorCollector<'_>,
    ) -> Option<Expression> {
        let text = self.text.text.trim_end();
        let source = text.get(self.offset..text.len() - 1).unwrap_or_default();
        let value = Expression::compile_with(variables, source, KEY, names);
        errors.take(
            value.map_err(|error| (self.text.place_of(self.offset + error.offset), error.reason)),
        )
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
