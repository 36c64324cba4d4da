//! From a file's text to its tree.

use std::collections::HashMap;
use std::sync::Arc;

use domain::json::MAX_DEPTH;
use granit_parser::{Event, Parser, ScalarStyle, Span, options};

use super::offsets::{Quotes, Source};
use super::{Content, Entry, Node, Scalar};
use crate::error::{FileErrors, Location};

/// How many values may still be read: what bounds the memory of trees, which are many times the
/// size of their texts.
pub(crate) struct Budget {
    values: usize,
}

impl Budget {
    /// Most values of all files together.
    pub const VALUES: usize = 300_000;

    pub const fn new() -> Self {
        Self { values: Self::VALUES }
    }

    fn spend(&mut self) -> Result<(), String> {
        self.values = self
            .values
            .checked_sub(1)
            .ok_or_else(|| format!("there are more than {} values in the files", Self::VALUES))?;
        Ok(())
    }
}

/// Reads the one document of a file. `None` when it holds nothing, or has an error that nothing can
/// be read after.
pub(crate) fn parse(
    text: &str,
    budget: &mut Budget,
    errors: &mut FileErrors<'_>,
) -> Option<Arc<Node>> {
    let (tree, duplicates) = match read(&text.into(), budget) {
        Ok(read) => read,
        Err(YamlError { place, reason }) => {
            errors.add(place, reason);
            return None;
        }
    };
    let has_duplicates = !duplicates.is_empty();
    for YamlError { place, reason } in duplicates {
        errors.add(place, reason);
    }
    tree.or_else(|| {
        if !has_duplicates {
            errors.add_to_file(
                "the file is empty; write the list `rules:`, the list `cases:`, or both",
            );
        }
        None
    })
}

/// An error that keeps a file from being a tree.
struct YamlError {
    place: Location,
    reason: String,
}

type Read = (Option<Arc<Node>>, Vec<YamlError>);

fn read(text: &Arc<str>, budget: &mut Budget) -> Result<Read, YamlError> {
    let mut builder = Builder {
        text: text.clone(),
        open: Vec::new(),
        anchors: HashMap::new(),
        root: None,
        duplicates: Vec::new(),
    };
    let limits = options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    for event in Parser::new_from_str_with_options(text, limits) {
        match event {
            Ok((event, span)) => {
                let place = place(&span);
                builder.take(event, &span, budget).map_err(|reason| YamlError { place, reason })?;
            }
            Err(error) => {
                let place = place(&Span::empty(*error.marker()));
                let line = text.lines().nth(place.line as usize - 1).unwrap_or_default();
                return Err(YamlError {
                    place,
                    reason: format!("no YAML: {}{}", error.info(), hint(line)),
                });
            }
        }
    }
    Ok((builder.root, builder.duplicates))
}

fn place(span: &Span) -> Location {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Location {
        line: number(span.start.line()).max(1),
        column: number(span.start.col()).saturating_add(1),
    }
}

/// The likely mistake of the author of a line, with what to write instead.
fn hint(line: &str) -> &'static str {
    let has_lookup = line
        .split_once("lookup:")
        .is_some_and(|(_, value)| value.trim_start().starts_with('{') && value.contains('['));
    if has_lookup {
        return "; a lookup within `{…}` stands in quotes: {program: 'proposedprograms[self.program_id]'}";
    }
    let key = line
        .trim_start_matches(['-', ' ', '\t', '"', '{', ','])
        .split([':', '"'])
        .next()
        .unwrap_or_default();
    if matches!(key, "check" | "when" | "message_expression" | "message" | "description" | "source")
    {
        "; a value with `: ` or ` #` in it, or that begins with one of `! & * [ ] { } > | @ % \" '`, is written in the lines below `|`"
    } else {
        ""
    }
}

/// A list or mapping that is not at its end.
enum Open {
    List {
        place: Location,
        anchor: usize,
        elements: Vec<Arc<Node>>,
    },
    Mapping {
        place: Location,
        anchor: usize,
        entries: Vec<Entry>,
        names: HashMap<String, u32>,
        key: Option<(String, Location)>,
    },
}

