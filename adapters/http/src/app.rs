//! All routes of the service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use application::table::FORMATS;
use application::traces::Tracer;
use application::{
    AccessControl, ChangeService, ContentService, NoPolicies, OwnLabels, Ports, ResourceLimits,
    ResourceService, RuleBook, RuleCatalog, RuleTrialService,
};
use domain::Operation as Permission;
use ipnet::IpNet;
use jiff::SignedDuration;
use poem::http::Method;
use poem::{Endpoint, Response, Route};
use tokio::sync::{Semaphore, watch};

use crate::base_url::BaseUrl;
use crate::endpoints::change_feed::ChangeFeed;
use crate::endpoints::change_stream::ChangeStream;
use crate::endpoints::documentation::{Changing, Documentation};
use crate::endpoints::exports::Exports;
use crate::endpoints::handler;
use crate::endpoints::health::Ready;
use crate::endpoints::imports::Imports;
use crate::endpoints::resources::{Contents, Dossiers, GroupEndpoint, HttpContext};
use crate::endpoints::transfers::Transfers;
use crate::explorer::{Deployment, ExploredGroup, Explorer};
use crate::groups::{GROUPS, Group};
use crate::headers::media_type::MediaType;
use crate::links::{EXPORTS, IMPORTS};
use crate::metrics::{HttpMetrics, template};
use crate::middleware::access_log::AccessLog;
use crate::middleware::audit_log::AuditLog;
use crate::middleware::cors::Cors;
use crate::middleware::gate::{Asks, Gate};
use crate::middleware::method_router::MethodRouter;
use crate::middleware::rate_limit::RateLimits;
use crate::middleware::request_context::RequestContext;
use crate::middleware::sites::Sites;
use crate::middleware::trace::RequestTracer;
use crate::own_paths::OwnPaths;
use crate::request::body::BodyReader;
use crate::request::memory_budget::MemoryBudget;

#[derive(Clone)]
pub struct HttpOptions {
    pub base_url: BaseUrl,
    /// In bytes.
    pub max_body: usize,
    /// In bytes.
    pub max_content: u64,
    /// In bytes.
    pub content_per_proposal: Option<u64>,
    /// In bytes. Also the limit of the unpacked workbook.
    pub max_import: usize,
    pub temp_dir: PathBuf,
    pub body_timeout: Duration,
    pub request_timeout: Duration,
    /// True if PUT, PATCH and DELETE require a condition.
    pub requires_condition: bool,
    pub key_lifetime: Duration,
    pub max_streams: u32,
    pub stream_max_age: Duration,
    /// True during shutdown: the service still serves, but is not ready.
    pub is_leaving: watch::Receiver<bool>,
    /// True if remote callers are served without authentication.
    pub is_open_to_all: bool,
    /// The interval between requests, and the burst.
    pub caller_rate: Option<(Duration, u32)>,
    pub address_rate: Option<(Duration, u32)>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    pub audit_log: Option<AuditLog>,
    pub access_log: Option<Arc<AccessLog>>,
    pub metrics: Arc<HttpMetrics>,
    pub tracer: Option<Arc<dyn Tracer>>,
    pub cors_origins: Vec<String>,
    /// Hosts, in addition to the base URL's, that serve requests without credentials.
    pub allowed_hosts: Vec<String>,
    pub rule_schema: String,
    pub deployment: Deployment,
}

pub fn service(
    ports: &Ports,
    mut options: HttpOptions,
) -> impl Endpoint<Output = Response> + 'static {
    let base_url = Arc::new(options.base_url.clone());
    let cors = cors(&options);
    let mut routes = Route::new();
    let metrics = Arc::clone(&options.metrics);
    let tracer = options.tracer.take().map(|tracer| RequestTracer::new(tracer, &base_url));
    let access_log = options.access_log.take();
    if let Some(access_log) = &access_log {
        metrics.add(Arc::<AccessLog>::clone(access_log));
    }
    let mut known_paths = Vec::new();
    for (path, router) in paths(ports, options, &base_url) {
        let measured = router.measured(template(&path).into());
        known_paths.push(path.clone());
        routes = routes.at(path, measured);
    }
    RequestContext {
        inner: routes,
        base_url,
        ids: Arc::clone(&ports.ids),
        cors,
        metrics,
        access_log,
        tracer,
        known_paths,
    }
}

