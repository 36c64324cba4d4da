// Every link of the service's pages leads somewhere: from the start page on, every link is followed in Chromium, one page for each
// template of a path and the names in its query, and none is answered with a status of 4xx or 5xx.
//
//     node links.mjs BASE_URL [ROLE=KEY...]
//
// With keys, the links are followed as each of these callers: no link or button of a page leads to something that the caller may not open. The
// first one may write, and stores the items that the others see.
import assert from "node:assert/strict";
import { launch } from "./chromium.mjs";

const [baseUrl, ...roles] = process.argv.slice(2);
const callers = roles.length > 0 ? roles.map((role) => role.split("=")) : [["anybody", ""]];
const credentials = (key) => key ? { Authorization: `Bearer ${key}` } : {};
const MOST_PAGES = 400;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The template of a page: identifiers and numbers of the path stand for each other, and values of the query, too. */
function template(url) {
    const { pathname, searchParams } = new URL(url);
    const path = pathname.replace(UUID, ":id").replace(/\/\d+(?=\/|$)/g, "/:number");
    return `${path}?${[...new Set(searchParams.keys())].sort().join("&")}`;
}

/** Sends JSON to the interface for programs. */
async function api(method, path, body, type = "application/json") {
    const response = await fetch(`${baseUrl}${path}`, { method, headers: { "Content-Type": type, ...credentials(callers[0][1]) }, body });
    assert(response.ok, `${method} ${path}: ${response.status}`);
    return response.status === 204 ? null : response.json();
}

/** Proposals of many years on several pages, one with a history, one that continues another, one that was removed. */
async function seed() {
    const proposal = (number) => JSON.stringify({
        proposal_type: number % 3 ? "Applied" : "Basic", project_title: `Rice ${number}`, research_type: `type ${number % 20}`,
        start_date: `${2010 + (number % 17)}-02-28`, researcher_id: `R-${number}`,
    });
    await api("POST", "/imports/proposals", Array.from({ length: 60 }, (_, number) => proposal(number)).join("\n"), "application/x-ndjson");
    const made = await api("POST", "/v1/proposals", proposal(60));
    await api("PATCH", `/v1/proposals/${made.id}`, '{"methodology":"One."}');
    await api("POST", `/v1/proposals/${made.id}`, proposal(61));
    await api("POST", `/v1/proposals/${made.id}/lib`, '{"title":"On rice"}');
    await api("POST", "/v1/files", JSON.stringify({ filename: "plan.pdf", proposal_id: made.id }));
    await api("POST", "/v1/cashprogram", '{"year":2026,"expense_object":"Travel","jan_amount":"1.50"}');
    const removed = await api("POST", "/v1/proposals", proposal(62));
    await api("DELETE", `/v1/proposals/${removed.id}`);
    // A search waits until everything is indexed and counted.
    await api("GET", "/v1/proposals?q=rice");
}

/** Follows the links as a caller, and returns the templates that were found. */
async function follow(name, key) {
    const page = await (await browser.newContext({ extraHTTPHeaders: credentials(key) })).newPage();
    const seen = new Set();
    const waiting = [{ url: `${baseUrl}/explore`, from: "the start" }];
    const broken = [];
    let followed = 0;
    const add = (links, from) => {
        for (const link of links) {
            const url = link.split("#")[0];
            if (new URL(url).origin === new URL(baseUrl).origin && !seen.has(template(url))) {
                seen.add(template(url));
                waiting.push({ url, from });
            }
        }
    };
    seen.add(template(waiting[0].url));
    while (waiting.length > 0 && followed < MOST_PAGES) {
        const { url, from } = waiting.shift();
        followed += 1;
        // Downloads and pages for programs are requested and not opened.
        const { status, type } = await page.request.head(url, { headers: { Accept: "text/html, */*;q=0.1" } })
            .then((response) => ({ status: response.status(), type: response.headers()["content-type"] ?? "" }));
        if (status >= 400) broken.push(`${status} ${url} on ${from}`);
        if (!type.startsWith("text/html")) continue;
        const response = await page.goto(url, { waitUntil: "load" });
        if (response.status() >= 400) continue;
        const links = await page.locator("a[href], svg a").evaluateAll((all) => all.map((link) => link.href?.baseVal ?? link.href));
        add(links.map((link) => new URL(link, url).href), url);
    }
    assert.deepEqual(broken, [], `every link leads somewhere for ${name}`);
    console.log(`${followed} pages were followed as ${name}, and every link leads somewhere`);
    await page.context().close();
    return seen;
}

await seed();
const browser = await launch();
try {
    for (const [index, [name, key]] of callers.entries()) {
        const seen = await follow(name, key);
        for (const expected of index > 0 ? [] : ["/explore/proposals?filter[start_date][gte]&filter[start_date][lte]", "/explore/lib/:id?"]) {
            assert(seen.has(expected), `${expected} is not among ${[...seen].join(" ")}`);
        }
    }
} finally {
    await browser.close();
}
