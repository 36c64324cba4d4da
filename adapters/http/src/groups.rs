//! The interface's nine groups.
//!
//! To add a group, add an `impl Group` here and name it in [`crate::groups::for_each_group`].
//! `docs/adding-a-group.md` walks through it.

use domain::{Collection, Document, Fields, Proposal};

use crate::group::{Group, ItemLink, Members, Operation, Owner};
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

/// The members that items of an open collection usually have.
const fn open(collection: Collection) -> Members {
    match collection.spec().fields {
        Fields::Typed(_) => Members::Proposal,
        Fields::Open(members) => Members::Open(members),
    }
}

const PROPOSAL_EXAMPLE_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8050";

/// Programmes that group projects.
pub struct ProposedPrograms;

impl Group for ProposedPrograms {
    type Resource = Document;
    const NAME: &'static str = "proposedprograms";
    const ITEM_NAME: &'static str = "a proposed programme";
    const ITEMS_NAME: &'static str = "proposed programmes";
    const STEM: &'static str = "ProposedProgram";
    const DESCRIPTION: &'static str = "Programmes that group projects. A proposal whose `program_id` is the `id` of a programme links to it.";
    const COLLECTION: Collection = Collection::known("proposedprograms");
    const PATH: &'static str = "/v1/proposedprograms";
    const ITEM_PARAMETER: &'static str = "proposedprograms_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.proposedprograms.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8010";
    const MEMBERS: Members = open(Self::COLLECTION);
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
    const COLLECTION: Collection = Collection::known("gadscores");
    const PATH: &'static str = "/v1/gadscores";
    const ITEM_PARAMETER: &'static str = "gadscores_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.gadscores.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8020";
    const MEMBERS: Members = open(Self::COLLECTION);
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
    const COLLECTION: Collection = Collection::known("statuses");
    const PATH: &'static str = "/v1/statuses";
    const ITEM_PARAMETER: &'static str = "statuses_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.statuses.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8030";
    const MEMBERS: Members = open(Self::COLLECTION);
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
    const COLLECTION: Collection = Collection::known("files");
    const PATH: &'static str = "/v1/files";
    const ITEM_PARAMETER: &'static str = "files_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.files.v1+json")];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8040";
    const MEMBERS: Members = open(Self::COLLECTION);
}

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
    const COLLECTION: Collection = Collection::known("lib");
    const PATH: &'static str = "/lib";
    const ITEM_PARAMETER: &'static str = "lib_id";
    const VENDOR_TYPES: &'static [MediaType] = &[MediaType::vendor("application/vnd.lib.v1+json")];
    const LINKS: &'static [ItemLink] = &[ItemLink::Proposal];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8060";
    const MEMBERS: Members = open(Self::COLLECTION);
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
    const COLLECTION: Collection = Collection::known("proposals");
    const PATH: &'static str = "/v1/proposals";
    const ITEM_PARAMETER: &'static str = "proposals_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.proposals.v1+json")];
    const EXTRA_OPERATIONS: &'static [Operation] = &[Operation::Continue];
    const LINKS: &'static [ItemLink] =
        &[ItemLink::Library, ItemLink::Program, ItemLink::Continuations];
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
    const COLLECTION: Collection = Collection::known("lib");
    const PATH: &'static str = "/v1/proposals/:proposals_id/lib";
    const ITEM_PARAMETER: &'static str = "lib_id";
    const OWNER: Option<Owner> = Some(Owner {
        path: Proposals::PATH,
        parameter: Proposals::ITEM_PARAMETER,
        example_id: PROPOSAL_EXAMPLE_ID,
    });
    const VENDOR_TYPES: &'static [MediaType] = Proposals::VENDOR_TYPES;
    const LINKS: &'static [ItemLink] = &[ItemLink::Proposal];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8061";
    const MEMBERS: Members = open(Self::COLLECTION);
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
    const COLLECTION: Collection = Collection::known("cashprogram");
    const PATH: &'static str = "/v1/cashprogram";
    const ITEM_PARAMETER: &'static str = "cashprogram_id";
    const VENDOR_TYPES: &'static [MediaType] =
        &[MediaType::vendor("application/vnd.cashprogram.v1+json")];
    const EXTRA_OPERATIONS: &'static [Operation] = &[Operation::ReplaceAll, Operation::Continue];
    const LINKS: &'static [ItemLink] = &[ItemLink::Continuations];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8070";
    const MEMBERS: Members = open(Self::COLLECTION);
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
    const COLLECTION: Collection = Collection::known("status");
    const PATH: &'static str = "/status";
    const ITEM_PARAMETER: &'static str = "status_id";
    const VENDOR_TYPES: &'static [MediaType] = &[
        MediaType::vendor("application/vnd.proposedprograms.v1+json"),
        MediaType::vendor("application/vnd.gadscores.v1+json"),
        MediaType::vendor("application/vnd.proposals.v1+json"),
    ];
    const EXAMPLE_ID: &'static str = "01890a5d-ac96-774b-bcce-b302099a8080";
    const MEMBERS: Members = open(Self::COLLECTION);
}
