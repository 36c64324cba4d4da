//! Items as rows of a table.
//!
//! A row can be read back exactly. An apostrophe precedes a string that looks like another type or
//! a formula. Arrays, objects, `true`, `false` and `null` are JSON text. A text beyond the limit of
//! a workbook's cell is truncated, with a mark.

mod cell;
mod column;
mod format;
mod truncation;

pub use cell::{Cell, is_exact_in_a_double};
pub use column::{Column, Columns};
pub use format::{FORMATS, Format, FormatKind};
pub use truncation::{MOST_UNITS, truncated};
