//! The cookie that has the id of a session (RFC 6265).

use poem::http::header::COOKIE;
use poem::http::{HeaderMap, HeaderValue};

use super::SessionId;
use crate::base_url::BaseUrl;

/// In `__Host-session`, browsers accept no cookie of another host, nor one that came without HTTPS.
const NAME: &str = "__Host-session";
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";

/// On this machine there is no HTTPS, and no other host between.
const LOCAL_NAME: &str = "session";
const LOCAL_ATTRIBUTES: &str = "Path=/; HttpOnly; SameSite=Strict";

#[derive(Clone, Copy)]
pub struct SessionCookie {
    name: &'static str,
    attributes: &'static str,
}

/// The cookie is repeated, or its value is no id.
pub struct UnreadableCookie;

impl SessionCookie {
    /// `None` if a cookie could be read on its way.
    pub fn of(base_url: &BaseUrl) -> Option<Self> {
        if base_url.origin().starts_with("https://") {
            return Some(Self { name: NAME, attributes: ATTRIBUTES });
        }
        base_url.is_local().then_some(Self { name: LOCAL_NAME, attributes: LOCAL_ATTRIBUTES })
    }

    pub fn read(self, headers: &HeaderMap) -> Result<Option<SessionId>, UnreadableCookie> {
        let lines = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
        let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
        let mut values = pairs.filter_map(|pair| {
            pair.trim_ascii().strip_prefix(self.name.as_bytes())?.strip_prefix(b"=")
        });
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => SessionId::parse(value).map(Some).ok_or(UnreadableCookie),
            // Another site of the same domain may have added one.
            (Some(_), Some(_)) => Err(UnreadableCookie),
        }
    }

    pub fn keep(self, id: &SessionId) -> String {
        format!("{}={}; {}", self.name, id.text(), self.attributes)
    }

    pub fn remove(self) -> String {
        format!("{}=; Max-Age=0; {}", self.name, self.attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionCookie, SessionId};
    use crate::headers::sent;

    fn of(base_url: &str) -> Option<SessionCookie> {
        SessionCookie::of(&base_url.parse().unwrap())
    }

    #[test]
    fn a_cookie_is_sent_by_https_or_within_a_machine() {
        let id = SessionId::new().unwrap();
        let (secure, local) = ("Secure; HttpOnly; SameSite=Strict", "HttpOnly; SameSite=Strict");
        for (base_url, name, attributes) in [
            ("https://proposals.example.org/api", "__Host-session", secure),
            ("HTTPS://127.0.0.1:8443", "__Host-session", secure),
            ("http://127.0.0.1:8080", "session", local),
            ("http://127.5.0.1/api", "session", local),
            ("http://[::1]:8080", "session", local),
            ("http://LOCALHOST:8080", "session", local),
        ] {
            let kept = of(base_url).unwrap().keep(&id);
            assert_eq!(kept, format!("{name}={}; Path=/; {attributes}", id.text()), "{base_url}");
            let removed = format!("{name}=; Max-Age=0; Path=/; {attributes}");
            assert_eq!(of(base_url).unwrap().remove(), removed);
        }
        for base_url in [
            "http://proposals.example.org",
            "http://192.168.1.2:8080",
            "http://localhost.example.org",
            "http://127.0.0.1.example.org",
            "http://[2001:db8::1]",
        ] {
            assert!(of(base_url).is_none(), "{base_url}");
        }
    }

    #[test]
    fn of_two_cookies_neither_counts() {
        let cookie = of("https://example.org").unwrap();
        let id = SessionId::new().unwrap().text();
        let own = format!("__Host-session={id}");
        let many = "a=b; ".repeat(10_000);
        for (lines, is_found) in [
            (&[][..], Some(false)),
            (&["session=a; x; =; ;;__Host-sessions=b; __host-session=c"], Some(false)),
            (&[&own], Some(true)),
            (&[&format!("a=b;{own} ; c=d")], Some(true)),
            (&["a=b", &own], Some(true)),
            (&[&format!("{many}{own}")], Some(true)),
            (&[&format!("{own}; {own}")], None),
            (&[&own, "__Host-session="], None),
            (&["__Host-session="], None),
            (&[&format!("{own}a")], None),
            (&[&format!("__Host-session=\"{id}\"")], None),
            (&["__Host-session=r\u{e9}"], None),
        ] {
            let read = cookie.read(&sent("cookie", lines)).ok();
            assert_eq!(read.map(|id| id.is_some()), is_found, "{lines:?}");
        }
    }
}
