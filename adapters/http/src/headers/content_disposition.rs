//! File names in Content-Disposition (RFC 6266).

use domain::ItemId;
use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};
use poem::http::header::CONTENT_DISPOSITION;
use poem::http::{HeaderMap, HeaderValue};

use super::quality_list::split_unquoted;
use super::sole::sole;
use super::symbols_except;

/// In bytes.
const LONGEST: usize = 255;

/// All but `attr-char` of RFC 8187 section 3.2.1.
const ENCODED: &AsciiSet = &symbols_except(b"!#$&+-.^_`|~");

/// The types that browsers show without running anything in them.
const INLINE: [&str; 8] = [
    "application/pdf",
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/plain",
];

pub fn is_shown_inline(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    INLINE.contains(&&*name) || name.starts_with("audio/") || name.starts_with("video/")
}

/// The name with a fallback in ASCII, and encoded (RFC 8187) if that differs.
pub fn header(is_inline: bool, name: Option<&str>, id: ItemId) -> HeaderValue {
    let name = name.map_or_else(|| id.to_string(), ToOwned::to_owned);
    let is_plain =
        |character: char| matches!(character, ' '..='~') && !matches!(character, '"' | '\\' | '%');
    let fallback: String = name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
    let kind = if is_inline { "inline" } else { "attachment" };
    let mut line = format!("{kind}; filename=\"{fallback}\"");
    if fallback != name {
        line.push_str("; filename*=UTF-8''");
        line.extend(utf8_percent_encode(&name, ENCODED));
    }
    HeaderValue::try_from(line).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

/// The name in a request. `filename*` precedes `filename`.
pub fn name_in(headers: &HeaderMap) -> Option<Box<str>> {
    let line = sole(headers, CONTENT_DISPOSITION).ok().flatten()?;
    let line = std::str::from_utf8(line.as_bytes()).ok()?;
    let parameters = split_unquoted(line, ';').skip(1).filter_map(|part| part.split_once('='));
    let mut names = [None, None];
    for (key, value) in parameters {
        match &*key.trim().to_ascii_lowercase() {
            "filename*" => names[0] = names[0].take().or_else(|| decoded(value.trim())),
            "filename" => names[1] = names[1].take().or_else(|| Some(unquoted(value.trim()))),
            _ => {}
        }
    }
    safe(&names.into_iter().flatten().next()?)
}

/// `ext-value` of RFC 8187 section 3.2.1.
fn decoded(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, encoded) = rest.split_once('\'')?;
    let bytes = percent_decode_str(encoded);
    charset.eq_ignore_ascii_case("utf-8").then(|| bytes.decode_utf8().ok())?.map(Into::into)
}

fn unquoted(value: &str) -> String {
    let Some(quoted) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let (mut name, mut characters) = (String::new(), quoted.chars());
    while let Some(character) = characters.next() {
        name.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    name
}

/// Removes folders, control characters and invisible characters from a name. Returns `None` if the
/// result is empty.
pub fn safe(name: &str) -> Option<Box<str>> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_kept = |character: &char| {
        !character.is_control()
            && !matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let kept: String = last.chars().filter(is_kept).collect();
    let whole = kept.trim_matches([' ', '.']);
    (!whole.is_empty()).then(|| shortened(whole, LONGEST))
}

/// Cuts a name to this length in bytes. The extension stays.
pub fn shortened(name: &str, most: usize) -> Box<str> {
    if name.len() <= most {
        return name.into();
    }
    let extension = name.rfind('.').filter(|at| name.len() - at <= 16).map_or("", |at| &name[at..]);
    let mut end = most - extension.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    [name[..end].trim_end_matches([' ', '.']), extension].concat().into()
}

#[cfg(test)]
mod tests {
    use domain::ItemId;
    use poem::http::header::CONTENT_DISPOSITION;
    use proptest::prelude::*;

    use super::{header, is_shown_inline, name_in, safe};
    use crate::headers::sent;

    #[test]
    fn a_name_in_a_request_is_read_and_made_safe() {
        for (line, expected) in [
            ("attachment; filename=\"letter.pdf\"", Some("letter.pdf")),
            ("inline; filename=letter.pdf", Some("letter.pdf")),
            ("attachment; filename=\"a;b \\\"c\\\".pdf\"", Some("a;b \"c\".pdf")),
            (
                "attachment; filename=\"x.pdf\"; filename*=UTF-8''%C3%91and%C3%BA.pdf",
                Some("Ñandú.pdf"),
            ),
            ("attachment; filename*=latin1''%e4.pdf; filename=\"a.pdf\"", Some("a.pdf")),
            ("attachment; filename=\"../../etc/passwd\"", Some("passwd")),
            ("attachment; filename=\"C:\\\\a\\\\b.txt\"", Some("b.txt")),
            ("attachment; filename=\"..\"", None),
            ("attachment", None),
        ] {
            assert_eq!(name_in(&sent(CONTENT_DISPOSITION, &[line])).as_deref(), expected, "{line}");
        }
        assert_eq!(safe("invoice\u{202e}fdp.exe").as_deref(), Some("invoicefdp.exe"));
        assert_eq!(safe("a\r\nSet-Cookie: b").as_deref(), Some("aSet-Cookie: b"));
        assert_eq!(safe(".htaccess").as_deref(), Some("htaccess"));
        let long = safe(&format!("{}.pdf", "ñ".repeat(400))).unwrap();
        assert!(long.len() <= 255 && long.ends_with("ñ.pdf"), "{long}");
    }

    #[test]
    fn a_name_in_a_response_is_one_line_for_any_client() {
        let id = ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8040").unwrap();
        for (name, expected) in [
            (Some("letter.pdf"), "inline; filename=\"letter.pdf\""),
            (
                Some("50% \"off\""),
                "inline; filename=\"50_ _off_\"; filename*=UTF-8''50%25%20%22off%22",
            ),
            (Some("Ñ.pdf"), "inline; filename=\"_.pdf\"; filename*=UTF-8''%C3%91.pdf"),
            (None, "inline; filename=\"01890a5d-ac96-774b-bcce-b302099a8040\""),
        ] {
            assert_eq!(header(true, name, id), expected);
        }
        assert!(header(false, Some("a"), id).to_str().unwrap().starts_with("attachment;"));
    }

    #[test]
    fn nothing_that_may_run_a_script_is_shown_inline() {
        for shown in
            ["application/pdf", "IMAGE/PNG", "text/plain; charset=utf-8", "audio/wav", "video/mp4"]
        {
            assert!(is_shown_inline(shown), "{shown}");
        }
        for saved in [
            "text/html",
            "image/svg+xml",
            "application/xhtml+xml",
            "text/xml",
            "application/javascript",
            "x/y",
            "",
        ] {
            assert!(!is_shown_inline(saved), "{saved}");
        }
    }

    proptest! {
        #[test]
        fn any_name_comes_back_as_it_was_kept(name in any::<String>()) {
            if let Some(safe) = safe(&name) {
                let sent_back = header(false, Some(&safe), ItemId::NIL);
                let headers = sent(CONTENT_DISPOSITION, &[sent_back.to_str().unwrap()]);
                prop_assert_eq!(name_in(&headers), super::safe(&safe));
                prop_assert_eq!(super::safe(&safe), Some(safe));
            }
        }
    }
}
