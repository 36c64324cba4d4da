//! Web origins and host names.

use url::{Host, Url};

/// Parses a web origin (RFC 6454) in the form of browsers, or `*`.
pub fn origin(text: &str) -> Result<String, &'static str> {
    let is_origin = Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text
    });
    (text == "*" || is_origin).then(|| text.to_owned()).ok_or(
        "give only a scheme and a host in lower case, and the port if it is not the default, such as https://example.org",
    )
}

/// Parses a host name in the form of browsers. Drops the final dot of an absolute name.
pub fn host_name(text: &str) -> Result<String, &'static str> {
    let name = Host::parse(text).ok().map(|host| host.to_string());
    name.filter(|name| !name.contains('*')).map(|name| name.trim_end_matches('.').to_owned()).ok_or(
        "give only a host name, such as proposals.example.org, without scheme, port, path or `*`",
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{host_name, origin};
    use crate::commands::options::CommandLine;

    #[test]
    fn origins_are_repeated_or_listed() {
        let words = ["p", "--cors-origin=http://a,http://b", "--cors-origin=*"];
        let said = CommandLine::try_parse_from(words).unwrap();
        assert_eq!(said.serve.cors_origins, ["http://a", "http://b", "*"]);
    }

    #[test]
    fn an_allowed_host_is_a_name_alone() {
        for (text, name) in [
            ("proposals.example.org", Some("proposals.example.org")),
            ("Proposals.Example.org.", Some("proposals.example.org")),
            ("intranet", Some("intranet")),
            ("b\u{fc}cher.example", Some("xn--bcher-kva.example")),
            ("example.org:8080", None),
            ("https://example.org", None),
            ("example.org/app", None),
            ("*", None),
            ("*.example.org", None),
            ("", None),
        ] {
            assert_eq!(host_name(text).ok().as_deref(), name, "{text}");
        }
    }

    #[test]
    fn an_origin_has_scheme_and_host_alone() {
        for (text, valid) in [
            ("*", true),
            ("https://example.org", true),
            ("http://127.0.0.1:3000", true),
            ("https://example.org/", false),
            ("https://example.org/app", false),
            ("https://Example.org", false),
            ("example.org", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(origin(text).is_ok(), valid, "{text}");
        }
    }
}
