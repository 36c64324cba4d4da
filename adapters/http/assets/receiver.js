// The page to which an issuer sends the browser back. It hands the answer to the pages of this service that are open, of which the
// one that began knows the state in it, and closes. A channel works also where the issuer cut the popup off from its opener.

const answer = Object.fromEntries(new URLSearchParams(location.search));
// Neither the address nor the history keeps the code.
history.replaceState(null, "", location.pathname);
const channel = new BroadcastChannel("oauth");
channel.postMessage(answer);
channel.close();
// A browser lets no page close a window that it does not take for a popup; the text says what to do then.
setTimeout(() => close());
