// The explorer as a person uses it, in Debian's Chromium: every page at two sizes, light and dark, without a finding of axe-core,
// and the story of somebody who finds a proposal, edits it wrong, fixes it, meets a conflict and restores what there was.
//
//     node explorer.mjs BASE_URL FOLDER_FOR_SCREENSHOTS
import assert from "node:assert/strict";
import { requireAccessible, requireFitting, SCHEMES, SIZES } from "./accessible.mjs";
import { jsonApi, late, launch, watch } from "./chromium.mjs";

const [baseUrl, folder] = process.argv.slice(2);
const browser = await launch();
const api = jsonApi(baseUrl);

async function everyPage(paths) {
    for (const viewport of SIZES) {
        for (const colorScheme of SCHEMES) {
            const context = await browser.newContext({ viewport, colorScheme });
            const page = await context.newPage();
            const seen = watch(page, baseUrl);
            for (const [name, path] of Object.entries(paths)) {
                const what = `${name} at ${viewport.width}, ${colorScheme}`;
                const response = await page.goto(`${baseUrl}${path}`, { waitUntil: "load" });
                assert.equal(response.status(), name === "problem" ? 400 : 200, what);
                await page.waitForTimeout(150);
                await requireAccessible(page, what);
                await requireFitting(page, what);
                await page.screenshot({ path: `${folder}/${name}-${viewport.width}-${colorScheme}.png`, fullPage: viewport.width === 390 });
            }
            assert.deepEqual(seen.elsewhere, [], "no request leaves the host");
            assert.deepEqual(seen.errors, [], "no script fails");
            // The browser itself reports the status of the page that shows a problem.
            assert.deepEqual(seen.said.filter((said) => !said.includes("status of 400")), [], "nothing is said on the console");
            await context.close();
        }
    }
}

const outcome = (page) => page.locator("#outcome");

async function story(id) {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    const { elsewhere } = watch(page, baseUrl);
    await page.goto(`${baseUrl}/explore`);
    await page.getByRole("searchbox", { name: "Search all records" }).fill("zymur*");
    await page.getByRole("searchbox", { name: "Search all records" }).press("Enter");
    await page.getByRole("link", { name: "All matches in Proposals" }).click();
    await page.locator("mark").first().waitFor();
    await page.locator("tbody th a").click();
    await page.getByRole("link", { name: "Edit", exact: true }).click();

    // Wrong: both dates, and no title.
    await page.getByLabel(/^Project title/).fill("");
    await page.getByLabel(/^Start date/).fill("2027-01-01");
    await page.getByLabel(/^End date/).fill("2026-01-01");
    await page.getByRole("button", { name: "Check" }).click();
    await page.locator(".field[data-member=project_title] .error:visible").waitFor();
    await page.getByText("Enter a project title.").waitFor();
    assert.match(await outcome(page).innerText(), /^Correct \d fields?/);
    await outcome(page).getByRole("link", { name: "Project title" }).click();
    assert(await page.getByLabel(/^Project title/).evaluate((control) => control === document.activeElement), "the link leads to the field");
    await page.screenshot({ path: `${folder}/story-errors.png`, fullPage: true });
    await page.getByLabel(/^Project title/).fill("A zymurgy of sweetpotato");
    assert(await page.locator(".field[data-member=project_title] .error").isHidden(), "an error is cleared by a change");
    await page.getByLabel(/^End date/).fill("2028-01-01");
    await page.getByRole("button", { name: "Check" }).click();
    await page.locator("#outcome.good, #outcome.warn").waitFor();

    // Somebody else is faster.
    const current = await (await fetch(`${baseUrl}/v1/proposals/${id}`)).json();
    await api("PATCH", `/v1/proposals/${id}`, { researcher_id: "R-other", start_date: "2026-06-01" });
    assert.equal(current.project_title, "On zymurgy");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Conflicting changes" }).waitFor();
    await page.screenshot({ path: `${folder}/story-conflict.png`, fullPage: true });
    await requireAccessible(page, "the conflict");
    assert.match(await page.locator("#conflict tbody").innerText(), /Start date\s+2026-06-01\s+Take theirs\s+2027-01-01\s+Keep mine/);
    await page.getByLabel("Take theirs").check();
    assert.equal(await page.getByLabel(/^Start date/).inputValue(), "2026-06-01");
    await page.getByLabel("Keep mine").check();
    await page.keyboard.press("Control+s");
    await page.waitForURL(`**/explore/proposals/${id}`);
    await outcome(page).filter({ hasText: "Saved" }).waitFor();
    await page.getByRole("heading", { name: "A zymurgy of sweetpotato" }).waitFor();
    await page.getByText("R-other").waitFor();

    // The history, a difference, and the way back.
    await page.getByRole("link", { name: "History", exact: true }).click();
    assert.equal(await page.locator(".timeline > li").count(), 3);
    await page.getByRole("link", { name: "Compare with the previous version" }).first().click();
    assert.match(await page.locator(".difference").innerText(), /Jun 1, 2026/);
    await page.goBack();
    await page.getByRole("button", { name: "Restore…" }).last().click();
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await page.waitForURL(`**/explore/proposals/${id}`);
    await page.getByRole("heading", { name: "On zymurgy" }).waitFor();

    // Removed, and brought back.
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("This proposal was deleted.").waitFor();
    await page.getByRole("button", { name: "Restore…" }).first().click();
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByRole("heading", { name: "On zymurgy" }).waitFor();
    assert.deepEqual(elsewhere, [], "no request leaves the host");
}

