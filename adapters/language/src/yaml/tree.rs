use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use domain::json::MAX_DEPTH;
use granit_parser::{Event, Parser, Span, StrInput, options};

use super::{Content, MappingEntry, Node, Scalar};
use crate::error::{ErrorCollector, Located, Location};

/// Limit on values of all files together. It bounds the memory of trees, which are much larger than
/// their texts.
pub const MOST_VALUES: usize = 300_000;

#[derive(Clone, Copy, Debug)]
pub struct Advice {
    pub of_empty_file: &'static str,
    pub of_line: fn(&str) -> &'static str,
}

/// Parses the only document of a file and subtracts its values from `values_left`. `None` for an
/// empty document or a fatal error.
pub fn parse(
    text: &str,
    advice: &Advice,
    values_left: &mut usize,
    errors: &mut ErrorCollector<'_>,
) -> Option<Arc<Node>> {
    let file = text.into();
    let limits = options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    let events = Parser::new_from_str_with_options(text, limits);
    let mut builder =
        Builder { file, events, advice, anchors: HashMap::new(), end: 0, values_left, errors };
    match builder.document() {
        Ok(Some(tree)) => return Some(tree),
        Ok(None) => errors.add_to_file(format!("the file is empty; {}", advice.of_empty_file)),
        Err((place, reason)) => errors.add(place, reason),
    }
    None
}

fn place(span: &Span) -> Location {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Location {
        line: number(span.start.line()).max(1),
        column: number(span.start.col()).saturating_add(1),
    }
}

struct Builder<'t, 'b, 'e> {
    file: Arc<str>,
    events: Parser<'t, StrInput<'t>>,
    advice: &'b Advice,
    anchors: HashMap<usize, Arc<Node>>,
    /// End of the last value. The parser reports the end of a block only at the start of the next
    /// one, with an empty span.
    end: usize,
    values_left: &'b mut usize,
    errors: &'b mut ErrorCollector<'e>,
}

impl<'t> Builder<'t, '_, '_> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Located> {
        let next = self.events.next().transpose().map_err(|error| {
            let place = place(&Span::empty(*error.marker()));
            let line = self.file.lines().nth(place.line as usize - 1).unwrap_or_default();
            (place, format!("this is not YAML: {}{}", error.info(), (self.advice.of_line)(line)))
        })?;
        if let Some(range) = next.as_ref().and_then(|(_, span)| span.byte_range())
            && !range.is_empty()
        {
            self.end = range.end;
        }
        Ok(next)
    }

    fn document(&mut self) -> Result<Option<Arc<Node>>, Located> {
        let mut root = None;
        while let Some((event, span)) = self.next()? {
            match event {
                Event::DocumentStart(..) if root.is_some() => {
                    let reason =
                        "a file must contain one YAML document; remove the lines from `---` on";
                    return Err((place(&span), reason.to_owned()));
                }
                Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(..)
                | Event::DocumentEnd => {}
                event => root = Some(self.node(event, &span)?),
            }
        }
        Ok(root)
    }

    fn node(&mut self, event: Event<'t>, span: &Span) -> Result<Arc<Node>, Located> {
        let place = place(span);
        if let Some(tag) = event.tag() {
            let reason = format!(
                "the tag `{}` is not supported; put a string that begins with `!` in quotes, or in the lines below `|`",
                tag.original()
            );
            return Err((place, reason));
        }
        *self.values_left = self.values_left.checked_sub(1).ok_or_else(|| {
            (place, format!("the files contain more than {MOST_VALUES} YAML values; remove some"))
        })?;
        let (content, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let range = span.byte_range().unwrap_or_default();
                let file = self.file.clone();
                let scalar = Scalar { text: text.into_owned(), style, place, range, file };
                (Content::Scalar(scalar), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Content::List(self.elements()?), anchor),
            Event::MappingStart(_, anchor, _) => (Content::Mapping(self.entries()?), anchor),
            Event::Alias(anchor) => {
                return self.anchors.get(&anchor).cloned().ok_or_else(|| {
                    let reason =
                        "the alias is inside the value that it refers to; write the value out";
                    (place, reason.to_owned())
                });
            }
            _ => return Err((place, "a value is expected here".to_owned())),
        };
        let depth = match &content {
            Content::Scalar(_) => 0,
            Content::List(of) => 1 + of.iter().map(|element| element.depth).max().unwrap_or(0),
            Content::Mapping(of) => 1 + of.iter().map(|entry| entry.value.depth).max().unwrap_or(0),
        };
        // Aliases can nest deeper than the text.
        if depth > MAX_DEPTH {
            let reason = format!("lists and mappings are nested more than {MAX_DEPTH} deep");
            return Err((place, reason));
        }
        let range = self.range(span);
        let node = Arc::new(Node { place, content, depth, range, file: self.file.clone() });
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// Returns the bytes of a value, with a comment on its last line. The parser includes line ends
    /// and indentation after a block, which are removed here.
    fn range(&self, span: &Span) -> Range<usize> {
        let start = span.byte_range().map_or(self.end, |range| range.start);
        let end = self.file[..self.end].trim_end().len().max(start);
        let line = self.file[end..].lines().next().unwrap_or_default();
        let is_comment = line.trim_start().starts_with('#');
        start..if is_comment { end + line.len() } else { end }
    }

    fn elements(&mut self) -> Result<Vec<Arc<Node>>, Located> {
        let mut elements = Vec::new();
        while let Some((event, span)) = self.next()?
            && event != Event::SequenceEnd
        {
            elements.push(self.node(event, &span)?);
        }
        Ok(elements)
    }

    fn entries(&mut self) -> Result<Vec<MappingEntry>, Located> {
        let (mut entries, mut lines) = (Vec::new(), HashMap::new());
        while let Some((event, span)) = self.next()?
            && event != Event::MappingEnd
        {
            let (place, name) = (place(&span), self.node(event, &span)?);
            let Some(Scalar { text: key, .. }) = name.scalar() else {
                return Err((place, "a key must be a string, not a list or a mapping".to_owned()));
            };
            // An absent value ends at its colon.
            let rest = &self.file[self.end..];
            if let Some(behind) = rest.trim_start_matches(' ').strip_prefix(':') {
                self.end = self.file.len() - behind.len();
            }
            let Some((event, span)) = self.next()? else { break };
            let value = self.node(event, &span)?;
            if let Some(line) = lines.get(key) {
                let reason = format!(
                    "the key `{key}` is given more than once, first in line {line}; keep one of them"
                );
                self.errors.add(place, reason);
            } else {
                lines.insert(key.clone(), place.line);
                entries.push(MappingEntry { key: key.clone(), place, value });
            }
        }
        Ok(entries)
    }
}
