mod content;
mod contents;
mod dossier;
mod download;
mod history;
mod read;
mod respond;
mod standby;
mod texts;
mod upload;
mod write;

#[cfg(test)]
mod tests;

pub use contents::Contents;
pub use dossier::Dossiers;
pub use history::work_on_both;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use application::trace_span;
use application::{
    ChangeService, ItemAddress, ReplacementBody, ResourceService, Standbys, WriteOptions,
};
use async_trait::async_trait;
use bytes::Bytes;
use domain::{ItemId, Members};
use poem::http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, VARY};
use poem::http::{HeaderValue, StatusCode};
use poem::{Request, Response};
use tokio::time::Instant;
use tracing::Instrument as _;

use self::content::ContentEndpoint;
use crate::base_url::BaseUrl;
use crate::endpoints::documentation::Changing;
use crate::endpoints::{handler, in_time};
use crate::groups::{Group, GroupOperation, PathForm, VERSION_PARAMETER};
use crate::headers::consistency_token;
use crate::headers::history as tag_history;
use crate::headers::idempotency_key::{self, IDEMPOTENCY_KEY};
use crate::headers::media_type::{MediaType, has_content_type};
use crate::middleware::gate::{Asks, Gate};
use crate::middleware::method_router::{Handler, Negotiated, ServedMethod};
use crate::problem::{Problem, Result};
use crate::request::body::{self, BodyReader, is_encoded, may_have_body, unsupported};
use crate::request::memory_budget::{MemoryBudget, MemoryReservation};

pub struct HttpContext {
    pub base_url: Arc<BaseUrl>,
    pub gate: Arc<Gate>,
    pub changing: Changing,
    pub log: ChangeService,
    pub standbys: Option<Arc<dyn Standbys>>,
    pub bodies: BodyReader,
    pub contents: Contents,
    pub dossiers: Dossiers,
    pub memory: Arc<MemoryBudget>,
    pub time_limit: Duration,
    /// True if updates and removals require a condition.
    pub requires_condition: bool,
}

impl HttpContext {
    pub async fn json_body(&self, request: &mut Request) -> Result<(Bytes, MemoryReservation)> {
        if is_supported(request, &[MediaType::JSON]) {
            self.bodies.read(request).await
        } else {
            Err(unsupported(&[MediaType::JSON]))
        }
    }
}

pub struct GroupEndpoint {
    group: Group,
    service: Arc<ResourceService>,
    pub context: Arc<HttpContext>,
    is_standby: bool,
    /// The same endpoint over each standby.
    standbys: Vec<Self>,
}

impl GroupEndpoint {
    pub fn new(
        group: Group,
        service: Arc<ResourceService>,
        at_standbys: impl Iterator<Item = Arc<ResourceService>>,
        context: &Arc<HttpContext>,
    ) -> Arc<Self> {
        let on = |is_standby, service, standbys| {
            let context = Arc::clone(context);
            Self { group, service, context, is_standby, standbys }
        };
        let standbys = at_standbys.map(|service| on(true, service, Vec::new())).collect();
        Arc::new(on(false, service, standbys))
    }

    pub fn methods(self: &Arc<Self>, form: PathForm) -> Vec<ServedMethod> {
        let served = self.group.operations().filter(|operation| operation.form() == form);
        let served = served.map(|operation| -> ServedMethod {
            let asks = Asks::Operations(self.group, operation.asks());
            let group = Arc::clone(self);
            let handler: Box<dyn Handler> = match operation {
                GroupOperation::GetDossier => handler(group, GroupEndpoint::dossier),
                operation if operation.is_of_content() => {
                    handler(ContentEndpoint { group, operation }, ContentEndpoint::answer)
                }
                operation => Box::new(OperationEndpoint { group, operation }),
            };
            (operation.method(), asks, handler)
        });
        served.collect()
    }

