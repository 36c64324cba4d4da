// `/docs` as a person uses it, in Debian's Chromium: the server's list of operations is there at once and readable by everybody,
// Swagger UI takes its place, finds operations, keeps the choice of a media type, and "Try it out" works untouched.
//
//     node swagger-ui.mjs BASE_URL SCREENSHOT
import assert from "node:assert/strict";
import { requireAccessible, requireFitting, SCHEMES, SIZES } from "./accessible.mjs";
import { launch, watch } from "./chromium.mjs";

const GROUPS = [
    "proposals",
    "proposals lib",
    "proposedprograms",
    "gadscores",
    "statuses",
    "files",
    "lib",
    "cashprogram",
    "status",
    "service",
];

// A telephone with a poor connection. The list is to be usable within 1.5 s; a busy machine may take ten times as long.
const SLOW_NETWORK = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };
const SLOW_PROCESSOR = { rate: 4 };
const LONGEST_MS = 15_000;

const [baseUrl, screenshot] = process.argv.slice(2);
const browser = await launch();

/** Opens the page and waits for Swagger UI. */
async function open(page, hash = "") {
    await page.goto(`${baseUrl}/docs${hash}`);
    await page.waitForSelector("#swagger-ui .opblock-tag");
}

const operationAt = (page, method, path) => page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) });

async function theList() {
    for (const viewport of SIZES) {
        for (const colorScheme of SCHEMES) {
            const what = `the list at ${viewport.width}, ${colorScheme}`;
            const context = await browser.newContext({ viewport, colorScheme });
            const page = await context.newPage();
            // Where Swagger UI does not arrive, the list stays.
            await page.route("**/swagger-ui-bundle.js", (route) => route.abort());
            await page.goto(`${baseUrl}/docs#/proposals/createProposal`, { waitUntil: "load" });
            assert.match(await page.title(), /Operations · Research proposals/);
            const groups = await page.$$eval("#operations details", (all) => all.map((group) => group.dataset.tag));
            assert.deepEqual(groups, GROUPS);
            await page.locator("#operations li", { hasText: "Create a proposal" }).first().waitFor();
            await page.getByText("gadscores", { exact: true }).click();
            await page.locator("#operations li:visible", { hasText: "List score sheets" }).waitFor();
            await requireAccessible(page, what);
            await requireFitting(page, what);
            await page.screenshot({ path: screenshot.replace(".png", `-list-${viewport.width}-${colorScheme}.png`) });
            await context.close();
        }
    }
}

/** Says how soon the page can be read and used on a slow connection and a slow processor. */
async function soonEnough() {
    const page = await (await browser.newContext({ viewport: SIZES[1] })).newPage();
    const debuggerOfPage = await page.context().newCDPSession(page);
    await debuggerOfPage.send("Network.enable");
    await debuggerOfPage.send("Network.emulateNetworkConditions", SLOW_NETWORK);
    await debuggerOfPage.send("Emulation.setCPUThrottlingRate", SLOW_PROCESSOR);
    const now = () => page.evaluate(() => Math.round(performance.now()));
    await page.goto(`${baseUrl}/docs`, { waitUntil: "commit" });
    await page.locator("#operations summary").first().click();
    await page.locator("#operations details[open] li").first().waitFor();
    const usable = await now();
    const painted = await page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime));
    await page.waitForSelector("#swagger-ui .opblock-tag", { timeout: 120_000 });
    const replaced = await now();
    await page.locator("#swagger-ui .opblock-summary:visible").first().waitFor();
    assert(usable < LONGEST_MS, `the list is usable after ${usable} ms`);
    console.log(`/docs at 1.6 Mbit/s, processor slowed 4 times: painted after ${painted} ms, used after ${usable} ms, Swagger UI after ${replaced} ms`);
}

async function lookAround(page) {
    const tags = await page.$$eval(".opblock-tag", (sections) => sections.map((section) => section.dataset.tag));
    assert.deepEqual(tags, GROUPS);
    assert.equal(await page.locator(".opblock").count(), 0, "groups are collapsed");
    assert.equal(await page.locator(".models").count(), 0, "models are hidden");
    await page.getByLabel("Filter operations").fill("restore score");
    await page.locator(".opblock", { hasText: "Restore a version of a score sheet" }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".opblock").length === 1);
    await page.getByLabel("Filter operations").fill("");
}

