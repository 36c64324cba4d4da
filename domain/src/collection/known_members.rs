//! The usual members of open collections. They are documented, but not enforced.

use super::KnownMember;

const PROPOSAL: &str = r#""01890a5d-ac96-774b-bcce-b302099a8050""#;

const fn member(name: &'static str, label: &'static str, description: &'static str, example: &'static str) -> KnownMember {
    KnownMember { name, label, description, example }
}

pub(super) const PROPOSED_PROGRAMS: &[KnownMember] = &[
    member("title", "Title", "Title of the programme.", r#""Highland Vegetable Innovation Program""#),
    member("leader_id", "Programme leader", "Identifier of the programme leader in the agency's register.", r#""R-00058""#),
    member("agency", "Agency", "Implementing agency.", r#""Benguet State University""#),
    member("agency_ror", "ROR identifier of the agency", "The agency's identifier in the Research Organization Registry.", r#""https://ror.org/00example0""#),
    member("summary", "Summary", "Summary of the programme.", r#""Halving postharvest loss of five highland vegetables.""#),
    member("start_date", "Start date", "Start date, `YYYY-MM-DD`.", r#""2026-01-01""#),
    member("duration_months", "Duration in months", "Duration in months.", "36"),
    member("budget_total", "Total budget", "Total budget with its currency (ISO 4217), such as `24500000.00 PHP`.", r#""24500000.00 PHP""#),
];

pub(super) const GAD_SCORES: &[KnownMember] = &[
    member("proposal_id", "Proposal", "Scored proposal.", PROPOSAL),
    member("stage", "Stage", "Stage of the project at scoring.", r#""proposal""#),
    member("checklist", "Checklist", "Checklist used.", r#""HGDG generic checklist""#),
    member("elements", "Scores of the elements", "Score of each element, as a list.", r#"[{"no":"1.1","score":"0.67"},{"no":"2.1","score":"1.00"}]"#),
    member("total_score", "Total score", "Total score, 0 to 20 with two decimals.", r#""12.67""#),
    member("rating", "Rating", "Rating for the total score.", r#""gender-sensitive""#),
    member("evaluator_id", "Evaluator", "Evaluator.", r#""E-0041""#),
    member("evaluated_on", "Date of evaluation", "Date of the evaluation, `YYYY-MM-DD`.", r#""2026-02-16""#),
];

pub(super) const STATUSES: &[KnownMember] = &[
    member("code", "Code", "Status code.", r#""in_review""#),
    member("label", "Label for evaluators", "Label for evaluators.", r#""In technical review""#),
    member("public_label", "Label for proponents", "Label for proponents.", r#""Under review""#),
    member("sequence", "Position", "Position in the usual order.", "30"),
    member("is_terminal", "Final status", "True for a final status.", "false"),
    member("next_codes", "Next codes", "Allowed next status codes.", r#"["revision_requested","approved","rejected"]"#),
];

pub(super) const FILES: &[KnownMember] = &[
    member("proposal_id", "Proposal", "Proposal that the file is attached to.", PROPOSAL),
    member("document_type", "Kind of document", "Kind of document.", r#""endorsement""#),
    member("filename", "File name", "File name at upload.", r#""endorsement-letter.pdf""#),
    member("media_type", "Media type", "Media type of the file.", r#""application/pdf""#),
    member("size_bytes", "Size in bytes", "File size in bytes.", "184320"),
    member("sha256", "SHA-256", "SHA-256 checksum in hexadecimal.", r#""9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08""#),
    member("uploaded_by", "Uploaded by", "Who uploaded the file.", r#""R-00301""#),
    member("supersedes_id", "Replaced file", "File that it replaces.", r#""01890a5d-ac96-774b-bcce-b302099a8041""#),
];

pub(super) const LIBRARY: &[KnownMember] = &[
    member("item_kind", "Kind of item", "Kind of item: a reference or a line item.", r#""line_item""#),
    member("title", "Title", "Title.", r#""Soil analysis, 120 samples""#),
    member("csl", "Reference in CSL-JSON", "Reference as CSL-JSON.", r#"{"type":"article-journal","title":"Split application of nitrogen","issued":{"date-parts":[[2009]]}}"#),
    member("expense_class", "Expense class", "Expense class: PS, MOOE or EO.", r#""MOOE""#),
    member("cost_type", "Cost type", "Direct or indirect cost.", r#""direct""#),
    member("year_no", "Project year", "Project year.", "1"),
    member("quantity", "Quantity", "Quantity.", "120"),
    member("amount", "Amount", "Amount with its currency (ISO 4217), such as `84000.00 PHP`.", r#""84000.00 PHP""#),
    member("fund_source", "Source of funds", "Source of funds.", r#""grant""#),
];

pub(super) const CASH_PROGRAM: &[KnownMember] = &[
    member("proposal_id", "Proposal", "Proposal of the cash programme.", PROPOSAL),
    member("year", "Year", "Calendar year.", "2026"),
    member("expense_object", "Expense object", "Expense object.", r#""Travelling Expenses""#),
    member("jan_amount", "January", "Amount in January with two decimals, such as `12500.00`.", r#""12500.00""#),
    member("feb_amount", "February", "Amount in February.", r#""12500.00""#),
    member("mar_amount", "March", "Amount in March.", r#""20000.00""#),
    member("apr_amount", "April", "Amount in April.", r#""0.00""#),
    member("may_amount", "May", "Amount in May.", r#""0.00""#),
    member("jun_amount", "June", "Amount in June.", r#""15000.00""#),
    member("jul_amount", "July", "Amount in July.", r#""15000.00""#),
    member("aug_amount", "August", "Amount in August.", r#""0.00""#),
    member("sep_amount", "September", "Amount in September.", r#""0.00""#),
    member("oct_amount", "October", "Amount in October.", r#""10000.00""#),
    member("nov_amount", "November", "Amount in November.", r#""10000.00""#),
    member("dec_amount", "December", "Amount in December.", r#""5000.00""#),
];

pub(super) const STATUS: &[KnownMember] = &[
    member("subject", "Subject", "Subject of the message: the identifier of a proposal, programme or score sheet.", PROPOSAL),
    member("message", "Message", "Message.", r#""Forwarded to the technical panel.""#),
    member("user", "User", "User who recorded the message.", r#""secretariat""#),
    member("timestamp", "Time", "Time of the event (RFC 3339), such as `2026-02-16T09:30:00+08:00`.", r#""2026-02-16T09:30:00+08:00""#),
    member("from_code", "Previous status", "Previous status code.", r#""submitted""#),
    member("to_code", "New status", "New status code.", r#""in_review""#),
];
