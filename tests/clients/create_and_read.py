"""A client that is generated from the published document: what it offers must be what the service does."""

import sys

from proposal_service import Client
from proposal_service.api.proposals import create_proposal, delete_proposal, get_proposal, list_proposals
from proposal_service.models import Problem, Proposal, ProposalBody


def main(base_url: str) -> None:
    client = Client(base_url=base_url, headers={"Accept": "application/json"}, raise_on_unexpected_status=True)

    body = ProposalBody(proposal_type="R&D Project", project_title="Rapid test kit for histamine")
    created = create_proposal.sync(client=client, body=body)
    assert isinstance(created, Proposal), created

    read = get_proposal.sync(str(created.id), client=client)
    assert isinstance(read, Proposal), read
    assert read.to_dict() == created.to_dict()
    assert read.project_title == "Rapid test kit for histamine"

    listed = list_proposals.sync(client=client, page_size=250)
    assert any(proposal.id == created.id for proposal in listed.field_embedded.proposals), listed

    refused = create_proposal.sync(client=client, body=ProposalBody(proposal_type="R&D Project", project_title=" "))
    assert isinstance(refused, Problem) and refused.errors[0].pointer == "/project_title", refused

    assert delete_proposal.sync_detailed(str(created.id), client=client).status_code == 204
    assert isinstance(get_proposal.sync(str(created.id), client=client), Problem)
    print("the generated Python client created, read, listed and deleted a proposal")


if __name__ == "__main__":
    main(sys.argv[1])