/** A new item of an open group, with a number that a double cannot hold: it is stored as it was typed. */
async function openItem() {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    await page.goto(`${baseUrl}/explore/files/new`);
    await page.getByLabel(/^File name/).fill("plan.pdf");
    await page.getByLabel(/^Size in bytes/).fill("12345678901234567890");
    await page.getByRole("button", { name: "Add a field" }).click();
    await page.getByLabel("Field name").fill("note");
    await page.getByLabel("Value", { exact: true }).fill("two\nlines");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL(/explore\/files\/[0-9a-f-]{36}$/);
    const stored = await (await fetch(`${baseUrl}/v1/files/${page.url().split("/").pop()}`)).text();
    assert.match(stored, /"size_bytes":12345678901234567890,/);
    assert.match(stored, /"note":"two\\nlines"/);
    // An untouched field is sent back as it is stored.
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await page.getByLabel(/^Kind of document/).fill("plan");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL(/explore\/files\/[0-9a-f-]{36}$/);
    const changed = await (await fetch(`${baseUrl}/v1/files/${page.url().split("/").pop()}`)).text();
    assert.match(changed, /"size_bytes":12345678901234567890,/);
    assert.match(changed, /"document_type":"plan"/);
    await oddValues(page);
}

/** A new library item of a proposal belongs to it. */
async function libraryItem(id) {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    await page.goto(`${baseUrl}/explore/proposals/${id}/lib`);
    await page.getByRole("link", { name: /^New library item/ }).click();
    await page.getByText("Belongs to").waitFor();
    await page.getByRole("button", { name: "Add a field" }).click();
    await page.getByLabel("Field name").fill("shelf");
    await page.getByLabel("Value", { exact: true }).fill("B");
    await requireAccessible(page, "a new library item");
    await page.screenshot({ path: `${folder}/story-library.png`, fullPage: true });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL(`**/explore/proposals/${id}#lib`);
    await outcome(page).filter({ hasText: "Saved." }).waitFor();
    const { _embedded: { lib: [made] } } = await (await fetch(`${baseUrl}/v1/proposals/${id}/lib`)).json();
    assert.equal(made.shelf, "B");
    assert.match(made._links.proposal.href, new RegExp(`${id}$`));
    // From the list of all library items, the proposal is chosen by its title. Values that are not written like the example get a remark.
    await page.goto(`${baseUrl}/explore/lib/new`);
    await page.getByRole("combobox", { name: "Proposal" }).fill("nothing");
    await page.getByLabel(/^Title/).fill("Seedlings");
    await page.getByLabel(/^Amount/).fill("ten thousand");
    await page.getByLabel(/^Reference in CSL-JSON/).fill("{title");
    await page.getByText("This is usually written like 84000.00 PHP.").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await outcome(page).filter({ hasText: "Correct 2 fields" }).waitFor();
    await page.getByText("This is not valid JSON.").waitFor();
    await page.getByText("Choose a proposal from the list, or clear this field.").waitFor();
    await page.getByLabel(/^Reference in CSL-JSON/).fill("");
    await page.getByLabel(/^Amount/).fill("10000.00 PHP");
    await page.getByLabel(/^Quantity/).fill("5");
    assert.equal(await page.locator(".unusual:visible").count(), 0);
    await page.getByRole("combobox", { name: "Proposal" }).fill("");
    await page.getByRole("combobox", { name: "Proposal" }).pressSequentially("zymurgy");
    await page.getByRole("option").first().click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Seedlings" }).waitFor();
    const stored = await (await fetch(`${baseUrl}/lib/${page.url().split("/").pop()}`)).json();
    assert.match(stored._links.proposal.href, new RegExp(`${id}$`));
    assert.equal(stored.quantity, 5);
    // An identifier can be typed in its place.
    await page.goto(`${baseUrl}/explore/lib/new`);
    await page.getByRole("combobox", { name: "Proposal" }).fill(id);
    await page.getByLabel(/^Title/).fill("Fertilizer");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Fertilizer" }).waitFor();
    await page.getByText("Belongs to").waitFor();
}

