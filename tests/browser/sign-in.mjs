// People and programs that are known, at a real OpenID provider (provider.mjs): somebody signs in through Swagger UI and through the
// explorer, in Debian's Chromium, and uses a token that they have; a program gets a token by its own credentials, and one that is bound
// to a key. Nothing of a token is left anywhere but in memory: the explorer has a session, in a cookie that scripts and other sites cannot use.
//
//     node sign-in.mjs BASE_URL FOLDER_FOR_SCREENSHOTS
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair, SignJWT } from "jose";
import { requireAccessible, requireFitting, SCHEMES, SIZES } from "./accessible.mjs";
import { late, launch, watch } from "./chromium.mjs";

const [baseUrl, folder] = process.argv.slice(2);
const { issuers: [issuer], scopes } = await (await fetch(`${baseUrl}/docs/sign-in.json`)).json();
const browser = await launch();

/** Sends JSON to the interface for programs, by a token. */
async function api(token, method, path, body) {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
    const response = await fetch(`${baseUrl}${path}`, { method, headers, body: JSON.stringify(body) });
    return answerOf(response);
}

async function answerOf(response) {
    return { status: response.status, body: await response.json(), challenge: response.headers.get("WWW-Authenticate") };
}

/** A token of a program (RFC 6749 section 4.4) for the service (RFC 8707). */
async function tokenOf(client, headers = {}) {
    const secret = encodeURIComponent("a secret of a test, which protects nothing");
    const form = { grant_type: "client_credentials", resource: baseUrl, scope: scopes.join(" ") };
    const response = await fetch(`${issuer.url}/token`, {
        method: "POST",
        headers: { Authorization: `Basic ${btoa(`${client}:${secret}`)}`, ...headers },
        body: new URLSearchParams(form),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { access_token: token, token_type: type } = JSON.parse(text);
    assert.equal(type, "DPoP" in headers ? "DPoP" : "Bearer");
    return token;
}

/** A page in a separate browser, and the tokens that the provider gives to it. */
async function open(path, options = { viewport: SIZES[0] }) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const tokens = [];
    // Read before the page has them: it is loaded again at once.
    await page.route((url) => `${url.origin}${url.pathname}` === `${issuer.url}/token`, async (route) => {
        const response = await route.fetch();
        if (route.request().method() === "POST") tokens.push(await response.json());
        await route.fulfill({ response });
    });
    const seen = watch(page, baseUrl);
    await page.goto(`${baseUrl}${path}`);
    return { context, page, tokens, seen };
}

/** Presses a button and says at the provider who one is. */
async function signIn(page, button, name) {
    const [popup] = await Promise.all([page.waitForEvent("popup"), button.click()]);
    await popup.getByLabel("Name").fill(name);
    await Promise.all([popup.waitForEvent("close"), popup.getByRole("button", { name: "Continue" }).click()]);
}

/** No part of a token is where it would outlive the page, or where others see it. */
async function requireInMemoryOnly(context, page, token) {
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]));
    const stored = JSON.stringify(await context.storageState({ indexedDB: true }));
    for (const part of token.split(".")) assert(!`${kept}${stored}`.includes(part), "a token is in memory only");
}

/** The provider is the only other host that the pages use. */
function requireQuiet({ elsewhere, errors, said }, expected = []) {
    assert.deepEqual(elsewhere.filter((url) => !url.startsWith(issuer.url)), [], "no request leaves for other hosts");
    assert.deepEqual(errors, [], "no script fails");
    assert.deepEqual(said.filter((text) => !expected.some((part) => text.includes(part))), [], "nothing is said on the console");
}

async function programs() {
    const token = await tokenOf("importer");
    const made = await api(token, "POST", "/v1/files", { filename: "by a program" });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal((await api(token, "GET", `/v1/files/${made.body.id}`)).status, 200);
    const changed = await api(`${token.slice(0, -6)}AAAAAA`, "GET", "/v1/files");
    assert.equal(changed.status, 401);
    const anonymous = await fetch(`${baseUrl}/v1/files`);
    assert.equal(anonymous.status, 401);
    return { token, id: made.body.id };
}

