//! The forms that create or change an item. Without a script they are read-only.

use application::{Caller, EditableMembers, View};
use askama::Template;
use domain::collection::KnownMember;
use domain::proposal::{Field, FieldKind};
use domain::{Collection, Content, Fields, ItemId, Operation, Value};
use jiff::civil::Date;
use poem::Request;

use super::cells::{self, ShownValue};
use super::page::{Layout, render};
use super::reader::Reader;
use super::titles::referenced;
use super::{Explorer, target};
use crate::groups::{GROUPS, Group, GroupSpec};
use crate::problem::Result;
use crate::query::{Parameters, query_of, refuse_parameters};
use crate::request::caller::caller_of;

#[derive(Template)]
#[template(path = "explorer/form.html")]
struct FormPage<'a> {
    layout: Layout<'a>,
    api: String,
    method: &'static str,
    group: Group,
    tag: String,
    parent: Option<(String, String)>,
    /// The page after saving; without it, that of the item.
    after: String,
    cancel: String,
    pages: String,
    /// Distinguishes the drafts of callers who share a browser.
    caller: String,
    fields: Vec<FormField>,
    can_add: bool,
    json: String,
}

/// A field. An untouched field is sent back as stored, digit for digit.
struct FormField {
    name: String,
    label: String,
    help: String,
    control: Control,
    /// The usual values with their labels.
    choices: Vec<(String, String)>,
    /// The group of the item that it names, and the title of that item.
    picked: Option<(Group, String)>,
    /// The path of the items that belong to the chosen one. The field is not a member.
    parent_path: Option<&'static str>,
    /// An example, and a regular expression of values like it.
    usual: Option<(String, String)>,
    is_required: bool,
    /// True if the caller may not change it.
    is_fixed: bool,
    value: String,
    /// JSON; empty if absent.
    stored: String,
}

/// In bytes.
const MOST_IN_A_LINE: usize = 80;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Line,
    Paragraph,
    Date,
    List,
    Number,
    Json,
}

impl Control {
    const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Paragraph => "paragraph",
            Self::Date => "date",
            Self::List => "list",
            Self::Number => "number",
            Self::Json => "json",
        }
    }
}