/** Values that no control of a browser holds are kept when they are not touched; members that somebody else adds stay. */
async function oddValues(page) {
    const odd = '{"":"x","cr":"a\\rb","list":[1,2],"lines":["a\\nb"],"null":null,"filename":"odd"}';
    const made = await (await fetch(`${baseUrl}/v1/files`, { method: "POST", headers: { "Content-Type": "application/json" }, body: odd })).json();
    await page.goto(`${baseUrl}/explore/files/${made.id}/edit`);
    await page.getByLabel(/^File name/).fill("still odd");
    await api("PATCH", `/v1/files/${made.id}`, { theirs: 1, cr: "c" });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Conflicting changes" }).waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL(`**/explore/files/${made.id}`);
    const kept = await (await fetch(`${baseUrl}/v1/files/${made.id}`)).text();
    for (const part of ['"":"x"', '"cr":"c"', '"list":[1,2]', '"lines":["a\\nb"]', '"null":null', '"filename":"still odd"', '"theirs":1']) {
        assert(kept.includes(part), `${part} in ${kept}`);
    }
}

async function liveChanges() {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    await page.goto(`${baseUrl}/explore/changes`);
    await page.getByText("Live: new changes appear").waitFor();
    const made = await api("POST", "/v1/statuses", { code: "live" });
    await page.locator(`#changes tr.new a[href$="${made.id}"]`).waitFor();
}

/** A file with an error is checked, corrected, checked and stored. */
async function importFile() {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    const file = (text) => ({ name: "rows.csv", mimeType: "text/plain", buffer: Buffer.from(text) });
    const choose = (text) => page.getByLabel("File", { exact: true }).setInputFiles(file(text));
    await page.goto(`${baseUrl}/explore/proposals`);
    await page.getByText("More", { exact: true }).click();
    assert.equal(await page.getByRole("link", { name: "XLSX" }).getAttribute("href"), "/exports/proposals.xlsx");
    await page.getByRole("link", { name: "Import a file" }).click();
    await choose("project_title,proposal_type,start_date\nOn import,R&D Project,tomorrow\n,,\n");
    await page.getByRole("button", { name: "Check" }).click();
    await page.locator("#report tbody tr", { hasText: "start_date" }).waitFor();
    await requireAccessible(page, "an import that was refused");
    await page.screenshot({ path: `${folder}/story-import.png`, fullPage: true });
    assert.equal(await page.getByRole("button", { name: "Import", exact: true }).isVisible(), false);
    await choose("project_title,proposal_type,start_date\nOn import,R&D Project,2027-01-01\n");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("Not imported yet. 1 would be created").waitFor();
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("Imported: 1 created").waitFor();
    const found = await (await fetch(`${baseUrl}/v1/proposals?filter[project_title]=On%20import`)).json();
    assert.equal(found.total_items, 1);
}

/** A failed download shows the detail of the server; a successful one is saved. */
async function failedDownload() {
    const item = await api("POST", "/v1/gadscores", { ["x".repeat(32_768)]: 1 });
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    await page.goto(`${baseUrl}/explore/gadscores/import`);
    await page.getByRole("link", { name: "XLSX" }).click();
    await page.getByRole("alert").filter({ hasText: "Exclude it with `fields`, or export the items as CSV" }).waitFor();
    await requireAccessible(page, "a download that failed");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV" }).click()]);
    assert.match(download.suggestedFilename(), /^gadscores-.*\.csv$/);
    assert.equal(await page.getByRole("alert").count(), 0, "what failed before is not said any more");
    await api("DELETE", `/v1/gadscores/${item.id}`);
}

