// The day of a clerk at a research office, in Debian's Chromium: twelve tasks, from the start page on, with the controls of
// the pages only. It passes with a mouse, on a phone and by keyboard alone. Each task has a limit of clicks and keystrokes.
//
//     node clerk.mjs BASE_URL FOLDER_FOR_SCREENSHOTS [WAY...]
import assert from "node:assert/strict";
import { SIZES } from "./accessible.mjs";
import { jsonApi, launch, savedBytes, watch } from "./chromium.mjs";
import { Person } from "./person.mjs";

const [baseUrl, folder, ...only] = process.argv.slice(2);
const api = jsonApi(baseUrl);
const TYPES = ["Pilot", "Basic", "Development"];
const WAYS = [
    { way: "mouse", crop: "abaca", viewport: SIZES[0], colorScheme: "light" },
    { way: "touch", crop: "cacao", viewport: SIZES[1], colorScheme: "dark", afternoon: "light", hasTouch: true, isMobile: true },
    { way: "keyboard", crop: "durian", viewport: SIZES[0], colorScheme: "dark" },
];
const chosen = WAYS.filter(({ way }) => only.length === 0 || only.includes(way));

/** Twenty proposals about a crop, of three types and ten years. The clerk's own one is the last. */
async function seed(crop, programs) {
    const proposals = Array.from({ length: 20 }, (_, number) => ({
        project_title: `Field trial ${number + 1} of ${crop} in the uplands`, proposal_type: TYPES[number % 3], research_type: "Applied",
        start_date: `${2016 + (number % 10)}-03-01`, end_date: `${2018 + (number % 10)}-02-28`, researcher_id: `R-${100 + number}`,
        program_id: programs[number % 3].id, methodology: "Randomized complete blocks with four replications.",
    }));
    await api("POST", "/imports/proposals", proposals);
    const own = { project_title: `Drying ${crop} on farms`, start_date: "2020-06-01", end_date: "2022-05-31" };
    return api("POST", "/v1/proposals", { ...proposals[0], ...own });
}

const exactly = (role) => (page, name) => page.getByRole(role, { name, exact: true });
const [link, button, box] = [exactly("link"), exactly("button"), exactly("searchbox")];
const field = (page, label) => page.getByLabel(new RegExp(`^${label}`));
const heading = (page, name) => page.getByRole("heading", { name });
const said = (page, text) => page.locator("#outcome").filter({ hasText: text }).waitFor();

/** Opens a list by the menu, which is behind a button on a phone. */
async function openList(person, name) {
    const { page, way } = person;
    if (way === "touch") {
        await person.press(button(page, "Menu"));
        await page.screenshot({ path: `${folder}/touch-menu.png` });
    }
    await person.press(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }));
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

async function find({ person, page, own, crop, shot }) {
    await person.write(box(page, "Search all records"), `drying ${crop}`, "Enter");
    await link(page, own.project_title).waitFor();
    await shot("results");
    await person.press(link(page, own.project_title));
    await heading(page, own.project_title).waitFor();
    await shot("found");
}

async function filter({ person, page, own, shot }) {
    await openList(person, "Proposals");
    await person.press(page.getByText("Filters", { exact: true }));
    await person.option(exactly("combobox")(page, "Proposal type"), "Pilot");
    const start = page.getByRole("group", { name: "Start date" });
    await person.date(start.getByLabel("from"), "2019-01-01");
    await person.date(start.getByLabel("to", { exact: true }), "2022-12-31");
    await shot("controls");
    await person.press(button(page, "Apply"));
    await page.getByRole("list", { name: "Filters" }).waitFor();
    const query = "filter[proposal_type]=Pilot&filter[start_date][gte]=2019-01-01&filter[start_date][lte]=2022-12-31";
    const { total_items: total } = await api("GET", `/v1/proposals?${query}`);
    assert.equal(await page.locator("tbody tr").count(), total, "the rows are those of the interface");
    assert(total >= 6 && total < 25, `${total} proposals`);
    await link(page, own.project_title).waitFor();
    await shot("filtered");
}

async function edit({ person, page, own, crop, shot }) {
    await person.press(link(page, own.project_title));
    await person.press(link(page, "Edit"));
    await person.write(field(page, "Project title"), "");
    await person.date(field(page, "End date"), "2019-05-31");
    await person.write(field(page, "Proposal type"), "");
    await person.save();
    await said(page, "Correct 3 fields");
    await shot("errors");
    await person.write(field(page, "Project title"), `Drying of ${crop} on farms`);
    await person.press(page.locator("#outcome").getByRole("link", { name: "End date" }));
    await person.date(field(page, "End date"), "2023-05-31");
    await person.write(field(page, "Proposal type"), "Pilot");
    await shot("corrected");
    await person.save();
    await said(page, "Saved.");
    await shot("saved");
    const stored = await api("GET", `/v1/proposals/${own.id}`);
    assert.deepEqual(stored, { ...stored, project_title: `Drying of ${crop} on farms`, end_date: "2023-05-31", proposal_type: "Pilot" });
}