/** A token that was requested with a proof of a key (RFC 9449) is bound to the key. Accepted as a bearer token, it would work for a thief. */
async function boundToken() {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const jwk = await exportJWK(publicKey);
    const proofOf = (htm, htu, more) =>
        new SignJWT({ htm, htu, jti: randomUUID(), ...more }).setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk }).setIssuedAt().sign(privateKey);
    const proof = await proofOf("POST", `${issuer.url}/token`);
    const token = await tokenOf("importer", { DPoP: proof });
    assert.equal(decodeJwt(token).cnf.jkt, await calculateJwkThumbprint(jwk), "the provider binds the token");
    const url = `${baseUrl}/v1/files`;
    const ath = createHash("sha256").update(token).digest("base64url");
    const headers = { Authorization: `Bearer ${token}`, DPoP: await proofOf("GET", url, { ath }) };
    for (const bearer of [{ Authorization: headers.Authorization }, headers]) {
        const refused = await answerOf(await fetch(url, { headers: bearer }));
        assert.equal(refused.status, 401, JSON.stringify(refused.body));
        assert.equal(refused.body.code, "invalid-token");
        assert.match(refused.body.detail, /bound to a key \(`cnf`\) and cannot be used as a bearer token/);
        assert.match(refused.challenge, /error="invalid_token"/);
    }
    // Its own scheme is not known here, and no challenge says that it is.
    const unknown = await answerOf(await fetch(url, { headers: { ...headers, Authorization: `DPoP ${token}` } }));
    assert.equal(unknown.status, 400, JSON.stringify(unknown.body));
    assert.equal(unknown.body.code, "malformed-credentials");
    assert.match(unknown.challenge, /^Bearer /);
    // A proof is no access token either, although its key is a good one.
    assert.equal((await api(proof, "GET", "/v1/files")).status, 401);
}

async function swaggerUi() {
    const { context, page, tokens, seen } = await open("/docs", { viewport: { width: 1280, height: 1600 } });
    await page.waitForSelector("#swagger-ui .opblock-tag");
    await requireAccessible(page, "Swagger UI where callers are known");
    await page.locator(".auth-wrapper .authorize").first().click();
    const flow = page.locator(".auth-container", { hasText: "authorizationCode" });
    await page.screenshot({ path: `${folder}/swagger-authorize.png` });
    await signIn(page, flow.getByRole("button", { name: "Apply given OAuth2 credentials" }), "ana");
    await flow.getByRole("button", { name: /logout|remove authorization/i }).waitFor();
    await page.locator(".auth-btn-wrapper .btn-done").first().click();
    const path = await tryOut(page);
    const [{ access_token: token }] = tokens;
    const { body } = await api(token, "GET", `${path}/versions`);
    assert(JSON.stringify(body).includes('"caller":"test:ana"'), JSON.stringify(body));
    await requireInMemoryOnly(context, page, token);
    await page.reload();
    await page.waitForSelector("#swagger-ui .auth-wrapper .authorize.unlocked");
    // Chromium remarks on the field for a client's secret, which Swagger UI puts into no form.
    requireQuiet(seen, ["Password field is not contained in a form"]);
    await context.close();
}

/** Puts another issuer, or none, into each authorization response before the receiver page reads it. A route sees no redirects. */
function changeIssuer(context, iss) {
    return context.addInitScript((iss) => {
        const url = new URL(location.href);
        if (!url.pathname.endsWith("/oauth-receiver.html")) return;
        if (iss === null) url.searchParams.delete("iss");
        else url.searchParams.set("iss", iss);
        history.replaceState(null, "", url);
    }, iss);
}