/** A rule is tried on an item, and then an expression with an error in it. */
async function playground() {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    await page.goto(`${baseUrl}/explore/playground`);
    await page.getByLabel("Rule in YAML, or an expression").fill(
        "{id: ends_later, group: proposals, check: self.end_date > self.start_date, message: Move the end behind the start.}",
    );
    await page.getByLabel(/^Record, self/).fill('{"start_date": "2026-02-01", "end_date": "2026-01-31"}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByText("The record fails. Move the end behind the start.").waitFor();
    assert.match(await page.locator("#report tbody").innerText(), /self\.end_date > self\.start_date\s+false/);
    await page.getByRole("button", { name: "Make a case" }).click();
    await page.getByLabel(/^Case: copy it/).waitFor();
    assert.match(await page.getByLabel(/^Case: copy it/).inputValue(), /^- rule: ends_later\n[^]*\n {4}"end_date": "2026-01-31"\n[^]*\n {2}expect: fail\n$/);
    await page.screenshot({ path: `${folder}/story-playground.png`, fullPage: true });
    await page.getByLabel("an expression", { exact: true }).check();
    await page.getByLabel("Rule in YAML, or an expression").fill("self.big");
    await page.getByLabel(/^Record, self/).fill('{"big": 12345678901234567890}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByText("The value is 12345678901234567890").waitFor();
    await page.getByLabel("Rule in YAML, or an expression").fill("1 +");
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByText("Undecided").waitFor();
    assert(await page.locator("#report .errors li").count() > 0, "the error is shown");
}

/** A reference is chosen by the title of its item, and input that is not saved is offered again. */
async function pickerAndDraft({ id, title }, proposal) {
    const context = await browser.newContext({ viewport: SIZES[0] });
    const page = await context.newPage();
    await page.goto(`${baseUrl}/explore/files/new?proposal_id=${proposal}`);
    await page.getByText("Belongs to").waitFor();
    await page.goto(`${baseUrl}/explore/proposals/new`);
    const picker = page.getByRole("combobox", { name: "Programme" });
    await picker.pressSequentially(title.slice(0, 6));
    await page.getByRole("option", { name: title }).waitFor();
    await requireAccessible(page, "a list of programmes");
    await page.screenshot({ path: `${folder}/story-picker.png` });
    await picker.press("ArrowDown");
    await picker.press("Enter");
    assert.equal(await picker.inputValue(), title);
    await page.getByLabel(/^Project title/).fill("On drafts");
    // A typed value of another case is the known one.
    await page.getByRole("combobox", { name: "Research type" }).fill("applied");
    await page.getByRole("combobox", { name: "Research type" }).blur();
    assert.equal(await page.getByRole("combobox", { name: "Research type" }).inputValue(), "Applied");
    await page.getByRole("combobox", { name: "Proposal type" }).fill("Unheard-of");
    await page.getByRole("combobox", { name: "Proposal type" }).blur();
    await page.getByText("This value is not among the usual ones.").first().waitFor();
    await page.waitForTimeout(700);
    page.once("dialog", (dialog) => dialog.accept());
    await page.reload();
    await page.getByText("that was not saved").waitFor();
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL(/explore\/proposals\/[0-9a-f-]{36}$/);
    const made = await (await fetch(`${baseUrl}/v1/proposals/${page.url().split("/").pop()}`)).json();
    assert.deepEqual([made.program_id, made.project_title, made.proposal_type], [id, "On drafts", "Unheard-of"]);
    await page.getByRole("link", { name: title }).first().waitFor();
    await context.close();
}

/** Input that was not saved belongs to its version: a later change by someone else is a conflict. */
async function staleDraft(id) {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    page.on("dialog", (dialog) => dialog.accept());
    await page.goto(`${baseUrl}/explore/proposals/${id}/edit`);
    await page.getByLabel(/^Lead researcher/).fill("R-mine");
    await page.waitForTimeout(700);
    await api("PATCH", `/v1/proposals/${id}`, { researcher_id: "R-theirs" });
    await page.reload();
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Conflicting changes" }).waitFor();
    assert.match(await page.locator("#conflict tbody").innerText(), /Lead researcher\s+R-theirs\s+Take theirs\s+R-mine\s+Keep mine/);
    await page.getByLabel("Take theirs").check();
    assert.equal(await page.getByLabel(/^Lead researcher/).isEditable(), false);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await outcome(page).filter({ hasText: "Saved." }).waitFor();
    assert.equal((await (await fetch(`${baseUrl}/v1/proposals/${id}`)).json()).researcher_id, "R-theirs");
}

/** Before its script is loaded, a form keeps the input, even after Enter. */
async function lateScript(id) {
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    await late(page);
    await page.goto(`${baseUrl}/explore/files/${id}/edit`, { waitUntil: "commit" });
    await page.getByLabel(/^File name/).fill("late.pdf");
    await page.getByLabel(/^File name/).press("Enter");
    assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0, "nothing can be saved yet");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "late.pdf" }).waitFor();
}

