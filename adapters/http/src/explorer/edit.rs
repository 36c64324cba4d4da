//! The forms that create or change an item. Without a script they are read-only.

use application::{EditableMembers, View};
use askama::Template;
use domain::collection::KnownMember;
use domain::proposal::{Field, FieldKind};
use domain::{Content, Fields, Operation, Value};
use jiff::civil::Date;
use poem::Request;

use super::cells::{self, ShownValue};
use super::page::{Layout, render};
use super::{Explorer, target};
use crate::groups::Group;
use crate::problem::Result;
use crate::query::refuse_parameters;
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
    pages: String,
    fields: Vec<FormField>,
    can_add: bool,
    json: String,
}

/// A field. An untouched field is sent back as stored, digit for digit.
struct FormField {
    name: String,
    description: &'static str,
    control: Control,
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
    pub(super) async fn show_form_for_new(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String> {
        refuse_parameters(request)?;
        let (mut id, mut parent) = (None, None);
        if let Some(of) = group.parent() {
            let (caller, address) = (caller_of(request), target(request)?);
            let (shown, _) = self.service(of)?.get(caller, address, &View::default()).await?;
            let href = self.links.item(of.collection, address.id);
            id = Some(address.id);
            parent = Some((cells::title(&shown.item, of.columns), href));
        }
        let (title, path) = (format!("New {}", group.noun()), group.collection_path(id));
        let data = " -H 'Content-Type: application/json' -d '{…}'";
        let editable =
            self.service(group)?.editable(caller_of(request), Operation::Create, None).await?;
        let form = self.form(request, group, title, (&path, data), ("{}", &editable));
        render(&FormPage { method: "POST", parent, ..form })
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
        let form = self.form(request, group, title, (&path, ""), (&members, &editable));
        render(&FormPage { tag: self.tag(&shown), ..form })
    }

    fn form(
        &self,
        request: &Request,
        group: Group,
        title: String,
        (path, data): (&str, &str),
        (members, editable): (&str, &EditableMembers),
    ) -> FormPage<'_> {
        let command = format!("{}{data}", self.command(path, ""));
        FormPage {
            layout: self.layout(request, title, group.collection.name(), command),
            api: self.links.to(path),
            method: "PUT",
            group,
            tag: String::new(),
            parent: None,
            pages: self.links.collection(group.collection),
            fields: fields(group, Value::from_encoded(members), editable),
            can_add: group.collection.is_open() && editable.has_others(),
            json: members.to_owned(),
        }
    }
}

fn fields(group: Group, members: Value<'_>, editable: &EditableMembers) -> Vec<FormField> {
    let mut fields: Vec<FormField> = match group.collection.spec().fields {
        Fields::Typed(fields) => {
            fields.iter().map(|field| FormField::typed(group, field)).collect()
        }
        Fields::Open(members) => members.iter().map(FormField::open).collect(),
    };
    let known = fields.len();
    for (name, value) in members.entries().into_iter().flatten() {
        if let Some(known) = fields[..known].iter_mut().find(|field| field.name == name) {
            known.store(value);
        } else if group.collection.is_open() {
            let mut other = FormField::new(&cells::name(name), "", Control::Line);
            other.store(value);
            fields.push(other);
        }
    }
    // A stored member that the caller may not change is sent back as it is.
    for field in &mut fields {
        field.is_fixed = !editable.has(&field.name);
    }
    fields.retain(|field| !field.is_fixed || !field.stored.is_empty());
    fields
}

impl FormField {
    fn new(name: &str, description: &'static str, control: Control) -> Self {
        let (name, value, stored) = (name.to_owned(), String::new(), String::new());
        Self { name, description, control, is_required: false, is_fixed: false, value, stored }
    }

    /// Members shown in tables are short.
    fn typed(group: Group, field: &Field) -> Self {
        let control = match field.kind {
            FieldKind::Date => Control::Date,
            FieldKind::String if group.columns.contains(&field.name) => Control::Line,
            FieldKind::String => Control::Paragraph,
            FieldKind::StringOrInteger => Control::Line,
            FieldKind::StringOrList => Control::List,
        };
        let is_required = field.is_required;
        Self { is_required, ..Self::new(field.name, field.description, control) }
    }

    fn open(member: &KnownMember) -> Self {
        let (control, _) = editable(Value::from_encoded(member.example), Control::Line);
        Self::new(member.name, member.description, control)
    }

    fn store(&mut self, value: Value<'_>) {
        (self.control, self.value) = editable(value, self.control);
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

    use super::{Control, editable};

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