fn cors(options: &HttpOptions) -> Cors {
    // A valid origin is a URL, so it fits a header.
    Cors::new(options.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect())
}

fn paths(
    ports: &Ports,
    mut options: HttpOptions,
    base_url: &Arc<BaseUrl>,
) -> Vec<(String, MethodRouter)> {
    let gate = gate(ports, &mut options, base_url);
    let context = context(ports, &options, gate);
    // The options accept shorter lifetimes only.
    let lifetime = SignedDuration::try_from(options.key_lifetime).unwrap_or(SignedDuration::MAX);
    let limits = ResourceLimits {
        largest: options.max_body,
        key_lifetime: lifetime,
        content_per_proposal: options.content_per_proposal,
    };
    let ready = readiness(ports, &options);
    let stream = change_stream(&context, &options);
    let imports = BodyReader { limit: options.max_import, ..context.bodies.clone() };
    let transfers = Transfers::new(&context, &ports.clock, imports, options.temp_dir);
    let (mut groups, mut paths) = (Vec::new(), Vec::new());
    let stores = ports.standbys.iter().flat_map(|standbys| standbys.stores());
    let standbys: Vec<_> = stores.map(|store| ports.reading(store)).collect();
    for group in GROUPS {
        let over = |ports| Arc::new(ResourceService::new(group.collection, ports, limits));
        let service = over(ports);
        if !group.is_nested() {
            groups.push(ExploredGroup { group, service: Arc::clone(&service) });
            paths.extend(transfers_of(&transfers, group, &service));
        }
        let at_standbys = standbys.iter().map(over);
        paths.extend(paths_of(group, &GroupEndpoint::new(group, service, at_standbys, &context)));
    }
    let trials = trials(ports, &groups);
    let (groups, store) = (Arc::from(groups), Arc::clone(&ports.readiness));
    let documentation = Documentation::new(Arc::clone(base_url), context.changing.clone());
    let explorer = Explorer::new(
        &context,
        Arc::clone(&groups),
        store,
        options.deployment,
        Arc::new(documentation),
    );
    let own_paths = OwnPaths { context: &context, explorer, trials, groups };
    paths.extend(own_paths.all(stream, ready, options.rule_schema));
    paths
}

fn context(ports: &Ports, options: &HttpOptions, gate: Arc<Gate>) -> Arc<HttpContext> {
    let access = AccessControl::new(Arc::clone(&ports.policies));
    let (memory, time_limit) = (Arc::new(MemoryBudget::default()), options.body_timeout);
    options.metrics.add(Arc::<MemoryBudget>::clone(&memory));
    let (log, callers) = (Arc::clone(&ports.changes), Arc::clone(&ports.callers));
    let log = ChangeService::new(log, Arc::clone(&ports.history), callers, access.clone());
    Arc::new(HttpContext {
        base_url: Arc::clone(&gate.base_url),
        gate,
        log,
        changing: Changing {
            catalog: RuleCatalog::new(Arc::clone(&ports.rules)),
            access,
            identity: ports.identity.clone(),
            labels: Arc::clone(&options.deployment.labels),
        },
        standbys: ports.standbys.clone(),
        bodies: BodyReader { limit: options.max_body, time_limit, memory: Arc::clone(&memory) },
        contents: Contents::new(ContentService::new(ports), options.max_content),
        dossiers: Dossiers::new(options.temp_dir.clone()),
        memory: Arc::clone(&memory),
        time_limit: options.request_timeout,
        requires_condition: options.requires_condition,
    })
}

