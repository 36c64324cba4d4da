//! The public URL of the service: the root of every link.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use poem::http::Uri;
use thiserror::Error;

/// An absolute `http` or `https` URL without trailing slash, query or fragment. It replaces the
/// Host header, which is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a base URL: {reason}; use one such as https://proposals.example.org")]
pub struct InvalidBaseUrl {
    text: String,
    reason: &'static str,
}

impl FromStr for BaseUrl {
    type Err = InvalidBaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidBaseUrl> {
        let refuse = |reason| InvalidBaseUrl { text: text.to_owned(), reason };
        let uri: Uri = text.parse().map_err(|_| refuse("it is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(refuse("it does not start with http:// or https://"));
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(refuse("it has no host, or has a user name"));
        }
        if uri.query().is_some() || text.contains(['#', '"', '\\']) {
            return Err(refuse("it has a query, a fragment or a character that needs escaping"));
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl BaseUrl {
    pub fn of_listener(mut address: SocketAddr) -> Self {
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        Self(format!("http://{address}"))
    }

    pub fn path(&self) -> &str {
        let after_scheme = self.0.find("://").map_or(0, |place| place + 3);
        self.0[after_scheme..].find('/').map_or("/", |place| &self.0[after_scheme + place..])
    }

    pub fn authority(&self) -> &str {
        let (_, rest) = self.0.split_once("://").unwrap_or_default();
        rest.split('/').next().unwrap_or_default()
    }

    /// The origin as browsers send it (RFC 6454): lower case, without the default port.
    pub fn origin(&self) -> String {
        let (scheme, _) = self.0.split_once("://").unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let authority = self.authority().to_ascii_lowercase();
        let host = authority.strip_suffix(usual).unwrap_or(&authority);
        format!("{scheme}://{host}")
    }

    /// True if no other machine can be reached by it.
    pub fn is_local(&self) -> bool {
        let name = host_name(self.authority());
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Removes the port, the brackets and zone of IPv6, and the final dot of an absolute name.
pub fn host_name(authority: &str) -> &str {
    let until = |text: &'_ str, end: &[char]| text.find(end).unwrap_or(text.len());
    if let Some(address) = authority.strip_prefix('[') {
        return &address[..until(address, &['%', ']'])];
    }
    let name = &authority[..until(authority, &[':'])];
    name.strip_suffix('.').unwrap_or(name)
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::BaseUrl;

    #[test]
    fn the_url_of_a_listener_is_one_that_can_be_opened() {
        for (address, url) in [
            ("127.0.0.1:80", "http://127.0.0.1:80"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            ("[::1]:80", "http://[::1]:80"),
        ] {
            assert_eq!(BaseUrl::of_listener(address.parse().unwrap()).as_str(), url);
        }
    }

    #[test]
    fn a_base_url_is_absolute_and_plain_and_its_origin_is_as_browsers_send_it() {
        for (text, kept, path, origin) in [
            ("http://a:8080", "http://a:8080", "/", "http://a:8080"),
            ("http://a:80/x", "http://a:80/x", "/x", "http://a"),
            ("https://A.b:443/c/d/", "https://A.b:443/c/d", "/c/d", "https://a.b"),
            ("https://a.b:80", "https://a.b:80", "/", "https://a.b:80"),
            ("HTTP://[::1]:80/", "HTTP://[::1]:80", "/", "http://[::1]"),
        ] {
            let url = text.parse::<BaseUrl>().unwrap();
            assert_eq!((url.as_str(), url.path(), &*url.origin()), (kept, path, origin), "{text}");
        }
        for refused in [
            "example.org",
            "/grants",
            "ftp://example.org",
            "http://user@example.org",
            "http://example.org/?a=b",
            "http://example.org/#a",
            "",
        ] {
            assert!(refused.parse::<BaseUrl>().is_err(), "{refused}");
        }
    }
}
