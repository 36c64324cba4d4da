//! The interface's nine groups.
//!
//! To add a group, add an `impl Group` here and name it in [`crate::groups::for_each_group`].
//! `docs/adding-a-group.md` walks through it.

use application::query::Embed;
use domain::{Collection, Document, Proposal};

use crate::group::{Group, ItemLink, Members, Operation, Owner, WellKnownMember};
use crate::media::MediaType;

/// Calls a macro with every group, in the order of the specification.
macro_rules! for_each_group {
    ($callback:ident) => {
        $callback! {
            $crate::groups::ProposedPrograms,
            $crate::groups::GadScores,
            $crate::groups::Statuses,
            $crate::groups::Files,
            $crate::groups::Library,
            $crate::groups::Proposals,
            $crate::groups::ProposalLibrary,
            $crate::groups::CashProgram,
            $crate::groups::Status,
        }
    };
}
pub(crate) use for_each_group;

const fn member(
    name: &'static str,
    description: &'static str,
    example: &'static str,
) -> WellKnownMember {
    WellKnownMember { name, description, example }
}

const PROPOSAL_EXAMPLE_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8050";
const PROPOSAL_EXAMPLE_REFERENCE: &str = r#""01890a5d-ac96-774b-bcce-b302099a8050""#;

/// Programmes that group projects.
pub struct ProposedPrograms;