/** An authorization response without the issuer, or with another (RFC 9207), gets no token, in Swagger UI and in the explorer. */
async function otherIssuers(id) {
    for (const iss of [null, "https://issuer.example"]) {
        const docs = await open("/docs", { viewport: { width: 1280, height: 1600 } });
        await changeIssuer(docs.context, iss);
        await docs.page.waitForSelector("#swagger-ui .opblock-tag");
        await docs.page.locator(".auth-wrapper .authorize").first().click();
        const flow = docs.page.locator(".auth-container", { hasText: "authorizationCode" });
        await signIn(docs.page, flow.getByRole("button", { name: "Apply given OAuth2 credentials" }), "eve");
        await docs.page.getByText(`The response did not come from ${issuer.url}. Sign in again.`).first().waitFor();
        assert.deepEqual(docs.tokens, [], `Swagger UI with iss ${iss}`);
        await docs.context.close();

        const explored = await open(`/explore/files/${id}`);
        await changeIssuer(explored.context, iss);
        await signIn(explored.page, explored.page.getByRole("button", { name: "Sign in" }), "eve");
        await explored.page.getByText(`The response did not come from ${issuer.url}. Sign in again.`).first().waitFor();
        assert.deepEqual(explored.tokens, [], `the explorer with iss ${iss}`);
        await explored.context.close();
    }
}

/** Creates a file in Swagger UI, and returns its path. */
async function tryOut(page) {
    await page.locator('.opblock-tag[data-tag="files"]').click();
    const operation = page.locator(".opblock-post", { has: page.locator('[data-path="/v1/files"]') });
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    const [response] = await Promise.all([
        page.waitForResponse((response) => response.url().startsWith(`${baseUrl}/v1/files`) && response.request().method() === "POST"),
        operation.getByRole("button", { name: "Execute" }).click(),
    ]);
    assert.equal(response.status(), 201, await response.text());
    return new URL(response.headers().location, baseUrl).pathname;
}

/** A token that one has is as good, there and in the explorer. */
async function pastedTokens({ token, id }) {
    const docs = await open("/docs", { viewport: { width: 1280, height: 1600 } });
    await docs.page.waitForSelector("#swagger-ui .opblock-tag");
    await docs.page.locator(".auth-wrapper .authorize").first().click();
    const bearer = docs.page.locator(".auth-container", { hasText: "http, Bearer" });
    await bearer.locator("input").fill(token);
    await bearer.getByRole("button", { name: "Apply credentials" }).click();
    await docs.page.locator(".auth-btn-wrapper .btn-done").first().click();
    await tryOut(docs.page);
    await requireInMemoryOnly(docs.context, docs.page, token);
    requireQuiet(docs.seen, ["Password field is not contained in a form"]);
    await docs.context.close();

    const { context, page } = await open(`/explore/files/${id}`);
    await paste(page, "psk_unknown_key");
    await page.getByText(/not accepted/).first().waitFor();
    await paste(page, token);
    await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
    await page.locator("main", { hasText: "by a program" }).waitFor();
    await requireInMemoryOnly(context, page, token);
    await context.close();
}

async function paste(page, token) {
    await page.getByRole("button", { name: "Use a token" }).click();
    await requireAccessible(page, "the dialog for a token");
    await page.getByLabel("Access token or key of the service").fill(token);
    await page.getByRole("button", { name: "Use token" }).click();
}

/** Every page has the control, which fits and can be used by everybody. */
async function control(id) {
    for (const viewport of SIZES) {
        for (const colorScheme of SCHEMES) {
            for (const [name, path] of [["overview", "/explore"], ["refused", `/explore/files/${id}`], ["guide", "/guide"]]) {
                const { context, page } = await open(path, { viewport, colorScheme });
                const what = `signed out, ${name} at ${viewport.width}, ${colorScheme}`;
                await page.getByRole("button", { name: "Sign in" }).waitFor();
                await requireAccessible(page, what);
                await requireFitting(page, what);
                await page.screenshot({ path: `${folder}/${name}-${viewport.width}-${colorScheme}.png` });
                await context.close();
            }
        }
    }
}

