//! Content of identity files without errors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use application::{PublishedIdentity, PublishedIssuer};
use domain::Operations;
use jiff::Timestamp;
use language::error::{ErrorCollector, FileErrors, Located, Location};
use language::files::FileSet;
use language::keys::{Keys, did_you_mean, known_words};
use language::yaml::{Advice, Node, Scalar};

use crate::file_format::{FILE, REVOKED};
use crate::issuer::Issuer;
use crate::machine_key::KnownKey;
use crate::{issuer_definition, key_definition};

const MOST_ISSUERS: usize = 50;
const MOST_KEYS: usize = 10_000;

const ADVICE: Advice = Advice {
    of_empty_file: "write the list `issuers:`, the list `keys:`, or both",
    of_line: |_| "; put an expression that begins with one of `! & * [ ] { } > | @ % \" '` in quotes",
};

/// Issuers, keys and revocations. Each key stores its own revocation time.
#[derive(Debug, Default)]
pub(crate) struct IdentityFile {
    pub issuers: Vec<Arc<Issuer>>,
    pub keys: HashMap<Box<str>, KnownKey>,
    pub has_empty_keys: bool,
    /// Caller ids (`ISSUER:ID`) and issuer names. Their tokens from before the time are revoked.
    revoked: Vec<(Box<str>, Timestamp)>,
}

impl IdentityFile {
    /// Reads files. `base_url` is the default audience of issuers.
    pub fn read(mut files: FileSet, base_url: &str) -> Result<Self, FileErrors> {
        let has_unread = !files.errors.is_empty();
        let trees = files.trees(&ADVICE);
        let names =
            Names { are_partial: has_unread || trees.len() < files.count(), ..Names::default() };
        let content = Self::default();
        let mut reader = IdentityReader { base_url, content, known: HashMap::new(), names };
        let mut read = Vec::with_capacity(trees.len());
        for (file, tree) in &trees {
            let mut errors = files.errors_of(file);
            let before = errors.count();
            let keys = Keys::of(tree, &FILE, Some(&[]), &mut errors);
            reader.names.are_partial |= errors.count() != before;
            let Some(keys) = keys else { continue };
            reader.issuers(&keys, &mut errors);
            reader.keys(&keys, &mut errors);
            read.push((file, keys));
        }
        let has = |list| read.iter().any(|(_, keys)| keys.get(list).is_some());
        reader.content.has_empty_keys = has("keys") && reader.content.keys.is_empty();
        // Runs after all issuers: a revocation may name an issuer in a later file.
        for (file, keys) in &read {
            let mut errors = files.errors_of(file);
            keys.elements("revoked").iter().for_each(|node| reader.revocation(node, &mut errors));
        }
        files.finish(&["issuers", "keys"], has("issuers") || has("keys"))?;
        Ok(reader.content)
    }

    pub fn is_revoked(&self, issuer: &Issuer, id: &str, at: Timestamp) -> bool {
        let is_meant = |whom: &str| whom == id || *whom == *issuer.name;
        self.revoked.iter().any(|(whom, before)| is_meant(whom) && at < *before)
    }

    pub fn published(&self) -> PublishedIdentity {
        let issuer = |issuer: &Arc<Issuer>| PublishedIssuer {
            url: issuer.source.issuer.clone(),
            configuration: issuer.source.configuration().map(Into::into),
            client: issuer.swagger_client.clone(),
        };
        let mut scopes: Vec<(Box<str>, Operations)> = Vec::new();
        for (scope, operations) in self.issuers.iter().filter_map(|it| it.scopes.as_ref()).flatten()
        {
            match scopes.iter_mut().find(|(known, _)| known == scope) {
                Some((_, known)) => *known = known.union(*operations),
                None => scopes.push((scope.clone(), *operations)),
            }
        }
        PublishedIdentity { issuers: self.issuers.iter().map(issuer).collect(), scopes }
    }
}

struct IdentityReader<'a> {
    base_url: &'a str,
    content: IdentityFile,
    known: HashMap<String, String>,
    names: Names,
}

/// Names of issuers and keys, including those with errors: a revocation of such a name is not a
/// second error.
#[derive(Default)]
struct Names {
    issuers: HashSet<Box<str>>,
    keys: HashSet<Box<str>>,
    are_partial: bool,
}

impl Names {
    fn add(&mut self, names: fn(&mut Self) -> &mut HashSet<Box<str>>, element: &Node) {
        let name = element.entry("name").and_then(|entry| entry.value.scalar());
        self.are_partial |= name.is_none();
        names(self).extend(name.map(|name| name.text.as_str().into()));
    }

