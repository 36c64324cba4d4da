//! The whole HTTP surface of one group.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use application::{
    Caller, Embedded, Listing, Precondition, ReplacementBody, RequestKey, ResourceService,
    ResourceUseCases, ShownItem, View, WriteOptions, Written,
};
use domain::{ItemId, Members, Violations};
use poem::endpoint::BoxEndpoint;
use poem::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH, LAST_MODIFIED, LOCATION};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Body, Endpoint, EndpointExt, Request, Response, Result};
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaApi, Registry};

use crate::base_url::BaseUrl;
use crate::body::{BodyReader, ReceivedBody, is_encoded, may_have_body};
use crate::budget::{Budget, Share};
use crate::entity_tag::{EntityTag, collection_precondition, item_precondition};
use crate::group::{Group, Operation, VERSION_PARAMETER};
use crate::idempotency_key::{self, IDEMPOTENCY_KEY};
use crate::media::{MediaType, has_content_type};
use crate::openapi;
use crate::path_endpoint::Negotiated;
use crate::problem::{Problem, kinds};
use crate::query::{CollectionQuery, ItemQuery, is_dry_run};
use crate::representation::{self, Moment, Shown};

/// What every group needs of the service around it.
pub struct Surroundings {
    /// The root of all links.
    pub base_url: Arc<BaseUrl>,
    /// Reads request bodies.
    pub bodies: BodyReader,
    /// What large responses may take of the memory until they are sent.
    pub responses: Budget,
    /// What versions that are compared may take of the memory.
    pub comparisons: Budget,
    /// How long a use case may take.
    pub time_limit: Duration,
    /// Whether what exists is changed and removed under a condition only.
    pub requires_condition: bool,
}

/// Responses from this size on take a share of the memory while they are made and sent: nobody
/// knows how slowly a client reads.
const LARGE_RESPONSE: usize = 256 * 1024;

impl Surroundings {
    async fn share_for(&self, size: usize) -> Result<Option<Share>, Problem> {
        if size < LARGE_RESPONSE { Ok(None) } else { self.responses.take(size).await.map(Some) }
    }
}

/// Serves a group: its operations, and their part of the `OpenAPI` document.
pub struct GroupApi<G: Group> {
    service: ResourceService<G::Resource>,
    surroundings: Arc<Surroundings>,
    group: PhantomData<fn() -> G>,
}

impl<G: Group> GroupApi<G> {
    /// The surface of the use cases `service`.
    #[must_use]
    pub fn new(service: ResourceService<G::Resource>, surroundings: Arc<Surroundings>) -> Self {
        Self { service, surroundings, group: PhantomData }
    }
}

impl<G: Group> OpenApi for GroupApi<G> {
    fn meta() -> Vec<MetaApi> {
        vec![openapi::paths::<G>()]
    }

    fn register(registry: &mut Registry) {
        openapi::register::<G>(registry);
    }

    fn add_routes(self, route_table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {
        let api = Arc::new(self);
        for operation in G::operations() {
            let endpoint = OperationEndpoint { api: Arc::clone(&api), operation }.boxed();
            route_table
                .entry(G::path_of(operation.form()))
                .or_default()
                .insert(operation.method(), endpoint);
        }
    }
}

struct OperationEndpoint<G: Group> {
    api: Arc<GroupApi<G>>,
    operation: Operation,
}

impl<G: Group> Endpoint for OperationEndpoint<G> {
    type Output = Response;

    async fn call(&self, mut request: Request) -> Result<Response> {
        Ok(self.api.answer(self.operation, &mut request).await?)
    }
}

impl<G: Group> GroupApi<G> {
    async fn answer(
        &self,
        operation: Operation,
        request: &mut Request,
    ) -> Result<Response, Problem> {
        let media = Negotiated::of(request);
        let mut body = self.read_body(operation, request).await?;
        // The text is done with once it is read; its share of the memory is kept for what was made
        // of it.
        let _share = body.as_mut().and_then(ReceivedBody::take_share);
        let has_key = operation.takes_key() && request.headers().contains_key(IDEMPOTENCY_KEY);
        // Where no body is taken, none that is sent counts.
        let sent = body.as_ref().filter(|_| operation.takes_body());
        let fingerprint = has_key.then(|| {
            sent.map_or_else(|| idempotency_key::fingerprint(b""), ReceivedBody::fingerprint)
        });
        let input = self.input(operation, body).await?;
        // Nothing is written before this point, and what follows is bounded in time.
        let work = self.perform(operation, request, fingerprint, input);
        let answer = tokio::time::timeout(self.surroundings.time_limit, work).await;
        let mut response =
            answer.unwrap_or_else(|_| Err(Problem::unavailable("The service took too long.")))?;
        response.headers_mut().insert(CONTENT_TYPE, media.header());
        Ok(response)
    }