/** The cookies of the service; those of the provider on the same machine have other names. */
const cookiesOf = async (context) => (await context.cookies(baseUrl)).filter(({ name }) => name === "session");

/** The cookie of the session, which no script reads. */
async function cookieOf(context) {
    const cookies = await cookiesOf(context);
    assert.equal(cookies.length, 1, JSON.stringify(cookies));
    const [{ value, httpOnly, sameSite, path, expires }] = cookies;
    assert.deepEqual({ httpOnly, sameSite, path, expires }, { httpOnly: true, sameSite: "Strict", path: "/", expires: -1 });
    return value;
}

async function explorer({ token: program, id }) {
    const { context, page, tokens, seen } = await open(`/explore/files/${id}`);
    assert.equal(await page.locator("main", { hasText: "by a program" }).count(), 0, "anonymous callers see nothing");
    await signIn(page, page.getByRole("button", { name: "Sign in" }), "berta");
    await page.getByText("Signed in as berta of the test").waitFor();
    await page.locator("main", { hasText: "by a program" }).waitFor();
    await requireAccessible(page, "an item, signed in");
    await page.screenshot({ path: `${folder}/signed-in.png` });
    const [{ access_token: token, id_token: idToken }] = tokens;

    // It survives a reload and a new tab, there without a script, too.
    await page.reload();
    await page.getByText("Signed in as berta of the test").waitFor();
    const state = await context.storageState();
    const plain = await browser.newContext({ javaScriptEnabled: false, storageState: state });
    const tab = await plain.newPage();
    await tab.goto(`${baseUrl}/explore/files/${id}`);
    await tab.getByText("Signed in as berta of the test").waitFor();
    await tab.locator("main", { hasText: "by a program" }).waitFor();
    assert.equal(await tab.getByRole("button", { name: "Sign out" }).count(), 0, "no button without a script");
    await plain.close();

    await late(page);
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel(/^File name/).fill("by berta");
    await page.getByLabel(/^File name/).press("Enter");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "by berta", exact: true }).waitFor();
    assert.equal(page.url(), `${baseUrl}/explore/files/${id}`);
    await page.goBack();
    await page.getByRole("button", { name: "Save", exact: true }).waitFor();
    await page.goForward();
    await page.getByRole("heading", { name: "by berta", exact: true }).waitFor();
    await page.getByRole("link", { name: "History" }).first().click();
    await page.locator("main", { hasText: "berta of the test" }).waitFor();
    await collection(page);
    await liveChanges(page, program);
    await requireInMemoryOnly(context, page, token);
    await cookieOf(context);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    assert.deepEqual(await cookiesOf(context), [], "the cookie is gone");
    await page.goBack();
    await page.locator("main", { hasText: "401" }).waitFor();
    // The browser itself reports the status of what was refused.
    requireQuiet(seen, ["status of 401"]);
    await context.close();
    const refused = await api(idToken, "GET", "/v1/files");
    assert.equal(refused.status, 401, "an ID token is no access token");
    assert.match(refused.challenge, /error="invalid_token"/);
}

/** Forms and downloads are the caller's, too. */
async function collection(page) {
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Files" }).click();
    const found = page.getByRole("search", { name: "Files" });
    await found.getByRole("searchbox").fill("berta");
    await found.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/[?&]q=berta/);
    await page.locator("tbody tr", { hasText: "by" }).first().waitFor();
    await page.locator("details.more summary").first().click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV" }).click()]);
    assert.match(download.suggestedFilename(), /\.csv$/);
    let text = "";
    for await (const part of await download.createReadStream()) text += part;
    assert.match(text, /by berta/);
}

async function liveChanges(page, program) {
    await page.goto(`${baseUrl}/explore/changes`);
    await page.getByText("Live: new changes appear").waitFor();
    const made = await api(program, "POST", "/v1/files", { filename: "live" });
    await page.locator("#changes tr.new", { hasText: made.body.filename }).waitFor();
}

