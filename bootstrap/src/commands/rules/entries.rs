//! The entries of an audit as text, JSON or CSV, each written as it is found.

use std::io::{self, BufWriter, Stdout, Write};

use serde_json::{Map, Value};

use crate::commands::error::CommandError;
use crate::commands::options::AuditFormat;

/// A table that is written to standard output row by row.
pub struct Entries {
    columns: &'static [&'static str],
    writer: Writer,
}

enum Writer {
    Plain(BufWriter<Stdout>),
    /// With the number of entries so far.
    Json(BufWriter<Stdout>, usize),
    Csv(Box<csv::Writer<Stdout>>),
}

impl Entries {
    /// Begins the table.
    pub fn new(
        format: AuditFormat,
        columns: &'static [&'static str],
    ) -> Result<Self, CommandError> {
        let out = || BufWriter::new(io::stdout());
        let writer = match format {
            AuditFormat::Plain => Writer::Plain(out()),
            AuditFormat::Json => Writer::Json(out(), 0),
            AuditFormat::Csv => {
                let mut writer = csv::Writer::from_writer(io::stdout());
                writer.write_record(columns).map_err(failed)?;
                Writer::Csv(Box::new(writer))
            }
        };
        Ok(Self { columns, writer })
    }

    /// Writes an entry: its line as text, or its values in the order of the columns.
    pub fn write(&mut self, text: &str, values: Vec<Value>) -> Result<(), CommandError> {
        match &mut self.writer {
            Writer::Plain(out) => writeln!(out, "{text}").map_err(CommandError::Output),
            Writer::Json(out, count) => {
                let object: Map<_, _> =
                    self.columns.iter().map(ToString::to_string).zip(values).collect();
                let start = if *count == 0 { "[" } else { ",\n " };
                *count += 1;
                write!(out, "{start}{}", Value::Object(object)).map_err(CommandError::Output)
            }
            Writer::Csv(writer) => {
                let field =
                    |value| if let Value::String(text) = value { text } else { value.to_string() };
                writer.write_record(values.into_iter().map(field)).map_err(failed)
            }
        }
    }

    /// Ends the table.
    pub fn end(&mut self) -> Result<(), CommandError> {
        let ended = match &mut self.writer {
            Writer::Plain(out) => out.flush(),
            Writer::Json(out, 0) => writeln!(out, "[]").and_then(|()| out.flush()),
            Writer::Json(out, _) => writeln!(out, "]").and_then(|()| out.flush()),
            Writer::Csv(writer) => writer.flush(),
        };
        ended.map_err(CommandError::Output)
    }
}

fn failed(error: csv::Error) -> CommandError {
    CommandError::Output(error.into())
}
