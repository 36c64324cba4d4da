//! The hosts and origins that may send requests without credentials.
//!
//! Protects anonymous access against DNS rebinding and cross-site request forgery. Scripts cannot
//! set the headers it checks: Host (RFC 9110 section 7.2), `Origin` and `Sec-Fetch-Site`.

use std::net::IpAddr;

use poem::Request;
use poem::http::header::{HOST, ORIGIN};
use poem::http::{HeaderName, HeaderValue};

use crate::base_url::{BaseUrl, host_name};
use crate::headers::sole::sole;
use crate::middleware::cors::Cors;
use crate::problem::{Problem, Result, kinds};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub struct Sites {
    /// The fast path: most requests name exactly this host and port.
    authority: String,
    /// Without port and final dot.
    hosts: Vec<String>,
    origin: String,
    cors: Cors,
}

impl Sites {
    pub fn new(base_url: &BaseUrl, allowed_hosts: Vec<String>, cors: Cors) -> Self {
        let authority = base_url.authority().to_owned();
        let own = host_name(&authority).to_owned();
        let hosts = std::iter::once(own).chain(allowed_hosts).collect();
        Self { authority, hosts, origin: base_url.origin(), cors }
    }

    pub fn check(&self, request: &Request) -> Result<()> {
        let host = host_of(request);
        // Every browser sends Host.
        if host.is_some_and(|host| !self.is_own(host)) {
            let detail = "Unknown host. Without credentials, the Host header must be an IP address, `localhost`, the host of the base URL or a host of `--allowed-host`.";
            return Err(Problem::new(&kinds::MISDIRECTED, detail));
        }
        if !request.method().is_safe() && self.is_cross_site(request, host) {
            let detail = "A page of another origin cannot write without credentials. Operators can allow its origin with `--cors-origin`.";
            return Err(Problem::new(&kinds::CROSS_SITE, detail));
        }
        Ok(())
    }

    /// True if a page of this service sent the request, as the browser reports it.
    pub fn is_own_page(&self, request: &Request) -> bool {
        let headers = request.headers();
        let (Ok(site), Ok(origin)) = (sole(headers, SEC_FETCH_SITE), sole(headers, ORIGIN)) else {
            return false;
        };
        match site {
            Some(site) => site == "same-origin" && origin.is_none_or(|origin| origin != "null"),
            None => origin.is_some_and(|origin| origin == self.origin.as_str()),
        }
    }

    /// True if a link on another site led here: the browser has sent no cookie.
    pub fn is_from_another_site(request: &Request) -> bool {
        request.headers().get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site")
    }

    fn is_own(&self, host: &[u8]) -> bool {
        host == self.authority.as_bytes()
            || str::from_utf8(host).map(host_name).is_ok_and(|name| {
                self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
                    || cannot_be_rebound(name)
            })
    }

    fn is_cross_site(&self, request: &Request, host: Option<&[u8]>) -> bool {
        let headers = request.headers();
        let Ok(origin) = sole(headers, ORIGIN) else { return true };
        match origin {
            Some(origin) if self.cors.admits_writes_of(origin) => return false,
            Some(origin) if !origin.to_str().is_ok_and(|it| self.is_own_origin(it, host)) => {
                return true;
            }
            _ => {}
        }
        headers.get_all(SEC_FETCH_SITE).iter().any(|site| site == "cross-site")
    }

    fn is_own_origin(&self, origin: &str, host: Option<&[u8]>) -> bool {
        let is_at = |host: &[u8]| {
            let named = origin.strip_prefix("http://");
            named.is_some_and(|named| {
                named.as_bytes().eq_ignore_ascii_case(host) && cannot_be_rebound(host_name(named))
            })
        };
        origin.eq_ignore_ascii_case(&self.origin) || host.is_some_and(is_at)
    }
}

/// The target takes precedence over the header (RFC 9112 section 3.2.2).
fn host_of(request: &Request) -> Option<&[u8]> {
    let target = request.uri().authority().map(|target| target.as_str().as_bytes());
    target.or_else(|| request.headers().get(HOST).map(HeaderValue::as_bytes))
}