struct Builder {
    text: Arc<str>,
    open: Vec<Open>,
    anchors: HashMap<usize, Arc<Node>>,
    root: Option<Arc<Node>>,
    duplicates: Vec<YamlError>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: &Span, budget: &mut Budget) -> Result<(), String> {
        let place = place(span);
        if let Some(tag) = event.tag() {
            return Err(format!(
                "the tag `{}` has no meaning here; write a string that begins with `!` in quotes, or in the lines below `|`",
                tag.original()
            ));
        }
        match event {
            Event::Scalar(value, style, anchor, _) => {
                budget.spend()?;
                let node = Node {
                    place,
                    content: Content::Scalar(self.scalar(&value, style, span, place)),
                    depth: 0,
                };
                self.close(Arc::new(node), anchor)
            }
            Event::Alias(anchor) => {
                budget.spend()?;
                let node = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or("the alias stands within the value that it names; write it out")?;
                self.close(node, 0)
            }
            Event::SequenceStart(_, anchor, _) => {
                budget.spend()?;
                self.refuse_as_key()?;
                self.open.push(Open::List { place, anchor, elements: Vec::new() });
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                budget.spend()?;
                self.refuse_as_key()?;
                self.open.push(Open::Mapping {
                    place,
                    anchor,
                    entries: Vec::new(),
                    names: HashMap::new(),
                    key: None,
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::DocumentStart(..) if self.root.is_some() => {
                Err("a file holds one YAML document; remove what follows `---`".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn scalar(&self, value: &str, style: ScalarStyle, span: &Span, place: Location) -> Scalar {
        let quotes = match style {
            ScalarStyle::SingleQuoted => Quotes::Single,
            ScalarStyle::DoubleQuoted => Quotes::Double,
            _ => Quotes::None,
        };
        let range = span.byte_range().unwrap_or_default();
        let source =
            Source { file: self.text.clone(), start: range.start, end: range.end, place, quotes };
        Scalar { text: value.to_owned(), is_plain: style == ScalarStyle::Plain, source }
    }

    /// Only scalars are keys.
    fn refuse_as_key(&self) -> Result<(), String> {
        match self.open.last() {
            Some(Open::Mapping { key: None, .. }) => {
                Err("a key is a string, not a list or a mapping".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let (place, anchor, content, depth) = match self.open.pop() {
            Some(Open::List { place, anchor, elements }) => {
                let depth = elements.iter().map(|element| element.depth).max();
                (place, anchor, Content::List(elements), depth)
            }
            Some(Open::Mapping { place, anchor, entries, .. }) => {
                let depth = entries.iter().map(|entry| entry.value.depth).max();
                (place, anchor, Content::Mapping(entries), depth)
            }
            None => return Ok(()),
        };
        // Aliases can nest deeper than any text.
        let depth = depth.unwrap_or_default() + 1;
        if depth > MAX_DEPTH {
            return Err(format!("lists and mappings are nested more than {MAX_DEPTH} deep"));
        }
        self.close(Arc::new(Node { place, content, depth }), anchor)
    }

    /// Puts a whole value where it belongs.
    fn close(&mut self, node: Arc<Node>, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { elements, .. }) => elements.push(node),
            Some(Open::Mapping { key: key @ None, .. }) => {
                let text =
                    node.scalar().ok_or("a key is a string, not a list or a mapping")?.text.clone();
                *key = Some((text, node.place));
            }
            Some(Open::Mapping { entries, names, key, .. }) => {
                let Some((key, place)) = key.take() else { return Ok(()) };
                if let Some(line) = names.get(&key) {
                    let reason = format!(
                        "the key `{key}` stands here a second time, first in line {line}; remove one of the two"
                    );
                    self.duplicates.push(YamlError { place, reason });
                } else {
                    names.insert(key.clone(), place.line);
                    entries.push(Entry { key, place, value: node });
                }
            }
        }
        Ok(())
    }
}