    async fn answer(
        &self,
        operation: GroupOperation,
        request: &mut Request,
        time_limit: Duration,
    ) -> Result<Response> {
        let media = Negotiated::of(request);
        // Releases the bytes after parsing; the reservation covers the parsed body.
        let (body, memory) = self.read_body(operation, request).await?.unzip();
        let has_key = operation.takes_key() && request.headers().contains_key(IDEMPOTENCY_KEY);
        let fingerprint =
            has_key.then(|| idempotency_key::fingerprint(body.as_deref().unwrap_or_default()));
        let input = self.input(operation, body.zip(memory.as_ref())).await?;
        // No write happens before this point, and the following work has a timeout. Pinned before
        // it is wrapped, because each wrapper would copy it.
        let work = pin!(self.perform(operation, request, fingerprint, input, memory));
        let collection = self.group.collection.name();
        let span = trace_span!("use case", otel.name = format!("{operation:?} {collection}"));
        let mut response = in_time(time_limit, work.instrument(span)).await?;
        response.headers_mut().insert(CONTENT_TYPE, media.header());
        Ok(response)
    }

    /// Ignores a body that the operation does not take, if it is empty or of a supported type.
    async fn read_body(
        &self,
        operation: GroupOperation,
        request: &mut Request,
    ) -> Result<Option<(Bytes, MemoryReservation)>> {
        let is_taken = operation.takes_body();
        if !is_taken && !may_have_body(request.headers()) {
            return Ok(None);
        }
        let types = self.group.request_types();
        let is_supported = is_supported(request, &types);
        if is_taken && !is_supported {
            return Err(unsupported(&types));
        }
        let body = Box::pin(self.context.bodies.read(request)).await?;
        if is_supported || body.0.is_empty() {
            Ok(is_taken.then_some(body))
        } else {
            Err(unsupported(&types))
        }
    }

    async fn input(
        &self,
        operation: GroupOperation,
        body: Option<(Bytes, &MemoryReservation)>,
    ) -> Result<Input> {
        let Some(body) = body else { return Ok(Input::Nothing) };
        if operation != GroupOperation::ReplaceAll {
            return Box::pin(body::members(body.0)).await.map(Input::Members);
        }
        let name = self.group.collection.name();
        let replacement = Box::pin(self.context.bodies.replacement(body, name));
        let (replacement, reservation) = replacement.await?;
        Ok(Input::Replacement(replacement, reservation))
    }

    async fn perform(
        &self,
        operation: GroupOperation,
        request: &Request,
        fingerprint: Option<String>,
        input: Input,
        memory: Option<MemoryReservation>,
    ) -> Result<Response> {
        // All but the read of an item are boxed, because each move of the future copies the
        // largest.
        match operation {
            GroupOperation::Get => self.get(request).await,
            GroupOperation::List => Box::pin(self.list(request)).await,
            GroupOperation::ListVersions => Box::pin(self.list_versions(request)).await,
            GroupOperation::GetVersion => Box::pin(self.get_version(request)).await,
            GroupOperation::Compare => Box::pin(self.compare(request)).await,
            _ => {
                let options = self.write_options(operation, request, fingerprint)?;
                Box::pin(self.write(operation, request, &options, input, memory)).await
            }
        }
    }

    async fn write(
        &self,
        operation: GroupOperation,
        request: &Request,
        options: &WriteOptions,
        input: Input,
        memory: Option<MemoryReservation>,
    ) -> Result<Response> {
        match (operation, input) {
            (GroupOperation::Create, Input::Members(members)) => {
                let parent = self.parent_in(request)?;
                let written = self.service.create(options, parent, members).await?;
                let written = (&written, memory);
                self.show_written(request, StatusCode::CREATED, parent, written, options).await
            }
            (GroupOperation::ReplaceAll, Input::Replacement(replacement, _reservation)) => {
                self.replace_all(request, options, &replacement, memory).await
            }
            (GroupOperation::Restore, _) => self.restore(request, options, memory).await,
            (operation, input) => self.write_item(operation, request, options, input, memory).await,
        }
    }