async function conflict({ person, page, own, crop, shot }) {
    await person.press(link(page, "Edit"));
    await person.write(field(page, "Project title"), `Solar drying of ${crop}`);
    await person.write(field(page, "Lead researcher"), "R-mine");
    const theirs = { project_title: "Theirs", researcher_id: "R-777", implementation_sites: ["Pili", "Naga"] };
    await api("PATCH", `/v1/proposals/${own.id}`, theirs);
    await person.save();
    await heading(page, "Conflicting changes").waitFor();
    await shot("conflict");
    assert.equal(await field(page, "Implementation sites").inputValue(), "Pili\nNaga", "an untouched field shows what will be saved");
    const choices = (name) => ["Take theirs", "Keep mine"].map((choice) => page.getByRole("row", { name }).getByLabel(choice));
    await person.choose(choices(/^Project title/), true);
    await person.choose(choices(/^Lead researcher/), false);
    await shot("chosen");
    await person.save();
    await heading(page, `Solar drying of ${crop}`).waitFor();
    await shot("saved");
    const stored = await api("GET", `/v1/proposals/${own.id}`);
    assert.deepEqual(stored, { ...stored, ...theirs, project_title: `Solar drying of ${crop}` });
}

async function history({ person, page, crop, shot }) {
    await person.press(link(page, "History"));
    await heading(page, "History of").waitFor();
    await shot("versions");
    await person.press(page.getByRole("link", { name: "Compare with the previous version" }).first());
    assert.match(await page.locator(".difference").innerText(), new RegExp(`Theirs\\s+Solar drying of ${crop}`));
    await shot("difference");
}

async function create(day) {
    const { person, page, crop, programs, shot } = day;
    await openList(person, "Proposals");
    await person.press(link(page, "New proposal"));
    // In a low window, the bar with the buttons would be over some fields.
    if (person.way === "keyboard") await page.setViewportSize({ width: 1400, height: 520 });
    await person.write(field(page, "Project title"), `Storage of ${crop}`);
    await person.date(field(page, "Start date"), "2027-01-01");
    await person.write(field(page, "Proposal type"), "Basic");
    const picker = field(page, "Programme");
    await person.write(picker, "cacao and");
    const option = page.getByRole("option", { name: programs[1].title });
    await option.waitFor();
    await shot("picker");
    if (person.way === "keyboard") for (const name of ["ArrowDown", "Enter"]) await person.key(name);
    else await person.press(option);
    assert.equal(await picker.inputValue(), programs[1].title);
    await person.write(field(page, "Implementation sites"), "Bato, Catanduanes");
    await shot("form");
    await person.save();
    await heading(page, `Storage of ${crop}`).waitFor();
    if (person.way === "keyboard") await page.setViewportSize(SIZES[0]);
    await shot("created");
    day.made = await api("GET", `/v1/proposals/${page.url().split("/").pop()}`);
    assert.equal(day.made.program_id, programs[1].id);
}

async function library({ person, page, made, shot }) {
    await person.press(link(page, "Add a library item"));
    await person.write(field(page, "Title"), "Moisture meter");
    await person.write(field(page, "Amount"), "18500.00 PHP");
    await shot("form");
    await person.save();
    await said(page, "Saved.");
    await shot("added");
    const { _embedded: { lib: [item] } } = await api("GET", `/v1/proposals/${made.id}/lib`);
    assert.deepEqual([item.title, String(item.amount)], ["Moisture meter", "18500.00 PHP"]);
}

async function upload({ person, page, made, shot }) {
    await person.press(link(page, "Add a file description"));
    await person.write(field(page, "File name"), "plan.pdf");
    await person.save();
    await said(page, "Saved.");
    await person.file(page.locator("#chosen"), "plan.pdf", "application/pdf", Buffer.from("%PDF-1.7 plan"));
    await shot("chosen");
    await person.press(button(page, "Upload"));
    await said(page, "The file is stored.");
    await page.locator("dd", { hasText: "13 bytes" }).waitFor();
    await shot("stored");
    const { _embedded: { files: [{ id }] } } = await api("GET", `/v1/files?filter[proposal_id]=${made.id}`);
    assert.equal(await (await fetch(`${baseUrl}/v1/files/${id}/content`)).text(), "%PDF-1.7 plan");
}

async function dossier({ person, page, made, shot }) {
    await person.press(link(page, made.project_title).first());
    const saved = await person.download(link(page, "Download dossier"));
    assert.equal(saved.suggestedFilename(), `proposal-${made.id}.zip`);
    assert((await savedBytes(saved)).includes("%PDF-1.7 plan"), "the document is in the dossier");
    await shot("proposal");
}

