//! Heuristic warnings about valid rules that likely miss the author's intent.

use domain::{Collection, WriteOperation, nearest};
use jiff::civil::Date;
use language::error::Located;
use language::expression::{Variable, date};
use language::keys;

use crate::file_rule::FileRule;
use crate::rule_set::RuleSet;

impl RuleSet {
    pub fn warnings(&self, today: Date) -> Vec<String> {
        let mut all = Vec::new();
        for rule in self.rules() {
            let mut warnings = unknown_members(rule, self);
            warnings.extend(unknown_field(rule, self));
            warnings.extend(without_effect(rule, today));
            warnings.extend(date_misuses(rule));
            if !self.has_case(rule) {
                let reason = format!("`{}` has no case; add one to `cases`", rule.id);
                warnings.push((rule.place, reason));
            }
            warnings.sort();
            let lines = warnings.into_iter();
            all.extend(
                lines.map(|(place, reason)| format!("{}:{place}: warning: {reason}", rule.file)),
            );
        }
        all
    }

    fn members_of(&self, collection: Collection) -> Vec<&str> {
        let known = collection.known_members().map(|(name, _)| name);
        let declared = self.declared.iter().filter(|(of, _)| *of == collection);
        known.chain(declared.map(|(_, name)| &**name)).collect()
    }

    fn unknown(&self, collection: Collection, name: &str) -> Option<String> {
        if !collection.is_open() {
            return keys::absent_member(collection, name);
        }
        let known = self.members_of(collection);
        if known.contains(&name) {
            return None;
        }
        let group = collection.name();
        let guess = nearest(name, known.iter().copied())
            .map_or_else(|| ".".to_owned(), |guess| format!("; did you mean `{guess}`?"));
        Some(format!(
            "`{name}` is not a known member of `{group}`{guess} Declare a member of your own with `members: {{{group}: [{name}]}}`"
        ))
    }
}

fn unknown_members(rule: &FileRule, rules: &RuleSet) -> Vec<Located> {
    let mut found: Vec<Located> = Vec::new();
    for read in &rule.notes.reads {
        let Some(collection) = rule.collection_of(read.of) else { continue };
        // The result of a lookup has `parent` in addition to its members.
        let is_parent = matches!(read.of, Variable::Lookup(_)) && &*read.name == "parent";
        let reason = rules.unknown(collection, &read.name).filter(|_| !is_parent);
        let is_new = |reason: &String| found.iter().all(|(_, known)| known != reason);
        if let Some(reason) = reason.filter(is_new) {
            found.push((read.place, reason));
        }
    }
    found
}

fn unknown_field(rule: &FileRule, rules: &RuleSet) -> Option<Located> {
    let field = rule.field.as_ref()?;
    let name = field.pointer.first_name();
    if name.is_empty() || name == "id" {
        return None;
    }
    let reason = rules.unknown(rule.collection, &name)?;
    Some((field.place, format!("`field` points to no member: {reason}")))
}

fn without_effect(rule: &FileRule, today: Date) -> Option<Located> {
    let judges_creates = rule.operations.contains(&WriteOperation::Create);
    let has_old = match (judges_creates, rule.operations.len()) {
        (true, 1) => Some(false),
        (true, _) => None,
        (false, _) => Some(true),
    };
    let reason = if let Some(until) = rule.effective.until
        && until < today
    {
        format!("the rule has expired: it was in force until {until}")
    } else if rule.when.as_ref().and_then(|when| when.constant_result(has_old)) == Some(false) {
        "the rule never applies: its `when` is false for every write".to_owned()
    } else if rule.check.constant_result(has_old) == Some(true) {
        "the rule has no effect: its `check` is true for every write".to_owned()
    } else {
        return None;
    };
    Some((rule.place, reason))
}

fn date_misuses(rule: &FileRule) -> impl Iterator<Item = Located> {
    let is_date = |(of, name): &(Variable, Box<str>)| {
        let mut known = rule.collection_of(*of)?.known_members();
        let (_, example) = known.find(|(known, _)| *known == &**name)?;
        date(example.trim_matches('"'))
    };
    let misuses = rule.notes.dates.iter();
    misuses
        .filter(move |misuse| misuse.member.as_ref().is_none_or(|member| is_date(member).is_some()))
        .map(|misuse| (misuse.place, misuse.reason.clone()))
}
