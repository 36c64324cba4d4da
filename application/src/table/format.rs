#[derive(Debug)]
pub struct Format {
    pub kind: FormatKind,
    pub extension: &'static str,
    pub media_type: &'static str,
    pub description: &'static str,
    /// True for export formats. Imports take all formats.
    pub is_exported: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatKind {
    Csv,
    Xlsx,
    Ndjson,
    Json,
}

/// The only list of formats.
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
