// Debian's Chromium, as every test here starts it.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export const launch = () => chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ],
});

/** Collects the requests of a page to other hosts, the errors of its scripts, and everything that it says on its console. */
export function watch(page, baseUrl) {
    const [elsewhere, errors, said] = [[], [], []];
    page.on("request", (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol.startsWith("http") && origin !== new URL(baseUrl).origin) elsewhere.push(request.url());
    });
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => said.push(message.text()));
    return { elsewhere, errors, said };
}

/** The script of forms comes late, as over a bad line. */
export const late = (page) => page.route(/form[^/]*\.js/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await route.continue();
});

/** Sends JSON to the interface for programs. */
export const jsonApi = (baseUrl) => async (method, path, body, headers = {}) => {
    const sent = { method, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
    const response = await fetch(`${baseUrl}${path}`, sent);
    assert(response.ok, `${method} ${path}: ${response.status}`);
    return response.status === 204 ? null : response.json();
};

export async function savedBytes(download) {
    const parts = [];
    for await (const part of await download.createReadStream()) parts.push(part);
    return Buffer.concat(parts);
}
