//! The trace of a request (W3C Trace Context, level 1).

use application::traces::{RemoteSpan, TraceId};
use poem::http::HeaderMap;
use poem::http::header::HeaderName;

use crate::headers::sole::sole;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The minimum that every system must propagate.
const LONGEST_STATE: usize = 512;

/// A malformed header counts as absent.
pub fn remote_span(headers: &HeaderMap) -> Option<RemoteSpan> {
    let line = sole(headers, TRACEPARENT).ok().flatten()?.to_str().ok()?;
    let [version, trace, parent, flags] = parts(line)?;
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_known = is_hex(version, 2) && version != "ff";
    let is_sound = is_known && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    if !is_sound {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace > 0).map(TraceId)?;
    let span = u64::from_str_radix(parent, 16).ok().filter(|span| *span > 0)?;
    let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    Some(RemoteSpan { trace, span, is_sampled })
}

pub fn trace_state(headers: &HeaderMap) -> Option<String> {
    let mut state = String::new();
    for line in headers.get_all(TRACESTATE) {
        let line = line.to_str().ok().filter(|line| state.len() + line.len() < LONGEST_STATE)?;
        state.push_str(if state.is_empty() { "" } else { "," });
        state.push_str(line);
    }
    Some(state)
}

/// Later versions may have more parts.
fn parts(line: &str) -> Option<[&str; 4]> {
    let mut parts = line.split('-');
    let found = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    (parts.next().is_none() || found[0] != "00").then_some(found)
}

#[cfg(test)]
mod tests {
    use application::traces::{RemoteSpan, TraceId};

    use super::{remote_span, trace_state};
    use crate::headers::sent;

    const TRACE: TraceId = TraceId(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
    const SPAN: u64 = 0xb7ad_6b71_6920_3331;

    #[test]
    fn a_trace_is_that_of_one_sound_header() {
        let sound = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let long = format!("{}-{}", sound.replacen("00", "01", 1), "a".repeat(60_000));
        for (lines, expected) in [
            (&[sound][..], Some(true)),
            (&["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"], Some(true)),
            (&[&long], Some(true)),
            (&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"], Some(false)),
            (&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02"], Some(false)),
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
            let expected =
                expected.map(|is_sampled| RemoteSpan { trace: TRACE, span: SPAN, is_sampled });
            assert_eq!(remote_span(&sent("traceparent", lines)), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_state_is_one_line_and_not_too_long() {
        let long = "a".repeat(512);
        for (lines, expected) in [
            (&["a=1,b=2"][..], Some("a=1,b=2")),
            (&["a=1", "b=2"], Some("a=1,b=2")),
            (&[&long], None),
            (&[&long[..300], &long[..300]], None),
            (&["é"], None),
            (&[], Some("")),
        ] {
            assert_eq!(trace_state(&sent("tracestate", lines)).as_deref(), expected);
        }
    }
}