/** Files are uploaded and downloaded as the caller. HTML among them does not take the place of the page. */
async function contents({ token, id }) {
    const { context, page, seen } = await open(`/explore/files/${id}`);
    await paste(page, token);
    const html = '<header class="top"><nav></nav></header><main id="content">taken</main><footer></footer><script src="/x/explorer.js"></script>';
    await page.locator("#chosen").setInputFiles({ name: "ñ.html", mimeType: "text/html", buffer: Buffer.from(html) });
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    const link = page.getByRole("link", { name: "ñ.html" });
    const save = async () => {
        const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
        let text = "";
        for await (const part of await download.createReadStream()) text += part;
        assert.equal(text, html);
        assert.equal(download.suggestedFilename(), "ñ.html");
        assert.equal(await page.getByText("taken").count(), 0, "the page stays");
    };
    // A download that begins before the page is loaded would end its loading.
    await page.getByRole("button", { name: "Replace", exact: true }).waitFor();
    await save();

    const session = await context.newCDPSession(page);
    await session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 500_000 });
    await page.locator("#chosen").setInputFiles({ name: "b.bin", mimeType: "", buffer: Buffer.alloc(5_000_000) });
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    for (const isLeft of [false, true]) {
        const asked = page.waitForEvent("dialog");
        const clicked = page.getByRole("link", { name: "Edit", exact: true }).click({ noWaitAfter: true });
        const dialog = await asked;
        await (isLeft ? dialog.accept() : dialog.dismiss());
        await clicked;
        if (!isLeft) assert(await page.locator("#progress").isVisible());
    }
    await page.getByRole("heading", { name: /^Edit / }).waitFor();
    await page.waitForTimeout(1000);
    const stored = await fetch(`${baseUrl}/v1/files/${id}/content`, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(await stored.text(), html, "an upload ends with its page");
    requireQuiet(seen, ["status of 401"]);
    await context.close();
}

/** A session that ends while somebody edits loses nothing that was typed; signing in again in a dialog continues. */
async function endedWhileEditing(id) {
    const { context, page, seen } = await open(`/explore/files/${id}`);
    await paste(page, await tokenOf("brief"));
    await page.getByText("Signed in as").waitFor();
    const before = await cookieOf(context);
    await page.goto(`${baseUrl}/explore/files/${id}/edit`);
    await page.getByLabel(/^File name/).fill("typed before the end");
    await page.waitForTimeout(23_000);
    const saveButton = page.getByRole("button", { name: "Save", exact: true });
    await saveButton.click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    await requireAccessible(page, "a session that ended");
    await page.screenshot({ path: `${folder}/session-ended.png` });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("nothing was saved").waitFor();
    await saveButton.click();
    // Somebody else signs in: it is not saved by that name without a further click.
    await signIn(page, dialog.getByRole("button", { name: "Sign in" }), "carla");
    await page.getByText("You are signed in as carla of the test now, and nothing was saved.").waitFor();
    await page.getByText("Signed in as carla of the test", { exact: true }).waitFor();
    assert.equal(await page.getByLabel(/^File name/).inputValue(), "typed before the end");
    assert.notEqual(await cookieOf(context), before, "each session has a new id");
    await saveButton.click();
    await page.getByRole("heading", { name: "typed before the end", exact: true }).waitFor();

    // Another tab ends the session and begins a new one of the same person: the save continues by it.
    await page.goto(`${baseUrl}/explore/files/${id}/edit`);
    await page.getByLabel(/^File name/).fill("typed before another tab");
    const other = await context.newPage();
    await other.goto(`${baseUrl}/explore`);
    await other.getByRole("button", { name: "Sign out everywhere" }).click();
    // The provider still knows the person.
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByText("Signed in as carla of the test").waitFor();
    await saveButton.click();
    await page.getByRole("heading", { name: "typed before another tab", exact: true }).waitFor();
    await other.close();

    // A page that is only opened shows the end, and the cookie is removed.
    await context.addCookies([{ url: baseUrl, name: "session", value: "A".repeat(43), httpOnly: true, sameSite: "Strict" }]);
    await page.getByRole("link", { name: "History" }).first().click();
    await page.getByText("Your session has ended. Sign in again.").waitFor();
    await page.locator("main", { hasText: "401" }).waitFor();
    assert.deepEqual(await cookiesOf(context), []);
    requireQuiet(seen, ["status of 401", "status of 403"]);
    await context.close();
}

