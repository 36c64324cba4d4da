//! An agency's own words for the pages.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use domain::Collection;

/// A string in some of the languages of a [`LabelSet`], by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Localized(pub Vec<Option<Box<str>>>);

impl Localized {
    /// Returns the string in a language, else in the first language that has one.
    pub fn in_language(&self, language: usize) -> &str {
        let own = self.0.get(language).and_then(Option::as_deref);
        own.or_else(|| self.0.iter().flatten().next().map(AsRef::as_ref)).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub struct LabelSet {
    /// Tags of BCP 47, the default first.
    pub languages: Vec<Box<str>>,
    /// The name of the agency.
    pub name: Option<Localized>,
    pub logo: Option<Arc<Logo>>,
    pub groups: HashMap<Collection, GroupLabels>,
}

#[derive(Debug)]
pub struct Logo {
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct GroupLabels {
    pub label: Option<Localized>,
    pub fields: HashMap<Box<str>, FieldLabels>,
}

#[derive(Debug, Default)]
pub struct FieldLabels {
    pub label: Option<Localized>,
    pub help: Option<Localized>,
    /// The usual values. Others are allowed.
    pub choices: Vec<Choice>,
}

#[derive(Debug)]
pub struct Choice {
    pub value: Box<str>,
    pub label: Option<Localized>,
}

impl LabelSet {
    pub fn field(&self, collection: Collection, member: &str) -> Option<&FieldLabels> {
        self.groups.get(&collection)?.fields.get(member)
    }
}

/// The labels in force, and a number that differs for other content.
pub trait Labels: fmt::Debug + Send + Sync {
    fn in_force(&self) -> Arc<LabelSet>;

    fn edition(&self) -> u64;
}

/// The service's own labels alone.
#[derive(Debug, Default)]
pub struct OwnLabels(Arc<LabelSet>);

impl Labels for OwnLabels {
    fn in_force(&self) -> Arc<LabelSet> {
        Arc::clone(&self.0)
    }

    fn edition(&self) -> u64 {
        0
    }
}
