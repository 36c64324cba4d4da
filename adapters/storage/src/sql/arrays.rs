//! Parameters of `PostgreSQL` that are arrays, one for each column of many rows.

use domain::ItemId;
use sea_orm::Value;
use sea_orm::sea_query::ArrayType;

/// An identifier as a string; none is empty.
pub(crate) fn id_text(id: Option<ItemId>) -> String {
    id.map_or_else(String::new, |id| id.to_string())
}

/// Texts as a parameter.
pub(crate) fn texts(values: impl Iterator<Item = String>) -> Value {
    Value::Array(ArrayType::String, Some(Box::new(values.map(Value::from).collect())))
}

/// Numbers as a parameter.
pub(crate) fn integers(values: impl Iterator<Item = i64>) -> Value {
    Value::Array(ArrayType::BigInt, Some(Box::new(values.map(Value::from).collect())))
}

/// Truths as a parameter.
pub(crate) fn booleans(values: impl Iterator<Item = bool>) -> Value {
    Value::Array(ArrayType::Bool, Some(Box::new(values.map(Value::from).collect())))
}
