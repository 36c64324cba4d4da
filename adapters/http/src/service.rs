//! All routes, put together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use application::{ChangeService, Ports, ResourceLimits, ResourceService, RuleBook, RuleCatalog};
use jiff::SignedDuration;
use poem::endpoint::BoxEndpoint;
use poem::http::{HeaderValue, Method};
use poem::{Endpoint, EndpointExt, Response, Route};
use poem_openapi::OpenApi;
use tokio::sync::watch;

use crate::base_url::BaseUrl;
use crate::body::BodyReader;
use crate::budget::Budget;
use crate::change_feed::ChangeFeed;
use crate::change_stream::{self, ChangeStream};
use crate::changes::{self, Changes};
use crate::cors::Cors;
use crate::documentation::{Documentation, Served};
use crate::entry_point::EntryPoint;
use crate::frame::Frame;
use crate::group::Group;
use crate::group_api::{GroupApi, Surroundings};
use crate::groups::for_each_group;
use crate::health::{Health, Ready};
use crate::media::MediaType;
use crate::openapi::ServicePaths;
use crate::pages;
use crate::path_endpoint::PathEndpoint;
use crate::rules::{self, Rules};

/// What large responses may take together until they are sent.
const RESPONSE_BUDGET_MIB: u16 = 32;

/// What versions that are compared may take together.
const COMPARISON_BUDGET_MIB: u16 = 32;

/// What an operator can set.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The root of all links.
    pub base_url: BaseUrl,
    /// Most bytes of a request body.
    pub max_body: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How long a use case may take.
    pub request_timeout: Duration,
    /// Whether PUT, PATCH and DELETE need a condition.
    pub requires_condition: bool,
    /// How long a request is known by its Idempotency-Key.
    pub key_lifetime: SignedDuration,
    /// True when the service stops, for what would not end by itself.
    pub stopping: watch::Receiver<bool>,
    /// Origins whose pages may call the service from a browser; none by default.
    pub cors_origins: Vec<HeaderValue>,
}

/// The whole service as one endpoint, to be given to [`crate::serve`].
#[must_use]
pub fn service(ports: &Ports, options: HttpOptions) -> impl Endpoint<Output = Response> + 'static {
    let base_url = Arc::new(options.base_url);
    let surroundings = Arc::new(Surroundings {
        base_url: Arc::clone(&base_url),
        bodies: BodyReader::new(options.max_body, options.body_timeout),
        responses: Budget::of_mib(RESPONSE_BUDGET_MIB),
        comparisons: Budget::of_mib(COMPARISON_BUDGET_MIB),
        time_limit: options.request_timeout,
        requires_condition: options.requires_condition,
    });
    let mut routes = Route::new();
    let limits = ResourceLimits { largest: options.max_body, key_lifetime: options.key_lifetime };
    for (path, endpoint) in own_paths(ports, &surroundings, options.stopping) {
        routes = routes.at(path, endpoint);
    }
    macro_rules! mount_groups {
        ($($group:path,)*) => { $(routes = mount::<$group>(routes, ports, &surroundings, limits);)* };
    }
    for_each_group!(mount_groups);
    Frame::new(routes, base_url, Arc::clone(&ports.ids), Cors::new(options.cors_origins))
}

fn mount<G: Group>(
    mut routes: Route,
    ports: &Ports,
    surroundings: &Arc<Surroundings>,
    limits: ResourceLimits,
) -> Route {
    const {
        assert!(
            G::OWNER.is_none() || G::EXTRA_OPERATIONS.is_empty(),
            "what is beside the standard set knows no owner"
        );
    };
    let service = ResourceService::new(G::COLLECTION, ports, limits);
    let mut table = HashMap::new();
    GroupApi::<G>::new(service, Arc::clone(surroundings)).add_routes(&mut table);
    for (path, methods) in table {
        routes = routes.at(
            path,
            PathEndpoint::new(Arc::clone(&surroundings.base_url), G::response_types(), methods),
        );
    }
    routes
}

