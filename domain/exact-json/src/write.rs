//! Writing JSON strings in one canonical form, so that equal texts are equal bytes.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a JSON string with quotes and the escapes that RFC 8259 section 7 requires.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

pub fn encode_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// Returns a name in canonical escaping, without quotes.
pub fn escape_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    push_escaped(&mut out, name);
    out
}

pub(super) fn push_escaped(out: &mut String, text: &str) {
    let mut clean_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[clean_from..at]);
        clean_from = at + 1;
        push_escape(out, byte);
    }
    out.push_str(&text[clean_from..]);
}

fn push_escape(out: &mut String, byte: u8) {
    out.push_str(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0c => "\\f",
        control => {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(control >> 4)]));
            out.push(char::from(HEX[usize::from(control & 15)]));
            return;
        }
    });
}
