//! The content of identity files, all sound.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use application::{PublishedIdentity, PublishedIssuer};
use domain::Operations;
use jiff::Timestamp;
use language::error::{ErrorCollector, FileErrors, Located, Location};
use language::files::{self, Fingerprint, SourceFile};
use language::keys::{Keys, did_you_mean, known_words};
use language::yaml::{self, Advice, Content, MOST_VALUES, Node, Scalar};

use crate::file_format::{FILE, REVOKED};
use crate::issuer::Issuer;
use crate::machine_key::KnownKey;
use crate::{issuer_definition, key_definition};

/// Most issuers, and most keys of the service.
const MOST_ISSUERS: usize = 50;
const MOST_KEYS: usize = 10_000;

const ADVICE: Advice = Advice {
    of_empty_file: "write the list `issuers:`, the list `keys:`, or both",
    of_line: |_| "; an expression that begins with one of `! & * [ ] { } > | @ % \" '` is written in quotes",
};

/// The issuers, keys and revocations of some files. Keys know when they are revoked.
#[derive(Debug, Default)]
pub(crate) struct IdentityFile {
    pub issuers: Vec<Arc<Issuer>>,
    pub keys: HashMap<Box<str>, KnownKey>,
    /// True if `keys` was written, and is empty.
    pub has_empty_keys: bool,
    revoked: Vec<Revocation>,
    fingerprint: u64,
}

/// Tokens that are refused before they expire.
#[derive(Debug)]
struct Revocation {
    whom: Whom,
    before: Timestamp,
}

#[derive(Debug)]
enum Whom {
    /// The id of a caller.
    Subject(Box<str>),
    /// The name of an issuer.
    Issuer(Box<str>),
}

impl IdentityFile {
    /// Reads files, unless there are errors. `base_url` is the audience of issuers that name none.
    pub fn read(
        files: &[SourceFile],
        errors: FileErrors,
        base_url: &str,
    ) -> Result<Self, FileErrors> {
        let fingerprint = Fingerprint::of(files, &errors).number();
        let content = Self { fingerprint, ..Self::default() };
        let names = Names { are_partial: !errors.is_empty(), ..Names::default() };
        let mut reader = Reader { base_url, errors, content, known: HashMap::new(), names };
        let mut values_left = MOST_VALUES;
        let mut trees = Vec::with_capacity(files.len());
        for file in files {
            let mut errors = ErrorCollector::new(&file.name, &mut reader.errors);
            let Some(text) = file.text(&mut errors) else {
                reader.names.are_partial = true;
                continue;
            };
            let tree = yaml::parse(text, &ADVICE, &mut values_left, &mut errors);
            reader.names.are_partial |= tree.is_none();
            trees.extend(tree.map(|tree| (&file.name, tree)));
        }
        let mut read = Vec::with_capacity(trees.len());
        for (file, tree) in &trees {
            let mut errors = ErrorCollector::new(file, &mut reader.errors);
            let before = errors.count();
            let keys = Keys::of(tree, &FILE, Some(&[]), &mut errors);
            reader.names.are_partial |= errors.count() != before;
            let Some(keys) = keys else { continue };
            reader.issuers(file, &keys);
            reader.keys(file, &keys);
            read.push((*file, keys));
        }
        let has = |list| read.iter().any(|(_, keys)| keys.get(list).is_some());
        reader.content.has_empty_keys = has("keys") && reader.content.keys.is_empty();
        let has_list = has("issuers") || has("keys");
        // After all issuers, which may stand in other files.
        for (file, keys) in &read {
            keys.elements("revoked").iter().for_each(|node| reader.revocation(file, node));
        }
        files::require_list(&["issuers", "keys"], has_list, files, &mut reader.errors);
        if reader.errors.is_empty() { Ok(reader.content) } else { Err(reader.errors.sorted()) }
    }

    /// Returns a number that other content would not have.
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns `true` if a token of a caller, which was issued at a time, is revoked.
    pub fn is_revoked(&self, issuer: &Issuer, id: &str, at: Timestamp) -> bool {
        self.revoked.iter().any(|revocation| {
            let is_meant = match &revocation.whom {
                Whom::Subject(subject) => **subject == *id,
                Whom::Issuer(name) => *name == issuer.name,
            };
            is_meant && at < revocation.before
        })
    }

    /// Returns what clients are told.
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

struct Reader<'a> {
    base_url: &'a str,
    errors: FileErrors,
    content: IdentityFile,
    /// Where each name and each URL stands: `issuer agency`, `key nightly-export`.
    known: HashMap<String, String>,
    names: Names,
}

/// The names that stand in the files, also of what has an error of its own: a revocation that names it
/// has no second error by that.
#[derive(Default)]
struct Names {
    issuers: HashSet<Box<str>>,
    keys: HashSet<Box<str>>,
    /// True if there may be others, which cannot be read because of an error.
    are_partial: bool,
}

impl Names {
    /// Notes the name of an element of `issuers` or `keys`.
    fn add(&mut self, names: fn(&mut Self) -> &mut HashSet<Box<str>>, element: &Node) {
        let name = match &element.content {
            Content::Mapping(entries) => entries.iter().find(|entry| entry.key == "name"),
            _ => None,
        };
        match name.and_then(|entry| entry.value.scalar()) {
            Some(name) => {
                names(self).insert(name.text.as_str().into());
            }
            None => self.are_partial = true,
        }
    }

