//! Parameters of `PostgreSQL` that are arrays, one for each column of many rows.

use sea_orm::Value;
use sea_orm::sea_query::ArrayType;

/// Texts as a parameter.
pub(crate) fn texts(values: impl Iterator<Item = String>) -> Value {
    Value::Array(ArrayType::String, Some(Box::new(values.map(Value::from).collect())))
}
