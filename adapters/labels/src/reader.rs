//! Reads a label file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use application::{Choice, FieldLabels, GroupLabels, LabelSet, Localized, Logo};
use domain::Collection;
use language::error::{ErrorCollector, FileErrors, Located};
use language::files::FileSet;
use language::keys::{Keys, absent_member, entries, known_words, list, string};
use language::yaml::{Advice, Node};

use crate::file_format::{CHOICE, FIELD, FILE, GROUP, GROUP_LABELS, longest};

/// In bytes.
const LARGEST_LOGO: u64 = 100 << 10;

const MOST_LANGUAGES: usize = 20;
const MOST_CHOICES: usize = 200;

/// Extensions and media types.
const LOGOS: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
];

const ADVICE: Advice = Advice {
    of_empty_file: "write at least `name:` or `groups:`",
    of_line: |_| "; put a text that begins with one of `! & * [ ] { } > | @ % \" '` in quotes",
};

pub(crate) fn read(mut files: FileSet) -> Result<LabelSet, FileErrors> {
    let trees = files.trees(&ADVICE);
    let mut labels = LabelSet::default();
    for (index, (file, tree)) in trees.iter().enumerate() {
        let mut errors = files.errors_of(file);
        if index > 0 {
            errors.add_to_file("is a second label file; put all labels in one file");
        } else if let Some(keys) = Keys::of(tree, &FILE, Some(&[]), &mut errors) {
            let mut reader = Reader { labels: &mut labels, errors: &mut errors };
            reader.read(&keys, Path::new(&**file));
        }
    }
    files.finish(&[], true)?;
    Ok(labels)
}

struct Reader<'a, 'e> {
    labels: &'a mut LabelSet,
    errors: &'a mut ErrorCollector<'e>,
}

impl Reader<'_, '_> {
    fn read(&mut self, keys: &Keys<'_>, file: &Path) {
        self.languages(keys);
        self.labels.name = keys.get("name").and_then(|node| self.text("name", node));
        if let Some(logo) = keys.scalar("logo") {
            let path = file.parent().unwrap_or(Path::new("")).join(&logo.text);
            let read = read_logo(&path).map_err(|reason| (logo.place, reason));
            self.labels.logo = self.errors.take(read).map(Arc::new);
        }
        let groups = keys.get("groups").map(|node| entries(node, "`groups`"));
        for entry in groups.and_then(|groups| self.errors.take(groups)).unwrap_or_default() {
            let known = GROUP.check(&entry.key, entry.place);
            let group = self.errors.take(known).and_then(|()| Collection::named(&entry.key));
            if let Some(group) = group {
                let labels = self.group(group, &entry.value);
                self.labels.groups.insert(group, labels);
            }
        }
    }

    fn languages(&mut self, keys: &Keys<'_>) {
        let mut known = HashSet::new();
        for node in keys.elements("languages") {
            let Some(scalar) = node.scalar() else { continue };
            let tag = scalar.text.as_str();
            if !is_language(tag) {
                let reason =
                    format!("`{tag}` is not a language tag of BCP 47, such as `en` or `fil-PH`");
                self.errors.add(node.place, reason);
            } else if !known.insert(tag.to_ascii_lowercase()) {
                self.errors.add(node.place, format!("duplicate language `{tag}`; remove one"));
            } else if known.len() > MOST_LANGUAGES {
                self.errors.add(node.place, format!("more than {MOST_LANGUAGES} languages"));
            }
            self.labels.languages.push(tag.into());
        }
        if self.labels.languages.is_empty() {
            self.labels.languages.push("en".into());
        }
    }

    fn group(&mut self, group: Collection, node: &Node) -> GroupLabels {
        let mut labels = GroupLabels::default();
        let Some(keys) = Keys::of(node, &GROUP_LABELS, Some(&[]), self.errors) else {
            return labels;
        };
        labels.label = keys.get("label").and_then(|node| self.text("label", node));
        let fields = keys.get("fields").map(|node| entries(node, "`fields`"));
        for entry in fields.and_then(|fields| self.errors.take(fields)).unwrap_or_default() {
            if let Some(reason) = absent_member(group, &entry.key) {
                self.errors.add(entry.place, reason);
                continue;
            }
            let field = self.field(&entry.value);
            labels.fields.insert(entry.key.as_str().into(), field);
        }
        labels
    }