    /// An invalid identifier counts as a missing parent.
    fn parent_in(&self, request: &Request) -> Result<Option<ItemId>> {
        match self.group.parent() {
            None => Ok(None),
            Some(parent) => identifier(request, parent.item_parameter)
                .map(Some)
                .ok_or_else(Problem::parent_not_found),
        }
    }

    fn target(&self, request: &Request) -> Result<ItemAddress> {
        let parent = self.parent_in(request)?;
        let id = identifier(request, self.group.item_parameter);
        Ok(ItemAddress { parent, id: id.ok_or_else(Problem::item_not_found)? })
    }

    /// The canonical path, for any spelling of it.
    fn path_of(&self, operation: GroupOperation, request: &Request) -> String {
        let parent = self.group.parent().map(|parent| parent.item_parameter);
        let mut path = self.group.path_of(operation.form());
        for parameter in parent.into_iter().chain([self.group.item_parameter, VERSION_PARAMETER]) {
            if let Some(value) = request.raw_path_param(parameter) {
                path = path.replace(&format!(":{parameter}"), value);
            }
        }
        path
    }
}

struct OperationEndpoint {
    group: Arc<GroupEndpoint>,
    operation: GroupOperation,
}

#[async_trait]
impl Handler for OperationEndpoint {
    async fn handle(&self, request: &mut Request) -> Result<Response> {
        let answer = self.answer(request).await;
        self.group.context.vary_by_token(self.operation, answer)
    }
}

impl OperationEndpoint {
    async fn answer(&self, request: &mut Request) -> Result<Response> {
        let began = Instant::now();
        let least = consistency_token::read(request.headers())?;
        if self.group.context.standbys.is_some()
            && let Some(response) = Box::pin(self.answer_at_standby(request, least)).await
        {
            return Ok(response);
        }
        // An attempt at a standby uses up part of the time.
        let limit = self.group.context.time_limit;
        let time_left = || limit.saturating_sub(began.elapsed());
        // Taken before the work: an old history on newer content matches nothing later.
        let log = &self.group.context.log;
        let mut history = log.history();
        let headers = request.headers();
        let is_conditional = headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MATCH);
        let conditions = is_conditional.then(|| headers.clone());
        if conditions.is_some() {
            tag_history::strip(request.headers_mut(), &history);
        }
        if !self.operation.is_read() {
            request.set_data(RequestHistory(Arc::clone(&history)));
        }
        let mut answer = self.group.answer(self.operation, request, time_left()).await;
        // After a failover the tags of the old history are invalid, and the read may have seen the new
        // one. Writes detect that before the commit.
        if self.operation.is_read() && log.history() != history {
            history = log.history();
            if let Some(conditions) = conditions {
                *request.headers_mut() = conditions;
            }
            tag_history::strip(request.headers_mut(), &history);
            answer = Box::pin(self.group.answer(self.operation, request, time_left())).await;
        }
        if !self.operation.is_read() {
            answer = self.group.context.acknowledge(answer).await;
        }
        let mut response = answer.map_err(|problem| problem.in_history(&history))?;
        tag_history::complete(response.headers_mut(), &history);
        if self.operation.takes_preference() {
            response.headers_mut().append(VARY, HeaderValue::from_static("Prefer"));
        }
        Ok(response)
    }
}

#[derive(Clone)]
struct RequestHistory(Arc<str>);

enum Input {
    Nothing,
    Members(Members),
    Replacement(ReplacementBody, Option<MemoryReservation>),
}

fn is_supported(request: &Request, types: &[MediaType]) -> bool {
    has_content_type(request.headers(), types) && !is_encoded(request.headers())
}

fn identifier(request: &Request, parameter: &str) -> Option<ItemId> {
    ItemId::parse(request.raw_path_param(parameter)?)
}
