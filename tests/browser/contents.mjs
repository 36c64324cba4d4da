// Contents of files on the pages of items, in Debian's Chromium: an upload with its progress, a download, a replacement, conflicts,
// refusals and a removal. No stored file runs a script, and a printed page has no navigation.
//
//     node contents.mjs BASE_URL FOLDER_FOR_SCREENSHOTS
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { requireAccessible, requireFitting, SCHEMES, SIZES } from "./accessible.mjs";
import { launch, savedBytes, watch } from "./chromium.mjs";

const [baseUrl, folder] = process.argv.slice(2);
const browser = await launch();
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function api(method, path, body, headers = {}) {
    const response = await fetch(`${baseUrl}${path}`, { method, headers, body });
    assert(response.ok, `${method} ${path}: ${response.status}`);
    return response;
}

async function newItem(path = "/v1/files") {
    return (await api("POST", path, '{"document_type":"plan"}', { "Content-Type": "application/json" })).json();
}

async function bytesOf(path) {
    return Buffer.from(await (await api("GET", path)).arrayBuffer());
}

/** The page of an item, with slow uploads if a rate in bytes per second is given. */
async function open(path, rate, options = {}) {
    const context = await browser.newContext({ viewport: SIZES[0], ...options });
    const page = await context.newPage();
    const seen = watch(page, baseUrl);
    if (rate) {
        const session = await context.newCDPSession(page);
        await session.send("Network.enable");
        await session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: rate });
    }
    await page.goto(`${baseUrl}${path}`);
    return { page, seen };
}

const choose = (page, name, mimeType, buffer) => page.locator("#chosen").setInputFiles({ name, mimeType, buffer });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const outcome = (page) => page.locator("#outcome");

