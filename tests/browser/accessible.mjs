// Requirements of every page: no finding of axe-core, and no element wider than the screen.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

export const SIZES = [{ width: 1400, height: 1000 }, { width: 390, height: 844 }];
export const SCHEMES = ["light", "dark"];
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails for findings of axe-core, also those of its best practices. */
export async function requireAccessible(page, what) {
    // The page's own policy admits no script of others, so it is run by the browser's debugger.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3).join(" ")}`);
    assert.deepEqual(found, [], what);
}

export async function requireFitting(page, what) {
    const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert(inner <= outer, `${what} is ${inner} wide on a screen of ${outer}`);
}
