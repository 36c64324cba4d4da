//! Entries that a command prints as text, JSON or CSV, written as they are found.

use std::io::{self, BufWriter, Stdout, Write};

use serde_json::{Map, Value};

use crate::commands::error::Result;
use crate::commands::options::EntryFormat;

pub struct Entries {
    columns: &'static [&'static str],
    writer: EntryWriter,
}

enum EntryWriter {
    Plain(BufWriter<Stdout>),
    Json(BufWriter<Stdout>, usize),
    Csv(Box<csv::Writer<Stdout>>),
}

impl Entries {
    pub fn new(format: EntryFormat, columns: &'static [&'static str]) -> Result<Self> {
        let out = || BufWriter::new(io::stdout());
        let writer = match format {
            EntryFormat::Plain => EntryWriter::Plain(out()),
            EntryFormat::Json => EntryWriter::Json(out(), 0),
            EntryFormat::Csv => {
                let mut writer = csv::Writer::from_writer(io::stdout());
                writer.write_record(columns).map_err(io::Error::from)?;
                EntryWriter::Csv(Box::new(writer))
            }
        };
        Ok(Self { columns, writer })
    }

    pub fn write(&mut self, text: &str, values: &Value) -> Result<()> {
        let values = values.as_array().into_iter().flatten();
        match &mut self.writer {
            EntryWriter::Plain(out) => writeln!(out, "{text}")?,
            EntryWriter::Json(out, count) => {
                let names = self.columns.iter().map(ToString::to_string);
                let object: Map<_, _> = names.zip(values.into_iter().cloned()).collect();
                let start = if *count == 0 { "[" } else { ",\n " };
                *count += 1;
                write!(out, "{start}{}", Value::Object(object))?;
            }
            EntryWriter::Csv(writer) => {
                let field = |value: &Value| match value {
                    Value::String(text) => text.clone(),
                    Value::Null => String::new(),
                    number => number.to_string(),
                };
                writer.write_record(values.into_iter().map(field)).map_err(io::Error::from)?;
            }
        }
        Ok(())
    }

    pub fn end(&mut self) -> Result<()> {
        let ended = match &mut self.writer {
            EntryWriter::Plain(out) => out.flush(),
            EntryWriter::Json(out, 0) => writeln!(out, "[]").and_then(|()| out.flush()),
            EntryWriter::Json(out, _) => writeln!(out, "]").and_then(|()| out.flush()),
            EntryWriter::Csv(writer) => writer.flush(),
        };
        Ok(ended?)
    }
}
