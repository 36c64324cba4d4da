// The page to which an issuer sends the browser back. It sends the answer to the open pages of this service and closes. The page
// that began the sign-in knows the state in the answer. A channel works even if the issuer separated the popup from its opener.

const answer = Object.fromEntries(new URLSearchParams(location.search));
// Neither the address nor the history keeps the code.
history.replaceState(null, "", location.pathname);
const channel = new BroadcastChannel("oauth");
channel.postMessage(answer);
channel.close();
// A browser lets no page close a window that it does not take for a popup; the text says what to do then.
setTimeout(() => close());