/** Without a script everything can be read. */
async function withoutScript(id) {
    const page = await (await browser.newContext({ viewport: SIZES[0], javaScriptEnabled: false })).newPage();
    await page.goto(`${baseUrl}/explore/proposals`);
    await page.getByText("Filters", { exact: true }).click();
    await page.getByRole("group", { name: "Project title" }).getByLabel("contains").fill("zymurgy");
    await page.getByRole("group", { name: "End date" }).getByLabel("End date: empty or not").selectOption("is empty");
    await page.getByRole("button", { name: "Apply" }).click();
    assert.match(page.url(), /filter\[project_title\]\[contains\]=zymurgy&filter\[end_date\]\[exists\]=false/);
    await page.getByText("Project title contains “zymurgy”").waitFor();
    assert.equal(await page.locator("tbody tr").count(), 1);
    await page.goto(`${baseUrl}/explore/proposals/${id}/edit`);
    await page.getByText("This page is read-only without JavaScript.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Save" }).count(), 0);
}

try {
    const program = await api("POST", "/v1/proposedprograms", { title: "Root crops" });
    const proposal = await api("POST", "/v1/proposals", {
        proposal_type: "R&D Project", project_title: "On zymurgy", program_id: program.id, methodology: "One.\n\nTwo.", research_type: "Applied",
        specific_objectives: ["First", "Second"],
    });
    const file = await api("POST", "/v1/files", { filename: "<img src=x onerror=alert(1)>.pdf", proposal_id: proposal.id, tags: { a: [1.50] } });
    await api("PUT", `/v1/files/${file.id}`, { filename: "plan.pdf", proposal_id: proposal.id, size_bytes: 3 });
    await everyPage({
        overview: "/explore",
        collection: "/explore/proposals",
        search: "/explore/proposals?q=zymurgy&sort=-start_date",
        everywhere: "/explore/search?q=zymurgy",
        counts: "/explore/proposals?count_by=research_type&filter[start_date][gte]=2018-01-01",
        open: "/explore/files?fields=filename,size_bytes,tags",
        item: `/explore/proposals/${proposal.id}`,
        file: `/explore/files/${file.id}`,
        edit: `/explore/proposals/${proposal.id}/edit`,
        new: "/explore/cashprogram/new",
        import: "/explore/cashprogram/import",
        history: `/explore/files/${file.id}/history`,
        difference: `/explore/files/${file.id}/diff?from=1&to=2`,
        changes: "/explore/changes",
        rules: "/explore/rules",
        rule: "/explore/rules/name_is_used_once",
        tried: "/explore/playground?rule=name_is_used_once",
        playground: `/explore/playground?group=proposals&item=${proposal.id}`,
        explained: "/problems/invalid-members",
        guide: "/guide",
        chapter: "/guide/find",
        accessibility: "/guide/accessibility",
        deleted: "/explore/proposals/deleted",
        unattached: "/explore/lib/new",
        reference: "/docs",
        retry: "/guide/retry",
        problem: "/explore/proposals?sort=nothing",
    });
    await withoutScript(proposal.id);
    await story(proposal.id);
    await openItem();
    await libraryItem(proposal.id);
    await pickerAndDraft(program, proposal.id);
    await staleDraft(proposal.id);
    await lateScript(file.id);
    await liveChanges();
    await playground();
    await importFile();
    await failedDownload();
    console.log(`The explorer works at ${SIZES.map(({ width }) => width).join(" and ")} pixels; see ${folder}`);
} finally {
    await browser.close();
}