    fn field(&mut self, node: &Node) -> FieldLabels {
        let Some(keys) = Keys::of(node, &FIELD, Some(&[]), self.errors) else {
            return FieldLabels::default();
        };
        let [label, help] =
            ["label", "help"].map(|key| keys.get(key).and_then(|node| self.text(key, node)));
        FieldLabels { label, help, choices: self.choices(&keys) }
    }

    fn choices(&mut self, keys: &Keys<'_>) -> Vec<Choice> {
        let Some(node) = keys.get("choices") else { return Vec::new() };
        let elements = self.errors.take(list(node, "choices")).unwrap_or_default();
        if elements.len() > MOST_CHOICES {
            self.errors.add(node.place, format!("more than {MOST_CHOICES} choices; remove some"));
        }
        let (mut choices, mut known) = (Vec::new(), HashSet::new());
        for element in elements.iter().take(MOST_CHOICES) {
            let Some(choice) = self.choice(element) else { continue };
            if !known.insert(choice.value.clone()) {
                let reason = format!("duplicate choice `{}`; remove one", choice.value);
                self.errors.add(element.place, reason);
            }
            choices.push(choice);
        }
        choices
    }

    fn choice(&mut self, node: &Node) -> Option<Choice> {
        if node.scalar().is_some() {
            let value = self.errors.take(short(node, "value"))?;
            return Some(Choice { value, label: None });
        }
        let keys = Keys::of(node, &CHOICE, Some(&[]), self.errors)?;
        let label = keys.get("label").and_then(|node| self.text("label", node));
        Some(Choice { value: keys.string("value")?.into(), label })
    }

    /// Reads a string, or a string for each language.
    fn text(&mut self, key: &str, node: &Node) -> Option<Localized> {
        let mut texts = vec![None; self.labels.languages.len()];
        if node.scalar().is_some() {
            texts[0] = self.errors.take(short(node, key));
            return Some(Localized(texts));
        }
        let of = format!("`{key}`");
        let index: HashMap<_, _> =
            self.labels.languages.iter().enumerate().map(|(index, it)| (&**it, index)).collect();
        for entry in self.errors.take(entries(node, &of))? {
            if let Some(index) = index.get(entry.key.as_str()) {
                texts[*index] = self.errors.take(short(&entry.value, key));
            } else {
                let known: Vec<_> = self.labels.languages.iter().map(AsRef::as_ref).collect();
                let language = &entry.key;
                let words = known_words(language, &known);
                let reason = format!("`languages` has no `{language}`; {words}");
                self.errors.add(entry.place, reason);
            }
        }
        Some(Localized(texts)).filter(|text| text.0.iter().any(Option::is_some))
    }
}

fn short(node: &Node, key: &str) -> Result<Box<str>, Located> {
    let (scalar, most) = (string(node, key)?, longest(key));
    if scalar.text.chars().count() > most {
        return Err((node.place, format!("the {key} has more than {most} characters; shorten it")));
    }
    Ok(scalar.text.as_str().into())
}

/// Checks the syntax of RFC 5646, roughly: the browser ignores an unknown tag.
fn is_language(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let is_primary = |part: &str| {
        (2..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    parts.next().is_some_and(is_primary) && parts.all(is_part)
}

fn read_logo(path: &Path) -> Result<Logo, String> {
    let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
    let known = LOGOS.iter().find(|(name, _)| Some(*name) == extension.as_deref());
    let (_, media_type) =
        known.ok_or("the logo must be a file that ends in .png, .jpg, .webp or .svg")?;
    let unreadable = |error| format!("the logo {} cannot be read: {error}", path.display());
    let is_file = std::fs::metadata(path).map_err(unreadable)?.is_file();
    let mut bytes = Vec::new();
    if is_file {
        let file = File::open(path).map_err(unreadable)?;
        file.take(LARGEST_LOGO + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    match bytes.len() as u64 {
        0 => Err(format!("the logo {} is empty, or not a file", path.display())),
        size if size > LARGEST_LOGO => {
            Err(format!("the logo has more than {LARGEST_LOGO} bytes; make it smaller"))
        }
        _ => Ok(Logo { media_type, bytes }),
    }
}
