use serde_json::{Map, Value, json};

use crate::keys::{Form, ID_PATTERN, Key, Presence, Table};

/// Returns a JSON Schema of draft 7, which editors support best.
pub fn schema(title: &str, file: &Table) -> String {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
    });
    if let (Value::Object(schema), Value::Object(file)) = (&mut schema, of_table(file)) {
        schema.extend(file);
    }
    format!("{schema:#}\n")
}

fn of_table(table: &Table) -> Value {
    let property = |key: &Key| {
        let mut property = of_form(key.form);
        property["description"] = key.description.into();
        (key.name.to_owned(), property)
    };
    let names = |is_meant: fn(Presence) -> bool| {
        let keys = table.keys.iter().filter(move |key| is_meant(key.presence));
        keys.map(|key| key.name).collect::<Vec<_>>()
    };
    let mut schema = json!({
        "type": "object",
        "properties": table.keys.iter().map(property).collect::<Map<_, _>>(),
        "additionalProperties": table.is_open,
    });
    let required = names(|presence| matches!(presence, Presence::Required { .. }));
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    let alternatives = names(|presence| presence == Presence::Alternative);
    if !alternatives.is_empty() {
        let one_of: Vec<_> = alternatives.iter().map(|name| json!({"required": [name]})).collect();
        schema["oneOf"] = one_of.into();
    }
    schema
}

fn of_form(form: Form) -> Value {
    match form {
        Form::Null => json!({"type": "null"}),
        Form::String(most) => json!({"type": "string", "minLength": 1, "maxLength": most}),
        Form::Id => json!({"type": "string", "pattern": ID_PATTERN}),
        // `true` and `5` are expressions, too.
        Form::Expression => json!({"type": ["string", "boolean", "number"]}),
        Form::Pointer => json!({"type": "string", "pattern": "^(/([^~/]|~[01])*)*$"}),
        Form::Date => json!({"type": "string", "format": "date"}),
        Form::Time => json!({"type": "string", "format": "date-time"}),
        Form::Word(word) => json!({"enum": (word.known)()}),
        Form::List(of) => json!({"type": "array", "items": of_form(*of)}),
        Form::Item => json!({"type": "object"}),
        Form::Mapping(table) => of_table(table),
        Form::Named(None, of) => json!({"type": "object", "additionalProperties": of_form(*of)}),
        Form::Named(Some(word), of) => {
            let names = (word.known)().into_iter().map(|name| (name.to_owned(), of_form(*of)));
            let properties: Map<_, _> = names.collect();
            json!({"type": "object", "properties": properties, "additionalProperties": false})
        }
        Form::OneOf(forms) => {
            json!({"anyOf": forms.iter().map(|form| of_form(*form)).collect::<Vec<_>>()})
        }
    }
}
