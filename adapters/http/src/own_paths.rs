//! The paths outside groups.

use std::sync::Arc;

use application::RuleTrialService;
use poem::http::Method;

use crate::endpoints::access::{evaluate, own_access};
use crate::endpoints::change_stream::ChangeStream;
use crate::endpoints::changes::changes;
use crate::endpoints::documentation::{
    Documentation, ICON, NOTHING, StaticContent, static_content,
};
use crate::endpoints::entry_point::{self, representation};
use crate::endpoints::health::{Ready, liveness};
use crate::endpoints::identity::{protected_resource, sign_in};
use crate::endpoints::policies::policies;
use crate::endpoints::resources::HttpContext;
use crate::endpoints::rule_trials::try_rule;
use crate::endpoints::rules::rules;
use crate::endpoints::sessions::session;
use crate::endpoints::{handler, problem_pages};
use crate::explorer::{ExploredGroup, Explorer};
use crate::headers::media_type::{MediaType, PAGE_TYPES};
use crate::links::{
    ACCESS, CHANGE_STREAM, CHANGES, EVALUATION, EVALUATIONS, HEALTH, POLICIES, POLICY,
    PROTECTED_RESOURCE, READINESS, RECEIVER, RULE, RULE_SCHEMA, RULE_TRIAL, RULES, SESSION,
    SIGN_IN,
};
use crate::middleware::gate::Asks;
use crate::middleware::method_router::{Handler, MethodRouter};

const HAL: [MediaType; 2] = [MediaType::HAL, MediaType::JSON];

type Route = (String, MethodRouter);

pub struct OwnPaths<'a> {
    pub context: &'a Arc<HttpContext>,
    pub explorer: Arc<Explorer>,
    pub trials: RuleTrialService,
    /// Without nested groups.
    pub groups: Arc<[ExploredGroup]>,
}

impl OwnPaths<'_> {
    pub fn all(self, stream: ChangeStream, ready: Ready, rule_schema: String) -> Vec<Route> {
        let context = || Arc::clone(self.context);
        let explorer = || Arc::clone(&self.explorer);
        let entry_point = representation(&self.context.base_url).into();
        let entry_point = handler((entry_point, explorer()), entry_point::entry_point);
        let documentation =
            handler(Arc::clone(&self.explorer.documentation), Documentation::answer);
        let stream = handler(stream, ChangeStream::answer);
        let file =
            |file: StaticContent| self.public(file.media, handler(Arc::new(file), static_content));
        let schema = StaticContent::new(MediaType::JSON, rule_schema, NOTHING);
        let icon = StaticContent::new(MediaType::ICON, ICON, NOTHING);
        let rules = || handler((context(), explorer()), rules);
        let alive = handler((), liveness);
        let trials = handler((context(), self.trials.clone()), try_rule);
        let policies = || handler(context(), policies);
        let evaluation = || handler((context(), Arc::clone(&self.groups)), evaluate);
        let protected = handler(context(), protected_resource);
        let own = [
            ("/", self.get(&PAGE_TYPES, Asks::Anybody, entry_point)),
            (CHANGES, self.get(&HAL, Asks::SomeRead, handler(context(), changes))),
            (CHANGE_STREAM, self.get(&[MediaType::EVENT_STREAM], Asks::SomeRead, stream)),
            (HEALTH, self.get(&[MediaType::JSON], Asks::Nothing, alive)),
            (READINESS, self.get(&[MediaType::JSON], Asks::Nothing, Box::new(ready))),
            ("/openapi.json", self.public(MediaType::JSON, documentation)),
            (RULE_SCHEMA, file(schema)),
            ("/favicon.ico", file(icon)),
            (RULES, self.get(&HAL, Asks::Nothing, rules())),
            (RULE, self.get(&PAGE_TYPES, Asks::Anybody, rules())),
            (RULE_TRIAL, self.post(Asks::SignedIn, trials)),
            (POLICIES, self.get(&HAL, Asks::Nothing, policies())),
            (POLICY, self.get(&HAL, Asks::Nothing, policies())),
            (ACCESS, self.get(&HAL, Asks::Anybody, handler(context(), own_access))),
            (EVALUATION, self.post(Asks::SignedIn, evaluation())),
            (EVALUATIONS, self.post(Asks::SignedIn, evaluation())),
            (PROTECTED_RESOURCE, self.get(&[MediaType::JSON], Asks::Nothing, protected)),
            (SIGN_IN, self.public(MediaType::JSON, handler(context(), sign_in))),
            (SESSION, self.session()),
        ];
        let receiver = self.explorer.receiver().ok();
        let receiver = receiver.map(|page| (RECEIVER, file(page)));
        let own = own.into_iter().chain(receiver);
        let own = own.map(|(path, router)| (path.to_owned(), router));
        let explained = problem_pages::all(&self.context.gate, &self.explorer);
        explained.into_iter().chain(own).chain(self.explorer.routes()).collect()
    }

    fn get(&self, types: &[MediaType], asks: Asks, handler: Box<dyn Handler>) -> MethodRouter {
        MethodRouter::new(&self.context.gate, types.to_vec(), [(Method::GET, asks, handler)])
    }

    fn post(&self, asks: Asks, handler: Box<dyn Handler>) -> MethodRouter {
        let methods = [(Method::POST, asks, handler)];
        MethodRouter::new(&self.context.gate, HAL.to_vec(), methods)
    }

    fn session(&self) -> MethodRouter {
        let methods = [Method::GET, Method::POST, Method::DELETE]
            .map(|method| (method, Asks::Anybody, handler(Arc::clone(self.context), session)));
        MethodRouter::new(&self.context.gate, vec![MediaType::JSON], methods)
    }

    /// A public path with one representation, without content negotiation.
    fn public(&self, kind: MediaType, handler: Box<dyn Handler>) -> MethodRouter {
        MethodRouter::unnegotiated(&self.context.gate, kind, Asks::Nothing, handler)
    }
}
