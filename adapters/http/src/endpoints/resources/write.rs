//! Writes.

use application::{Caller, IdempotencyKey, ItemWrite, Precondition, ReplacementBody, WriteOptions};
use domain::Members;
use poem::http::StatusCode;
use poem::{Request, Response};

use super::respond::with_tag;
use super::{GroupEndpoint, query_of};
use crate::groups::Operation;
use crate::hal::{PageView, Snapshot};
use crate::headers::entity_tag::{EntityTag, collection_precondition, item_precondition};
use crate::headers::idempotency_key;
use crate::problem::{Problem, kinds};
use crate::query::{CollectionQuery, is_dry_run};

impl GroupEndpoint {
    /// Everything about a write but its body. A key is known by the path it was sent to.
    pub(super) fn write_options(
        &self,
        operation: Operation,
        request: &Request,
        fingerprint: Option<String>,
    ) -> Result<WriteOptions, Problem> {
        let is_dry_run = is_dry_run(query_of(request))?;
        let key = match fingerprint {
            Some(fingerprint) => idempotency_key::read(request.headers())?.map(|key| {
                IdempotencyKey { path: self.path_of(operation, request), key, fingerprint }
            }),
            None => None,
        };
        Ok(WriteOptions { caller: Caller::Anonymous, is_dry_run, key })
    }

    pub(super) async fn create(
        &self,
        request: &Request,
        options: &WriteOptions,
        members: Members,
    ) -> Result<Response, Problem> {
        let parent = self.parent_in(request)?;
        let written = self.service.create(options, parent, members).await?;
        self.show_written(StatusCode::CREATED, parent, &written, options).await
    }

    pub(super) async fn continue_from(
        &self,
        request: &Request,
        options: &WriteOptions,
        members: Members,
    ) -> Result<Response, Problem> {
        let condition = item_precondition(request.headers())?;
        let item = self.target(request)?;
        let write = ItemWrite { options, item, precondition: &condition };
        let written = self.service.continue_from(&write, members).await?;
        self.show_written(StatusCode::CREATED, item.parent, &written, options).await
    }

    pub(super) async fn change(
        &self,
        operation: Operation,
        request: &Request,
        options: &WriteOptions,
        members: Members,
    ) -> Result<Response, Problem> {
        let condition = self.required(item_precondition(request.headers())?)?;
        let item = self.target(request)?;
        let write = ItemWrite { options, item, precondition: &condition };
        let written = match operation {
            Operation::Patch => self.service.patch(&write, members).await?,
            _ => self.service.replace(&write, members).await?,
        };
        self.show_written(StatusCode::OK, item.parent, &written, options).await
    }

    pub(super) async fn delete(
        &self,
        request: &Request,
        options: &WriteOptions,
    ) -> Result<Response, Problem> {
        let condition = self.required(item_precondition(request.headers())?)?;
        let item = self.target(request)?;
        self.service.delete(&ItemWrite { options, item, precondition: &condition }).await?;
        Ok(StatusCode::NO_CONTENT.into())
    }

    pub(super) async fn replace_all(
        &self,
        request: &Request,
        options: &WriteOptions,
        replacement: &ReplacementBody,
    ) -> Result<Response, Problem> {
        let condition = self.required(collection_precondition(request.headers())?)?;
        let first = CollectionQuery::plain(self.group, None);
        let replaced =
            self.service.replace_all(options, &condition, replacement, &first.request).await?;
        let tag = EntityTag::of_collection(replaced.listing.content.revision);
        let tag = if options.is_dry_run { tag.of_dry_run() } else { tag };
        let page = PageView {
            listing: &replaced.listing,
            parent: None,
            links: first.links(),
            snapshot: Snapshot::of_write(options),
            warnings: &replaced.warnings,
        };
        Ok(with_tag(self.page_response(&page).await?, &tag))
    }

    /// Refuses a write without a condition, where one is required.
    pub(super) fn required<T>(
        &self,
        condition: Precondition<T>,
    ) -> Result<Precondition<T>, Problem> {
        if self.context.requires_condition && !condition.is_conditional() {
            let detail = "Read what is there, and send its ETag in If-Match; `If-Match: *` writes over whatever is there.";
            return Err(Problem::new(&kinds::CONDITION_REQUIRED, detail));
        }
        Ok(condition)
    }
}
