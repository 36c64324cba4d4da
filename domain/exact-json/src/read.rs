//! The reader: one pass from RFC 8259 text to compact text.

use std::ops::Range;

use memchr::memchr2;

use crate::number::is_storable_number;
use crate::pointer::{LONGEST_NAME, shortened};
use crate::write::push_escaped;
use crate::{JsonError, JsonErrorKind, Value};

/// The limit of nesting. The outermost array or object is level 1.
pub const MAX_DEPTH: usize = 128;

/// Below this number of members, pairwise comparison of names beats sorting.
const FEW_MEMBERS: usize = 12;

#[derive(Debug)]
pub struct Read {
    /// The value without insignificant white space, its strings in canonical escaping, its numbers
    /// as written.
    pub text: String,
    /// The members of the outermost object; empty for other values.
    pub entries: Vec<Entry>,
    /// True if the text has a U+0000 or a number outside the store's range.
    pub has_unstorable: bool,
}

/// The place of a member in compact text. Its value ends before the next member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The start of its name, after the quote.
    pub name: u32,
    /// The start of its value, after quote and colon.
    pub value: u32,
}

impl Entry {
    pub const fn name(self) -> Range<usize> {
        self.name as usize..self.value as usize - "\":".len()
    }
}

impl Read {
    pub fn value(&self) -> Value<'_> {
        Value::from_encoded(&self.text)
    }
}

/// Reads one JSON value of at most [`MAX_DEPTH`] levels and less than 4 GiB.
pub fn read(bytes: &[u8]) -> Result<Read, JsonError> {
    read_within(bytes, MAX_DEPTH)
}

pub fn read_within(bytes: &[u8], max_depth: usize) -> Result<Read, JsonError> {
    let input = std::str::from_utf8(bytes).map_err(|error| {
        let detail = "the body is not valid UTF-8; send it as UTF-8".to_owned();
        error_at(bytes, error.valid_up_to(), JsonErrorKind::NotUtf8, detail)
    })?;
    let mut reader = Reader {
        input,
        bytes,
        at: 0,
        max_depth,
        out: String::with_capacity(input.len()),
        entries: Vec::new(),
        has_unstorable: false,
    };
    reader.skip_white_space();
    if reader.at == bytes.len() {
        return Err(reader.error(JsonErrorKind::Empty, "the body is empty; send a JSON object"));
    }
    reader.value(1)?;
    reader.skip_white_space();
    if reader.at < bytes.len() {
        return Err(reader.unexpected("the end of the body"));
    }
    Ok(Read { text: reader.out, entries: reader.entries, has_unstorable: reader.has_unstorable })
}

struct Member {
    /// The place of its name in the input.
    at: u32,
    entry: Entry,
}

