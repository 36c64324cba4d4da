//! The forms in which an item is made or changed. A script sends what they hold as JSON; without it
//! they can only be read.

use std::collections::HashMap;

use application::{ShownItem, View};
use askama::Template;
use domain::collection::KnownMember;
use domain::proposal::{Field, FieldKind};
use domain::{Fields, Value};
use jiff::civil::Date;
use poem::Request;

use super::cells::{self, Cell};
use super::page::{Layout, render};
use super::{Explorer, query_of, target};
use crate::groups::Group;
use crate::problem::Problem;
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;

#[derive(Template)]
#[template(path = "explorer/form.html")]
struct FormPage<'a> {
    layout: Layout<'a>,
    /// Where the form is sent, and with which method.
    api: String,
    method: &'static str,
    /// The entity tag of the item that is changed.
    tag: String,
    /// The item that a new one will belong to, as its title and its page.
    parent: Option<(String, String)>,
    /// The pages of the group, to which the way leads afterwards.
    pages: String,
    fields: Vec<FormField>,
    is_open: bool,
    /// The whole item as JSON.
    json: String,
}

/// A field of the form. A field that nobody touches is sent as it is stored, digit for digit.
struct FormField {
    name: String,
    description: &'static str,
    /// The control that the field is edited in.
    control: Control,
    is_required: bool,
    /// The value for the control.
    value: String,
    /// The value as it is stored, as JSON; empty where there is none.
    stored: String,
}

/// Bytes of a string that is edited in one line.
const MOST_IN_A_LINE: usize = 80;

/// Ways to edit a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Line,
    Paragraph,
    Date,
    /// One element a line.
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
    /// The form for a new item; in a nested group, of one that belongs to the item in the path.
    pub(super) async fn show_form_for_new(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String, Problem> {
        refuse_parameters(query_of(request))?;
        let (mut id, mut parent) = (None, None);
        if let Some(of) = group.parent() {
            let (caller, address) = (caller_of(request), target(request)?);
            let (shown, _) = self.service(of)?.get(caller, address, &View::default()).await?;
            let href = self.links.item(of.collection, address.id);
            id = Some(address.id);
            parent = Some((cells::title(&shown.item, of.columns), href));
        }
        let path = group.collection_path(id);
        let mut layout = self.layout(format!("New {}", group.noun()), group.collection.name());
        layout.command = Some(format!(
            "{} -H 'Content-Type: application/json' -d '{{…}}'",
            self.command(&path, "")
        ));
        render(&FormPage {
            layout,
            api: self.links.to(&path),
            method: "POST",
            tag: String::new(),
            parent,
            pages: self.links.collection(group.collection),
            fields: fields(group, Value::from_encoded("{}")),
            is_open: group.collection.is_open(),
            json: "{}".to_owned(),
        })
    }

    pub(super) async fn show_form_for_edit(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String, Problem> {
        refuse_parameters(query_of(request))?;
        let address = target(request)?;
        let (shown, _) =
            self.service(group)?.get(caller_of(request), address, &View::default()).await?;
        let ShownItem { item, .. } = &shown;
        cells::require_small(&item.members)?;
        let title = format!("Edit {}", cells::title(item, group.columns));
        let path = format!("{}/{}", group.path, item.id);
        let mut layout = self.layout(title, group.collection.name());
        layout.command = Some(self.command(&path, ""));
        render(&FormPage {
            layout,
            api: self.links.to(&path),
            method: "PUT",
            tag: self.tag(&shown),
            parent: None,
            pages: self.links.collection(group.collection),
            fields: fields(group, Value::from_encoded(&item.members)),
            is_open: group.collection.is_open(),
            json: item.members.to_string(),
        })
    }
}

/// The known members in their order, then the others that the item has.
fn fields(group: Group, members: Value<'_>) -> Vec<FormField> {
    let stored: HashMap<_, _> = members.entries().into_iter().flatten().collect();
    let known: Vec<KnownField> = match group.collection.spec().fields {
        Fields::Typed(fields) => {
            fields.iter().map(|field| KnownField::typed(group, field)).collect()
        }
        Fields::Open(members) => members.iter().map(KnownField::open).collect(),
    };
    let is_known = |name: &str| known.iter().any(|field| field.name == name);
    let entries = members.entries().into_iter().flatten();
    let others = entries.filter(|(name, _)| group.collection.is_open() && !is_known(name));
    let other = |(name, value): (&str, Value<'_>)| {
        FormField::new(&cells::name(name), "", Control::Line, false, Some(value))
    };
    let fields = known.iter().map(|field| {
        let stored = stored.get(field.name).copied();
        FormField::new(field.name, field.description, field.control, field.is_required, stored)
    });
    fields.chain(others.map(other)).collect()
}

/// A field that items of the group have or usually have.
struct KnownField {
    name: &'static str,
    description: &'static str,
    control: Control,
    is_required: bool,
}

impl KnownField {
    /// A member that tables show is short.
    fn typed(group: Group, field: &Field) -> Self {
        let control = match field.kind {
            FieldKind::Date => Control::Date,
            FieldKind::String if group.columns.contains(&field.name) => Control::Line,
            FieldKind::String => Control::Paragraph,
            FieldKind::StringOrInteger => Control::Line,
            FieldKind::StringOrList => Control::List,
        };
        let Field { name, description, is_required, .. } = *field;
        Self { name, description, control, is_required }
    }

    /// Its values are like the example.
    fn open(member: &KnownMember) -> Self {
        let KnownMember { name, description, example } = *member;
        let (control, _) = editable(Value::from_encoded(example), Control::Line);
        Self { name, description, control, is_required: false }
    }
}

impl FormField {
    /// `usual` is the control where nothing is stored, or where it fits what is stored.
    fn new(
        name: &str,
        description: &'static str,
        usual: Control,
        is_required: bool,
        stored: Option<Value<'_>>,
    ) -> Self {
        let (control, value) =
            stored.map_or((usual, String::new()), |stored| editable(stored, usual));
        let stored = stored.map(|value| value.encoded().to_owned()).unwrap_or_default();
        Self { name: name.to_owned(), description, control, is_required, value, stored }
    }
}

/// The control that a stored value is edited in, and the value as it is shown there: one that gives
/// it back as it is. Everything else is edited as JSON.
fn editable(stored: Value<'_>, usual: Control) -> (Control, String) {
    let json = || (Control::Json, stored.encoded().to_owned());
    match Cell::of(Some(stored)) {
        Cell::List(list) => {
            let is_string = |element: Value<'_>| element.as_string().is_some();
            let is_of_lines = stored.elements().is_some_and(|mut all| all.all(is_string))
                && list.iter().all(|line| is_line(line) && line.trim() == line && !line.is_empty());
            if is_of_lines { (Control::List, list.join("\n")) } else { json() }
        }
        Cell::Simple(number) if stored.as_number().is_some() => (Control::Number, number),
        Cell::Simple(text) if stored.as_string().is_some() => {
            control_of_string(&text, usual).map_or_else(json, |control| (control, text))
        }
        _ => json(),
    }
}

/// The control that keeps a string as it is: browsers remove line breaks from lines, and empty
/// what they do not take for a day.
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
