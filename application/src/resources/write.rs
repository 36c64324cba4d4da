//! The read-modify-write that all writes of one item share.

use domain::{ItemId, Members, Pointer, Resource, Version, Violation, WriteOperation};

use super::ResourceService;
use super::result::Written;
use super::rules::Decision;
use super::validate::{Draft, Edit, Identity, refused};
use crate::ports::{ChangeKind, NewItem, Replacement, RepositoryError, Revision, ShownItem};
use crate::{ApplicationError, Precondition, WriteOptions};

/// How often a write without a condition starts over when others write the same item, before it
/// gives up.
pub(super) const MAX_ATTEMPTS: usize = 200;

pub(super) fn check(
    precondition: &Precondition<Version>,
    shown: &ShownItem,
) -> Result<(), ApplicationError> {
    if precondition.excludes(&shown.item.version) {
        return Err(ApplicationError::PreconditionFailed {
            current: shown.item.version,
            links: shown.links.clone(),
        });
    }
    Ok(())
}

impl<R: Resource> ResourceService<R> {
    /// Decides on a new item and stores it; starts over when what the decision rests on has
    /// changed.
    pub(super) async fn insert(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        body: &Members,
        continues: Option<ItemId>,
    ) -> Result<Written, ApplicationError> {
        let id = self.ids.next_id();
        for _ in 0..MAX_ATTEMPTS {
            let draft = Draft::of(body, continues.map_or(Identity::New, Identity::Named));
            let decision = self.decision();
            let context = decision.context(options, WriteOperation::Create, id, parent);
            let Decision { after, warnings, read_set } =
                self.decide(decision, &context, None, draft).await?;
            let addition = self.new_item(id, after, continues);
            if options.is_dry_run {
                return Ok(Written {
                    shown: self.would_be_inserted(parent, addition).await?,
                    warnings,
                });
            }
            match self
                .repository
                .insert(self.scope(parent), addition, self.change_on(options, read_set, &warnings))
                .await
            {
                Err(RepositoryError::VersionConflict) => {}
                Err(RepositoryError::AnsweredBefore) => {
                    return Ok(self.answered_meanwhile(options).await?.into());
                }
                done => return Ok(Written { shown: done?, warnings }),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    /// The read-modify-write that replace and patch share.
    pub(super) async fn change(
        &self,
        options: &WriteOptions,
        parent: Option<ItemId>,
        id: ItemId,
        precondition: &Precondition<Version>,
        edit: &Edit,
    ) -> Result<Written, ApplicationError> {
        for _ in 0..MAX_ATTEMPTS {
            let shown = self.find(parent, id).await?;
            check(precondition, &shown)?;
            let decision = self.decision();
            let context = decision.context(options, edit.operation(), id, shown.item.parent);
            let Decision { after, warnings, read_set } =
                self.decide(decision, &context, Some(&shown), edit.draft(&shown)?).await?;
            let replacement = self.replacement_of(&shown, after);
            if edit.kind() == ChangeKind::Patched && replacement.members == shown.item.members {
                return Ok(Written { shown, warnings });
            }
            self.refuse_growth(replacement.members.len())?;
            if options.is_dry_run {
                return Ok(Written {
                    shown: self.would_be_updated(shown, replacement).await?,
                    warnings,
                });
            }
            let change = self.change_on(options, read_set, &warnings);
            match self.repository.update(self.scope(parent), replacement, edit.kind(), change).await
            {
                Err(RepositoryError::VersionConflict) => {}
                Err(RepositoryError::AnsweredBefore) => {
                    return Ok(self.answered_meanwhile(options).await?.into());
                }
                done => return Ok(Written { shown: done?, warnings }),
            }
        }
        Err(ApplicationError::TooManyConflicts)
    }

    fn refuse_growth(&self, size: usize) -> Result<(), ApplicationError> {
        let largest = self.limits.largest;
        if size <= largest {
            return Ok(());
        }
        let detail = format!(
            "the item would have {size} bytes; at most {largest} can be kept: remove members, or split the item"
        );
        Err(refused(Violation::new(Pointer::root(), "item_too_large", detail)))
    }

    /// The revision a replacement is decided on, if the client cares.
    pub(super) async fn expected_revision(
        &self,
        precondition: &Precondition<Revision>,
    ) -> Result<Option<Revision>, ApplicationError> {
        if !precondition.is_conditional() {
            return Ok(None);
        }
        let current = self.repository.totals(self.scope(None), &self.referenced()).await?.revision;
        if precondition.excludes(&current) {
            Err(ApplicationError::CollectionChanged { current })
        } else {
            Ok(Some(current))
        }
    }

    pub(super) fn new_item(&self, id: ItemId, resource: R, continues: Option<ItemId>) -> NewItem {
        let references = self.collection.references_in(resource.members());
        NewItem { id, members: resource.into_members().into_encoded(), continues, references }
    }

    pub(super) fn replacement_of(&self, shown: &ShownItem, resource: R) -> Replacement {
        Replacement {
            id: shown.item.id,
            expected: shown.item.version,
            references: self.collection.references_in(resource.members()),
            members: resource.into_members().into_encoded(),
        }
    }
}