struct Reader<'a> {
    input: &'a str,
    bytes: &'a [u8],
    at: usize,
    max_depth: usize,
    out: String,
    entries: Vec<Entry>,
    has_unstorable: bool,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonError> {
        self.enter(depth, '{')?;
        let mut members = Vec::new();
        while !self.closes(b'}', members.is_empty())? {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a member name in double quotes"));
            }
            let (at, name) = (narrow(self.at), narrow(self.out.len() + 1));
            self.string()?;
            self.skip_white_space();
            self.expect(b':')?;
            self.skip_white_space();
            members.push(Member { at, entry: Entry { name, value: narrow(self.out.len()) } });
            self.value(depth + 1)?;
        }
        self.refuse_duplicates(&members)?;
        if depth == 1 {
            self.entries = members.iter().map(|member| member.entry).collect();
        }
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonError> {
        self.enter(depth, '[')?;
        let mut is_first = true;
        while !self.closes(b']', is_first)? {
            self.value(depth + 1)?;
            is_first = false;
        }
        Ok(())
    }

    fn enter(&mut self, depth: usize, bracket: char) -> Result<(), JsonError> {
        if depth > self.max_depth {
            let detail = format!("the body is nested more than {} levels deep", self.max_depth);
            return Err(error_at(self.bytes, self.at, JsonErrorKind::TooDeep, detail));
        }
        self.at += 1;
        self.out.push(bracket);
        Ok(())
    }

    /// Consumes a closing bracket (true), or the separator before the next element (false).
    fn closes(&mut self, bracket: u8, is_first: bool) -> Result<bool, JsonError> {
        self.skip_white_space();
        if self.peek() == Some(bracket) {
            self.at += 1;
            self.out.push(char::from(bracket));
            return Ok(true);
        }
        if !is_first {
            if self.peek() != Some(b',') {
                return Err(self.unexpected(&format!("`,` or `{}`", char::from(bracket))));
            }
            self.expect(b',')?;
            self.skip_white_space();
        }
        Ok(false)
    }

    fn refuse_duplicates(&self, members: &[Member]) -> Result<(), JsonError> {
        let name_of = |member: &Member| &self.out[member.entry.name()];
        let second = if members.len() <= FEW_MEMBERS {
            (1..members.len()).find(|&later| {
                members[..later].iter().any(|early| name_of(early) == name_of(&members[later]))
            })
        } else {
            let mut order: Vec<u32> = (0..narrow(members.len())).collect();
            // In place: a stable sort would take more memory for the same order.
            order.sort_unstable_by_key(|&index| (name_of(&members[index as usize]), index));
            let same = |pair: &&[u32]| {
                name_of(&members[pair[0] as usize]) == name_of(&members[pair[1] as usize])
            };
            order.windows(2).find(same).map(|pair| pair[1] as usize)
        };
        match second {
            None => Ok(()),
            Some(index) => {
                let detail = format!(
                    "the member \"{}\" is given more than once in one object; send it once",
                    shortened(name_of(&members[index]), LONGEST_NAME)
                );
                let (at, kind) = (members[index].at as usize, JsonErrorKind::DuplicateMember);
                Err(error_at(self.bytes, at, kind, detail))
            }
        }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        self.out.push('"');
        loop {
            let clean_from = self.at;
            self.at += clean_length(&self.bytes[clean_from..]);
            self.out.push_str(&self.input[clean_from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.out.push('"');
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => {
                    let detail = "unescaped control character in a string; escape it";
                    return Err(self.malformed(detail));
                }
                None => {
                    return Err(self.malformed("the body ends within a string; close the string"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        let character = match self.bytes.get(self.at + 1) {
            Some(b'u') => return self.unicode_escape(),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => {
                return Err(self.malformed("unknown escape sequence; escape a backslash as `\\\\`"));
            }
        };
        self.at += 2;
        self.push_character(character);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), JsonError> {
        let first = self.code_unit(self.at)?;
        let lone =
            "unpaired surrogate escape; send the character itself or both halves of the pair";
        let (code_point, length) = match first {
            0xd800..=0xdbff => match self.code_unit(self.at + 6) {
                Ok(second @ 0xdc00..=0xdfff) => {
                    (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12)
                }
                _ => return Err(self.error(JsonErrorKind::LoneSurrogate, lone)),
            },
            _ => (first, 6),
        };
        let Some(character) = char::from_u32(code_point) else {
            return Err(self.error(JsonErrorKind::LoneSurrogate, lone));
        };
        self.has_unstorable |= character == '\0';
        self.at += length;
        self.push_character(character);
        Ok(())
    }

    fn code_unit(&self, at: usize) -> Result<u32, JsonError> {
        let malformed = || self.malformed("`\\u` must be followed by four hexadecimal digits");
        let escape = self
            .bytes
            .get(at..at + 6)
            .filter(|escape| escape.starts_with(b"\\u"))
            .ok_or_else(malformed)?;
        escape[2..].iter().try_fold(0, |value, &digit| {
            char::from(digit).to_digit(16).map(|digit| value * 16 + digit).ok_or_else(malformed)
        })
    }

    fn push_character(&mut self, character: char) {
        push_escaped(&mut self.out, character.encode_utf8(&mut [0; 4]));
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.input[from..self.at];
        self.has_unstorable |= !is_storable_number(text);
        self.out.push_str(text);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), JsonError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        self.out.push_str(word);
        Ok(())
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(&format!("`{}`", char::from(byte))));
        }
        self.at += 1;
        self.out.push(char::from(byte));
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn unexpected(&self, wanted: &str) -> JsonError {
        let detail = match self.input[self.at..].chars().next() {
            Some(found) => format!("expected {wanted}, found `{}`", found.escape_debug()),
            None => format!("expected {wanted}, but the body ends here"),
        };
        error_at(self.bytes, self.at, JsonErrorKind::Malformed, detail)
    }

    fn malformed(&self, detail: &str) -> JsonError {
        self.error(JsonErrorKind::Malformed, detail)
    }

    fn error(&self, kind: JsonErrorKind, detail: &str) -> JsonError {
        error_at(self.bytes, self.at, kind, detail.to_owned())
    }
}

fn error_at(bytes: &[u8], at: usize, kind: JsonErrorKind, detail: String) -> JsonError {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    JsonError { kind, line, column, detail }
}

/// Bodies are limited far below 4 GiB, so four bytes suffice and halve the index.
pub(crate) fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The length up to a quote, an escape or a control character.
fn clean_length(bytes: &[u8]) -> usize {
    let length = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
    let has_control = bytes[..length].iter().min().is_some_and(|least| *least < 0x20);
    let control = has_control.then(|| bytes.iter().position(|byte| *byte < 0x20));
    control.flatten().unwrap_or(length)
}
