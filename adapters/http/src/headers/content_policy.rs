//! The Content-Security-Policies of pages.

use std::sync::Arc;

use application::PublishedIdentity;
use poem::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use poem::http::{HeaderMap, HeaderValue, Uri};

/// The policy of every page that has none of its own. Everything a page loads comes from the service
/// itself, and nothing is inline.
pub const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The policy of the reference. The style of Swagger UI has images within it.
pub const REFERENCE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; font-src data:; form-action 'none'; base-uri 'none'; \
     frame-ancestors 'none'",
);

/// The policy of the page that receives authorization codes: it sends nothing anywhere.
pub const RECEIVER_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// The part of a policy that says where scripts may send requests.
const OWN_REQUESTS: &str = "connect-src 'self'";

/// Lets the scripts of a page reach the issuers that they sign in with.
pub fn permit_issuers(headers: &mut HeaderMap, published: impl FnOnce() -> Arc<PublishedIdentity>) {
    let media = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !media.is_some_and(|media| media.starts_with(b"text/html")) {
        return;
    }
    let identity = published();
    let policy = headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    let issuers = identity.issuers.iter().filter(|issuer| issuer.client.is_some());
    let addresses = issuers.flat_map(|it| [Some(&it.url), it.configuration.as_ref()]).flatten();
    let mut origins: Vec<_> = addresses.filter_map(|address| origin(address)).collect();
    origins.sort_unstable();
    origins.dedup();
    let permitted = origins
        .iter()
        .fold(OWN_REQUESTS.to_owned(), |permitted, origin| format!("{permitted} {origin}"));
    let named = policy.to_str().map(|policy| policy.replacen(OWN_REQUESTS, &permitted, 1));
    if let Ok(Ok(named)) = named.map(HeaderValue::try_from) {
        *policy = named;
    }
}

/// The origin of a URL; `None` where it has none, or one that a policy cannot hold.
fn origin(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let authority = url.authority()?.as_str();
    let is_plain = authority.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']')
    });
    is_plain.then(|| format!("{}://{authority}", url.scheme_str().unwrap_or("https")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use application::{PublishedIdentity, PublishedIssuer};
    use poem::http::HeaderMap;
    use poem::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};

    use super::{HeaderValue, POLICY, RECEIVER_POLICY, permit_issuers};

    fn issuer(url: &str, client: Option<&str>) -> PublishedIssuer {
        let configuration = Some(format!("{url}/.well-known/openid-configuration").into());
        PublishedIssuer { url: url.into(), configuration, client: client.map(Into::into) }
    }

    /// The sources of requests in the policy of a page with these issuers.
    fn requests(issuers: Vec<PublishedIssuer>) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        let published = PublishedIdentity { issuers, scopes: Vec::new() };
        permit_issuers(&mut headers, || Arc::new(published));
        let policy = headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        let requests = policy.split("; ").find(|part| part.starts_with("connect-src"));
        requests.unwrap().to_owned()
    }

    #[test]
    fn a_policy_names_the_origins_of_issuers_that_have_a_client() {
        for (issuers, expected) in [
            (vec![], "connect-src 'self'"),
            (vec![issuer("https://id.example/a", None)], "connect-src 'self'"),
            (
                vec![issuer("https://id.example/a", Some("x"))],
                "connect-src 'self' https://id.example",
            ),
            (
                vec![
                    issuer("http://127.0.0.1:9", Some("x")),
                    issuer("https://id.example/a", Some("x")),
                    issuer("https://id.example/b", Some("y")),
                ],
                "connect-src 'self' http://127.0.0.1:9 https://id.example",
            ),
            (vec![issuer("https://a;b", Some("x"))], "connect-src 'self'"),
            (vec![issuer("https://user@a", Some("x"))], "connect-src 'self'"),
        ] {
            assert_eq!(requests(issuers), expected);
        }
    }

    #[test]
    fn a_page_that_sends_no_requests_and_other_content_keep_their_policies() {
        let published = PublishedIdentity {
            issuers: vec![issuer("https://id.example", Some("x"))],
            scopes: Vec::new(),
        };
        for (media, policy) in [("text/html", RECEIVER_POLICY), ("application/json", POLICY)] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
            headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
            permit_issuers(&mut headers, || Arc::new(published.clone()));
            assert_eq!(headers[CONTENT_SECURITY_POLICY], policy);
        }
    }
}
