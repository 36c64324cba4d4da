//! The forms in which an item is made or changed. A script sends what they hold as JSON; without it
//! they can only be read.

use application::{Caller, ShownItem, View};
use askama::Template;
use domain::proposal::{Field, FieldKind};
use domain::{Fields, Value};
use poem::Request;

use super::cells::{self, Cell};
use super::page::{Layout, render};
use super::{Explorer, query_of, target};
use crate::groups::Group;
use crate::problem::Problem;
use crate::query::refuse_parameters;

#[derive(Template)]
#[template(path = "explorer/form.html")]
struct FormPage<'a> {
    layout: Layout<'a>,
    /// Where the form is sent, and with which method.
    api: String,
    method: &'static str,
    /// The entity tag of the item that is changed.
    tag: String,
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
    pub(super) fn show_form_for_new(
        &self,
        group: Group,
        request: &Request,
    ) -> Result<String, Problem> {
        refuse_parameters(query_of(request))?;
        let mut layout = self.layout(format!("New {}", group.noun()), group.collection.name());
        layout.command = Some(format!(
            "{} -H 'Content-Type: application/json' -d '{{…}}'",
            self.command(group.path, "")
        ));
        render(&FormPage {
            layout,
            api: self.links.to(group.path),
            method: "POST",
            tag: String::new(),
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
            self.service(group).get(&Caller::Anonymous, address, &View::default()).await?;
        let ShownItem { item, .. } = &shown;
        let title = format!("Edit {}", cells::title(item, group.columns));
        let path = format!("{}/{}", group.path, item.id);
        let mut layout = self.layout(title, group.collection.name());
        layout.command = Some(self.command(&path, ""));
        render(&FormPage {
            layout,
            api: self.links.to(&path),
            method: "PUT",
            tag: self.tag(&shown),
            pages: self.links.collection(group.collection),
            fields: fields(group, Value::from_encoded(&item.members)),
            is_open: group.collection.is_open(),
            json: item.members.to_string(),
        })
    }
}

/// The known members in their order, then the others that the item has.
fn fields(group: Group, members: Value<'_>) -> Vec<FormField> {
    let collection = group.collection;
    let field = |name: &str, description, control: Control, is_required| {
        let stored = members.member(name);
        FormField {
            name: name.to_owned(),
            description,
            control: control_of(stored, control),
            is_required,
            value: value_for(stored),
            stored: stored.map(|value| value.encoded().to_owned()).unwrap_or_default(),
        }
    };
    let mut fields: Vec<_> = match collection.spec().fields {
        Fields::Typed(typed) => typed
            .iter()
            .map(|it| field(it.name, it.description, control_of_field(group, it), it.is_required))
            .collect(),
        Fields::Open(known) => known
            .iter()
            .map(|it| field(it.name, it.description, control_of_example(it.example), false))
            .collect(),
    };
    for (name, _) in members.entries().into_iter().flatten() {
        let name = cells::name(name);
        if fields.iter().all(|known| known.name != name) && collection.is_open() {
            fields.push(field(&name, "", Control::Line, false));
        }
    }
    fields
}

/// The control of a field. A member that tables show is short.
fn control_of_field(group: Group, field: &Field) -> Control {
    match field.kind {
        FieldKind::Date => Control::Date,
        FieldKind::String if group.columns.contains(&field.name) => Control::Line,
        FieldKind::String => Control::Paragraph,
        FieldKind::StringOrInteger => Control::Line,
        FieldKind::StringOrList => Control::List,
    }
}

/// The control for values like an example.
fn control_of_example(example: &str) -> Control {
    control_of(Some(Value::from_encoded(example)), Control::Line)
}

/// The control for a stored value; the usual one where there is none, or where it fits.
fn control_of(stored: Option<Value<'_>>, usual: Control) -> Control {
    let Some(value) = stored else { return usual };
    let is_list_of_lines = |list: &[String]| {
        value.elements().is_some_and(|mut all| all.all(is_string))
            && !list.iter().any(|line| line.contains('\n'))
    };
    match Cell::of(Some(value)) {
        Cell::List(list) if is_list_of_lines(&list) => Control::List,
        Cell::Simple(_) if value.as_number().is_some() => Control::Number,
        Cell::Simple(text) if value.as_string().is_some() => control_of_string(&text, usual),
        _ => Control::Json,
    }
}

fn control_of_string(text: &str, usual: Control) -> Control {
    if text.contains('\n') || text.len() > MOST_IN_A_LINE {
        Control::Paragraph
    } else if matches!(usual, Control::Line | Control::Paragraph | Control::Date) {
        usual
    } else {
        Control::Line
    }
}

fn is_string(value: Value<'_>) -> bool {
    value.as_string().is_some()
}

fn value_for(stored: Option<Value<'_>>) -> String {
    match Cell::of(stored) {
        Cell::Absent => stored.map(|value| value.encoded().to_owned()).unwrap_or_default(),
        Cell::Simple(text) | Cell::Json(text) => text,
        Cell::List(list) => list.join("\n"),
    }
}
