// `/docs`: loads Swagger UI when the server's list of operations is there, and then puts it in the place of the list.
import { discover, requireIssuer } from "./oauth.js";

const list = document.getElementById("operations");
const place = document.getElementById("swagger-ui");

/** Adds an element that loads a file, and waits for the file. */
function load(name, attributes) {
  const element = Object.assign(document.createElement(name), attributes);
  return new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${name} was not loaded`));
    document.head.append(element);
  });
}

async function loadDocument(url, server) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the document was answered with ${answer.status}`);
  const specification = await answer.json();
  // What is tried out goes to the host that the page came from.
  specification.servers = [{ url: server, description: "This service" }];
  leaveOptionalEmpty(specification);
  return specification;
}

/** Swagger UI fills in examples and defaults, and sends them. An optional parameter is sent only if the user types it. */
function leaveOptionalEmpty({ paths }) {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters)) {
    if (parameter.required) continue;
    for (const value of ["default", "example"]) delete parameter.schema[value];
    // Swagger UI makes an example of an object from its members, unless the parameter has one.
    if (parameter.schema.$ref) parameter.example = {};
  }
}

// ---- signing in --------------------------------------------------------------------------------------------------------------------

/** What is needed to sign in; nothing where callers are not known. */
async function loadSignIn(url) {
  return url === undefined ? undefined : (await fetch(url)).json();
}

/**
 * Describes each issuer's authorization code flow with the scopes of this service. By itself Swagger UI offers every flow that an issuer
 * has, and only the scopes that it lists.
 */
async function describeFlows(specification, { issuers, scopes }) {
  const schemes = Object.entries(specification.components.securitySchemes ?? {});
  await Promise.all(issuers.map(async (issuer) => {
    const [name, scheme] = schemes.find(([, scheme]) => scheme.openIdConnectUrl === issuer.configuration) ?? [];
    issuer.scheme = name;
    const found = await discover(issuer).catch(() => undefined);
    if (!scheme || !found) return;
    delete scheme.openIdConnectUrl;
    const { authorization_endpoint: authorizationUrl, token_endpoint: tokenUrl } = found;
    const described = Object.fromEntries(scopes.map((scope) => [scope, ""]));
    Object.assign(scheme, { type: "oauth2", flows: { authorizationCode: { authorizationUrl, tokenUrl, scopes: described } } });
  }));
}

/** Signs in as a public client, and passes the responses of issuers from the receiver page to Swagger UI. */
function prepareSignIn(system, { issuers, scopes, resource }) {
  system.initOAuth({
    clientId: issuers[0]?.client ?? "",
    scopes,
    usePkceWithAuthorizationCodeGrant: true,
    additionalQueryStringParams: { resource },
  });
  new BroadcastChannel("oauth").addEventListener("message", async ({ data }) => {
    const begun = globalThis.swaggerUIRedirectOauth2;
    if (!begun || data.state !== begun.state) return;
    const { auth, redirectUrl, callback, errCb: fail } = begun;
    globalThis.swaggerUIRedirectOauth2 = undefined;
    try {
      const issuer = issuers.find(({ scheme }) => scheme === auth.name);
      if (!issuer) throw new Error("Sign-in at this issuer is not configured here. Get a token from the issuer and enter it as `token`.");
      requireIssuer(data, issuer, await discover(issuer));
      if (!data.code) throw new Error(data.error_description ?? data.error);
      callback({ auth: { ...auth, code: data.code }, redirectUrl });
    } catch ({ message }) {
      fail({ authId: auth.name, source: "auth", level: "error", message });
    }
  });
}

// ---- the choice of media types, kept for the next operation and the next visit -----------------------------------------------------

const KEPT = "docs.media-types";

function chosenTypes() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

function keepType(part, type) {
  // Each group has its own type: a choice in one group applies to all.
  const kind = type.startsWith("application/vnd.") ? "application/vnd." : type;
  try {
    localStorage.setItem(KEPT, JSON.stringify({ ...chosenTypes(), [part]: kind }));
  } catch {
    // A browser that keeps nothing asks again.
  }
}

/** Puts the type that was chosen first, which Swagger UI then offers. */
function preferType(holder, kind) {
  const types = Object.keys(holder?.content ?? {});
  const chosen = kind && types.find((type) => type.startsWith(kind));
  if (!chosen) return;
  const { [chosen]: first, ...others } = holder.content;
  holder.content = { [chosen]: first, ...others };
}

function preferTypes(specification) {
  const { request, response } = chosenTypes();
  const operations = Object.values(specification.paths).flatMap((path) => Object.values(path));
  const answers = operations.flatMap((operation) => Object.values(operation.responses));
  for (const operation of operations) preferType(operation.requestBody, request);
  for (const answer of [...answers, ...Object.values(specification.components.responses)]) preferType(answer, response);
}

// ---- what Swagger UI does otherwise than by itself ----------------------------------------------------------------------------------

