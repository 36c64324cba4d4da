//! Keys of an issuer: fetched in the background, kept through outages, replaced when they change.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use application::Clock;
use domain::{Value, json};
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use tokio::sync::watch;

use crate::fetch::{Fetcher, address};
use crate::jwk::KeySet;

/// Default, minimum and maximum time between fetches, if the issuer sends no lifetime.
const PAUSE: SignedDuration = SignedDuration::from_mins(5);
const SHORTEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(60);
/// Pauses after a failed fetch: with keys and without.
const PAUSE_WITH_KEYS: SignedDuration = SignedDuration::from_mins(1);
const PAUSE_WITHOUT_KEYS: SignedDuration = SignedDuration::from_secs(5);
pub(crate) const PAUSE_OF_REQUESTS: SignedDuration = SignedDuration::from_secs(30);
const PAUSE_OF_WARNINGS: SignedDuration = SignedDuration::from_mins(1);
/// Limit in bytes: pages name the endpoint in a header.
const LONGEST_ENDPOINT: usize = 2_000;
/// Maximum wait of a request for a fetch in progress.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySource {
    pub issuer: Box<str>,
    pub jwks_uri: Option<Box<str>>,
    pub authorities: Vec<CertificateDer<'static>>,
    /// Lifetime of keys while the issuer is unreachable.
    pub hold: SignedDuration,
}

pub(crate) struct IssuerKeys {
    pub source: Arc<KeySource>,
    fetcher: Fetcher,
    clock: Arc<dyn Clock>,
    state: RwLock<State>,
    is_fetching: AtomicBool,
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    token_endpoint: Option<Box<str>>,
    /// Number that changes with each new set of keys.
    edition: u64,
    answered: Option<Timestamp>,
    attempted: Option<Timestamp>,
    /// Time of the next fetch; `None` means immediately.
    due: Option<Timestamp>,
    warned: Option<Timestamp>,
    fetches: Fetches,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fetches {
    pub answered: u64,
    pub failed: u64,
    pub is_reachable: bool,
}

impl KeySource {
    pub fn configuration(&self) -> Option<String> {
        let issuer = self.issuer.trim_end_matches('/');
        self.jwks_uri.is_none().then(|| format!("{issuer}/.well-known/openid-configuration"))
    }
}

impl IssuerKeys {
    pub fn new(source: Arc<KeySource>, clock: Arc<dyn Clock>) -> Result<Self, rustls::Error> {
        Ok(Self {
            fetcher: Fetcher::new(&source.authorities)?,
            source,
            clock,
            state: RwLock::default(),
            is_fetching: AtomicBool::new(false),
            ended: watch::Sender::new(0),
        })
    }

    /// Returns the keys and their edition, unless the issuer has been unreachable for longer than
    /// `hold`.
    pub fn current(&self, now: Timestamp) -> Option<(Arc<KeySet>, u64)> {
        let state = self.state.read();
        let is_held = now.duration_since(state.answered?) < self.source.hold;
        state.keys.clone().filter(|_| is_held).map(|keys| (keys, state.edition))
    }

    pub fn edition(&self, now: Timestamp) -> Option<u64> {
        self.current(now).map(|(_, edition)| edition)
    }

    pub fn token_endpoint(&self) -> Option<Box<str>> {
        self.state.read().token_endpoint.clone()
    }

    pub fn fetches(&self) -> Fetches {
        self.state.read().fetches
    }

    pub fn fetch_if_due(self: &Arc<Self>) {
        let now = self.clock.now();
        let due = self.state.read().due;
        if due.is_none_or(|due| due <= now) {
            self.begin(|_| true);
        }
    }

    /// Returns a watcher for [`renewed`](Self::renewed). Create it before the lookup of keys.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    /// Starts a background fetch for a missing key, at most twice a minute, and waits for the fetch
    /// in progress. Returns `true` if a fetch has ended since the watcher was made.
    pub async fn renewed(self: &Arc<Self>, mut watcher: watch::Receiver<u64>) -> bool {
        let now = self.clock.now();
        let is_rested =
            |last: Timestamp| now.duration_since(last) >= PAUSE_OF_REQUESTS || now < last;
        if !watcher.has_changed().unwrap_or(false) {
            self.begin(|state| state.attempted.is_none_or(is_rested));
            if !self.is_fetching.load(Ordering::Acquire) {
                return watcher.has_changed().unwrap_or(false);
            }
        }
        tokio::time::timeout(LONGEST_WAIT, watcher.changed()).await.is_ok()
    }

