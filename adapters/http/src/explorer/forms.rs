//! Forms without a script: redirects their fields to the equivalent query.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::links::escaped;
use crate::query::{OF_A_PAGE, Parameter, is_named, pieces};
use crate::time::TIME;

/// The names of filters begin with it: `f.start_date.gte`.
pub const FILTER: &str = "f.";

const COLUMN: &str = "column";

const AT: &str = "at";

const MAY_BE_EMPTY: [&str; 4] = ["q", "as_of", "group", "page"];

/// `None` if the query is not a form's.
pub fn redirection(query: &str, zone: &TimeZone) -> Option<String> {
    let mut form = Form::default();
    for piece in pieces(query) {
        form.add(piece);
    }
    form.is_one.then(|| form.query(zone))
}

#[derive(Default)]
struct Form<'a> {
    is_one: bool,
    filters: Vec<String>,
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
        if let Some((member, operator)) =
            name.strip_prefix(FILTER).and_then(|rest| rest.rsplit_once('.'))
        {
            let (value, member) = (escaped(value.trim()), escaped(member));
            let filter = format!("filter[{member}][{operator}]={value}");
            self.filters.extend((!value.is_empty()).then_some(filter));
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

    fn query(&self, zone: &TimeZone) -> String {
        let mut replaced = OF_A_PAGE.to_vec();
        replaced.extend((!self.columns.is_empty()).then_some("fields"));
        replaced.extend((!self.time.is_empty()).then_some("as_of"));
        let stays = |piece: &&&str| !replaced.iter().any(|name| is_named(piece, name));
        let kept = self.kept.iter().filter(stays).map(|piece| (*piece).to_owned());
        let names: Vec<_> = self.columns.iter().map(|name| escaped(name)).collect();
        let fields = (!names.is_empty()).then(|| format!("fields={}", names.join(",")));
        // A browser's local time has no zone. An invalid time is refused later.
        let local =
            self.time.parse::<DateTime>().ok().and_then(|time| zone.to_timestamp(time).ok());
        let moment =
            local.map_or_else(|| self.time.clone(), |time| TIME.timestamp_to_string(&time));
        let time = (!self.time.is_empty()).then(|| format!("as_of={}", escaped(&moment)));
        let made = self.filters.iter().cloned().chain(fields).chain(time);
        kept.chain(made).collect::<Vec<_>>().join("&")
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::redirection;

    #[test]
    fn forms_become_queries() {
        for (form, expected) in [
            ("", None),
            ("page=2&filter[a]=b", None),
            ("q=", Some("")),
            ("q=a&column=x&column=y+z&fields=old&page=2", Some("q=a&fields=x,y%20z")),
            (
                "sort=a&f.start_date.gte=2026-01-01&f.start_date.lte=&f.a.b.contains=+x+",
                Some("sort=a&filter[start_date][gte]=2026-01-01&filter[a.b][contains]=x"),
            ),
            ("f.a%5D.eq=%26&cursor=x", Some("filter[a%5D][eq]=%26")),
            ("f.a.eq=", Some("")),
            ("at=2026-11-20T10:00&as_of=old", Some("as_of=2026-11-20T02%3A00%3A00.000000Z")),
            ("at=soon", Some("as_of=soon")),
            ("at=", Some("")),
            ("group=", Some("")),
            ("group=lib", None),
        ] {
            let zone = TimeZone::fixed(jiff::tz::offset(8));
            assert_eq!(redirection(form, &zone).as_deref(), expected, "{form}");
        }
    }
}
