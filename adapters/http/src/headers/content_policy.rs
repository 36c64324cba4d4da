//! The Content-Security-Policies of pages.

use application::Identity;
use poem::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use poem::http::{HeaderMap, HeaderValue, Uri};

/// The default: pages load only the service's own files, and nothing inline.
pub const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The style of Swagger UI contains images.
pub const REFERENCE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; font-src data:; form-action 'none'; base-uri 'none'; \
     frame-ancestors 'none'",
);

/// The page that receives authorization codes must not send requests.
pub const RECEIVER_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'none'",
);

const OWN_REQUESTS: &str = "connect-src 'self'";

/// Permits requests to the issuers: their configuration and their token endpoints. An issuer's
/// sign-in page opens in a separate window, outside this policy.
pub fn permit_issuers(headers: &mut HeaderMap, identity: &dyn Identity) {
    let media = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !media.is_some_and(|media| media.starts_with(b"text/html")) {
        return;
    }
    let policy = headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    let (published, token_endpoints) = (identity.published(), identity.token_endpoints());
    let issuers = published.issuers.iter().filter(|issuer| issuer.client.is_some());
    let addresses = issuers.flat_map(|it| [Some(&it.url), it.configuration.as_ref()]).flatten();
    let addresses = addresses.chain(&token_endpoints);
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

/// `None` if a policy cannot hold the origin. Issuers choose some of the URLs, so the header must
/// contain only the origin.
fn origin(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let scheme = url.scheme_str().filter(|scheme| matches!(*scheme, "https" | "http"))?;
    let authority = url.authority()?.as_str();
    let is_plain = authority.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']')
    });
    is_plain.then(|| format!("{scheme}://{authority}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use application::ports::MockIdentity;
    use application::{PublishedIdentity, PublishedIssuer};
    use poem::http::HeaderMap;
    use poem::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};

    use super::{HeaderValue, OWN_REQUESTS, POLICY, RECEIVER_POLICY, permit_issuers};

    fn issuer(url: &str, client: Option<&str>) -> PublishedIssuer {
        let configuration = Some(format!("{url}/.well-known/openid-configuration").into());
        PublishedIssuer { url: url.into(), configuration, client: client.map(Into::into) }
    }

    fn identity(issuers: Vec<PublishedIssuer>, token_endpoints: &[&str]) -> MockIdentity {
        let mut identity = MockIdentity::new();
        let published = Arc::new(PublishedIdentity { issuers, scopes: Vec::new() });
        let token_endpoints: Vec<_> = token_endpoints.iter().map(|&url| url.into()).collect();
        identity.expect_published().return_const(published);
        identity.expect_token_endpoints().return_const(token_endpoints);
        identity
    }

    /// The sources of requests in the policy of a page with these issuers.
    fn requests(issuers: Vec<PublishedIssuer>, token_endpoints: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        permit_issuers(&mut headers, &identity(issuers, token_endpoints));
        let policy = headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        let requests = policy.split("; ").find(|part| part.starts_with("connect-src")).unwrap();
        let own = POLICY.to_str().unwrap().replacen(OWN_REQUESTS, requests, 1);
        assert_eq!(policy, own, "nothing else is changed");
        requests.to_owned()
    }

    #[test]
    fn a_policy_names_the_origins_of_issuers_that_have_a_client() {
        for (issuers, expected) in [
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
            assert_eq!(requests(issuers, &[]), expected);
        }
    }

    #[test]
    fn of_a_token_endpoint_a_policy_has_the_origin_and_nothing_else() {
        let issuers = || vec![issuer("https://id.example", Some("x"))];
        for (endpoint, named) in [
            ("https://tokens.example:8443/token?a=b", Some("https://tokens.example:8443")),
            ("http://[::1]:9/token", Some("http://[::1]:9")),
            ("https://id.example/token", None),
            ("https://*/token", None),
            ("https://*.example/token", None),
            ("https://a.example; script-src *", None),
            ("https://a.example;script-src/token", None),
            ("https://a.example,default-src/token", None),
            ("https://a.example\r\nset-cookie: a=b", None),
            ("https://'unsafe-inline'/", None),
            ("https://user:password@a.example/", None),
            ("javascript:alert(1)", None),
            ("data:text/html,a", None),
            ("ws://a.example/", None),
            ("//a.example/token", None),
            ("/token", None),
            ("*", None),
            ("", None),
        ] {
            let mut origins = vec!["https://id.example"];
            origins.extend(named);
            origins.sort_unstable();
            let expected = format!("connect-src 'self' {}", origins.join(" "));
            assert_eq!(requests(issuers(), &[endpoint]), expected, "{endpoint}");
        }
    }

    #[test]
    fn a_page_that_sends_no_requests_and_other_content_keep_their_policies() {
        let identity = identity(
            vec![issuer("https://id.example", Some("x"))],
            &["https://tokens.example/token"],
        );
        for (media, policy) in [("text/html", RECEIVER_POLICY), ("application/json", POLICY)] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
            headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
            permit_issuers(&mut headers, &identity);
            assert_eq!(headers[CONTENT_SECURITY_POLICY], policy);
        }
    }
}