/// Other sites cannot make these names resolve to the service.
fn cannot_be_rebound(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use poem::Request;
    use poem::http::{HeaderValue, Method};

    use super::{Sites, host_name};
    use crate::middleware::cors::Cors;

    fn sites(base_url: &str, origins: &[&'static str]) -> Sites {
        let origins = origins.iter().map(|origin| HeaderValue::from_static(origin)).collect();
        let hosts = vec!["intranet".to_owned()];
        Sites::new(&base_url.parse().unwrap(), hosts, Cors::new(origins))
    }

    fn status(sites: &Sites, method: Method, target: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri(target.parse().unwrap());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let checked = sites.check(&request.finish());
        checked.map_or_else(|problem| problem.kind.status.as_u16(), |()| 200)
    }

    #[test]
    fn names_have_no_port_no_brackets_no_zone_and_no_final_dot() {
        for (host, name) in [
            ("example.org", "example.org"),
            ("example.org:8080", "example.org"),
            ("example.org.", "example.org"),
            ("example.org.:80", "example.org"),
            ("example.org..", "example.org."),
            ("127.0.0.1:80", "127.0.0.1"),
            ("[::1]", "::1"),
            ("[::1]:8080", "::1"),
            ("[fe80::1%25eth0]:8080", "fe80::1"),
            ("", ""),
            (":80", ""),
        ] {
            assert_eq!(host_name(host), name, "{host}");
        }
    }

    #[test]
    fn addresses_localhost_the_base_url_and_allowed_hosts_are_served() {
        let sites = sites("https://Proposals.example.org:8443/api", &[]);
        for (host, expected) in [
            ("203.0.113.9:1", 200),
            ("[2001:db8::1]", 200),
            ("PROPOSALS.example.org.:1", 200),
            ("127.0.0.1.evil.example", 421),
            ("x.localhost", 421),
            ("proposals.example.org.evil.example", 421),
            ("evil.intranet", 421),
            ("127.1", 421),
            ("0x7f000001", 421),
        ] {
            assert_eq!(status(&sites, Method::GET, "/", &[("host", host)]), expected, "{host}");
        }
    }

    #[test]
    fn a_request_of_an_own_page_is_one_for_which_the_browser_says_so() {
        let sites = sites("https://proposals.example.org/api", &["https://app.example.org"]);
        let (own, null) = (("origin", "https://proposals.example.org"), ("origin", "null"));
        let site = |site| ("sec-fetch-site", site);
        for (headers, expected) in [
            (&[][..], false),
            (&[site("same-origin")], true),
            (&[site("same-origin"), own], true),
            (&[site("same-origin"), null], false),
            (&[site("same-origin"), site("cross-site")], false),
            (&[site("same-origin"), own, own], false),
            (&[site("same-site"), own], false),
            (&[site("none")], false),
            (&[site("cross-site"), own], false),
            (&[site("")], false),
            (&[own], true),
            (&[null], false),
            (&[("origin", "https://app.example.org")], false),
            (&[("origin", "http://proposals.example.org")], false),
            (&[("origin", "https://proposals.example.org.evil.example")], false),
            (&[("host", "127.0.0.1"), ("origin", "http://127.0.0.1")], false),
        ] {
            let request = headers
                .iter()
                .fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
            assert_eq!(sites.is_own_page(&request.finish()), expected, "{headers:?}");
        }
    }

    #[test]
    fn other_sites_read_and_do_not_write() {
        const CROSS: (&str, &str) = ("sec-fetch-site", "cross-site");
        let sites = sites("https://proposals.example.org/api", &["https://app.example.org"]);
        let local = ("host", "127.0.0.1:8080");
        let (name, other) = (("host", "localhost"), ("host", "proposals.example.org"));
        let origin = |origin| ("origin", origin);
        for (headers, expected) in [
            (&[local][..], 200),
            (&[local, ("sec-fetch-site", "same-origin")], 200),
            (&[local, ("sec-fetch-site", "none")], 200),
            (&[local, CROSS], 403),
            (&[local, origin("http://127.0.0.1:8080")], 200),
            (&[local, origin("http://127.0.0.1:8080"), CROSS], 403),
            (&[local, origin("https://127.0.0.1:8080")], 403),
            (&[local, origin("http://127.0.0.1:9090")], 403),
            (&[local, origin("http://127.0.0.1")], 403),
            (&[name, origin("http://localhost")], 200),
            (&[name, origin("http://evil.example")], 403),
            (&[other, origin("https://proposals.example.org")], 200),
            (&[local, origin("https://proposals.example.org")], 200),
            // A name beyond this machine needs the scheme of the base URL.
            (&[other, origin("http://proposals.example.org")], 403),
            (&[("host", "intranet"), origin("http://intranet")], 403),
            (&[local, origin("https://app.example.org")], 200),
            (&[local, origin("https://app.example.org"), CROSS], 200),
            (&[local, origin("https://app.example.org.evil.example")], 403),
            (&[local, origin("null")], 403),
            (&[local, origin("")], 403),
            (&[local, origin("https://app.example.org"), origin("http://evil.example")], 403),
        ] {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                assert_eq!(status(&sites, method, "/v1/files", headers), expected, "{headers:?}");
            }
            for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
                assert_eq!(status(&sites, method, "/v1/files", headers), 200, "{headers:?}");
            }
        }
    }
}