/** Uploads, downloads, replaces and removes a file. */
async function story() {
    const { id } = await newItem();
    const [first, second] = [randomBytes(6_000_000), Buffer.from("%PDF-1.7 second")];
    const { page, seen } = await open(`/explore/files/${id}`, 3_000_000);
    await page.getByText("No file is uploaded yet.").waitFor();
    await choose(page, "Ñandú (plan)'s.bin", "application/x-plan", first);
    const said = page.locator("#progress span");
    const button = page.getByRole("button", { name: "Upload", exact: true });
    await button.click();
    await page.waitForFunction(() => /^[1-9]\d? %, \d\.\d MB of 6\.0 MB$/.test(document.querySelector("#progress span").textContent));
    assert(await page.locator("progress").evaluate(({ value }) => value > 0 && value < 1));
    assert(await button.isDisabled(), "one upload at a time");
    await page.screenshot({ path: `${folder}/uploading.png` });
    await requireAccessible(page, "an upload in progress");
    const dialog = page.waitForEvent("dialog");
    // The page is left only after a confirmation.
    const leaving = page.getByRole("link", { name: "Edit", exact: true }).click({ noWaitAfter: true });
    assert.equal((await dialog).type(), "beforeunload");
    await (await dialog).dismiss();
    await leaving;
    assert(await said.isVisible(), "the upload continues");

    const link = page.getByRole("link", { name: "Ñandú (plan)'s.bin" });
    await link.waitFor();
    await page.getByText(digest(first)).waitFor();
    await page.locator("dd", { hasText: "application/x-plan" }).waitFor();
    await page.locator("dd", { hasText: /^6\.0 MB \(6,000,000 bytes\)$/ }).waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    assert.equal(download.suggestedFilename(), "Ñandú (plan)'s.bin");
    assert((await savedBytes(download)).equals(first), "the same bytes come back");
    await requireAccessible(page, "an item with a file");
    await page.screenshot({ path: `${folder}/stored.png`, fullPage: true });

    await choose(page, "second.pdf", "application/pdf", second);
    await press(page, "Replace");
    await page.getByText(digest(second)).waitFor();

    // Someone else is faster.
    await api("PUT", `/v1/files/${id}/content`, "theirs", { "Content-Type": "text/plain" });
    await choose(page, "mine.bin", "", first);
    await press(page, "Replace");
    await outcome(page).filter({ hasText: "Someone else changed the file in the meantime" }).waitFor();
    await requireAccessible(page, "an upload that was refused");
    await page.screenshot({ path: `${folder}/conflict.png`, fullPage: true });
    assert.equal((await bytesOf(`/v1/files/${id}/content`)).toString(), "theirs");
    await page.getByRole("button", { name: "Remove…" }).click();
    await press(page, "Remove");
    await outcome(page).filter({ hasText: "Someone else changed this in the meantime" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Remove…" }).click();
    await page.getByText("Earlier versions keep it.").waitFor();
    await press(page, "Cancel");
    await page.getByRole("button", { name: "Remove…" }).click();
    await press(page, "Remove");
    await page.getByText("No file is uploaded yet.").waitFor();
    assert.deepEqual([seen.elsewhere, seen.errors], [[], []], "no other host, and no script fails");
    return id;
}

/** The page of an earlier version has the file of that version. */
async function earlierVersion(id) {
    const { page } = await open(`/explore/files/${id}/history`);
    await page.locator(".timeline > li", { hasText: "Version 3" }).getByRole("link", { name: "Show", exact: true }).click();
    const link = page.getByRole("link", { name: "second.pdf" });
    assert.match(await link.getAttribute("href"), /\/versions\/3\/content$/);
    assert.equal(await page.locator("#upload").count(), 0, "a past version is not changed");
    assert.equal((await bytesOf(await link.getAttribute("href"))).toString(), "%PDF-1.7 second");
}

/** A first upload does not replace that of somebody else, and a library item has a file, too. */
async function firstUpload() {
    const { id } = await newItem("/lib");
    const { page } = await open(`/explore/lib/${id}`);
    await api("PUT", `/lib/${id}/content`, "theirs", { "Content-Type": "text/plain" });
    await choose(page, "mine.txt", "text/plain", Buffer.from("mine"));
    await press(page, "Upload");
    await outcome(page).filter({ hasText: "Someone else changed the file in the meantime" }).waitFor();
    await page.reload();
    await choose(page, "mine.mht", "multipart/related", Buffer.alloc(0));
    await press(page, "Replace");
    await page.locator("dd", { hasText: "0 bytes" }).waitFor();
    await page.locator("dd", { hasText: "application/octet-stream" }).waitFor();
}

/** A cancelled upload stores nothing. */
async function cancelled() {
    const { id } = await newItem();
    const { page } = await open(`/explore/files/${id}`, 500_000);
    await choose(page, "a.bin", "", randomBytes(4_000_000));
    await press(page, "Upload");
    await page.waitForFunction(() => document.querySelector("progress").value > 0);
    assert(await page.getByRole("button", { name: "Cancel", exact: true }).evaluate((button) => button === document.activeElement));
    await press(page, "Cancel");
    await outcome(page).filter({ hasText: "Upload cancelled." }).waitFor();
    assert.equal((await fetch(`${baseUrl}/v1/files/${id}/content`)).status, 404);
    assert(await page.getByRole("button", { name: "Upload", exact: true }).isEnabled());
    await page.locator("#upload").evaluate((form) => { form.dataset.most = "1000"; form.dataset.readableMost = "1.0 kB"; });
    await press(page, "Upload");
    await outcome(page).filter({ hasText: "This file has 4.0 MB. Choose one of at most 1.0 kB." }).waitFor();
}

/** Refusals are shown in sentences. */
async function refusals() {
    const { id } = await newItem();
    const { page } = await open(`/explore/files/${id}`);
    await choose(page, "a.txt", "text/plain", Buffer.from("a"));
    const refusal = (status, problem) => (route) => route.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify(problem) });
    const invalid = { code: "invalid-members", detail: "See errors.", errors: [{ detail: "An endorsement must be a PDF.", pointer: "/_meta/content" }] };
    for (const [answer, expected] of [
        [refusal(400, { code: "incomplete-body", detail: "The body ended early." }), "The body ended early."],
        [refusal(403, { code: "not-permitted", detail: "no" }), "You are not allowed to upload a file here."],
        [refusal(413, { code: "body-too-large", detail: "A content may have at most 5 bytes." }), "A content may have at most 5 bytes."],
        [refusal(415, { code: "unsupported-media-type", detail: "Send another type." }), "Send another type."],
        [refusal(422, invalid), "An endorsement must be a PDF."],
        [refusal(503, { code: "unavailable", detail: "Retry later." }), "Retry later."],
        [refusal(507, { code: "store-full", detail: "No storage space is left for this write." }), "No storage space is left for this write."],
        [(route) => route.fulfill({ status: 413, contentType: "text/html", body: "<html>" }), "A server in front of the service refused the request with status 413."],
        [(route) => route.abort("connectionreset"), "Connection failed. The request may have been processed"],
    ]) {
        await page.route("**/content", answer, { times: 1 });
        await press(page, "Upload");
        await outcome(page).filter({ hasText: expected }).waitFor();
        assert(await page.locator("#progress").isHidden());
    }
}