async function exportCsv(day) {
    const { person, page, crop, shot } = day;
    await openList(person, "Proposals");
    await person.press(page.getByText("Filters", { exact: true }));
    await person.write(page.getByRole("group", { name: "Project title" }).getByLabel("contains"), crop, "Enter");
    await page.getByText(`Project title contains “${crop}”`).waitFor();
    await person.press(page.getByText("More", { exact: true }));
    await shot("more");
    day.sheet = (await savedBytes(await person.download(link(page, "CSV")))).toString();
    assert.equal(day.sheet.trim().split("\n").length, 1 + 22, "the proposals about the crop");
}

/** A program for sheets does this: no click of the pages is counted. */
async function change(day) {
    const changed = day.sheet.replace("R-777", "R-sheet");
    assert.notEqual(changed, day.sheet);
    day.sheet = changed;
}

async function load({ person, page, own, crop, sheet, shot }) {
    await person.press(link(page, "Import a file"));
    await person.file(page.getByLabel("File", { exact: true }), "proposals.csv", "text/csv", Buffer.from(sheet));
    await person.press(button(page, "Check"));
    await said(page, "Not imported yet. 1 would be changed, 21 would be unchanged");
    await shot("checked");
    assert.match(await page.locator("#preview tbody").innerText(), /^\d+\s+\S.*\s+R-777\s+R-sheet$/);
    await person.press(button(page, "Import"));
    await said(page, "Imported: 1 changed");
    await shot("imported");
    await person.write(box(page, "Search all records"), `solar ${crop}`, "Enter");
    await person.press(link(page, `Solar drying of ${crop}`));
    await page.locator("dd", { hasText: "R-sheet" }).waitFor();
    await shot("changed");
    assert.equal((await api("GET", `/v1/proposals/${own.id}`)).researcher_id, "R-sheet");
}

// The limits: clicks and keystrokes with a mouse or on a phone, then keystrokes and presses of Tab by keyboard alone.
const TASKS = [
    ["Find a proposal by words", find, [3, 15], [18, 10]],
    ["Filter by type and dates", filter, [9, 18], [28, 46]],
    ["Correct three mistakes", edit, [12, 52], [62, 48]],
    ["Resolve a conflict", conflict, [7, 32], [40, 24]],
    ["Look at a difference", history, [3, 2], [6, 10]],
    ["Create a proposal", create, [11, 58], [67, 42]],
    ["Add a library item", library, [5, 28], [33, 22]],
    ["Upload a document", upload, [7, 10], [18, 25]],
    ["Download the dossier", dossier, [3, 2], [5, 25]],
    ["Export a filtered list", exportCsv, [7, 8], [16, 30]],
    ["Change a cell of the sheet", change, [0, 0], [0, 0]],
    ["Import the sheet", load, [7, 14], [23, 33]],
];

/** The tasks in one way, with their clicks and keystrokes. */
async function work(browser, { way, crop, afternoon, ...options }, programs, own) {
    const page = await (await browser.newContext(options)).newPage();
    page.setDefaultTimeout(5000);
    const seen = watch(page, baseUrl);
    const counted = [];
    const person = new Person(page, way);
    const day = { person, page, crop, programs, own };
    await page.goto(`${baseUrl}/explore`);
    for (const [index, [name, task, mostPointed, mostTyped]] of TASKS.entries()) {
        if (afternoon && index === TASKS.length / 2) await page.emulateMedia({ colorScheme: afternoon });
        const number = String(index + 1).padStart(2, "0");
        day.shot = (step) => page.screenshot({ path: `${folder}/${way}-${number}-${task.name}-${step}.png` });
        await task(day).catch(async (error) => {
            await day.shot("failed");
            throw new Error(`${name}, ${way}: ${error.message}`, { cause: error });
        });
        const found = person.count();
        const most = way === "keyboard" ? mostTyped : mostPointed;
        assert(found.every((count, kind) => count <= most[kind]), `${name}, ${way}: ${found} is more than ${most}`);
        counted.push(found);
    }
    assert.deepEqual([seen.elsewhere, seen.errors], [[], []], "no other host is asked, and no script fails");
    // The browser itself reports the status of a form with mistakes, and of a conflict.
    assert.deepEqual(seen.said.filter((text) => !/status of (412|422)/.test(text)), [], "nothing is said on the console");
    return counted;
}

const titles = ["Upland cereals", "Cacao and other tree crops", "Livestock"];
const programs = await Promise.all(titles.map((title) => api("POST", "/v1/proposedprograms", { title })));
const browser = await launch();
try {
    const own = [];
    for (const { crop } of WAYS) own.push(await seed(crop, programs));
    const ways = await Promise.all(chosen.map((way) => work(browser, way, programs, own[WAYS.indexOf(way)])));
    console.log(`${"".padEnd(28)}mouse: clicks, keys   phone: clicks, keys   keyboard: keys, Tab`);
    for (const [index, [name]] of TASKS.entries()) {
        console.log(name.padEnd(28) + ways.map((way) => way[index].map((count) => String(count).padStart(9)).join("").padEnd(22)).join(""));
    }
    console.log(`A clerk's tasks are done in each way; see ${folder}`);
} finally {
    await browser.close();
}