    /// Starts a fetch (single-flight) if the state permits it.
    fn begin(self: &Arc<Self>, may: impl FnOnce(&State) -> bool) {
        let now = self.clock.now();
        {
            let mut state = self.state.write();
            if self.is_fetching.load(Ordering::Acquire) || !may(&state) {
                return;
            }
            state.attempted = Some(now);
            self.is_fetching.store(true, Ordering::Release);
        }
        let flight = Flight(self.clone());
        tokio::spawn(async move {
            let fetched = flight.0.fetch().await;
            flight.0.put(fetched);
        });
    }

    async fn fetch(&self) -> Result<(KeySet, Option<Duration>), String> {
        let url = match (&self.source.jwks_uri, self.source.configuration()) {
            (None, Some(url)) => self.discover(&url).await?,
            (url, _) => url.as_deref().unwrap_or_default().to_owned(),
        };
        let document = self.fetcher.get(&url).await?;
        let keys = KeySet::read(&document.bytes).map_err(|reason| format!("{url}: {reason}"))?;
        Ok((keys, document.max_age))
    }

    /// Reads the address of the keys and the token endpoint from the issuer's configuration
    /// (`OpenID` Connect Discovery 1.0).
    async fn discover(&self, url: &str) -> Result<String, String> {
        let document = self.fetcher.get(url).await?;
        let read = json::read(&document.bytes).map_err(|error| format!("{url}: {error}"))?;
        let string = |name| {
            let member = read.value().member(name).and_then(Value::as_string);
            member.ok_or_else(|| format!("{url} has no string `{name}`"))
        };
        // One issuer must not speak for another.
        if string("issuer")? != *self.source.issuer {
            return Err(format!(
                "{url} is the configuration of another issuer; copy its `issuer` exactly into the identity file"
            ));
        }
        // Only pages need the endpoint, so tokens are accepted without it.
        let token_endpoint = string("token_endpoint").ok().filter(|url| is_endpoint(url));
        let token_endpoint = token_endpoint.map(Into::into);
        self.state.write().token_endpoint = token_endpoint;
        string("jwks_uri").map(Into::into)
    }

    #[cfg(test)]
    pub fn hold(&self, document: &[u8]) {
        self.put(KeySet::read(document).map(|keys| (keys, None)));
    }

    fn put(&self, fetched: Result<(KeySet, Option<Duration>), String>) {
        let now = self.clock.now();
        let issuer = &self.source.issuer;
        let mut state = self.state.write();
        let counts = &mut state.fetches;
        counts.is_reachable = fetched.is_ok();
        *(if fetched.is_ok() { &mut counts.answered } else { &mut counts.failed }) += 1;
        let pause = match fetched {
            Ok((keys, max_age)) => {
                state.answered = Some(now);
                state.warned = None;
                if !state.keys.as_ref().is_some_and(|known| known.is_same(&keys)) {
                    for warning in &keys.warnings {
                        tracing::warn!(%issuer, warning, "a key of an issuer is not used");
                    }
                    tracing::info!(%issuer, keys = keys.len(), "the keys of an issuer are in force");
                    state.keys = Some(Arc::new(keys));
                    state.edition += 1;
                }
                let asked = max_age.and_then(|age| SignedDuration::try_from(age).ok());
                asked.unwrap_or(PAUSE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
            }
            Err(reason) => {
                let is_recent = |last: Timestamp| now.duration_since(last) < PAUSE_OF_WARNINGS;
                if !state.warned.is_some_and(is_recent) {
                    state.warned = Some(now);
                    let has_keys = state.keys.is_some();
                    tracing::warn!(%issuer, reason, has_keys, "the keys of an issuer could not be fetched");
                }
                if state.keys.is_some() { PAUSE_WITH_KEYS } else { PAUSE_WITHOUT_KEYS }
            }
        };
        state.due = Some(now.checked_add(pause).unwrap_or(now));
    }
}

fn is_endpoint(url: &str) -> bool {
    url.len() <= LONGEST_ENDPOINT && address(url).is_ok()
}

/// Fetch in progress. Dropping it ends the fetch, after success, failure or panic.
struct Flight(Arc<IssuerKeys>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.is_fetching.store(false, Ordering::Release);
        self.0.ended.send_modify(|ended| *ended += 1);
    }
}
