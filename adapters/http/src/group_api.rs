//! The whole HTTP surface of one group.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use application::{Caller, ResourceService, ShownItem};
use domain::{ItemId, Members};
use poem::endpoint::BoxEndpoint;
use poem::http::header::{CONTENT_TYPE, ETAG, LAST_MODIFIED, LOCATION};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Body, Endpoint, EndpointExt, Request, Response, Result};
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaApi, Registry};

use crate::base_url::BaseUrl;
use crate::body::{BodyReader, ReceivedBody, may_have_body};
use crate::entity_tag::{EntityTag, precondition};
use crate::group::{Group, Operation, PathForm};
use crate::media::{MediaType, has_content_type};
use crate::openapi;
use crate::page_query::{PageLinks, page_request};
use crate::path_endpoint::Negotiated;
use crate::problem::{Problem, kinds};
use crate::representation;

/// What every group needs of the service around it.
pub struct Surroundings {
    /// The root of all links.
    pub base_url: Arc<BaseUrl>,
    /// Reads request bodies.
    pub bodies: BodyReader,
    /// How long a use case may take.
    pub time_limit: Duration,
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
            let path = match operation.form() {
                PathForm::Collection => G::PATH.to_owned(),
                PathForm::Item => G::item_path(),
            };
            let endpoint = OperationEndpoint { api: Arc::clone(&api), operation }.boxed();
            route_table.entry(path).or_default().insert(operation.method(), endpoint);
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
    async fn answer(&self, operation: Operation, request: &mut Request) -> Result<Response, Problem> {
        let media = request.data::<Negotiated>().map_or(MediaType::HAL, |negotiated| negotiated.0);
        let body = self.read_body(operation, request).await?;
        // Nothing is written before this point, and what follows is bounded in time.
        let work = self.perform(operation, request, body.as_ref());
        let answer = tokio::time::timeout(self.surroundings.time_limit, work).await;
        let mut response = answer.unwrap_or_else(|_| Err(Problem::unavailable("The service took too long.")))?;
        response.headers_mut().insert(CONTENT_TYPE, media.header());
        Ok(response)
    }

    /// Refuses what is not of a supported type; reads the body where there is one.
    async fn read_body(&self, operation: Operation, request: &mut Request) -> Result<Option<ReceivedBody>, Problem> {
        if !operation.takes_body() && !may_have_body(request.headers()) {
            return Ok(None);
        }
        let types = G::request_types();
        let is_supported = has_content_type(request.headers(), &types);
        if operation.takes_body() && !is_supported {
            return Err(unsupported(&types));
        }
        let body = self.surroundings.bodies.read(request).await?;
        if operation.takes_body() || is_supported || body.is_empty() { Ok(Some(body)) } else { Err(unsupported(&types)) }
    }

    async fn perform(&self, operation: Operation, request: &Request, body: Option<&ReceivedBody>) -> Result<Response, Problem> {
        let members = || body.map_or_else(|| Err(missing_body()), ReceivedBody::members);
        match operation {
            Operation::List => self.list(request).await,
            Operation::Get => self.get(request).await,
            Operation::Delete => self.delete(request).await,
            Operation::Create => self.create(request, members()?).await,
            Operation::Continue => self.continue_from(request, members()?).await,
            Operation::Replace | Operation::Patch => self.change(operation, request, members()?).await,
            Operation::ReplaceAll => self.replace_all(body).await,
        }
    }

    async fn list(&self, request: &Request) -> Result<Response, Problem> {
        let query = request.uri().query().unwrap_or_default();
        let page = page_request(query)?;
        let owner = owner_of::<G>(request)?;
        let listing = self.service.list(&Caller::Anonymous, owner, page).await?;
        let tag = EntityTag::of_collection(listing.revision);
        if tag.is_known_to(request.headers())? {
            return Ok(not_modified(&tag));
        }
        let text = representation::collection::<G>(&self.surroundings.base_url, owner, &PageLinks::new(query), &listing);
        Ok(with_tag(Response::builder().body(text), &tag))
    }

    async fn get(&self, request: &Request) -> Result<Response, Problem> {
        let (owner, id) = target::<G>(request)?;
        let shown = self.service.get(&Caller::Anonymous, owner, id).await?;
        let tag = EntityTag::of_item(shown.item.version, &shown.relations);
        if tag.is_known_to(request.headers())? {
            return Ok(not_modified(&tag));
        }
        Ok(self.show(StatusCode::OK, owner, &shown))
    }

