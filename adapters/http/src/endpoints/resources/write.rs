use std::sync::Arc;

use application::{
    IdempotencyKey, ItemWrite, Precondition, ReplacementBody, ShownItem, WriteOptions,
};
use poem::http::StatusCode;
use poem::{Request, Response};

use super::respond::{show_page, with_tag, without_body};
use super::{GroupEndpoint, Input, RequestHistory};
use crate::groups::GroupOperation;
use crate::hal::{PageView, Snapshot};
use crate::headers::entity_tag::{collection_precondition, item_precondition};
use crate::headers::idempotency_key;
use crate::headers::prefer::Return;
use crate::problem::{Problem, Result, kinds};
use crate::query::{CollectionQuery, is_on};
use crate::request::caller::caller_of;
use crate::request::details::request_id_of;
use crate::request::memory_budget::{MemoryReservation, work_on};

impl GroupEndpoint {
    /// A key is unique within its path.
    pub(super) fn write_options(
        &self,
        operation: GroupOperation,
        request: &Request,
        fingerprint: Option<String>,
    ) -> Result<WriteOptions> {
        let is_dry_run = is_on(request, "dry_run")?;
        let mut key = None;
        if let Some(fingerprint) = fingerprint
            && let Some(chosen) = idempotency_key::read(request.headers())?
        {
            let path = self.path_of(operation, request);
            key = Some(IdempotencyKey { path, key: chosen, fingerprint });
        }
        let request_id = request_id_of(request).map(Into::into);
        let history = request.data::<RequestHistory>().map(|RequestHistory(id)| Arc::clone(id));
        let caller = caller_of(request).clone();
        Ok(WriteOptions { caller, is_dry_run, key, request_id, history })
    }

    pub(super) async fn write_item(
        &self,
        operation: GroupOperation,
        request: &Request,
        options: &WriteOptions,
        input: Input,
        mut memory: Option<MemoryReservation>,
    ) -> Result<Response> {
        let condition = item_precondition(request.headers())?;
        if operation != GroupOperation::Continue {
            self.require(&condition)?;
        }
        let item = self.target(request)?;
        let write = ItemWrite { options, item, precondition: &condition };
        let service = &self.service;
        let (status, written) = match (operation, input) {
            (GroupOperation::Continue, Input::Members(members)) => {
                (StatusCode::CREATED, service.continue_from(&write, members).await?)
            }
            (GroupOperation::Patch, Input::Members(patch)) => {
                let sent = patch.encoded().len();
                let bytes = |stored: &ShownItem| work_on(sent + stored.item.members.len());
                let read = self.context.memory.read(memory, || service.to_patch(&write), bytes);
                let (stored, reserved) = read.await?;
                memory = reserved;
                (StatusCode::OK, service.patch(&write, stored, patch).await?)
            }
            (GroupOperation::Replace, Input::Members(members)) => {
                (StatusCode::OK, service.replace(&write, members).await?)
            }
            (GroupOperation::Delete, _) => {
                service.delete(&write).await?;
                return Ok(StatusCode::NO_CONTENT.into());
            }
            _ => return Err(Problem::new(&kinds::EMPTY_BODY, "The operation requires a body.")),
        };
        self.show_written(request, status, item.parent, (&written, memory), options).await
    }

    pub(super) async fn replace_all(
        &self,
        request: &Request,
        options: &WriteOptions,
        replacement: &ReplacementBody,
        memory: Option<MemoryReservation>,
    ) -> Result<Response> {
        let condition = collection_precondition(request.headers())?;
        self.require(&condition)?;
        let first = CollectionQuery::plain(self.group, None);
        let replaced =
            self.service.replace_all(options, &condition, replacement, &first.request).await?;
        let (listing, warnings) = (&replaced.listing, &replaced.warnings);
        let page = PageView {
            warnings: Some(warnings).filter(|warnings| !warnings.is_empty()),
            ..self.page_of(&first, listing, None, Snapshot::of_write(options))
        };
        let body = self.page_body(&page, memory);
        let tag = self.page_tag(&page, &body).of_write(options);
        let preference = Return::applied(request.headers(), warnings);
        let response = if preference == Some(Return::Minimal) {
            with_tag(without_body(StatusCode::OK), &tag)
        } else {
            show_page(&page, &tag, body)
        };
        Ok(Return::acknowledge(preference, response))
    }

    pub(super) fn require<T>(&self, condition: &Precondition<T>) -> Result<()> {
        if self.context.requires_condition && !condition.is_conditional() {
            let detail =
                "Send If-Match with the current ETag. `If-Match: *` overwrites any version.";
            return Err(Problem::new(&kinds::CONDITION_REQUIRED, detail));
        }
        Ok(())
    }
}
