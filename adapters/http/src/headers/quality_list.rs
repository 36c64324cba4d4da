//! Header lists with quality values (RFC 9110 section 12.4.2), as in Accept.

use poem::http::header::HeaderName;
use poem::http::{HeaderMap, HeaderValue};

#[derive(Debug, PartialEq)]
pub struct Element<'a> {
    pub name: &'a str,
    /// In thousandths, from 0 (not acceptable) to 1000.
    pub quality: u16,
}

/// Skips malformed elements. `None` if the header is absent.
pub fn elements<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Option<impl Iterator<Item = Element<'a>>> {
    let lines = headers.get_all(name);
    lines.iter().next()?;
    Some(lines.iter().flat_map(elements_of_line).filter_map(element))
}

/// Drops only the elements with bytes that are not text.
pub fn elements_of_line(line: &HeaderValue) -> Vec<&str> {
    match line.to_str() {
        Ok(text) => split_unquoted(text, ',').collect(),
        Err(_) => line
            .as_bytes()
            .split(|byte| *byte == b',')
            .filter_map(|part| std::str::from_utf8(part).ok())
            .collect(),
    }
}

fn element(text: &str) -> Option<Element<'_>> {
    let mut parts = split_unquoted(text, ';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty() && !name.contains([' ', '\t', '"']))?;
    let mut quality = 1000;
    for parameter in parts {
        if let Some((key, value)) = parameter.split_once('=')
            && key.trim_end().eq_ignore_ascii_case("q")
        {
            quality = thousandths(value.trim_start())?;
        }
    }
    Some(Element { name, quality })
}

fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1")
        || decimals.len() > 3
        || !decimals.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let value = format!("{whole}{decimals:0<3}").parse().ok()?;
    (value <= 1000).then_some(value)
}

pub fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character| {
        let separates = character == separator && !is_quoted;
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        separates
    })
}