impl Group for ProposedPrograms {
    type Resource = Document;
    const NAME: &'static str = "proposedprograms";
    const ITEM_NAME: &'static str = "a proposed programme";
    const ITEMS_NAME: &'static str = "proposed programmes";
    const STEM: &'static str = "ProposedProgram";
    const DESCRIPTION: &'static str = "Programmes that group projects. A proposal whose `program_id` is the `id` of a programme links to it.";
    const COLLECTION: Collection = Collection::PROPOSED_PROGRAMS;
    const PATH: &'static str = "/v1/proposedprograms";
    const ITEM_PARAMETER: &'static str = "proposedprograms_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.proposedprograms.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8010";
    const MEMBERS: Members = Members::Open(&[
        member("title", "Title of the programme.", r#""Highland Vegetable Innovation Program""#),
        member("leader_id", "Programme leader, by the agency's register.", r#""R-00058""#),
        member("agency", "Implementing agency.", r#""Benguet State University""#),
        member(
            "agency_ror",
            "The agency's identifier in the Research Organization Registry.",
            r#""https://ror.org/00example0""#,
        ),
        member(
            "summary",
            "What the programme is about.",
            r#""Halving postharvest loss of five highland vegetables.""#,
        ),
        member("start_date", "First day, `YYYY-MM-DD`.", r#""2026-01-01""#),
        member("duration_months", "Duration in months.", "36"),
        member(
            "budget_total",
            "Total budget, a decimal text followed by its ISO 4217 currency.",
            r#""24500000.00 PHP""#,
        ),
    ]);
}

/// Gender-and-development score sheets.
pub struct GadScores;

impl Group for GadScores {
    type Resource = Document;
    const NAME: &'static str = "gadscores";
    const ITEM_NAME: &'static str = "a score sheet";
    const ITEMS_NAME: &'static str = "score sheets";
    const STEM: &'static str = "GadScore";
    const DESCRIPTION: &'static str =
        "Gender-and-development score sheets (HGDG): a score of 0 to 20 per proposal and stage.";
    const COLLECTION: Collection = Collection::GAD_SCORES;
    const PATH: &'static str = "/v1/gadscores";
    const ITEM_PARAMETER: &'static str = "gadscores_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.gadscores.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8020";
    const MEMBERS: Members = Members::Open(&[
        member("proposal_id", "Proposal that is scored.", PROPOSAL_EXAMPLE_REFERENCE),
        member("stage", "Stage of the project at which it is scored.", r#""proposal""#),
        member("checklist", "Checklist used.", r#""HGDG generic checklist""#),
        member(
            "elements",
            "Score of each element.",
            r#"[{"no":"1.1","score":"0.67"},{"no":"2.1","score":"1.00"}]"#,
        ),
        member("total_score", "Total, 0 to 20 with two decimals.", r#""12.67""#),
        member("rating", "Band the total falls in.", r#""gender-sensitive""#),
        member("evaluator_id", "Who scored it.", r#""E-0041""#),
        member("evaluated_on", "Day of the evaluation, `YYYY-MM-DD`.", r#""2026-02-16""#),
    ]);
}

/// Status codes.
pub struct Statuses;

impl Group for Statuses {
    type Resource = Document;
    const NAME: &'static str = "statuses";
    const ITEM_NAME: &'static str = "a status code";
    const ITEMS_NAME: &'static str = "status codes";
    const STEM: &'static str = "StatusCode";
    const DESCRIPTION: &'static str =
        "The codes a proposal's life cycle knows, and which may follow which.";
    const COLLECTION: Collection = Collection::STATUSES;
    const PATH: &'static str = "/v1/statuses";
    const ITEM_PARAMETER: &'static str = "statuses_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.statuses.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8030";
    const MEMBERS: Members = Members::Open(&[
        member("code", "The code.", r#""in_review""#),
        member("label", "What evaluators see.", r#""In technical review""#),
        member("public_label", "What proponents see.", r#""Under review""#),
        member("sequence", "Place in the usual order.", "30"),
        member("is_terminal", "Whether nothing follows.", "false"),
        member(
            "next_codes",
            "Codes that may follow.",
            r#"["revision_requested","approved","rejected"]"#,
        ),
    ]);
}

/// Descriptions of attachments.
pub struct Files;

impl Group for Files {
    type Resource = Document;
    const NAME: &'static str = "files";
    const ITEM_NAME: &'static str = "a file description";
    const ITEMS_NAME: &'static str = "file descriptions";
    const STEM: &'static str = "File";
    const DESCRIPTION: &'static str =
        "Descriptions of attachments: what they are, how large, and their checksum.";
    const COLLECTION: Collection = Collection::FILES;
    const PATH: &'static str = "/v1/files";
    const ITEM_PARAMETER: &'static str = "files_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.files.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8040";
    const MEMBERS: Members = Members::Open(&[
        member("proposal_id", "Proposal it is attached to.", PROPOSAL_EXAMPLE_REFERENCE),
        member("document_type", "Kind of document.", r#""endorsement""#),
        member("filename", "Name under which it was uploaded.", r#""endorsement-letter.pdf""#),
        member("media_type", "Its media type.", r#""application/pdf""#),
        member("size_bytes", "Its size in bytes.", "184320"),
        member(
            "sha256",
            "Its SHA-256 checksum in hexadecimal.",
            r#""9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08""#,
        ),
        member("uploaded_by", "Who uploaded it.", r#""R-00301""#),
        member(
            "supersedes_id",
            "File it takes the place of.",
            r#""01890a5d-ac96-774b-bcce-b302099a8041""#,
        ),
    ]);
}

const LIBRARY_MEMBERS: Members = Members::Open(&[
    member("item_kind", "What it is: a reference, a line item.", r#""line_item""#),
    member("title", "Title.", r#""Soil analysis, 120 samples""#),
    member(
        "csl",
        "A reference as CSL-JSON.",
        r#"{"type":"article-journal","title":"Split application of nitrogen","issued":{"date-parts":[[2009]]}}"#,
    ),
    member("expense_class", "Expense class: PS, MOOE or EO.", r#""MOOE""#),
    member("cost_type", "Direct or indirect.", r#""direct""#),
    member("year_no", "Project year.", "1"),
    member("quantity", "How many.", "120"),
    member(
        "amount",
        "Amount, a decimal text followed by its ISO 4217 currency.",
        r#""84000.00 PHP""#,
    ),
    member("fund_source", "Who pays.", r#""grant""#),
]);

/// All library items.
pub struct Library;

impl Group for Library {
    type Resource = Document;
    const NAME: &'static str = "lib";
    const ITEM_NAME: &'static str = "a library item";
    const ITEMS_NAME: &'static str = "library items";
    const STEM: &'static str = "LibraryItem";
    const DESCRIPTION: &'static str =
        "Library items: references and line items, those of every proposal and those of none.";
    const COLLECTION: Collection = Collection::LIB;
    const PATH: &'static str = "/lib";
    const ITEM_PARAMETER: &'static str = "lib_id";
    const VENDOR_TYPES: &'static [MediaType] = &[MediaType::vendor("application/vnd.lib.v1+json")];
    const LINKS: &'static [ItemLink] = &[ItemLink::Proposal];
    const EMBEDS: &'static [(&'static str, Embed)] = &[("proposal", Embed::Proposal)];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8060";
    const MEMBERS: Members = LIBRARY_MEMBERS;
}

/// Research proposals.
pub struct Proposals;

impl Group for Proposals {
    type Resource = Proposal;
    const NAME: &'static str = "proposals";
    const ITEM_NAME: &'static str = "a proposal";
    const ITEMS_NAME: &'static str = "proposals";
    const STEM: &'static str = "Proposal";
    const DESCRIPTION: &'static str = "Research proposals with project data: 21 fields, of which `proposal_type` and `project_title` are required.";
    const COLLECTION: Collection = Collection::PROPOSALS;
    const PATH: &'static str = "/v1/proposals";
    const ITEM_PARAMETER: &'static str = "proposals_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.proposals.v1+json")];
    const EXTRA_OPERATIONS: &'static [Operation] = &[Operation::Continue];
    const LINKS: &'static [ItemLink] =
        &[ItemLink::Library, ItemLink::Program, ItemLink::Continuations];
    const EMBEDS: &'static [(&'static str, Embed)] =
        &[("lib", Embed::Library), ("program", Embed::Program)];
    const EXAMPLE_ID: &'static str = PROPOSAL_EXAMPLE_ID;
    const MEMBERS: Members = Members::Proposal;
}

/// The library items of one proposal.
pub struct ProposalLibrary;

impl Group for ProposalLibrary {
    type Resource = Document;
    const NAME: &'static str = "proposals lib";
    const ITEM_NAME: &'static str = "a library item of a proposal";
    const ITEMS_NAME: &'static str = "library items of a proposal";
    const STEM: &'static str = "ProposalLibraryItem";
    const DESCRIPTION: &'static str = "The library items that belong to one proposal; they go when it is deleted. `/lib` shows them among all others.";
    const COLLECTION: Collection = Collection::LIB;
    const PATH: &'static str = "/v1/proposals/:proposals_id/lib";
    const ITEM_PARAMETER: &'static str = "lib_id";
    const OWNER: Option<Owner> = Some(Owner {
        path: Proposals::PATH,
        parameter: Proposals::ITEM_PARAMETER,
        example_id: PROPOSAL_EXAMPLE_ID,
    });
    const VENDOR_TYPES: &'static [MediaType] = Proposals::VENDOR_TYPES;
    const LINKS: &'static [ItemLink] = &[ItemLink::Proposal];
    const EMBEDS: &'static [(&'static str, Embed)] = &[("proposal", Embed::Proposal)];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8061";
    const MEMBERS: Members = LIBRARY_MEMBERS;
}

/// Monthly cash programmes.
pub struct CashProgram;

impl Group for CashProgram {
    type Resource = Document;
    const NAME: &'static str = "cashprogram";
    const ITEM_NAME: &'static str = "a cash programme";
    const ITEMS_NAME: &'static str = "cash programmes";
    const STEM: &'static str = "CashProgram";
    const DESCRIPTION: &'static str = "Monthly cash programmes: what a proposal needs of an expense object in each month of a year. The collection can be replaced as a whole.";
    const COLLECTION: Collection = Collection::CASH_PROGRAM;
    const PATH: &'static str = "/v1/cashprogram";
    const ITEM_PARAMETER: &'static str = "cashprogram_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.cashprogram.v1+json")];
    const EXTRA_OPERATIONS: &'static [Operation] = &[Operation::ReplaceAll, Operation::Continue];
    const LINKS: &'static [ItemLink] = &[ItemLink::Continuations];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8070";
    const MEMBERS: Members = Members::Open(&[
        member("proposal_id", "Proposal it belongs to.", PROPOSAL_EXAMPLE_REFERENCE),
        member("year", "Calendar year.", "2026"),
        member("expense_object", "Expense object.", r#""Travelling Expenses""#),
        member(
            "jan_amount",
            "Amount in January, a decimal text; likewise for the other months.",
            r#""12500.00""#,
        ),
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
    ]);
}

/// Status messages, shared by three groups' media types.
pub struct Status;

impl Group for Status {
    type Resource = Document;
    const NAME: &'static str = "status";
    const ITEM_NAME: &'static str = "a status message";
    const ITEMS_NAME: &'static str = "status messages";
    const STEM: &'static str = "StatusMessage";
    const DESCRIPTION: &'static str = "Status messages about programmes, scores and proposals: one resource that speaks the media types of all three groups.";
    const COLLECTION: Collection = Collection::STATUS;
    const PATH: &'static str = "/status";
    const ITEM_PARAMETER: &'static str = "status_id";
    const VENDOR_TYPES: &'static [MediaType] = &[
        MediaType::vendor("application/vnd.proposedprograms.v1+json"),
        MediaType::vendor("application/vnd.gadscores.v1+json"),
        MediaType::vendor("application/vnd.proposals.v1+json"),
    ];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8080";
    const MEMBERS: Members = Members::Open(&[
        member(
            "subject",
            "What it is about: the identifier of a proposal, programme or score sheet.",
            PROPOSAL_EXAMPLE_REFERENCE,
        ),
        member("message", "The message.", r#""Forwarded to the technical panel.""#),
        member("user", "Who recorded it.", r#""secretariat""#),
        member("timestamp", "When it happened, RFC 3339.", r#""2026-02-16T09:30:00+08:00""#),
        member("from_code", "Status before.", r#""submitted""#),
        member("to_code", "Status after.", r#""in_review""#),
    ]);
}
