//! The trace that a request belongs to (W3C Trace Context, level 1).

use application::metrics::TraceId;
use poem::http::HeaderMap;

const TRACEPARENT: &str = "traceparent";

/// Returns the trace of a request that its sender records; whatever is malformed counts as none.
pub fn sampled_trace(headers: &HeaderMap) -> Option<TraceId> {
    let mut lines = headers.get_all(TRACEPARENT).iter();
    let (line, None) = (lines.next()?.to_str().ok()?, lines.next()) else { return None };
    let [version, trace, parent, flags] = parts(line)?;
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_known = is_hex(version, 2) && version != "ff";
    let is_sound = is_known && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    let number = |text: &str| u128::from_str_radix(text, 16).ok().filter(|number| *number > 0);
    let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    number(parent).filter(|_| is_sound && is_sampled)?;
    number(trace).map(TraceId)
}

/// The first four parts; versions to come may have more.
fn parts(line: &str) -> Option<[&str; 4]> {
    let mut parts = line.split('-');
    let found = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    (parts.next().is_none() || found[0] != "00").then_some(found)
}

#[cfg(test)]
mod tests {
    use application::metrics::TraceId;
    use poem::http::{HeaderMap, HeaderValue};

    use super::sampled_trace;

    const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;

    #[test]
    fn a_trace_is_that_of_one_sound_header_that_says_it_is_recorded() {
        let sound = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        for (lines, expected) in [
            (&[sound][..], Some(TRACE)),
            (&["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"], Some(TRACE)),
            (&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"], None),
            (&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"], None),
            (&["ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], None),
            (&["00-00000000000000000000000000000000-b7ad6b7169203331-01"], None),
            (&["00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"], None),
            (&["00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"], None),
            (&["00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01"], None),
            (&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"], None),
            (&["é", ""], None),
            (&[sound, sound], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("traceparent", HeaderValue::from_bytes(line.as_bytes()).unwrap());
            }
            assert_eq!(sampled_trace(&headers), expected.map(TraceId), "{lines:?}");
        }
    }
}