/** Pages of another site send the cookie with nothing. A link on one leads to a page that is signed in, after one reload. */
async function otherSites({ token, id }) {
    const { context, page } = await open(`/explore/files/${id}`);
    await paste(page, token);
    await page.getByText("Signed in as").waitFor();
    // Chromium takes another name of the same machine for another site; another port is the same site.
    const elsewhere = baseUrl.replace("127.0.0.1", "localhost");
    await context.route(`${elsewhere}/attack`, (route) => route.fulfill({ contentType: "text/html", body: `<!DOCTYPE html>
        <a id="link" href="${baseUrl}/explore/files/${id}">link</a>
        <form id="form" method="post" action="${baseUrl}/v1/files"><button>write</button></form>` }));
    const sent = [];
    page.on("request", async (request) => {
        if (!request.url().startsWith(baseUrl)) return;
        const { cookie = "" } = await request.allHeaders();
        sent.push({ path: new URL(request.url()).pathname, has: / session=|^session=/.test(cookie), method: request.method() });
    });
    await page.goto(`${elsewhere}/attack`);
    const outcome = await page.evaluate(async (url) => {
        const asked = [["GET", {}], ["POST", { body: "{}" }], ["DELETE", {}], ["POST", { body: "{}", headers: { "Page-Token": "x" } }]];
        return Promise.all(asked.map(([method, more]) => fetch(url, { method, credentials: "include", ...more }).then(({ status }) => status, () => "failed")));
    }, `${baseUrl}/v1/files`);
    assert.deepEqual(outcome, ["failed", "failed", "failed", "failed"], "CORS admits no other site");
    const count = async () => (await (await fetch(`${baseUrl}/v1/files`, { headers: { Authorization: `Bearer ${token}` } })).json()).total_items;
    const before = await count();
    await page.locator("#form button").click();
    await page.waitForURL(`${baseUrl}/v1/files`);
    assert.equal(await count(), before, "a form writes nothing");
    const attacks = sent.filter(({ path }) => path === "/v1/files");
    assert(attacks.length >= 4 && attacks.every(({ has }) => !has), JSON.stringify(sent));

    sent.length = 0;
    await page.goto(`${elsewhere}/attack`);
    await page.locator("#link").click();
    await page.getByText("Signed in as").waitFor();
    await page.locator("main .meta").first().waitFor();
    await page.waitForTimeout(1000);
    const opened = sent.filter(({ path }) => path === `/explore/files/${id}`);
    assert.deepEqual(opened.map(({ has }) => has), [false, true], "the reload sends the cookie");
    // Without a session it is reloaded once as well.
    await context.clearCookies();
    sent.length = 0;
    await page.goto(`${elsewhere}/attack`);
    await page.locator("#link").click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.waitForTimeout(2000);
    assert.equal(sent.filter(({ path }) => path === `/explore/files/${id}`).length, 2, JSON.stringify(sent));
    await context.close();
}

try {
    const made = await programs();
    await boundToken();
    await swaggerUi();
    await otherIssuers(made.id);
    await pastedTokens(made);
    await explorer(made);
    await contents(made);
    await control(made.id);
    await otherSites(made);
    await endedWhileEditing(made.id);
    console.log(`People sign in at ${issuer.url} through Swagger UI and the explorer; see ${folder}`);
} finally {
    await browser.close();
}
