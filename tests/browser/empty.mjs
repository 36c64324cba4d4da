// The first steps in an empty service: its start page creates an example of each kind of record.
//
//     node empty.mjs BASE_URL
import assert from "node:assert/strict";
import { requireAccessible, requireFitting, SCHEMES, SIZES } from "./accessible.mjs";
import { launch, watch } from "./chromium.mjs";

const [baseUrl] = process.argv.slice(2);
const browser = await launch();
try {
    for (const viewport of SIZES) {
        for (const colorScheme of SCHEMES) {
            const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
            await page.goto(`${baseUrl}/explore`);
            await requireAccessible(page, `the first steps at ${viewport.width}, ${colorScheme}`);
            await requireFitting(page, "the first steps");
        }
    }
    const page = await (await browser.newContext({ viewport: SIZES[0] })).newPage();
    const { elsewhere, errors, said } = watch(page, baseUrl);
    await page.goto(`${baseUrl}/explore`);
    await page.getByRole("button", { name: "Create examples" }).click();
    await page.getByText("Created an example of each kind of record.").waitFor();
    assert.equal(await page.getByRole("heading", { name: "First steps" }).count(), 0);
    await page.getByRole("link", { name: "1 Proposals" }).click();
    await page.locator("tbody th a").click();
    // Every example names the proposal, and the proposal its programme.
    await page.getByRole("link", { name: "Highland Vegetable Innovation Program" }).waitFor();
    for (const group of ["Library", "Scores", "Files", "Cash programmes", "Status entries"]) {
        await page.getByRole("heading", { name: `${group} (1)` }).waitFor();
    }
    await page.getByRole("link", { name: "In technical review" }).waitFor();
    assert.deepEqual([...elsewhere, ...errors, ...said], []);
    console.log("An empty service begins with examples");
} finally {
    await browser.close();
}