fn own_paths(
    ports: &Ports,
    surroundings: &Surroundings,
    stopping: watch::Receiver<bool>,
) -> Vec<(String, PathEndpoint)> {
    let base_url = &surroundings.base_url;
    let changes = Changes {
        service: ChangeService::new(Arc::clone(&ports.changes)),
        base_url: Arc::clone(base_url),
        time_limit: surroundings.time_limit,
    };
    let stream = ChangeStream {
        feed: ChangeFeed::new(ChangeService::new(Arc::clone(&ports.changes))),
        base_url: Arc::clone(base_url),
        stopping,
    };
    let get = |types: &[MediaType], endpoint: BoxEndpoint<'static>| {
        PathEndpoint::new(Arc::clone(base_url), types.to_vec(), [(Method::GET, endpoint)])
    };
    let documentation = Arc::new(Documentation::new(
        Documented,
        Arc::clone(base_url),
        RuleCatalog::new(Arc::clone(&ports.rules)),
    ));
    let catalog = RuleCatalog::new(Arc::clone(&ports.rules));
    let rules = || Rules { catalog: catalog.clone(), base_url: Arc::clone(base_url) };
    // The document and its page are served as they are, whatever is asked for: there is nothing to
    // choose from.
    let unnegotiated = |kind: MediaType, text: Served| {
        PathEndpoint::unnegotiated(Arc::clone(base_url), kind, [(Method::GET, text.boxed())])
    };
    let mut paths = pages::all(base_url);
    paths.extend([
        ("/".to_owned(), pages::get(base_url, EntryPoint::new(Arc::clone(base_url)).boxed())),
        (changes::PATH.to_owned(), get(&[MediaType::HAL, MediaType::JSON], changes.boxed())),
        (change_stream::PATH.to_owned(), get(&[MediaType::EVENT_STREAM], stream.boxed())),
        ("/healthz".to_owned(), get(&[MediaType::JSON], Health.boxed())),
        (
            "/readyz".to_owned(),
            get(&[MediaType::JSON], Ready(Arc::clone(&ports.readiness)).boxed()),
        ),
        (rules::PATH.to_owned(), get(&[MediaType::HAL, MediaType::JSON], rules().boxed())),
        (format!("{}/:{}", rules::PATH, rules::PARAMETER), pages::get(base_url, rules().boxed())),
        (
            "/openapi.json".to_owned(),
            unnegotiated(MediaType::JSON, Served::OpenApi(Arc::clone(&documentation))),
        ),
        ("/favicon.ico".to_owned(), unnegotiated(MediaType::ICON, Served::Icon)),
        ("/docs".to_owned(), unnegotiated(MediaType::HTML, Served::SwaggerUi(documentation))),
    ]);
    paths
}

/// The `OpenAPI` document of a service reached at `base_url` with these rules, as `/openapi.json`
/// serves it.
#[must_use]
pub fn openapi_document(base_url: BaseUrl, rules: Arc<dyn RuleBook>) -> String {
    Documentation::new(Documented, Arc::new(base_url), RuleCatalog::new(rules)).openapi()
}

/// All groups and the service's own paths, for the document.
struct Documented;

macro_rules! document_groups {
    ($($group:path,)*) => {
        impl OpenApi for Documented {
            fn meta() -> Vec<poem_openapi::registry::MetaApi> {
                let mut meta = ServicePaths::meta();
                $(meta.extend(GroupApi::<$group>::meta());)*
                meta
            }

            fn register(registry: &mut poem_openapi::registry::Registry) {
                ServicePaths::register(registry);
                $(GroupApi::<$group>::register(registry);)*
            }

            fn add_routes(self, _route_table: &mut HashMap<String, HashMap<Method, BoxEndpoint<'static>>>) {}
        }
    };
}
for_each_group!(document_groups);
