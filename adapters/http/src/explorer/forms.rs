//! Forms without a script: redirects their fields to the equivalent query.

use super::links::escaped;
use crate::query::{OF_A_PAGE, Parameter, is_named, pieces};

const FILTER: [&str; 3] = ["where", "operator", "value"];

const COLUMN: &str = "column";

const AT: &str = "at";

const MAY_BE_EMPTY: [&str; 3] = ["q", "as_of", "group"];

/// `None` if the query is not a form's.
pub fn redirection(query: &str) -> Option<String> {
    let mut form = Form::default();
    for piece in pieces(query) {
        form.add(piece);
    }
    form.is_one.then(|| form.query())
}

#[derive(Default)]
struct Form<'a> {
    is_one: bool,
    filter: [String; 3],
    columns: Vec<String>,
    time: String,
    kept: Vec<&'a str>,
}

impl<'a> Form<'a> {
    fn add(&mut self, piece: &'a str) {
        let Ok(Parameter::Plain { name, value }) = Parameter::read(piece) else {
            self.kept.push(piece);
            return;
        };
        if let Some(index) = FILTER.iter().position(|field| *field == name) {
            self.filter[index] = value;
        } else if name == COLUMN {
            self.columns.push(value);
        } else if name == AT {
            self.time = value;
        } else if !(MAY_BE_EMPTY.contains(&name.as_str()) && value.is_empty()) {
            self.kept.push(piece);
            return;
        }
        self.is_one = true;
    }

    fn query(&self) -> String {
        let mut replaced = OF_A_PAGE.to_vec();
        replaced.extend((!self.columns.is_empty()).then_some("fields"));
        replaced.extend((!self.time.is_empty()).then_some("as_of"));
        let stays = |piece: &&&str| !replaced.iter().any(|name| is_named(piece, name));
        let kept = self.kept.iter().filter(stays).map(|piece| (*piece).to_owned());
        let [member, operator, value] = self.filter.each_ref().map(|field| escaped(field));
        let operator = if operator.is_empty() { "eq" } else { &operator };
        let filter = (!member.is_empty() && !value.is_empty())
            .then(|| format!("filter[{member}][{operator}]={value}"));
        let names: Vec<_> = self.columns.iter().map(|name| escaped(name)).collect();
        let fields = (!names.is_empty()).then(|| format!("fields={}", names.join(",")));
        // A browser's local time has no zone and maybe no seconds; read it as UTC.
        let seconds = if self.time.len() == "2026-01-01T00:00".len() { ":00" } else { "" };
        let zone = if self.time.ends_with('Z') { "" } else { "Z" };
        let time = (!self.time.is_empty())
            .then(|| format!("as_of={}{seconds}{zone}", escaped(&self.time)));
        let made = [filter, fields, time];
        kept.chain(made.into_iter().flatten()).collect::<Vec<_>>().join("&")
    }
}

#[cfg(test)]
mod tests {
    use super::redirection;

    #[test]
    fn forms_become_queries() {
        for (form, expected) in [
            ("", None),
            ("page=2&filter[a]=b", None),
            ("q=", Some("")),
            ("q=a&column=x&column=y+z&fields=old&page=2", Some("q=a&fields=x,y%20z")),
            (
                "sort=a&where=start_date&operator=gte&value=2026-01-01",
                Some("sort=a&filter[start_date][gte]=2026-01-01"),
            ),
            ("where=a%5D&operator=&value=%26&cursor=x", Some("filter[a%5D][eq]=%26")),
            ("where=a&operator=eq&value=", Some("")),
            ("at=2026-11-20T10:00&as_of=old", Some("as_of=2026-11-20T10%3A00:00Z")),
            ("at=", Some("")),
            ("group=", Some("")),
            ("group=lib", None),
        ] {
            assert_eq!(redirection(form).as_deref(), expected, "{form}");
        }
    }
}
