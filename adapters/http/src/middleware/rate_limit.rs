//! Rate limits per party: the generic cell rate algorithm (ITU-T I.371), in bounded memory.
//!
//! A party evicted from memory starts with a full burst, so no party is locked out.

use std::convert::Infallible;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use poem::Request;
use poem::http::HeaderMap;
use poem::web::RemoteAddr;
use quick_cache::sync::Cache;
use tokio::time::Instant;

const REMEMBERED: usize = 65_536;

/// The factor for all unnamed clients of one proxy together.
const UNNAMED: u32 = 16;

/// The minimum time between two warnings about a proxy that does not name clients.
const QUIET: Duration = Duration::from_mins(1);

const FORWARDED_FOR: &str = "x-forwarded-for";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub interval: Duration,
    pub burst: u32,
}

#[derive(Default)]
pub struct RateLimits {
    callers: Option<RateLimiter<Box<str>>>,
    addresses: Option<RateLimiter<IpAddr>>,
    /// Applies to requests whose clients the proxy does not name.
    proxies: Option<RateLimiter<IpAddr>>,
    warned: Mutex<Option<Instant>>,
    trusted: Vec<IpNet>,
}

#[derive(Clone, Copy, Debug)]
pub struct TooFast {
    pub party: &'static str,
    pub rate: Rate,
    pub wait: Duration,
}

impl RateLimits {
    pub fn new(
        callers: Option<(Duration, u32)>,
        addresses: Option<(Duration, u32)>,
        trusted: Vec<IpNet>,
    ) -> Self {
        let rate = |(interval, burst)| Rate { interval, burst };
        Self {
            callers: callers.map(rate).map(RateLimiter::new),
            addresses: addresses.map(rate).map(RateLimiter::new),
            proxies: addresses.map(rate).map(Rate::of_unnamed).map(RateLimiter::new),
            warned: Mutex::default(),
            trusted,
        }
    }

    pub fn count_address(&self, request: &Request) -> Result<(), TooFast> {
        let (Some(addresses), Some(proxies)) = (&self.addresses, &self.proxies) else {
            return Ok(());
        };
        // A peer without an address is on this machine.
        let Some(peer) = peer_of(request) else { return Ok(()) };
        match behind(peer, request.headers(), &self.trusted) {
            Ok(client) => addresses.count_as("address", &counted(client)),
            Err(unnamed) => {
                self.warn(&unnamed);
                proxies.count_as("address", &counted(unnamed.proxy))
            }
        }
    }

    fn warn(&self, unnamed: &Unnamed<'_>) {
        let mut warned = self.warned.lock();
        if warned.is_some_and(|last| last.elapsed() < QUIET) {
            return;
        }
        *warned = Some(Instant::now());
        let name: String = unnamed.name.chars().take(64).collect();
        tracing::warn!(
            proxy = %unnamed.proxy,
            ?name,
            "a trusted proxy does not send the client address in X-Forwarded-For; such requests share a limit, {UNNAMED} times that of an address"
        );
    }

    pub fn address_of(&self, request: &Request) -> Option<IpAddr> {
        client_address(request, &self.trusted).map(counted)
    }

    pub fn count_caller(&self, id: &str) -> Result<(), TooFast> {
        self.callers.as_ref().map_or(Ok(()), |limiter| limiter.count_as("caller", &id.into()))
    }
}

impl Rate {
    fn of_unnamed(self) -> Self {
        Self { interval: self.interval / UNNAMED, burst: self.burst.saturating_mul(UNNAMED) }
    }
}

pub struct RateLimiter<K> {
    rate: Rate,
    began: Instant,
    /// Nanoseconds since `began`: the theoretical arrival time of the party's next request.
    due: Cache<K, Arc<AtomicU64>>,
}

impl<K: Clone + Eq + Hash> RateLimiter<K> {
    pub fn new(rate: Rate) -> Self {
        Self { rate, began: Instant::now(), due: Cache::new(REMEMBERED) }
    }

    fn count_as(&self, kind: &'static str, party: &K) -> Result<(), TooFast> {
        self.count(party).map_err(|wait| TooFast { party: kind, rate: self.rate, wait })
    }

    pub fn count(&self, party: &K) -> Result<(), Duration> {
        let begin = || Ok::<_, Infallible>(Arc::default());
        let Ok(due) = self.due.get_or_insert_with(party, begin);
        let now = nanos(self.began.elapsed());
        let interval = nanos(self.rate.interval).max(1);
        let burst = interval.saturating_mul(u64::from(self.rate.burst.max(1)));
        let counted = due.fetch_update(Ordering::AcqRel, Ordering::Acquire, |due| {
            let next = due.max(now).saturating_add(interval);
            (next - now <= burst).then_some(next)
        });
        let too_fast = |due: u64| Duration::from_nanos(due.max(now) + interval - now - burst);
        counted.map(drop).map_err(too_fast)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// An invalid entry of `X-Forwarded-For`, and the trusted proxy that added it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unnamed<'a> {
    proxy: IpAddr,
    name: &'a str,
}

/// Skips trusted proxies from the peer on, as far as they name the previous address.
pub fn client_address(request: &Request, trusted: &[IpNet]) -> Option<IpAddr> {
    let behind = behind(peer_of(request)?, request.headers(), trusted);
    Some(behind.unwrap_or_else(|unnamed| unnamed.proxy))
}

fn peer_of(request: &Request) -> Option<IpAddr> {
    let RemoteAddr(peer) = request.remote_addr();
    Some(peer.as_socket_addr()?.ip().to_canonical())
}

fn behind<'a>(
    peer: IpAddr,
    headers: &'a HeaderMap,
    trusted: &[IpNet],
) -> Result<IpAddr, Unnamed<'a>> {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    if !is_trusted(peer) {
        return Ok(peer);
    }
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or_default());
    let named: Vec<_> = lines.flat_map(|line| line.split(',')).collect();
    let mut nearest = peer;
    for name in named.iter().rev() {
        // The client may have forged entries before an invalid one.
        let Some(address) = named_address(name.trim()) else {
            return Err(Unnamed { proxy: nearest, name: name.trim() });
        };
        nearest = address.to_canonical();
        if !is_trusted(nearest) {
            break;
        }
    }
    Ok(nearest)
}

