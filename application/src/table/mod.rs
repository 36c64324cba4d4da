//! Items as rows of a table: what spreadsheets and files of comma-separated values show of them.
//!
//! A row can be read back exactly. A cell holds a number as it is written; a string that could be
//! taken for something else, such as a number or a formula, begins with an apostrophe; arrays and
//! objects are JSON text, and so are `true`, `false` and `null`. A text that is too long
//! for a cell of a workbook is truncated, with a mark.

mod cell;
mod column;
mod format;
mod truncation;

pub use cell::{Cell, is_exact_in_a_double};
pub use column::{Column, Columns};
pub use format::{FORMATS, Format, FormatKind};
pub use truncation::{MOST_UNITS, truncated};
