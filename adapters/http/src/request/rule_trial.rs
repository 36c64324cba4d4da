//! The body of a trial of a business rule.

use application::{RuleTrial, TrialLookup, TrialSubject};
use bytes::Bytes;
use domain::json::{Kind, MAX_DEPTH, decode};
use domain::{Collection, Lookup, Members, Pointer, Value, Violation, Violations, nearest};
use jiff::civil::Date;

use super::body::aside_if_large;
use crate::problem::{Problem, Result, kinds};
use crate::query::fix;

pub const MEMBERS: [&str; 9] =
    ["rule", "expression", "group", "self", "old", "today", "lookup", "lookup_stored", "make_case"];

/// The body, `lookup` and an array of items. The item has its own limit.
const ENVELOPE_DEPTH: usize = 3;

pub async fn read(body: Bytes) -> Result<(RuleTrial, Option<Date>)> {
    aside_if_large(body.len(), move || {
        let read = domain::json::read_within(&body, MAX_DEPTH + ENVELOPE_DEPTH)?;
        drop(body);
        if read.value().kind() != Kind::Object {
            let detail = "The body must be a JSON object.".to_owned();
            return Err(Problem::of_whole_body(&kinds::NOT_AN_OBJECT, "not_an_object", detail));
        }
        TrialReader { body: read.value(), violations: Violations::default() }.trial()
    })
    .await
}

pub const fn subject_member(subject: &TrialSubject) -> &'static str {
    match subject {
        TrialSubject::Expression(_) => "expression",
        TrialSubject::Yaml(_) | TrialSubject::Json(_) => "rule",
    }
}

struct TrialReader<'a> {
    body: Value<'a>,
    violations: Violations,
}

impl<'a> TrialReader<'a> {
    fn trial(mut self) -> Result<(RuleTrial, Option<Date>)> {
        self.refuse_others();
        let subject = self.subject();
        let collection = self.collection();
        let after = self.item(self.body.member("self"), &at("self"))?;
        let old = self.body.member("old").filter(|item| !item.is_null());
        let before = self.item(old, &at("old"))?;
        let today = self.today();
        let lookups = self.lookups()?;
        let [looks_up_stored, makes_case] =
            ["lookup_stored", "make_case"].map(|name| self.boolean(name));
        match (subject, collection) {
            (Some(subject), Some(collection)) if self.violations.is_empty() => {
                let trial = RuleTrial {
                    subject,
                    collection,
                    after,
                    before,
                    lookups,
                    looks_up_stored,
                    makes_case,
                };
                Ok((trial, today))
            }
            _ => Err(Problem::invalid(self.violations)),
        }
    }

    fn refuse(&mut self, pointer: Pointer, code: &'static str, detail: impl Into<String>) {
        self.violations.push_with(|| Violation::new(pointer, code, detail));
    }

    fn refuse_others(&mut self) {
        for (name, _) in self.body.entries().into_iter().flatten() {
            if MEMBERS.contains(&name) {
                continue;
            }
            let name = decode(name).into_owned();
            let fix = fix(nearest(&name, MEMBERS), || format!("Use `{}`.", MEMBERS.join("`, `")));
            self.refuse(at(&name), "unknown_member", format!("Unknown member. {fix}"));
        }
    }

    fn subject(&mut self) -> Option<TrialSubject> {
        match (self.body.member("rule"), self.body.member("expression")) {
            (Some(rule), None) => match rule.as_string() {
                Some(text) => Some(TrialSubject::Yaml(text.into_owned())),
                None if rule.kind() == Kind::Object => {
                    Some(TrialSubject::Json(rule.encoded().to_owned()))
                }
                None => {
                    let found = rule.kind().with_article();
                    let detail =
                        format!("A rule must be an object or a string of YAML, not {found}.");
                    self.refuse(at("rule"), "wrong_type", detail);
                    None
                }
            },
            (None, Some(expression)) => {
                self.string(expression, "expression").map(TrialSubject::Expression)
            }
            (Some(_), Some(_)) => {
                let detail = "Send a `rule` or an `expression`, not both.";
                self.refuse(at("expression"), "not_both", detail);
                None
            }
            (None, None) => {
                let detail = "Send a `rule` or an `expression`.";
                self.refuse(at("rule"), "required", detail);
                None
            }
        }
    }