/// Some proxies add the port.
fn named_address(name: &str) -> Option<IpAddr> {
    let alone = name.parse().ok();
    alone.or_else(|| name.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// Masks IPv6 to /64, since one machine may own a whole /64.
const fn counted(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use tokio::time::advance;

    use super::{FORWARDED_FOR, Rate, RateLimiter, Unnamed, behind, counted};
    use crate::headers::sent;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_as_the_burst_come_at_once_and_then_one_in_an_interval() {
        let rate = Rate { interval: Duration::from_millis(10), burst: 4 };
        let limiter = RateLimiter::new(rate);
        assert!((0..4).all(|_| limiter.count(&"a").is_ok()));
        assert_eq!(limiter.count(&"a"), Err(Duration::from_millis(10)));
        assert!(limiter.count(&"b").is_ok(), "others are not limited");
        advance(Duration::from_millis(10)).await;
        assert!(limiter.count(&"a").is_ok());
        assert!(limiter.count(&"a").is_err());
        advance(Duration::from_secs(1)).await;
        assert!((0..4).all(|_| limiter.count(&"a").is_ok()));
        assert!(limiter.count(&"a").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn many_parties_take_bounded_memory() {
        let limiter = RateLimiter::new(Rate { interval: Duration::from_secs(1), burst: 1 });
        for party in 0..200_000_u32 {
            let _ = limiter.count(&party);
        }
        assert!(limiter.due.len() <= super::REMEMBERED);
    }

    #[test]
    fn the_nearest_address_that_is_no_trusted_proxy_counts() {
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let named = |text| Ok(address(text));
        let unnamed = |proxy, name| Err(Unnamed { proxy: address(proxy), name });
        for (peer, forwarded, expected) in [
            ("192.0.2.1", &["203.0.113.9"][..], named("192.0.2.1")),
            ("10.0.0.1", &["203.0.113.9"], named("203.0.113.9")),
            ("10.0.0.1", &["198.51.100.7, 203.0.113.9"], named("203.0.113.9")),
            ("10.0.0.1", &["198.51.100.7, 203.0.113.9, 10.1.1.1"], named("203.0.113.9")),
            ("10.0.0.1", &["198.51.100.7", "203.0.113.9,10.1.1.1"], named("203.0.113.9")),
            ("10.0.0.1", &["203.0.113.9:5678"], named("203.0.113.9")),
            ("10.0.0.1", &["203.0.113.9:5678, 10.1.1.1:80"], named("203.0.113.9")),
            ("10.0.0.1", &["[2001:db8::1]:5678"], named("2001:db8::1")),
            ("10.0.0.1", &["::ffff:203.0.113.9"], named("203.0.113.9")),
            ("192.0.2.1", &["unknown"], named("192.0.2.1")),
            ("10.0.0.1", &[], named("10.0.0.1")),
            ("10.0.0.1", &["10.0.0.2"], named("10.0.0.2")),
            ("fd00::1", &["2001:db8::1"], named("2001:db8::1")),
            ("10.0.0.1", &["unknown"], unnamed("10.0.0.1", "unknown")),
            ("10.0.0.1", &[""], unnamed("10.0.0.1", "")),
            ("10.0.0.1", &["203.0.113.9, unknown"], unnamed("10.0.0.1", "unknown")),
            ("10.0.0.1", &["203.0.113.9,"], unnamed("10.0.0.1", "")),
            ("10.0.0.1", &["203.0.113.9, unknown, 10.1.1.1:80"], unnamed("10.1.1.1", "unknown")),
            ("10.0.0.1", &["203.0.113.9:99999"], unnamed("10.0.0.1", "203.0.113.9:99999")),
            ("10.0.0.1", &["_hidden"], unnamed("10.0.0.1", "_hidden")),
        ] {
            let headers = sent(FORWARDED_FOR, forwarded);
            assert_eq!(behind(address(peer), &headers, &trusted), expected, "{forwarded:?}");
        }
    }

    #[test]
    fn an_ipv6_network_of_64_bits_counts_as_one() {
        assert_eq!(counted(address("2001:db8::1:2:3:4")), address("2001:db8::"));
        assert_eq!(counted(address("192.0.2.1")), address("192.0.2.1"));
    }
}