    /// Refuses a revocation of an unknown issuer: the operator would believe it is in force.
    fn check_issuer(&self, name: &str, place: Location) -> Result<(), Located> {
        if self.are_partial || self.issuers.contains(name) {
            return Ok(());
        }
        let mut known: Vec<_> = self.issuers.iter().map(|known| &**known).collect();
        known.sort_unstable();
        let known = match known[..] {
            [] => "the file has no issuers".to_owned(),
            _ => known_words(name, &known),
        };
        Err((place, format!("there is no issuer `{name}`; {known}")))
    }

    fn check_key(&self, name: &str, place: Location) -> Result<(), Located> {
        if self.are_partial || self.keys.contains(name) {
            return Ok(());
        }
        let guess = did_you_mean(name, self.keys.iter().map(|known| &**known));
        Err((place, format!("there is no key `{name}` in `keys`{guess}")))
    }
}

impl IdentityReader<'_> {
    fn issuers(&mut self, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
        for node in keys.elements("issuers") {
            self.names.add(|names| &mut names.issuers, node);
            let Some(issuer) = issuer_definition::read(node, self.base_url, errors) else {
                continue;
            };
            let names = [
                format!("issuer `{}`", issuer.name),
                format!("issuer with the URL `{}`", issuer.source.issuer),
            ];
            if self.are_new(node, names, errors)
                && has_room(node, (self.content.issuers.len(), MOST_ISSUERS), errors)
            {
                self.content.issuers.push(Arc::new(issuer));
            }
        }
    }

    fn keys(&mut self, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
        for node in keys.elements("keys") {
            self.names.add(|names| &mut names.keys, node);
            let Some(key) = key_definition::read(node, errors) else { continue };
            if self.are_new(node, [format!("key `{}`", key.name)], errors)
                && has_room(node, (self.content.keys.len(), MOST_KEYS), errors)
            {
                self.content.keys.insert(key.name.clone(), key);
            }
        }
    }

    fn are_new(
        &mut self,
        node: &Node,
        names: impl IntoIterator<Item = String>,
        errors: &mut ErrorCollector<'_>,
    ) -> bool {
        let mut are_new = true;
        for name in names {
            if let Some(at) = self.known.get(&name) {
                let reason = format!("duplicate {name}, first at {at}; change or keep one of them");
                errors.add(node.place, reason);
                are_new = false;
            } else {
                self.known.insert(name, format!("{}:{}", errors.file(), node.place.line));
            }
        }
        are_new
    }

    fn revocation(&mut self, node: &Node, errors: &mut ErrorCollector<'_>) {
        let Some(keys) = Keys::of(node, &REVOKED, Some(&[]), errors) else { return };
        let before = keys.string("before").and_then(|before| before.parse().ok());
        let revoked = match (keys.scalar("subject"), keys.scalar("issuer")) {
            (Some(subject), _) => self.revoke_subject(subject, before),
            (_, Some(issuer)) => self.revoke_tokens(&issuer.text, issuer, before),
            // The absence of both is already an error.
            (None, None) => Ok(()),
        };
        errors.take(revoked);
    }

    fn revoke_tokens(
        &mut self,
        issuer: &str,
        written: &Scalar,
        before: Option<Timestamp>,
    ) -> Result<(), Located> {
        self.names.check_issuer(issuer, written.place)?;
        self.content.revoked.extend(before.map(|before| (written.text.as_str().into(), before)));
        Ok(())
    }

    fn revoke_subject(
        &mut self,
        subject: &Scalar,
        before: Option<Timestamp>,
    ) -> Result<(), Located> {
        let Scalar { text, place, .. } = subject;
        match text.split_once(':') {
            Some(("key", name)) => {
                self.names.check_key(name, *place)?;
                // A key has no issue time.
                if let (Some(key), Some(before)) = (self.content.keys.get_mut(name), before) {
                    key.revoke(before);
                }
                Ok(())
            }
            Some((issuer, id)) if !id.is_empty() => self.revoke_tokens(issuer, subject, before),
            _ => {
                let form =
                    format!("`{text}` is not the id of a caller; write ISSUER:ID or key:NAME");
                Err((*place, form))
            }
        }
    }
}

fn has_room(node: &Node, (count, most): (usize, usize), errors: &mut ErrorCollector<'_>) -> bool {
    if count >= most {
        errors.add(node.place, format!("more than {most} elements; remove some"));
    }
    count < most
}
