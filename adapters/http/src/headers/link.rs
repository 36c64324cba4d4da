//! The `Link` header (RFC 8288) of pages, for clients that read headers only.

use percent_encoding::{AsciiSet, utf8_percent_encode};
use poem::Response;
use poem::http::header::LINK;
use poem::http::{HeaderValue, StatusCode};

use super::symbols_except;

/// In bytes. Many proxies refuse a response head above 4 KiB.
const LONGEST: usize = 3_072;

/// Most important first.
const RELATIONS: [&str; 4] = ["next", "prev", "first", "last"];

/// The characters that a URL cannot hold (RFC 3986). Brackets stay as sent: encoded brackets mean
/// something else in a filter.
const ENCODED: &AsciiSet = &symbols_except(b"!#$%&'()*+,-./:;=?@[]_~");

pub type Targets = Vec<(&'static str, String)>;

/// Skips 304: the client has the header already.
pub fn with_links(mut response: Response, targets: &Targets) -> Response {
    if response.status() != StatusCode::NOT_MODIFIED
        && let Some(value) = value(targets)
    {
        response.headers_mut().insert(LINK, value);
    }
    response
}

/// Omits the less important links if the header would be too long. A header without `next` always
/// means the last page: if `next` does not fit, there is no header.
fn value(targets: &Targets) -> Option<HeaderValue> {
    let mut value = String::with_capacity(512);
    for relation in RELATIONS {
        let Some((_, url)) = targets.iter().find(|(own, _)| *own == relation) else { continue };
        let begin = value.len();
        value.push_str(if begin == 0 { "<" } else { ", <" });
        value.extend(utf8_percent_encode(url, ENCODED));
        value.extend([">; rel=\"", relation, "\""]);
        if value.len() > LONGEST {
            value.truncate(begin);
            break;
        }
    }
    HeaderValue::from_str(&value).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, value};

    fn written(targets: &[(&'static str, &str)]) -> Option<String> {
        let targets = targets.iter().map(|(name, url)| (*name, (*url).to_owned())).collect();
        value(&targets).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn targets_are_written_safely() {
        for (url, expected) in [
            ("http://a/b?page=2&filter[x][gte]=1,2;3", "http://a/b?page=2&filter[x][gte]=1,2;3"),
            ("http://a/b?q=%22x%22", "http://a/b?q=%22x%22"),
            (
                "http://a/b?q=>; rel=\"last\", <http://c",
                "http://a/b?q=%3E;%20rel=%22last%22,%20%3Chttp://c",
            ),
            ("http://a/b?q=\r\nx: y\u{7f}é", "http://a/b?q=%0D%0Ax:%20y%7F%C3%A9"),
        ] {
            let expected = format!("<{expected}>; rel=\"next\"");
            assert_eq!(written(&[("next", url)]), Some(expected), "{url}");
        }
    }

    #[test]
    fn what_matters_most_comes_first_and_the_rest_is_left_out() {
        let all = [("self", "s"), ("first", "f"), ("prev", "p"), ("next", "n"), ("last", "l")];
        let expected =
            "<n>; rel=\"next\", <p>; rel=\"prev\", <f>; rel=\"first\", <l>; rel=\"last\"";
        assert_eq!(written(&all).as_deref(), Some(expected));
        assert_eq!(written(&all[..1]), None);
        let long = "x".repeat(LONGEST);
        assert_eq!(
            written(&[("prev", &long), ("next", "n"), ("last", "l")]).as_deref(),
            Some("<n>; rel=\"next\"")
        );
        assert_eq!(written(&[("first", "f"), ("next", &long)]), None);
    }
}