    /// Refuses a revocation of nobody, which would be taken for one that is in force.
    fn check_issuer(&self, name: &str, place: Location) -> Result<(), Located> {
        if self.are_partial || self.issuers.contains(name) {
            return Ok(());
        }
        let mut known: Vec<_> = self.issuers.iter().map(|known| &**known).collect();
        known.sort_unstable();
        let known = match known[..] {
            [] => "there are none".to_owned(),
            _ => known_words(name, &known),
        };
        Err((place, format!("there is no issuer `{name}`; {known}")))
    }

    /// The same for a key.
    fn check_key(&self, name: &str, place: Location) -> Result<(), Located> {
        if self.are_partial || self.keys.contains(name) {
            return Ok(());
        }
        let guess = did_you_mean(name, self.keys.iter().map(|known| &**known));
        Err((place, format!("there is no key `{name}` in `keys`{guess}")))
    }
}

impl Reader<'_> {
    fn issuers(&mut self, file: &Arc<str>, keys: &Keys<'_>) {
        let folder = Path::new(&**file).parent().unwrap_or(Path::new(""));
        for node in keys.elements("issuers") {
            self.names.add(|names| &mut names.issuers, node);
            let mut errors = ErrorCollector::new(file, &mut self.errors);
            let read = issuer_definition::read(node, (self.base_url, folder), &mut errors);
            let Some(issuer) = read else { continue };
            let names = [
                format!("issuer `{}`", issuer.name),
                format!("issuer with the URL `{}`", issuer.source.issuer),
            ];
            if self.are_new(file, node, names)
                && self.has_room(file, node, (self.content.issuers.len(), MOST_ISSUERS))
            {
                self.content.issuers.push(Arc::new(issuer));
            }
        }
    }

    fn keys(&mut self, file: &Arc<str>, keys: &Keys<'_>) {
        for node in keys.elements("keys") {
            self.names.add(|names| &mut names.keys, node);
            let mut errors = ErrorCollector::new(file, &mut self.errors);
            let Some(key) = key_definition::read(node, &mut errors) else { continue };
            let names = [format!("key `{}`", key.name)];
            if self.are_new(file, node, names)
                && self.has_room(file, node, (self.content.keys.len(), MOST_KEYS))
            {
                self.content.keys.insert(key.name.clone(), key);
            }
        }
    }

    /// Notes names that nothing else may have; adds an error where something has.
    fn are_new(
        &mut self,
        file: &Arc<str>,
        node: &Node,
        names: impl IntoIterator<Item = String>,
    ) -> bool {
        let mut are_new = true;
        for name in names {
            if let Some(at) = self.known.get(&name) {
                let reason = format!(
                    "the {name} is there already, at {at}; change or remove one of the two"
                );
                ErrorCollector::new(file, &mut self.errors).add(node.place, reason);
                are_new = false;
            } else {
                self.known.insert(name, format!("{file}:{}", node.place.line));
            }
        }
        are_new
    }

    /// Adds an error where there are as many of something as there may be.
    fn has_room(&mut self, file: &Arc<str>, node: &Node, (count, most): (usize, usize)) -> bool {
        if count >= most {
            ErrorCollector::new(file, &mut self.errors)
                .add(node.place, format!("there are more than {most} of these; remove some"));
        }
        count < most
    }

    fn revocation(&mut self, file: &Arc<str>, node: &Node) {
        let mut errors = ErrorCollector::new(file, &mut self.errors);
        let Some(keys) = Keys::of(node, &REVOKED, Some(&[]), &mut errors) else { return };
        let before = keys.string("before").and_then(|before| before.parse().ok());
        let revoked = match (keys.scalar("subject"), keys.scalar("issuer")) {
            (Some(subject), _) => self.revoke_subject(subject, before),
            (_, Some(issuer)) => self.names.check_issuer(&issuer.text, issuer.place).map(|()| {
                let whom = Whom::Issuer(issuer.text.as_str().into());
                let revoked = before.map(|before| Revocation { whom, before });
                self.content.revoked.extend(revoked);
            }),
            // That there is neither is an error already.
            (None, None) => Ok(()),
        };
        ErrorCollector::new(file, &mut self.errors).take(revoked);
    }

    /// Revokes the tokens of a caller, or a key of the service.
    fn revoke_subject(
        &mut self,
        Scalar { text, place, .. }: &Scalar,
        before: Option<Timestamp>,
    ) -> Result<(), Located> {
        match text.split_once(':') {
            Some(("key", name)) => {
                self.names.check_key(name, *place)?;
                // A key has no time of issue.
                if let (Some(key), Some(before)) = (self.content.keys.get_mut(name), before) {
                    key.revoke(before);
                }
            }
            Some((issuer, id)) if !id.is_empty() => {
                self.names.check_issuer(issuer, *place)?;
                let whom = Whom::Subject(text.as_str().into());
                let revoked = before.map(|before| Revocation { whom, before });
                self.content.revoked.extend(revoked);
            }
            _ => {
                let form = format!(
                    "`{text}` is not the id of a caller; a subject is written ISSUER:ID, or key:NAME"
                );
                return Err((*place, form));
            }
        }
        Ok(())
    }
}
