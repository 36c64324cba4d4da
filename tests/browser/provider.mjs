// A real OpenID provider on this machine, whose access tokens (RFC 9068) are for the service. Everybody may sign in by any name.
//
//     node provider.mjs PORT BASE_URL_OF_THE_SERVICE
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const [port, resource] = process.argv.slice(2);
const SCOPES = "proposals.read proposals.write";
const SECOND = 1;
const issuer = `http://127.0.0.1:${port}`;
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

const program = (client_id) => ({
    client_id,
    client_secret: "a secret of a test, which protects nothing",
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
});

const provider = new Provider(issuer, {
    jwks: { keys: [{ ...key, kid: "test", alg: "ES256", use: "sig" }] },
    cookies: { keys: ["a key of a test, which protects nothing"] },
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    clients: [
        {
            client_id: "pages",
            token_endpoint_auth_method: "none",
            grant_types: ["authorization_code"],
            response_types: ["code"],
            redirect_uris: [`${resource}/docs/oauth-receiver.html`],
        },
        program("importer"),
        program("brief"),
    ],
    clientBasedCORS: (_context, origin) => origin === new URL(resource).origin,
    features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        dPoP: { enabled: true },
        resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: (_context, _indicator, client) => ({
                scope: SCOPES,
                audience: resource,
                accessTokenFormat: "jwt",
                accessTokenTTL: (client.clientId === "brief" ? 20 : 600) * SECOND,
                jwt: { sign: { alg: "ES256" } },
            }),
        },
    },
    ttl: { Grant: 600, Interaction: 600, Session: 600, IdToken: 600 },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_context, token) => token.accountId && { name: `${token.accountId} of the test` },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    // The client belongs to this service, so no consent is needed.
    async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope("openid");
        grant.addResourceScope(resource, SCOPES);
        await grant.save();
        return grant;
    },
});

const FORM = `<!DOCTYPE html><html lang="en"><title>Who are you?</title>
<form method="post"><label>Name <input name="login"></label> <button>Continue</button></form></html>`;

async function interact(request, response) {
    if (request.method !== "POST") {
        response.setHeader("Content-Type", "text/html; charset=utf-8");
        response.end(FORM);
        return;
    }
    let body = "";
    for await (const part of request) body += part;
    const accountId = new URLSearchParams(body).get("login");
    await provider.interactionFinished(request, response, { login: { accountId } });
}

const answer = provider.callback();
const server = createServer((request, response) => {
    if (!request.url.startsWith("/interaction/")) { answer(request, response); return; }
    interact(request, response).catch((error) => { response.statusCode = 500; response.end(error.message); });
});
provider.on("server_error", (_context, error) => console.error(error));
server.listen(Number(port), "127.0.0.1", () => console.log(`provider at ${issuer}`));