    /// Refuses what is not of a supported type; reads the body where there is one.
    async fn read_body(
        &self,
        operation: Operation,
        request: &mut Request,
    ) -> Result<Option<ReceivedBody>, Problem> {
        if !operation.takes_body() && !may_have_body(request.headers()) {
            return Ok(None);
        }
        let types = G::request_types();
        let is_supported =
            has_content_type(request.headers(), &types) && !is_encoded(request.headers());
        if operation.takes_body() && !is_supported {
            return Err(unsupported(&types));
        }
        let body = self.surroundings.bodies.read(request).await?;
        if operation.takes_body() || is_supported || body.is_empty() {
            Ok(Some(body))
        } else {
            Err(unsupported(&types))
        }
    }

    async fn input(
        &self,
        operation: Operation,
        body: Option<ReceivedBody>,
    ) -> Result<Input, Problem> {
        match body.filter(|_| operation.takes_body()) {
            None => Ok(Input::Nothing),
            Some(body) if operation == Operation::ReplaceAll => {
                let sent = body.collection(G::COLLECTION.name()).await?;
                let share = self.surroundings.bodies.share_of_elements(&sent).await?;
                Ok(Input::Replacement(sent.elements().await?, share))
            }
            Some(body) => body.members().await.map(Input::Members),
        }
    }

    async fn perform(
        &self,
        operation: Operation,
        request: &Request,
        fingerprint: Option<String>,
        input: Input,
    ) -> Result<Response, Problem> {
        match operation {
            Operation::List => return self.list(request).await,
            Operation::Get => return self.get(request).await,
            Operation::ListVersions => return self.list_versions(request).await,
            Operation::GetVersion => return self.get_version(request).await,
            Operation::Compare => return self.compare(request).await,
            _ => {}
        }
        let options = write_options::<G>(operation, request, fingerprint)?;
        match (operation, input) {
            (Operation::Delete, _) => self.delete(request, &options).await,
            (Operation::Restore, _) => self.restore(request, &options).await,
            (Operation::Create, Input::Members(members)) => {
                self.create(request, &options, members).await
            }
            (Operation::Continue, Input::Members(members)) => {
                self.continue_from(request, &options, members).await
            }
            (Operation::Replace | Operation::Patch, Input::Members(members)) => {
                self.change(operation, request, &options, members).await
            }
            (Operation::ReplaceAll, Input::Replacement(replacement, _share)) => {
                self.replace_all(request, &options, &replacement).await
            }
            _ => Err(missing_body()),
        }
    }

    async fn list(&self, request: &Request) -> Result<Response, Problem> {
        let owner = owner_of::<G>(request);
        // A query is refused before an owner that does not exist.
        let query =
            CollectionQuery::read::<G>(query_of(request), owner.as_ref().ok().copied().flatten())?;
        let owner = owner?;
        if let Some(time) = query.as_of {
            return self.list_at(request, owner, time, &query).await;
        }
        if let Some(known) = self.known_revision(request, owner, &query).await? {
            return Ok(not_modified(&known));
        }
        let listing = self.service.list(&Caller::Anonymous, owner, &query.request).await?;
        let tag = EntityTag::of_collection(listing.revision);
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        Ok(with_tag(
            self.page_response(owner, &query, &listing, Moment::Now, &Violations::default())
                .await?,
            &tag,
        ))
    }

    /// The tag of what the client has already, where it is known without a look at any item:
    /// whoever polls a collection that rests costs next to nothing.
    async fn known_revision(
        &self,
        request: &Request,
        owner: Option<ItemId>,
        query: &CollectionQuery<'_>,
    ) -> Result<Option<EntityTag>, Problem> {
        if !request.headers().contains_key(IF_NONE_MATCH) {
            return Ok(None);
        }
        match self.service.revision(&Caller::Anonymous, owner, &query.request).await? {
            Some(revision) => EntityTag::of_collection(revision).known_to(request.headers()),
            None => Ok(None),
        }
    }

    async fn get(&self, request: &Request) -> Result<Response, Problem> {
        let query = ItemQuery::read::<G>(query_of(request))?;
        let (owner, id) = target::<G>(request)?;
        if let Some(time) = query.as_of {
            return self.get_at(request, owner, id, time, &query.view).await;
        }
        if query.is_checked {
            return self.examine(request, owner, id, &query.view).await;
        }
        let (shown, embedded) =
            self.service.get(&Caller::Anonymous, owner, id, &query.view).await?;
        if let Some(known) = tag_of::<G>(&shown, &embedded).known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        let tag = tag_of::<G>(&shown, &embedded);
        self.show(StatusCode::OK, owner, &Shown::with(&shown, &embedded), &tag).await
    }