    fn string(&mut self, value: Value<'_>, name: &str) -> Option<String> {
        let string = value.as_string();
        if string.is_none() {
            let detail = format!("`{name}` must be a string, not {}.", value.kind().with_article());
            self.refuse(at(name), "not_a_string", detail);
        }
        string.map(Into::into)
    }

    fn boolean(&mut self, name: &str) -> bool {
        let Some(value) = self.body.member(name) else { return false };
        if value.kind() != Kind::Boolean {
            let found = value.kind().with_article();
            let detail = format!("`{name}` must be `true` or `false`, not {found}.");
            self.refuse(at(name), "not_a_boolean", detail);
        }
        value.encoded() == "true"
    }

    fn collection(&mut self) -> Option<Collection> {
        let Some(group) = self.body.member("group") else {
            let detail = "Name the group of the item, such as `proposals`.";
            self.refuse(at("group"), "required", detail);
            return None;
        };
        let name = self.string(group, "group")?;
        let collection = Collection::named(&name);
        if collection.is_none() {
            let names = Collection::names();
            let nearest = nearest(&name, names.iter().copied());
            let fix = fix(nearest, || format!("Use `{}`.", names.join("`, `")));
            self.refuse(at("group"), "unknown_group", format!("Unknown group. {fix}"));
        }
        collection
    }

    fn today(&mut self) -> Option<Date> {
        let text = self.body.member("today")?;
        let text = self.string(text, "today")?;
        // The parser accepts other forms of ISO 8601 as well.
        let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text);
        if date.is_none() {
            let detail = "`today` must be a date of the form YYYY-MM-DD.";
            self.refuse(at("today"), "invalid_date", detail);
        }
        date
    }

    fn item(&mut self, value: Option<Value<'_>>, pointer: &Pointer) -> Result<Option<Members>> {
        let Some(value) = value else { return Ok(None) };
        let members = Members::from_value(value)?;
        if members.is_none() {
            let found = value.kind().with_article();
            let detail = format!("An item must be an object of its members, not {found}.");
            self.refuse(pointer.clone(), "not_an_object", detail);
        }
        Ok(members)
    }

    fn lookups(&mut self) -> Result<Vec<(String, TrialLookup)>> {
        let Some(lookup) = self.body.member("lookup") else { return Ok(Vec::new()) };
        let Some(entries) = lookup.entries() else {
            let found = lookup.kind().with_article();
            let detail = format!("`lookup` must be an object of lookup results, not {found}.");
            self.refuse(at("lookup"), "not_an_object", detail);
            return Ok(Vec::new());
        };
        let mut lookups = Vec::new();
        for (index, (name, found)) in entries.enumerate() {
            if index == Lookup::MOST {
                let detail = format!("A rule can look up at most {} times.", Lookup::MOST);
                self.refuse(at("lookup"), "too_many_lookups", detail);
                break;
            }
            let name = decode(name).into_owned();
            let pointer = at("lookup").member(&name);
            lookups.extend(self.found(found, &pointer)?.map(|found| (name, found)));
        }
        Ok(lookups)
    }

    fn found(&mut self, value: Value<'a>, at: &Pointer) -> Result<Option<TrialLookup>> {
        if value.is_null() {
            return Ok(Some(TrialLookup::One(None)));
        }
        let Some(elements) = value.elements() else {
            let item = self.item(Some(value), at)?;
            return Ok(item.map(|item| TrialLookup::One(Some(item))));
        };
        let mut items = Vec::new();
        // One item beyond the limit suffices to refuse.
        for (index, element) in elements.take(Lookup::MOST_ITEMS + 1).enumerate() {
            items.extend(self.item(Some(element), &at.index(index))?);
        }
        Ok(Some(TrialLookup::Many(items)))
    }
}

fn at(name: &str) -> Pointer {
    Pointer::to_member(name)
}
