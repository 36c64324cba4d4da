// The authorization code flow with PKCE (RFC 7636), in a popup.

const encoded = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => encoded(crypto.getRandomValues(new Uint8Array(32)));
const digest = async (text) => encoded(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));

/** The endpoints of an issuer, by its OpenID configuration. */
export async function discover({ url, configuration }) {
  const response = await fetch(configuration, { signal: AbortSignal.timeout(10_000) });
  const found = await response.json();
  if (found.issuer !== url) throw new Error("The configuration belongs to another issuer. Contact the administrator.");
  return found;
}

/** The answer of the issuer, from the receiver page; other requests have another state. */
function answerTo(state, signal) {
  return new Promise((resolve, reject) => {
    const channel = new BroadcastChannel("oauth");
    const stop = () => { channel.close(); reject(new Error("Sign-in was restarted.")); };
    signal.addEventListener("abort", stop, { once: true });
    channel.onmessage = ({ data }) => {
      if (data.state !== state) return;
      channel.close();
      signal.removeEventListener("abort", stop);
      resolve(data);
    };
  });
}

/**
 * Refuses an authorization response of another issuer (RFC 9207): one that names another, and one that names none although the issuer
 * announces that it always names itself. Errors are checked, too.
 */
export function requireIssuer({ iss }, issuer, configuration) {
  const isNamed = configuration.authorization_response_iss_parameter_supported === true || iss !== undefined;
  if (isNamed && iss !== issuer.url) throw new Error(`The response did not come from ${issuer.url}. Sign in again.`);
}

/** Gets an access token for `resource`. It needs a click: a browser opens no popup by itself. */
export async function signIn(issuer, { resource, receiver, scopes }, signal) {
  const popup = open("about:blank", "sign-in", "popup,width=520,height=680");
  if (!popup) throw new Error("The browser blocked the sign-in window. Allow pop-ups for this site.");
  try {
    const endpoints = await discover(issuer);
    const [state, nonce, verifier] = [random(), random(), random()];
    const address = new URL(endpoints.authorization_endpoint);
    // The address is the issuer's; as a script it would run as this page.
    if (!["https:", "http:"].includes(address.protocol)) throw new Error("The issuer has no valid sign-in address. Contact the administrator.");
    const asked = {
      response_type: "code", client_id: issuer.client, redirect_uri: receiver, scope: ["openid", ...scopes].join(" "), resource,
      state, nonce, code_challenge: await digest(verifier), code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
    signal.throwIfAborted();
    const answered = answerTo(state, signal);
    popup.location.replace(address.href);
    const answer = await answered;
    requireIssuer(answer, issuer, endpoints);
    if (answer.error) throw new Error(`Sign-in failed: ${answer.error_description ?? answer.error}.`);
    const form = { grant_type: "authorization_code", code: answer.code, redirect_uri: receiver, client_id: issuer.client, code_verifier: verifier, resource };
    return await exchange(endpoints.token_endpoint, form, nonce);
  } catch (error) {
    popup.close();
    throw error;
  }
}

async function exchange(endpoint, form, nonce) {
  const response = await fetch(endpoint, { method: "POST", body: new URLSearchParams(form), credentials: "omit" });
  const tokens = await response.json();
  if (!response.ok) throw new Error(`The issuer returned no token: ${tokens.error_description ?? tokens.error}.`);
  // The ID token is of no other use: it ties the answer to this request.
  if (tokens.id_token !== undefined && payload(tokens.id_token).nonce !== nonce) throw new Error("The issuer's response belongs to another request. Sign in again.");
  return tokens.access_token;
}

function payload(token) {
  const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (letter) => letter.charCodeAt(0))));
}
