//! The formats of files of items.

/// A format of exports and imports.
#[derive(Debug)]
pub struct Format {
    /// Its kind.
    pub kind: FormatKind,
    /// The end of the names of its files.
    pub extension: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// A description for people.
    pub description: &'static str,
    /// True when items are exported in it; imports take all formats.
    pub is_exported: bool,
}

/// The kind of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatKind {
    /// Comma-separated values.
    Csv,
    /// A workbook.
    Xlsx,
    /// A JSON object on every line.
    Ndjson,
    /// A JSON array of objects.
    Json,
}

/// All formats: the only list of them.
pub static FORMATS: &[Format] = &[
    Format {
        kind: FormatKind::Csv,
        extension: "csv",
        media_type: "text/csv",
        description: "Comma-separated values (RFC 4180)",
        is_exported: true,
    },
    Format {
        kind: FormatKind::Xlsx,
        extension: "xlsx",
        media_type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        description: "Excel workbook",
        is_exported: true,
    },
    Format {
        kind: FormatKind::Ndjson,
        extension: "ndjson",
        media_type: "application/x-ndjson",
        description: "A JSON object on every line",
        is_exported: true,
    },
    Format {
        kind: FormatKind::Json,
        extension: "json",
        media_type: "application/json",
        description: "A JSON array of objects",
        is_exported: false,
    },
];