    /// An item with what rules would say if it were replaced by itself now, which depends on more
    /// than the item.
    async fn examine(
        &self,
        request: &Request,
        owner: Option<ItemId>,
        id: ItemId,
        view: &View,
    ) -> Result<Response, Problem> {
        let (shown, embedded, verdict) =
            self.service.examine(&Caller::Anonymous, owner, id, view).await?;
        let examined = Shown::examined(&shown, &embedded, &verdict);
        let share = self.surroundings.share_for(representation::item_size::<G>(&examined)).await?;
        let text = representation::item::<G>(&self.surroundings.base_url, owner, &examined);
        let tag = EntityTag::of_content(text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(not_modified(&known));
        }
        Ok(with_tag(modified(Response::builder().body(held(share, text)), &shown), &tag))
    }

    async fn create(
        &self,
        request: &Request,
        options: &WriteOptions,
        members: Members,
    ) -> Result<Response, Problem> {
        let owner = owner_of::<G>(request)?;
        let written = self.service.create(options, owner, members).await?;
        self.show_written(StatusCode::CREATED, owner, &written, options).await
    }

    async fn continue_from(
        &self,
        request: &Request,
        options: &WriteOptions,
        members: Members,
    ) -> Result<Response, Problem> {
        let condition = item_precondition(request.headers())?;
        let (owner, id) = target::<G>(request)?;
        let written = self.service.continue_from(options, id, &condition, members).await?;
        self.show_written(StatusCode::CREATED, owner, &written, options).await
    }

    async fn change(
        &self,
        operation: Operation,
        request: &Request,
        options: &WriteOptions,
        members: Members,
    ) -> Result<Response, Problem> {
        let condition = self.required(item_precondition(request.headers())?)?;
        let (owner, id) = target::<G>(request)?;
        let written = match operation {
            Operation::Patch => self.service.patch(options, owner, id, &condition, members).await?,
            _ => self.service.replace(options, owner, id, &condition, members).await?,
        };
        self.show_written(StatusCode::OK, owner, &written, options).await
    }

    async fn delete(&self, request: &Request, options: &WriteOptions) -> Result<Response, Problem> {
        let condition = self.required(item_precondition(request.headers())?)?;
        let (owner, id) = target::<G>(request)?;
        self.service.delete(options, owner, id, &condition).await?;
        Ok(StatusCode::NO_CONTENT.into())
    }

    async fn replace_all(
        &self,
        request: &Request,
        options: &WriteOptions,
        replacement: &ReplacementBody,
    ) -> Result<Response, Problem> {
        let condition = self.required(collection_precondition(request.headers())?)?;
        let first = CollectionQuery::plain::<G>(None);
        let replaced =
            self.service.replace_all(options, &condition, replacement, &first.request).await?;
        let tag = EntityTag::of_collection(replaced.listing.revision);
        let tag = if options.is_dry_run { tag.of_dry_run() } else { tag };
        let (listing, warnings) = (&replaced.listing, &replaced.warnings);
        let moment = Moment::of_write(options);
        Ok(with_tag(self.page_response(None, &first, listing, moment, warnings).await?, &tag))
    }

    /// Refuses a write without a condition, where one is required.
    fn required<T>(&self, condition: Precondition<T>) -> Result<Precondition<T>, Problem> {
        if self.surroundings.requires_condition && !condition.is_conditional() {
            let detail = "Read what is there, and send its ETag in If-Match; `If-Match: *` writes over whatever is there.";
            return Err(Problem::new(&kinds::CONDITION_REQUIRED, detail));
        }
        Ok(condition)
    }

    async fn page_response(
        &self,
        owner: Option<ItemId>,
        query: &CollectionQuery<'_>,
        listing: &Listing,
        moment: Moment<'_>,
        warnings: &Violations,
    ) -> Result<Response, Problem> {
        let share =
            self.surroundings.share_for(representation::collection_size::<G>(listing)).await?;
        let text = representation::collection::<G>(
            &self.surroundings.base_url,
            owner,
            &query.links(),
            listing,
            moment,
            warnings,
        );
        Ok(Response::builder().body(held(share, text)))
    }

    async fn show(
        &self,
        status: StatusCode,
        owner: Option<ItemId>,
        shown: &Shown<'_>,
        tag: &EntityTag,
    ) -> Result<Response, Problem> {
        let share = self.surroundings.share_for(representation::item_size::<G>(shown)).await?;
        let text = representation::item::<G>(&self.surroundings.base_url, owner, shown);
        Ok(with_tag(
            modified(Response::builder().status(status).body(held(share, text)), shown.item),
            tag,
        ))
    }