fn trials(ports: &Ports, groups: &[ExploredGroup]) -> RuleTrialService {
    let stored = groups.iter().map(|it| (it.group.collection, Arc::clone(&it.service)));
    let (trials, clock) = (Arc::clone(&ports.trials), Arc::clone(&ports.clock));
    RuleTrialService::new(trials, clock, stored.collect())
}

fn gate(ports: &Ports, options: &mut HttpOptions, base_url: &Arc<BaseUrl>) -> Arc<Gate> {
    let proxies = std::mem::take(&mut options.trusted_proxies);
    let rates = RateLimits::new(options.caller_rate, options.address_rate, proxies);
    let audit_log = options.audit_log.take();
    let allowed_hosts = std::mem::take(&mut options.allowed_hosts);
    let sites = Sites::new(base_url, allowed_hosts, cors(options));
    Arc::new(Gate::new(Arc::clone(base_url), ports, rates, sites, audit_log))
}

fn readiness(ports: &Ports, options: &HttpOptions) -> Ready {
    Ready {
        store: Arc::clone(&ports.readiness),
        is_leaving: options.is_leaving.clone(),
        is_open_to_all: options.is_open_to_all,
        reload_failed: options.deployment.reload_failed.clone(),
    }
}

fn change_stream(context: &Arc<HttpContext>, options: &HttpOptions) -> ChangeStream {
    let stream = ChangeStream {
        feed: ChangeFeed::new(context.log.clone()),
        context: Arc::clone(context),
        permits: Arc::new(Semaphore::new(options.max_streams as usize)),
        metrics: Arc::clone(&options.metrics),
        max_age: options.stream_max_age,
    };
    options.metrics.add(stream.listeners(options.max_streams));
    stream
}

fn paths_of(
    group: Group,
    endpoint: &Arc<GroupEndpoint>,
) -> impl Iterator<Item = (String, MethodRouter)> {
    group.path_forms().into_iter().map(move |form| {
        let (types, methods) = (group.response_types(), endpoint.methods(form));
        let router = MethodRouter::new(&endpoint.context.gate, types, methods);
        let router = if form.is_of_bytes() { router.with_stored_types() } else { router };
        (group.path_of(form), router)
    })
}

fn transfers_of(
    transfers: &Arc<Transfers>,
    group: Group,
    service: &Arc<ResourceService>,
) -> Vec<(String, MethodRouter)> {
    let (gate, name) = (&transfers.context.gate, group.collection.name());
    let shared = || (Arc::clone(service), Arc::clone(transfers));
    let (service, transfers) = shared();
    let imports = handler(Arc::new(Imports { group, service, transfers }), Imports::answer);
    let types = vec![MediaType::JSON, MediaType::HAL];
    let asks = Asks::Operations(group, &[Permission::Create]);
    let imports = MethodRouter::new(gate, types, [(Method::POST, asks, imports)]);
    let exports = FORMATS.iter().filter(|format| format.is_exported).map(|format| {
        let (service, transfers) = shared();
        let exports = Arc::new(Exports { group, service, format, transfers });
        let asks = Asks::Operations(group, &[Permission::Read]);
        let (kind, handler) = (MediaType::of_file(format), handler(exports, Exports::answer));
        let router = MethodRouter::unnegotiated(gate, kind, asks, handler);
        (format!("{EXPORTS}/{name}.{}", format.extension), router)
    });
    exports.chain([(format!("{IMPORTS}/{name}"), imports)]).collect()
}

pub fn openapi_document(base_url: BaseUrl, rules: Arc<dyn RuleBook>) -> String {
    let access = AccessControl::new(Arc::new(NoPolicies::Open));
    let labels = Arc::new(OwnLabels::default());
    let changing = Changing { catalog: RuleCatalog::new(rules), access, identity: None, labels };
    Documentation::new(Arc::new(base_url), changing).openapi()
}

#[cfg(test)]
pub(crate) mod tests;