    async fn create(&self, request: &Request, members: Members) -> Result<Response, Problem> {
        let owner = owner_of::<G>(request)?;
        let shown = self.service.create(&Caller::Anonymous, owner, members).await?;
        Ok(self.show_created(owner, &shown))
    }

    async fn continue_from(&self, request: &Request, members: Members) -> Result<Response, Problem> {
        let (owner, id) = target::<G>(request)?;
        let shown = self.service.continue_from(&Caller::Anonymous, id, members).await?;
        Ok(self.show_created(owner, &shown))
    }

    async fn change(&self, operation: Operation, request: &Request, members: Members) -> Result<Response, Problem> {
        let condition = precondition(request.headers())?;
        let (owner, id) = target::<G>(request)?;
        let caller = Caller::Anonymous;
        let shown = match operation {
            Operation::Patch => self.service.patch(&caller, owner, id, &condition, members).await?,
            _ => self.service.replace(&caller, owner, id, &condition, members).await?,
        };
        Ok(self.show(StatusCode::OK, owner, &shown))
    }

    async fn delete(&self, request: &Request) -> Result<Response, Problem> {
        let condition = precondition(request.headers())?;
        let (owner, id) = target::<G>(request)?;
        self.service.delete(&Caller::Anonymous, owner, id, &condition).await?;
        Ok(StatusCode::NO_CONTENT.into())
    }

    async fn replace_all(&self, body: Option<&ReceivedBody>) -> Result<Response, Problem> {
        let replacement = body.ok_or_else(missing_body)?.replacement(G::COLLECTION.name())?;
        self.service.replace_all(&Caller::Anonymous, &replacement).await?;
        let first = page_request("")?;
        let listing = self.service.list(&Caller::Anonymous, None, first).await?;
        let text = representation::collection::<G>(&self.surroundings.base_url, None, &PageLinks::new(""), &listing);
        Ok(with_tag(Response::builder().body(text), &EntityTag::of_collection(listing.revision)))
    }

    fn show(&self, status: StatusCode, owner: Option<ItemId>, shown: &ShownItem) -> Response {
        let text = representation::item::<G>(&self.surroundings.base_url, owner, shown);
        let mut response = Response::builder().status(status).body(Body::from(text));
        if let Ok(modified) = HeaderValue::from_str(&last_modified(shown)) {
            response.headers_mut().insert(LAST_MODIFIED, modified);
        }
        with_tag(response, &EntityTag::of_item(shown.item.version, &shown.relations))
    }

    fn show_created(&self, owner: Option<ItemId>, shown: &ShownItem) -> Response {
        let mut response = self.show(StatusCode::CREATED, owner, shown);
        let url = format!("{}/{}", representation::collection_url::<G>(&self.surroundings.base_url, owner), shown.item.id);
        if let Ok(location) = HeaderValue::from_str(&url) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}

fn unsupported(types: &[MediaType]) -> Problem {
    let names: Vec<_> = types.iter().map(|media| media.name()).collect();
    let detail = format!("Send the body with a Content-Type of {}; the only parameter allowed is charset=utf-8.", names.join(" or "));
    Problem::new(&kinds::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn missing_body() -> Problem {
    Problem::new(&kinds::EMPTY_BODY, "The operation needs a body.")
}

/// The owner in the path of a nested group. An identifier that does not parse names nothing.
fn owner_of<G: Group>(request: &Request) -> Result<Option<ItemId>, Problem> {
    match &G::OWNER {
        None => Ok(None),
        Some(owner) => identifier(request, owner.parameter).map(Some).ok_or_else(Problem::owner_not_found),
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

fn with_tag(mut response: Response, tag: &EntityTag) -> Response {
    response.headers_mut().insert(ETAG, tag.header());
    response
}

fn not_modified(tag: &EntityTag) -> Response {
    with_tag(StatusCode::NOT_MODIFIED.into(), tag)
}

/// An HTTP date (RFC 9110 section 5.6.7), which has whole seconds.
fn last_modified(shown: &ShownItem) -> String {
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&shown.item.updated_at).unwrap_or_default()
}

impl Operation {
    /// The HTTP method.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::List | Self::Get => Method::GET,
            Self::Create | Self::Continue => Method::POST,
            Self::Patch => Method::PATCH,
            Self::Replace | Self::ReplaceAll => Method::PUT,
            Self::Delete => Method::DELETE,
        }
    }
}
