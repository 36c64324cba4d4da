//! The writes that the model refuses, and the versions that it makes of the others.

use application::{ChangeAuthor, CollectionContent, NewItem, Replacement, RepositoryError, Scope};
use domain::{Collection, ItemId, Version, WriteOperation};

use tests::callers::author_of;

use super::state::{Effect, Model};
use super::write::{Change, Write};

impl Model {
    /// The reasons to refuse a write; the store may tell any of them. None when it is made.
    pub fn refusals(&self, write: &Write) -> Vec<RepositoryError> {
        if write.is_remembered() && self.answered(&write.metadata).is_some() {
            return vec![RepositoryError::AnsweredBefore];
        }
        let mut refusals = match &write.change {
            Change::Insert(scope, item) => self.refusals_of_insert(*scope, item),
            Change::Restore(scope, item) => self.refusals_of_restoration(*scope, item.id),
            Change::Update(scope, Replacement { id, expected, .. }, _)
            | Change::Delete(scope, id, expected) => {
                self.refusals_of_version(*scope, *id, *expected)
            }
            Change::WriteAll(..) => {
                write.parts().iter().flat_map(|part| self.refusals(part)).collect()
            }
            Change::ReplaceAll(collection, content) => {
                self.refusals_of_replacement(*collection, content)
            }
        };
        let deletable = write.metadata.warrant.deletable();
        let keeps_some = match &write.change {
            Change::Delete(_, id, _) => self.has_undeletable(*id, deletable),
            _ => false,
        };
        if keeps_some || !self.holds(&write.metadata) {
            refusals.push(RepositoryError::VersionConflict);
        }
        refusals
    }

    fn refusals_of_insert(&self, scope: Scope, item: &NewItem) -> Vec<RepositoryError> {
        let lacks_parent = !self.has_parent(scope);
        let lacks_continued = item.continues.is_some_and(|id| !self.exists(scope.collection, id));
        let refusals = [
            lacks_parent.then_some(RepositoryError::ParentNotFound),
            lacks_continued.then_some(RepositoryError::ItemNotFound),
        ];
        refusals.into_iter().flatten().collect()
    }

    fn refusals_of_restoration(&self, scope: Scope, id: ItemId) -> Vec<RepositoryError> {
        let own = match self.record(scope, id) {
            None => Some(RepositoryError::ItemNotFound),
            Some(record) => record.current().map(|_| RepositoryError::VersionConflict),
        };
        let lacks_parent = !self.has_parent(scope);
        own.into_iter().chain(lacks_parent.then_some(RepositoryError::ParentNotFound)).collect()
    }

    fn refusals_of_version(
        &self,
        scope: Scope,
        id: ItemId,
        expected: Version,
    ) -> Vec<RepositoryError> {
        match self.find(scope, id) {
            None => vec![RepositoryError::ItemNotFound],
            Some(item) if item.version != expected => vec![RepositoryError::VersionConflict],
            Some(_) => Vec::new(),
        }
    }

    fn refusals_of_replacement(
        &self,
        collection: Collection,
        content: &CollectionContent,
    ) -> Vec<RepositoryError> {
        let scope = Scope::of(collection);
        let is_current = content.expected.is_none_or(|revision| self.is_at(collection, revision));
        let are_current =
            content.replacements.iter().all(|Replacement { id, expected, .. }| {
                self.refusals_of_version(scope, *id, *expected).is_empty()
            });
        let continue_something = content
            .additions
            .iter()
            .all(|item| item.continues.is_none_or(|id| self.exists(collection, id)));
        let refusals = [
            (!is_current || !are_current).then_some(RepositoryError::VersionConflict),
            (!continue_something).then_some(RepositoryError::ItemNotFound),
        ];
        refusals.into_iter().flatten().collect()
    }

    /// The versions that a write makes, in any order, which must not be refused.
    pub fn effects(&self, write: &Write) -> Vec<Effect> {
        let effects = match &write.change {
            Change::Insert(scope, item) => vec![Self::created(*scope, item, Version::FIRST)],
            Change::Restore(scope, item) => {
                let past = self.record(*scope, item.id).expect("it was refused otherwise");
                vec![Self::created(*scope, item, past.latest().next())]
            }
            Change::Update(_, replacement, kind) => vec![self.updated(replacement, *kind)],
            Change::Delete(_, id, _) => self.deleted(*id),
            Change::WriteAll(..) => {
                return write.parts().iter().flat_map(|part| self.effects(part)).collect();
            }
            Change::ReplaceAll(collection, content) => self.replaced(*collection, content),
        };
        let author = author_of(&write.metadata.warrant);
        let by = |effect| Effect { author: author.clone(), ..effect };
        effects.into_iter().map(by).collect()
    }

    fn created(scope: Scope, item: &NewItem, version: Version) -> Effect {
        Effect {
            item: item.id,
            collection: scope.collection,
            version,
            kind: WriteOperation::Create,
            parent: scope.parent,
            continues: item.continues,
            members: Some(item.members.clone()),
            author: ChangeAuthor::default(),
        }
    }

    fn next(&self, id: ItemId, kind: WriteOperation) -> Effect {
        let (_, record) = self.records().find(|(own, _)| *own == id).expect("it exists");
        Effect {
            item: id,
            collection: record.collection,
            version: record.latest().next(),
            kind,
            parent: record.parent,
            continues: record.continues,
            members: None,
            author: ChangeAuthor::default(),
        }
    }

    fn updated(&self, replacement: &Replacement, kind: WriteOperation) -> Effect {
        Effect { members: Some(replacement.members.clone()), ..self.next(replacement.id, kind) }
    }

    fn deleted(&self, id: ItemId) -> Vec<Effect> {
        let own = self
            .records()
            .filter(|(_, record)| record.parent == Some(id) && record.current().is_some());
        let ids = own.map(|(own, _)| own).chain([id]);
        ids.map(|id| self.next(id, WriteOperation::Delete)).collect()
    }

    fn replaced(&self, collection: Collection, content: &CollectionContent) -> Vec<Effect> {
        let scope = Scope::of(collection);
        let updates = content.replacements.iter();
        let mut effects: Vec<_> =
            updates.map(|update| self.updated(update, WriteOperation::Replace)).collect();
        effects.extend(
            content.additions.iter().map(|item| Self::created(scope, item, Version::FIRST)),
        );
        for id in self.ids(scope) {
            if content.replacements.iter().all(|update| update.id != id) {
                effects.extend(self.deleted(id));
            }
        }
        effects
    }
}
