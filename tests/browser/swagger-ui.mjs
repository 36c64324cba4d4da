// Swagger UI as a person uses it, in Debian's Chromium: it loads, lists every group, and "Try it out" works untouched.
//
//     node swagger-ui.mjs BASE_URL SCREENSHOT
import assert from "node:assert/strict";
import { launch, watch } from "./chromium.mjs";

const GROUPS = [
    "proposedprograms",
    "gadscores",
    "statuses",
    "files",
    "lib",
    "proposals",
    "proposals lib",
    "cashprogram",
    "status",
];

const [baseUrl, screenshot] = process.argv.slice(2);
const browser = await launch();
try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
    const { elsewhere, errors } = watch(page, baseUrl);

    await page.goto(`${baseUrl}/docs`, { waitUntil: "networkidle" });
    await page.waitForSelector(".opblock-tag");
    const tags = await page.$$eval(".opblock-tag", (sections) => sections.map((section) => section.dataset.tag));
    for (const group of GROUPS) assert(tags.includes(group), `the group ${group} is listed among ${tags}`);

    // The operation may be folded away with its group; its anchor opens it.
    const operation = page.locator(".opblock-post", { has: page.locator('[data-path="/v1/proposals"]') });
    if (!(await operation.isVisible())) await page.locator('.opblock-tag[data-tag="proposals"]').click();
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    const [response] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === "POST"),
        operation.getByRole("button", { name: "Execute" }).click(),
    ]);
    assert.equal(response.status(), 201, await response.text());
    const shown = operation.locator(".live-responses-table tbody .response-col_status").first();
    await shown.waitFor();
    assert.match(await shown.innerText(), /201/, "the page shows the answer");
    await page.screenshot({ path: screenshot });

    // A filter is typed as the object its parameter documents; the page writes the brackets.
    const list = page.locator(".opblock-get", { has: page.locator('[data-path="/v1/proposals"]') });
    await list.locator(".opblock-summary-control").click();
    await list.getByRole("button", { name: "Try it out" }).click();
    const filter = { research_type: "Applied", start_date: { gte: "2026-01-01", lt: "2027-01-01" } };
    await list.locator('tr[data-param-name="filter"] textarea').fill(JSON.stringify(filter));
    const [found] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === "GET" && response.url().includes("filter")),
        list.getByRole("button", { name: "Execute" }).click(),
    ]);
    assert.equal(found.status(), 200, `${found.url()}: ${await found.text()}`);
    assert((await found.json())._embedded.proposals.length > 0, `${found.url()} finds the proposal just created`);

    assert.deepEqual(elsewhere, [], "no request leaves the host");
    assert.deepEqual(errors, [], "no script fails");
    console.log(`Swagger UI lists ${tags.length} groups and created a proposal; see ${screenshot}`);
} finally {
    await browser.close();
}