/** Finds operations by what they are called; Swagger UI finds groups only. */
const findsOperations = {
  fn: {
    opsFilter: (groups, phrase) => {
      const words = phrase.toLowerCase().split(/\s+/);
      const matches = (group) => (operation) => {
        const { method, path } = operation.toJS();
        const names = [group, method, path, operation.getIn(["operation", "summary"]), operation.getIn(["operation", "operationId"])];
        const text = names.join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      };
      return groups
        .map((group, name) => group.update("operations", (operations) => operations.filter(matches(name))))
        .filter((group) => group.get("operations").size > 0);
    },
  },
};

/** Takes the document as it is: by itself Swagger UI would write it as a string and read that as YAML, which takes seconds. */
const takesObject = {
  statePlugins: { spec: { wrapSelectors: { specStr: () => () => "{}" } } },
};

/** Offers no trial of an operation whose answer does not end: the page would collect it until there is no memory left. */
const triesNoStream = (specification) => ({
  statePlugins: {
    spec: {
      wrapSelectors: {
        allowTryItOutFor: () => (_state, path, method) => {
          const content = specification.paths[path]?.[method]?.responses["200"]?.content ?? {};
          return !("text/event-stream" in content);
        },
      },
    },
  },
});

/** Does not scroll while the page is hidden, because everything is at the top then. */
const scrollsWhenShown = {
  statePlugins: {
    layout: {
      wrapActions: {
        readyToScroll: (original) => (...place) => list.isConnected ? () => {} : original(...place),
      },
    },
  },
};

function followColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", set);
  set();
}

/** Waits for an element of Swagger UI. */
function appearance(selector) {
  return new Promise((resolve) => {
    const look = () => {
      const found = place.querySelector(selector);
      if (found) observer.disconnect();
      if (found) resolve(found);
    };
    const observer = new MutationObserver(look);
    observer.observe(place, { childList: true, subtree: true, attributeFilter: ["class"] });
    look();
  });
}

/** Opens a group. The action of Swagger UI would make it the address of the page as well. */
function show(system, tag) {
  system.getStore().dispatch({ type: "layout_show", payload: { thing: ["operations-tag", tag], shown: true } });
}

/** Puts Swagger UI in the place of the list: groups that are open stay open, and the focus stays where it was. */
function replaceList(system) {
  const focused = document.activeElement?.closest("#operations details")?.dataset.tag;
  for (const { dataset } of list.querySelectorAll("details[open]")) show(system, dataset.tag);
  list.remove();
  place.hidden = false;
  if (focused) place.querySelector(`[data-tag="${CSS.escape(focused)}"] button`)?.focus();
  if (location.hash.split("/").length > 2) {
    // Only with its content is the page long enough to be scrolled to it.
    appearance(".opblock.is-open .responses-wrapper").then((content) => content.closest(".opblock").scrollIntoView());
  }
}

/** Says what the filter is for, and opens the groups in which something is found. */
async function prepareFilter(system, groups) {
  const filter = await appearance(".operation-filter-input");
  filter.placeholder = "Filter operations";
  filter.setAttribute("aria-label", filter.placeholder);
  const open = () => {
    if (filter.value) for (const { name } of groups) show(system, name);
  };
  // Afterwards: a section that is shown again before Swagger UI has read the input loses it.
  filter.addEventListener("input", () => setTimeout(open));
}

async function start() {
  const { document: url, server, script, style, signIn } = list.dataset;
  const files = [load("link", { rel: "stylesheet", href: style }), load("script", { src: script })];
  const [specification, known] = await Promise.all([loadDocument(url, server), loadSignIn(signIn)]);
  await Promise.all([...files, known && describeFlows(specification, known)]);
  preferTypes(specification);
  followColours();
  place.hidden = true;
  const system = globalThis.SwaggerUIBundle({
    domNode: place,
    docExpansion: "none",
    filter: true,
    defaultModelsExpandDepth: -1,
    deepLinking: true,
    oauth2RedirectUrl: known?.receiver,
    persistAuthorization: false,
    // The session of the other pages has no part in a trial.
    requestInterceptor: (request) => Object.assign(request, { credentials: "omit" }),
    plugins: [takesObject, findsOperations, triesNoStream(specification), scrollsWhenShown],
  });
  if (known) prepareSignIn(system, known);
  system.specActions.updateLoadingStatus("success");
  system.specActions.updateJsonSpec(specification);
  await appearance(".opblock-tag");
  replaceList(system);
  prepareFilter(system, specification.tags);
  place.addEventListener("change", ({ target }) => {
    if (!target.matches("select.content-type")) return;
    keepType(target.closest(".responses-wrapper") ? "response" : "request", target.value);
    preferTypes(specification);
    system.specActions.updateJsonSpec(specification);
  });
}

// What the list needs comes first: Swagger UI is many times as large.
addEventListener("load", () => start().catch((error) => console.warn(`Swagger UI is not shown: ${error.message}`)));
