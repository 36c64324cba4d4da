//! The usual members of open collections. They are documented, but not enforced.

use super::KnownMember;

const PROPOSAL: &str = r#""01890a5d-ac96-774b-bcce-b302099a8050""#;

const fn member(name: &'static str, description: &'static str, example: &'static str) -> KnownMember {
    KnownMember { name, description, example }
}

pub(super) const PROPOSED_PROGRAMS: &[KnownMember] = &[
    member("title", "Title of the programme.", r#""Highland Vegetable Innovation Program""#),
    member("leader_id", "Programme leader, by the agency's register.", r#""R-00058""#),
    member("agency", "Implementing agency.", r#""Benguet State University""#),
    member("agency_ror", "The agency's identifier in the Research Organization Registry.", r#""https://ror.org/00example0""#),
    member("summary", "What the programme is about.", r#""Halving postharvest loss of five highland vegetables.""#),
    member("start_date", "First day, `YYYY-MM-DD`.", r#""2026-01-01""#),
    member("duration_months", "Duration in months.", "36"),
    member("budget_total", "Total budget, a decimal string followed by its ISO 4217 currency.", r#""24500000.00 PHP""#),
];

pub(super) const GAD_SCORES: &[KnownMember] = &[
    member("proposal_id", "Proposal that is scored.", PROPOSAL),
    member("stage", "Stage of the project at which it is scored.", r#""proposal""#),
    member("checklist", "Checklist used.", r#""HGDG generic checklist""#),
    member("elements", "Score of each element.", r#"[{"no":"1.1","score":"0.67"},{"no":"2.1","score":"1.00"}]"#),
    member("total_score", "Total, 0 to 20 with two decimals.", r#""12.67""#),
    member("rating", "Band the total falls in.", r#""gender-sensitive""#),
    member("evaluator_id", "Who scored it.", r#""E-0041""#),
    member("evaluated_on", "Day of the evaluation, `YYYY-MM-DD`.", r#""2026-02-16""#),
];

pub(super) const STATUSES: &[KnownMember] = &[
    member("code", "The code.", r#""in_review""#),
    member("label", "What evaluators see.", r#""In technical review""#),
    member("public_label", "What proponents see.", r#""Under review""#),
    member("sequence", "Place in the usual order.", "30"),
    member("is_terminal", "Whether nothing follows.", "false"),
    member("next_codes", "Codes that may follow.", r#"["revision_requested","approved","rejected"]"#),
];

pub(super) const FILES: &[KnownMember] = &[
    member("proposal_id", "Proposal it is attached to.", PROPOSAL),
    member("document_type", "Kind of document.", r#""endorsement""#),
    member("filename", "Name under which it was uploaded.", r#""endorsement-letter.pdf""#),
    member("media_type", "Its media type.", r#""application/pdf""#),
    member("size_bytes", "Its size in bytes.", "184320"),
    member("sha256", "Its SHA-256 checksum in hexadecimal.", r#""9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08""#),
    member("uploaded_by", "Who uploaded it.", r#""R-00301""#),
    member("supersedes_id", "File it takes the place of.", r#""01890a5d-ac96-774b-bcce-b302099a8041""#),
];

pub(super) const LIBRARY: &[KnownMember] = &[
    member("item_kind", "What it is: a reference, a line item.", r#""line_item""#),
    member("title", "Title.", r#""Soil analysis, 120 samples""#),
    member("csl", "A reference as CSL-JSON.", r#"{"type":"article-journal","title":"Split application of nitrogen","issued":{"date-parts":[[2009]]}}"#),
    member("expense_class", "Expense class: PS, MOOE or EO.", r#""MOOE""#),
    member("cost_type", "Direct or indirect.", r#""direct""#),
    member("year_no", "Project year.", "1"),
    member("quantity", "How many.", "120"),
    member("amount", "Amount, a decimal string followed by its ISO 4217 currency.", r#""84000.00 PHP""#),
    member("fund_source", "Who pays.", r#""grant""#),
];

pub(super) const CASH_PROGRAM: &[KnownMember] = &[
    member("proposal_id", "Proposal it belongs to.", PROPOSAL),
    member("year", "Calendar year.", "2026"),
    member("expense_object", "Expense object.", r#""Travelling Expenses""#),
    member("jan_amount", "Amount in January, a decimal string; likewise for the other months.", r#""12500.00""#),
    member("feb_amount", "Amount in February.", r#""12500.00""#),
    member("mar_amount", "Amount in March.", r#""20000.00""#),
    member("apr_amount", "Amount in April.", r#""0.00""#),
    member("may_amount", "Amount in May.", r#""0.00""#),
    member("jun_amount", "Amount in June.", r#""15000.00""#),
    member("jul_amount", "Amount in July.", r#""15000.00""#),
    member("aug_amount", "Amount in August.", r#""0.00""#),
    member("sep_amount", "Amount in September.", r#""0.00""#),
    member("oct_amount", "Amount in October.", r#""10000.00""#),
    member("nov_amount", "Amount in November.", r#""10000.00""#),
    member("dec_amount", "Amount in December.", r#""5000.00""#),
];

pub(super) const STATUS: &[KnownMember] = &[
    member("subject", "What it is about: the identifier of a proposal, programme or score sheet.", PROPOSAL),
    member("message", "The message.", r#""Forwarded to the technical panel.""#),
    member("user", "Who recorded it.", r#""secretariat""#),
    member("timestamp", "When it happened, RFC 3339.", r#""2026-02-16T09:30:00+08:00""#),
    member("from_code", "Status before.", r#""submitted""#),
    member("to_code", "Status after.", r#""in_review""#),
];