/** Neither HTML nor SVG runs a script: a browser saves it, and would show it in a sandbox. */
async function scripts() {
    const run = "new Image().src = '/canary'";
    for (const [name, type, text] of [
        ["a.html", "text/html", `<script>${run}</script><img src=x onerror="${run}"><p>shown</p>`],
        ["a.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" onload="${run}"><script>${run}</script><text>shown</text></svg>`],
    ]) {
        const { id } = await newItem();
        const { page } = await open(`/explore/files/${id}`);
        const ran = [];
        page.on("request", (request) => { if (request.url().endsWith("/canary")) ran.push(request.url()); });
        await choose(page, name, type, Buffer.from(text));
        await press(page, "Upload");
        const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).click()]);
        assert.equal((await savedBytes(saved)).toString(), text);
        const content = `${baseUrl}/v1/files/${id}/content`;
        await Promise.all([page.waitForEvent("download"), page.goto(content).catch(() => null)]);
        const shownWithout = async (...removed) => {
            await page.route(content, async (route) => {
                const response = await route.fetch();
                const headers = Object.entries(response.headers()).filter(([name]) => !removed.includes(name));
                await route.fulfill({ response, headers: Object.fromEntries(headers) });
            }, { times: 1 });
            await page.goto(content);
            await page.waitForTimeout(300);
        };
        await shownWithout("content-disposition");
        assert.deepEqual(ran, [], `${name} runs no script`);
        await shownWithout("content-disposition", "content-security-policy");
        assert(ran.length > 0, `the script of ${name} would run without the policy`);
    }
}

/** The pages at every size, and printed. */
async function everySize() {
    const { id } = await newItem();
    await api("PUT", `/v1/files/${id}/content`, randomBytes(4_250_000), {
        "Content-Type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "Content-Disposition": `attachment; filename="${"a long name ".repeat(12)}.docx"`,
    });
    for (const viewport of SIZES) {
        for (const colorScheme of SCHEMES) {
            const { page, seen } = await open(`/explore/files/${id}`, null, { viewport, colorScheme });
            await page.locator("#upload").waitFor();
            const what = `a file at ${viewport.width}, ${colorScheme}`;
            await requireAccessible(page, what);
            await requireFitting(page, what);
            await page.screenshot({ path: `${folder}/file-${viewport.width}-${colorScheme}.png`, fullPage: true });
            assert.deepEqual([seen.errors, seen.said], [[], []], what);
        }
    }
    await printed(`/explore/files/${id}`, `${folder}/file.pdf`);
}

async function printed(path, file) {
    const { page } = await open(path, null, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    for (const hidden of ["nav", "footer", "form", "button", ".button"]) {
        for (const element of await page.locator(hidden).all()) assert(await element.isHidden(), `${hidden} is not printed`);
    }
    assert(await page.getByText(`${baseUrl}${path}`, { exact: true }).isVisible(), "the address is printed");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator(".meta time").last().waitFor();
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await page.emulateMedia({ media: null });
    await page.pdf({ path: file, format: "A4" });
}

async function dossier({ id, _meta: { version } }) {
    for (const state of ["", `?as_of=${new Date().toISOString()}`]) {
        const { page } = await open(`/explore/proposals/${id}${state}`);
        const link = page.getByRole("link", { name: "Download dossier" });
        const [saved] = await Promise.all([page.waitForEvent("download"), link.click()]);
        assert.equal(saved.suggestedFilename(), `proposal-${id}.zip`);
        assert((await savedBytes(saved)).includes(state ? '"as_of"' : `"version": ${version}`));
    }
}

try {
    await earlierVersion(await story());
    await firstUpload();
    await cancelled();
    await refusals();
    await scripts();
    await everySize();
    const { _embedded: { proposals: [proposal] } } = await (await api("GET", "/v1/proposals?page_size=1")).json();
    await dossier(proposal);
    await printed(`/explore/proposals/${proposal.id}`, `${folder}/proposal.pdf`);
    console.log(`Files are uploaded, downloaded, replaced and removed; see ${folder}`);
} finally {
    await browser.close();
}