async function tryOut(page) {
    // The operation may be folded away with its group; its anchor opens it.
    const operation = operationAt(page, "post", "/v1/proposals");
    if (!(await operation.isVisible())) await page.locator('.opblock-tag[data-tag="proposals"]').click();
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    const [response] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === "POST"),
        operation.getByRole("button", { name: "Execute" }).click(),
    ]);
    assert.equal(response.status(), 201, await response.text());
    assert.equal(response.url(), `${baseUrl}/v1/proposals`, "no optional parameter is sent");
    assert.equal(response.request().headers().prefer, undefined, "no optional header is sent");
    const shown = operation.locator(".live-responses-table tbody .response-col_status").first();
    await shown.waitFor();
    assert.match(await shown.innerText(), /201/, "the page shows the answer");
    await page.screenshot({ path: screenshot });

    // A filter is typed as the object its parameter documents; the page writes the brackets.
    const list = operationAt(page, "get", "/v1/proposals");
    await list.locator(".opblock-summary-control").click();
    await list.getByRole("button", { name: "Try it out" }).click();
    const filter = { research_type: "Applied", start_date: { gte: "2026-01-01", lt: "2027-01-01" } };
    for (const field of await list.locator(".parameters input:visible, .parameters textarea:visible").all()) {
        assert.match(await field.inputValue(), /^(\{\})?$/, "optional parameters are empty");
    }
    await list.locator('tr[data-param-name="filter"] textarea').fill(JSON.stringify(filter));
    const [found] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === "GET" && response.url().includes("filter")),
        list.getByRole("button", { name: "Execute" }).click(),
    ]);
    assert.equal(found.status(), 200, `${found.url()}: ${await found.text()}`);
    assert((await found.json())._embedded.proposals.length > 0, `${found.url()} finds the proposal just created`);
}

/** A media type that was chosen is offered first by other operations, and at the next visit. */
async function keepsTypes(page) {
    const responses = (operation) => operation.locator(".responses-wrapper select.content-type").first();
    const visit = () => page.goto("about:blank").then(() => open(page, "#/files/listFiles"));
    await visit();
    const files = operationAt(page, "get", "/v1/files");
    assert.equal(await responses(files).inputValue(), "application/hal+json");
    await responses(files).selectOption("application/json");
    await page.locator('.opblock-tag[data-tag="gadscores"]').click();
    const scores = operationAt(page, "get", "/v1/gadscores");
    await scores.locator(".opblock-summary-control").click();
    assert.equal(await responses(scores).inputValue(), "application/json", "at the next operation");
    await visit();
    assert.equal(await responses(files).inputValue(), "application/json", "at the next visit");
    await files.getByRole("button", { name: "Try it out" }).click();
    const [sent] = await Promise.all([
        page.waitForRequest((request) => request.url().includes("/v1/files")),
        files.getByRole("button", { name: "Execute" }).click(),
    ]);
    assert.equal(sent.headers().accept, "application/json");
}

/** A deep link opens its operation, and the stream says that it does not end and cannot be tried. */
async function streamIsSafe(page) {
    await page.goto("about:blank");
    await open(page, "#/service/streamChanges");
    const stream = page.locator(".opblock.is-open");
    await stream.getByText("This response does not end").waitFor();
    await stream.locator(".responses-wrapper").waitFor();
    assert.equal(await stream.getByRole("button", { name: "Try it out" }).count(), 0);
    await page.waitForFunction(() => Math.abs(document.querySelector(".opblock.is-open").getBoundingClientRect().top) < innerHeight / 2);
}

try {
    await theList();
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 1600 } })).newPage();
    const { elsewhere, errors, said } = watch(page, baseUrl);
    await open(page);
    await lookAround(page);
    await tryOut(page);
    await keepsTypes(page);
    await streamIsSafe(page);
    assert.deepEqual(elsewhere, [], "no request leaves the host");
    assert.deepEqual(errors, [], "no script fails");
    assert.deepEqual(said, [], "nothing is said on the console");
    await soonEnough();
    console.log(`Swagger UI lists ${GROUPS.length} groups and created a proposal; see ${screenshot}`);
} finally {
    await browser.close();
}