impl Explorer {
    /// A query parameter with the name of a reference fills it, as in `?proposal_id=ID`.
    pub(super) async fn show_form_for_new(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String> {
        let caller = caller_of(request);
        let given = given_references(group.collection, query_of(request))?;
        let (mut id, mut parent) = (None, None);
        if let Some(of) = group.parent() {
            let address = target(request)?;
            self.service(of)?.get(caller, address, &View::default()).await?;
            id = Some(address.id);
            parent = Some((of.collection, address.id));
        }
        let parent = parent.or(given.first().map(|(_, of, id)| (*of, *id)));
        let members = given.iter().map(|(member, _, id)| format!("\"{member}\":\"{id}\""));
        let members = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let (title, path) = (format!("New {}", group.noun()), group.collection_path(id));
        let data = " -H 'Content-Type: application/json' -d '{…}'";
        let editable = self.service(group)?.editable(caller, Operation::Create, None).await?;
        let form = self.form(request, group, title, (&path, data), (&members, &editable)).await?;
        let chosen_parent = self.parent_field(caller, group, &form.layout.reader);
        let titles = self.titles(caller, parent).await?;
        let parent = parent.map(|(of, id)| {
            let title = titles.of(of, id).unwrap_or(GroupSpec::of(of).noun());
            (title.to_owned(), self.links.item(of, id))
        });
        let back = parent.as_ref().map(|(_, href)| href.clone());
        // A file is uploaded on the page of its description.
        let has_upload = group.collection.spec().holds_content && !group.is_nested();
        let after = back.as_ref().filter(|_| !has_upload);
        let after = after.map(|href| format!("{href}#{}", group.collection.name()));
        render(&FormPage {
            method: "POST",
            after: after.unwrap_or_default(),
            cancel: back.unwrap_or_else(|| self.links.collection(group.collection)),
            parent,
            // The address fills these fields. They are not stored yet.
            fields: chosen_parent
                .into_iter()
                .chain(form.fields.into_iter().map(FormField::unstored))
                .collect(),
            ..form
        })
    }

    pub(super) async fn show_form_for_edit(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String> {
        refuse_parameters(request)?;
        let address = target(request)?;
        let (service, caller) = (self.service(group)?, caller_of(request));
        let (shown, _) = service.get(caller, address, &View::default()).await?;
        let item = &shown.item;
        cells::require_small(&item.members)?;
        let title = format!("Edit {}", cells::title(item, group.columns));
        let path = format!("{}/{}", group.path, item.id);
        let editable = service.editable(caller, Operation::Replace, Some(address)).await?;
        let members = format!("{{{}}}", Content::other_members(&item.members));
        let form = self.form(request, group, title, (&path, ""), (&members, &editable)).await?;
        let own = self.links.item(group.collection, item.id);
        render(&FormPage { tag: self.tag(&shown), cancel: own, ..form })
    }

    /// The field for the item to which a new one may belong, if the address does not name it.
    fn parent_field(&self, caller: &Caller, group: Group, reader: &Reader) -> Option<FormField> {
        let nested = |other: &&GroupSpec| other.is_nested() && other.collection == group.collection;
        let nested = GROUPS.iter().find(nested).filter(|_| !group.is_nested())?;
        let of = nested.parent().filter(|of| self.may(caller, of.collection, Operation::Read))?;
        let field = FormField::new(group, ("", ""), Control::Line, reader);
        Some(FormField {
            label: cells::capitalized(of.noun()),
            help: "It cannot be changed later.".to_owned(),
            picked: Some((of, String::new())),
            parent_path: Some(nested.path),
            ..field
        })
    }

    async fn form(
        &self,
        request: &Request,
        group: Group,
        title: String,
        (path, data): (&str, &str),
        (members, editable): (&str, &EditableMembers),
    ) -> Result<FormPage<'_>> {
        let (caller, collection) = (caller_of(request), group.collection);
        let command = format!("{}{data}", self.command(path, ""));
        let layout = self.layout(request, title, collection.name(), command);
        let mut fields = fields(group, Value::from_encoded(members), editable, &layout.reader);
        let named = fields.iter().filter_map(|field| Some((field.picked.as_ref()?.0, field)));
        let named = named.filter_map(|(of, it)| Some((of.collection, ItemId::parse(&it.value)?)));
        let titles = self.titles(caller, named.collect::<Vec<_>>()).await?;
        for field in &mut fields {
            field.choices = self.choices(caller, group, &field.name, &layout.reader).await?;
            if let Some((of, title)) = &mut field.picked
                && let Some(id) = ItemId::parse(&field.value)
            {
                titles.of(of.collection, id).unwrap_or_default().clone_into(title);
            }
        }
        Ok(FormPage {
            api: self.links.to(path),
            method: "PUT",
            group,
            tag: String::new(),
            parent: None,
            after: String::new(),
            cancel: String::new(),
            pages: self.links.collection(collection),
            caller: caller.id().unwrap_or_default().to_owned(),
            fields,
            can_add: collection.is_open() && editable.has_others(),
            json: members.to_owned(),
            layout,
        })
    }
}

type GivenReference = (&'static str, Collection, ItemId);

fn given_references(collection: Collection, query: &str) -> Result<Vec<GivenReference>> {
    let spec = collection.spec();
    let known: Vec<_> = spec.references.iter().chain(&spec.about).collect();
    let names: Vec<_> = known.iter().map(|reference| reference.member).collect();
    let parameters = Parameters::read(query, &names)?;
    let given = known.iter().filter_map(|reference| {
        let id = ItemId::parse(parameters.get(reference.member)?)?;
        Some((reference.member, Collection::known(reference.to), id))
    });
    Ok(given.collect())
}

fn fields(
    group: Group,
    members: Value<'_>,
    editable: &EditableMembers,
    reader: &Reader,
) -> Vec<FormField> {
    let mut fields: Vec<FormField> = match group.collection.spec().fields {
        Fields::Typed(fields) => {
            fields.iter().map(|field| FormField::typed(group, field, reader)).collect()
        }
        Fields::Open(members) => {
            members.iter().map(|member| FormField::open(group, member, reader)).collect()
        }
    };
    let known = fields.len();
    for (name, value) in members.entries().into_iter().flatten() {
        if let Some(known) = fields[..known].iter_mut().find(|field| field.name == name) {
            known.store(value);
        } else if group.collection.is_open() {
            let mut other = FormField::new(group, (&cells::name(name), ""), Control::Line, reader);
            other.store(value);
            fields.push(other);
        }
    }
    // A stored member that the caller may not change is sent back as it is.
    for field in &mut fields {
        field.is_fixed = !editable.has(&field.name);
    }
    fields.retain(|field| !field.is_fixed || !field.stored.is_empty());
    // The title first, then short fields.
    fields.sort_by_key(|field| (field.name != group.columns[0], !field.is_short()));
    fields
}

/// Members shown in tables are short.
pub fn is_prose(group: Group, field: &Field) -> bool {
    field.kind == FieldKind::String && !group.columns.contains(&field.name)
}

impl FormField {
    fn new(
        group: Group,
        (name, description): (&str, &str),
        control: Control,
        reader: &Reader,
    ) -> Self {
        let collection = group.collection;
        let picked = referenced(collection, name).map(|of| (GroupSpec::of(of), String::new()));
        let label = reader.label(collection, name);
        // The control of a date and of a reference needs no explanation for programs.
        let is_plain = picked.is_some()
            || control == Control::Date
            || description.trim_end_matches('.') == label;
        let description = if is_plain { "" } else { description };
        Self {
            name: name.to_owned(),
            label,
            help: reader.help(collection, name, description).to_owned(),
            control,
            choices: Vec::new(),
            picked,
            parent_path: None,
            usual: None,
            is_required: false,
            is_fixed: false,
            value: String::new(),
            stored: String::new(),
        }
    }

    fn typed(group: Group, field: &Field, reader: &Reader) -> Self {
        let control = match field.kind {
            FieldKind::Date => Control::Date,
            FieldKind::String if is_prose(group, field) => Control::Paragraph,
            FieldKind::String | FieldKind::StringOrInteger => Control::Line,
            FieldKind::StringOrList => Control::List,
        };
        let named = (field.name, field.description);
        Self { is_required: field.is_required, ..Self::new(group, named, control, reader) }
    }

    fn open(group: Group, member: &KnownMember, reader: &Reader) -> Self {
        let example = Value::from_encoded(member.example);
        let is_date = example.as_string().is_some_and(|text| text.parse::<Date>().is_ok());
        let usual = if is_date { Control::Date } else { Control::Line };
        let (control, _) = editable(example, usual);
        let text = example.as_string().unwrap_or(example.encoded().into());
        let usual = pattern_like(&text).map(|pattern| (text.into_owned(), pattern));
        Self { usual, ..Self::new(group, (member.name, member.description), control, reader) }
    }

    /// The remark on an unusual value.
    fn unusual(&self) -> Option<String> {
        match &self.usual {
            Some((example, _)) => Some(format!("This is usually written like {example}.")),
            None if self.choices.is_empty() => None,
            None => Some("This value is not among the usual ones.".to_owned()),
        }
    }

    fn is_short(&self) -> bool {
        self.picked.is_none()
            && matches!(self.control, Control::Line | Control::Date | Control::Number)
    }

    fn unstored(self) -> Self {
        Self { stored: String::new(), ..self }
    }

    fn store(&mut self, value: Value<'_>) {
        (self.control, self.value) = editable(value, self.control);
        self.picked = self.picked.take().filter(|_| self.control == Control::Line);
        value.encoded().clone_into(&mut self.stored);
    }
}

/// Selects a control that returns the value unchanged, else JSON.
fn editable(stored: Value<'_>, usual: Control) -> (Control, String) {
    let json = || (Control::Json, stored.encoded().to_owned());
    match ShownValue::of(Some(stored)) {
        ShownValue::List(list) => {
            let is_string = |element: Value<'_>| element.as_string().is_some();
            let is_of_lines = stored.elements().is_some_and(|mut all| all.all(is_string))
                && list.iter().all(|line| is_line(line) && line.trim() == line && !line.is_empty());
            if is_of_lines { (Control::List, list.join("\n")) } else { json() }
        }
        ShownValue::Simple(number) if stored.as_number().is_some() => (Control::Number, number),
        ShownValue::Simple(text) if stored.as_string().is_some() => {
            control_of_string(&text, usual).map_or_else(json, |control| (control, text))
        }
        _ => json(),
    }
}

/// A regular expression (ECMAScript) for values like the example of a number, an amount or a time.
fn pattern_like(example: &str) -> Option<String> {
    let is_digit = |it: char| it.is_ascii_digit();
    let is_like = |it: char| is_digit(it) || it.is_ascii_uppercase() || ".-:+ ".contains(it);
    if !example.starts_with(is_digit) || !example.chars().all(is_like) {
        return None;
    }
    if example.chars().all(is_digit) {
        return Some(r"-?\d+(\.\d+)?".to_owned());
    }
    let classes = example.chars().map(|it| match it {
        _ if is_digit(it) => r"\d+",
        'A'..='Z' => "[A-Z]+",
        '.' => r"\.",
        '-' => "-",
        ':' => ":",
        '+' => r"(Z|[+\-]",
        _ => " ",
    });
    let mut classes: Vec<_> = classes.collect();
    classes.dedup();
    let end = if example.contains('+') { ")" } else { "" };
    Some(format!("-?{}{end}", classes.concat()).replace(r"\.\d+", r"(\.\d+)?"))
}

/// Browsers remove line breaks from lines, and clear invalid dates.
fn control_of_string(text: &str, usual: Control) -> Option<Control> {
    let is_day = text.parse::<Date>().is_ok_and(|day| day.year() >= 1 && day.to_string() == text);
    if !text.split('\n').all(is_line) {
        None
    } else if text.contains('\n') || text.len() > MOST_IN_A_LINE {
        Some(Control::Paragraph)
    } else if usual == Control::Paragraph || (usual == Control::Date && is_day) {
        Some(usual)
    } else {
        Some(Control::Line)
    }
}

fn is_line(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use domain::Value;

    use super::{Control, editable, pattern_like};

    #[test]
    fn a_pattern_is_like_the_example_of_a_number_an_amount_or_a_time() {
        for (example, pattern) in [
            ("36", Some(r"-?\d+(\.\d+)?")),
            ("84000.00 PHP", Some(r"-?\d+(\.\d+)? [A-Z]+")),
            ("2026-02-16T09:30:00+08:00", Some(r"-?\d+-\d+-\d+[A-Z]+\d+:\d+:\d+(Z|[+\-]\d+:\d+)")),
            ("9f86d081", None),
            ("in_review", None),
        ] {
            assert_eq!(pattern_like(example).as_deref(), pattern, "{example}");
        }
    }

    #[test]
    fn a_value_is_edited_in_a_control_that_gives_it_back() {
        for (stored, usual, control, shown) in [
            (r#""2026-01-01""#, Control::Date, "date", "2026-01-01"),
            (r#""0000-01-01""#, Control::Date, "line", "0000-01-01"),
            (r#""soon""#, Control::Date, "line", "soon"),
            (r#""a\rb""#, Control::Line, "json", r#""a\rb""#),
            (r#""a\nb""#, Control::Line, "paragraph", "a\nb"),
            (r#""""#, Control::Line, "line", ""),
            (r#"["a","b"]"#, Control::Line, "list", "a\nb"),
            (r#"["a\nb"]"#, Control::List, "json", r#"["a\nb"]"#),
            (r#"[" a"]"#, Control::List, "json", r#"[" a"]"#),
            ("[1,2]", Control::List, "json", "[1,2]"),
            ("[]", Control::List, "json", "[]"),
            ("null", Control::Line, "json", "null"),
            ("true", Control::Line, "json", "true"),
            ("1.50", Control::Line, "number", "1.50"),
        ] {
            let (found, value) = editable(Value::from_encoded(stored), usual);
            assert_eq!((found.name(), value.as_str()), (control, shown), "{stored}");
        }
    }
}