    /// What a write left, or would have left.
    async fn show_written(
        &self,
        status: StatusCode,
        owner: Option<ItemId>,
        written: &Written,
        options: &WriteOptions,
    ) -> Result<Response, Problem> {
        let Written { shown, warnings } = written;
        let tag = EntityTag::of_item(shown.item.version, &shown.relations);
        let tag = if options.is_dry_run { tag.of_dry_run() } else { tag };
        let mut response = self
            .show(
                status,
                owner,
                &Shown::written(shown, Moment::of_write(options)).warned(warnings),
                &tag,
            )
            .await?;
        if status == StatusCode::CREATED {
            let url = format!(
                "{}/{}",
                representation::collection_url::<G>(&self.surroundings.base_url, owner),
                shown.item.id
            );
            if let Ok(location) = HeaderValue::from_str(&url) {
                response.headers_mut().insert(LOCATION, location);
            }
        }
        Ok(response)
    }
}

/// A body as its operation takes it.
enum Input {
    Nothing,
    Members(Members),
    /// What the elements take of the memory goes with them.
    Replacement(ReplacementBody, Share),
}

fn held(share: Option<Share>, text: String) -> Body {
    match share {
        Some(share) => Body::from_bytes(share.held_by(text)),
        None => Body::from(text),
    }
}

fn unsupported(types: &[MediaType]) -> Problem {
    let names: Vec<_> = types.iter().map(|media| media.name()).collect();
    let detail = format!(
        "Send the body with a Content-Type of {}; the only parameter allowed is charset=utf-8, and no Content-Encoding.",
        names.join(" or ")
    );
    Problem::new(&kinds::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn missing_body() -> Problem {
    Problem::new(&kinds::EMPTY_BODY, "The operation needs a body.")
}

/// The owner in the path of a nested group. An identifier that does not parse names nothing.
fn owner_of<G: Group>(request: &Request) -> Result<Option<ItemId>, Problem> {
    match &G::OWNER {
        None => Ok(None),
        Some(owner) => {
            identifier(request, owner.parameter).map(Some).ok_or_else(Problem::owner_not_found)
        }
    }
}

fn target<G: Group>(request: &Request) -> Result<(Option<ItemId>, ItemId), Problem> {
    let owner = owner_of::<G>(request)?;
    let id = identifier(request, G::ITEM_PARAMETER).ok_or_else(Problem::item_not_found)?;
    Ok((owner, id))
}

fn identifier(request: &Request, parameter: &str) -> Option<ItemId> {
    ItemId::parse(request.raw_path_param(parameter)?)
}

/// What is said of a write beside its body. A key is known by the path it was sent to, whichever
/// way that was written.
fn write_options<G: Group>(
    operation: Operation,
    request: &Request,
    fingerprint: Option<String>,
) -> Result<WriteOptions, Problem> {
    let is_dry_run = is_dry_run(query_of(request))?;
    let key = match fingerprint {
        Some(fingerprint) => idempotency_key::read(request.headers())?.map(|key| RequestKey {
            path: path_of::<G>(operation, request),
            key,
            fingerprint,
        }),
        None => None,
    };
    Ok(WriteOptions { caller: Caller::Anonymous, is_dry_run, key })
}

fn path_of<G: Group>(operation: Operation, request: &Request) -> String {
    let owner = G::OWNER.map(|owner| owner.parameter);
    let mut path = G::path_of(operation.form());
    for parameter in owner.into_iter().chain([G::ITEM_PARAMETER, VERSION_PARAMETER]) {
        if let Some(value) = request.raw_path_param(parameter) {
            path = path.replace(&format!(":{parameter}"), value);
        }
    }
    path
}

fn query_of(request: &Request) -> &str {
    request.uri().query().unwrap_or_default()
}

fn tag_of<G: Group>(shown: &ShownItem, embedded: &Embedded) -> EntityTag {
    EntityTag::of_item_with(
        shown.item.version,
        &shown.relations,
        representation::embedded_items::<G>(shown, embedded),
    )
}

fn with_tag(mut response: Response, tag: &EntityTag) -> Response {
    response.headers_mut().insert(ETAG, tag.header());
    response
}

fn modified(mut response: Response, shown: &ShownItem) -> Response {
    if let Ok(modified) = HeaderValue::from_str(&last_modified(shown)) {
        response.headers_mut().insert(LAST_MODIFIED, modified);
    }
    response
}

fn not_modified(tag: &EntityTag) -> Response {
    with_tag(StatusCode::NOT_MODIFIED.into(), tag)
}

/// An HTTP date (RFC 9110 section 5.6.7), which has whole seconds.
fn last_modified(shown: &ShownItem) -> String {
    jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&shown.item.updated_at)
        .unwrap_or_default()
}

impl Operation {
    /// The HTTP method.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::List | Self::Get | Self::ListVersions | Self::GetVersion | Self::Compare => {
                Method::GET
            }
            Self::Create | Self::Continue | Self::Restore => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Replace | Self::ReplaceAll => Method::PUT,
            Self::Delete => Method::DELETE,
        }
    }
}

mod history;

#[cfg(test)]
mod tests;
