// A client that is generated from the published document: what it compiles to must be what the service does.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { argv: string[] };

function assert(condition: unknown, message: string): asserts condition {
    if (!condition) throw new Error(message);
}

const client = createClient<paths>({ baseUrl: process.argv[2], headers: { Accept: "application/json" } });

const created = await client.POST("/v1/proposals", {
    body: {
        proposal_type: "R&D Project",
        project_title: "Rapid test kit for histamine",
        start_date: "2026-01-01",
        implementation_sites: ["Bato, Catanduanes", "Pili, Camarines Sur"],
    },
});
assert(created.data, `created: ${JSON.stringify(created.error)}`);

const path = { proposals_id: created.data.id };
const read = await client.GET("/v1/proposals/{proposals_id}", { params: { path } });
assert(JSON.stringify(read.data) === JSON.stringify(created.data), "read as created");
assert(read.data?.project_title === "Rapid test kit for histamine", "the title as sent");

const listed = await client.GET("/v1/proposals", { params: { query: { page: 1, page_size: 250 } } });
assert(listed.data?._embedded.proposals.some((proposal) => proposal.id === path.proposals_id), "listed");

const replaced = await client.PUT("/v1/proposals/{proposals_id}", {
    params: { path },
    body: { proposal_type: 3, project_title: "Rapid test kit" },
});
assert(replaced.data && replaced.data.start_date === undefined, "replaced as a whole");

const refused = await client.POST("/v1/proposals", { body: { proposal_type: "R&D Project", project_title: " " } });
assert(refused.response.status === 422, "refused");
assert(refused.error?.errors?.[0]?.pointer === "/project_title", "the fault has its place");

const deleted = await client.DELETE("/v1/proposals/{proposals_id}", { params: { path } });
assert(deleted.response.status === 204, "deleted");
const gone = await client.GET("/v1/proposals/{proposals_id}", { params: { path } });
assert(gone.response.status === 404, "gone");
console.log("the generated TypeScript client created, read, listed, replaced and deleted a proposal");
