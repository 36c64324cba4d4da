//! The kinds of problems that the service reports.

use poem::http::StatusCode;

#[derive(Debug)]
pub struct ProblemKind {
    /// Also the name of its page, `/problems/<code>`.
    pub code: &'static str,
    pub status: StatusCode,
    pub title: &'static str,
    pub explanation: &'static str,
}

macro_rules! problem_kinds {
    ($($name:ident = $code:literal $status:ident $title:literal: $explanation:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: ProblemKind =
                ProblemKind { code: $code, status: StatusCode::$status, title: $title, explanation: $explanation };
        )*

        pub const ALL: &[ProblemKind] = &[$($name),*];
    };
}

problem_kinds! {
    EMPTY_BODY = "empty-body" BAD_REQUEST "The body is empty":
        "The operation takes a JSON object. Send one, with a Content-Type header.";
    NOT_UTF8 = "not-utf8" BAD_REQUEST "The body is not UTF-8":
        "JSON is exchanged in UTF-8 (RFC 8259 section 8.1). Convert it before sending it; `detail` says where the first wrong byte is.";
    MALFORMED_JSON = "malformed-json" BAD_REQUEST "The body is not JSON":
        "The body breaks the grammar of JSON (RFC 8259). `detail` gives line, column and what was expected there.";
    TOO_DEEP = "too-deep" BAD_REQUEST "The body is nested too deeply":
        "A body may have at most 128 levels of arrays and objects. Flatten it.";
    DUPLICATE_MEMBER = "duplicate-member" BAD_REQUEST "A member name stands twice":
        "An object names each member once; readers disagree about which of two counts, so neither is guessed. Remove one.";
    LONE_SURROGATE = "lone-surrogate" BAD_REQUEST "A surrogate stands alone":
        "A \\uD800 to \\uDFFF escape is half a character. Send the pair, or better the character itself in UTF-8.";
    INCOMPLETE_BODY = "incomplete-body" BAD_REQUEST "The body is incomplete":
        "The body broke off before the length it declared, or its chunks are malformed. Send it whole; nothing was written.";
    MALFORMED_HOST = "malformed-host" BAD_REQUEST "The Host header is missing, repeated or malformed":
        "A request of HTTP/1.1 has exactly one Host header, which is a host and, if need be, a port (RFC 9112 section 3.2).";
    NOT_AN_OBJECT = "not-an-object" BAD_REQUEST "The body has the wrong shape":
        "An item is a JSON object. A replacement of a collection is an array of objects, or a HAL collection as GET returns it.";
    MALFORMED_CONDITION = "malformed-condition" BAD_REQUEST "A condition cannot be read":
        "If-Match and If-None-Match take `*` or a list of entity tags in double quotes, as in the ETag header of a response (RFC 9110 section 13.1).";
    MALFORMED_KEY = "malformed-idempotency-key" BAD_REQUEST "The Idempotency-Key cannot be read":
        "The header takes one string in double quotes, as in `Idempotency-Key: \"8e03978e-40d5-43dd-bc93-6894a57f9324\"`. Make a new one, best a UUID, for everything that is to happen once.";
    MALFORMED_TOKEN = "malformed-consistency-token" BAD_REQUEST "The Consistency-Token cannot be read":
        "The header takes one token, to the letter as the answer to a write had it in its Consistency-Token header. Tokens are not made by clients. Leave the header out where there is none.";
    INVALID_QUERY = "invalid-query" BAD_REQUEST "A query parameter is wrong":
        "`detail` names the parameter and the values it takes, and the nearest right name for one that is not known. Each parameter stands once; only filters may be several. Percent-encode what is not a letter, digit, `-`, `.`, `_` or `~`: a bare `+` is a space. A cursor comes from a link and goes with its query; when it is refused, start again from the collection or a page number.";
    MALFORMED_CREDENTIALS = "malformed-credentials" BAD_REQUEST "The credentials cannot be read":
        "A request has at most one Authorization header, which is `Bearer`, a space and a token of at most 8 KiB (RFC 6750 section 2.1). No other scheme is known.";
    CREDENTIALS_REQUIRED = "credentials-required" UNAUTHORIZED "Credentials are required":
        "The operation is for known callers. Send `Authorization: Bearer` with an access token of one of the issuers that `/.well-known/oauth-protected-resource` names, or with a key of this service.";
    INVALID_TOKEN = "invalid-token" UNAUTHORIZED "The token is not accepted":
        "`detail` says why: it has ended, is made for another audience, comes from an unknown issuer, was revoked, or is no token of this service. Get a new one from the issuer.";
    CROSS_SITE = "cross-site" FORBIDDEN "Another web site sent the request":
        "Anonymous callers may write here, so a page of any web site could write through the browser of its visitor. A write without credentials is refused if its `Origin` is not that of the service or if `Sec-Fetch-Site` is `cross-site`. Programs leave both headers out. Operators allow the pages of an origin with `--cors-origin`.";
    INSUFFICIENT_SCOPE = "insufficient-scope" FORBIDDEN "The token's scope is too narrow":
        "The caller may do this, and the program that is used was not granted it. The WWW-Authenticate header names the scopes that grant it; ask the issuer for a token with one of them.";
    NOT_PERMITTED = "not-permitted" FORBIDDEN "The policies do not permit this":
        "The caller is known and may not do this here. `policies` names those that deny it; without any, no policy allows it. Deleting an item also requires `delete` on the items that belong to it. `/v1/access` says what is permitted.";
    NEEDS_WHOLE_COLLECTION = "needs-whole-collection" FORBIDDEN "The write is of the whole collection":
        "The request writes all items of the collection, and the caller may write only some of them. Write these one by one.";
    NO_ROUTE = "no-route" NOT_FOUND "There is nothing at this path":
        "The path is none of this service's. Paths have no trailing slash; the entry point `/` links every collection.";
    ITEM_NOT_FOUND = "item-not-found" NOT_FOUND "There is no such item":
        "No item has this identifier, or it was deleted, or it belongs to another proposal. List the collection to find the items there are.";
    PARENT_NOT_FOUND = "proposal-not-found" NOT_FOUND "There is no such proposal":
        "The library asked for belongs to a proposal that does not exist. List `/v1/proposals` to find those that do.";
    RULE_NOT_FOUND = "rule-not-found" NOT_FOUND "There is no such rule":
        "No business rule of this name is in force. `/rules` lists those that are; rules may come and go while the service runs.";
    POLICY_NOT_FOUND = "policy-not-found" NOT_FOUND "There is no such policy":
        "No policy of this name is in force. `/policies` lists those that are; policies may come and go while the service runs.";
    METHOD_NOT_ALLOWED = "method-not-allowed" METHOD_NOT_ALLOWED "The path does not serve this method":
        "The Allow header lists the methods it serves.";
    NOT_ACCEPTABLE = "not-acceptable" NOT_ACCEPTABLE "No acceptable media type":
        "The Accept header admits none of the types this path serves: `application/hal+json`, `application/json` and the group's own. Name one of them, or `*/*`.";
    PAGE_OUT_OF_RANGE = "page-out-of-range" CONFLICT "There is no such page":
        "The page lies beyond the last one. Follow `_links.next` until it is absent, or start at `_links.first`.";
    VERSION_NOT_FOUND = "version-not-found" NOT_FOUND "There is no such version":
        "The item never had a version of this number. `versions` below the item lists those there are.";
    VERSION_GONE = "version-gone" GONE "The version is a removal":
        "With this version the item was removed, so there is nothing to show or restore. The version before it is what it last was.";
    BODY_REMOVED = "body-removed" GONE "The body of the version was removed":
        "Operators of this service keep the bodies of superseded versions for a time. This one was removed when it was past, at the time in `removed_at`. Who wrote the version and when is listed in `versions` below the item; it cannot be shown, compared or restored. Take another version, whose entry in that list has no `removed_at`.";
    ANOTHER_HISTORY = "another-history" GONE "The position is not of this history":
        "The position in the change log belongs to another store, or to a state of this one that was lost when it was restored or failed over: changes that were told there may never have been. Read the collections again, and follow the log without it.";
    KEY_IN_USE = "idempotency-key-in-use" CONFLICT "The request is being processed":
        "A request with the same Idempotency-Key was sent to this path and is not answered yet. Wait, and send it again: the answer will be that of the first.";
    PRECONDITION_FAILED = "precondition-failed" PRECONDITION_FAILED "The item or collection has changed":
        "If-Match names another version than the current one: somebody wrote since it was read. Read it again, repeat the change on what is there now, and send it with the new ETag. Or If-None-Match names the current version, which is then not written over.";
    CONDITION_REQUIRED = "condition-required" PRECONDITION_REQUIRED "A condition is required":
        "The operators of this service let items be changed and removed under a condition only (RFC 6585 section 3), so that nobody overwrites what somebody else wrote. Send If-Match with the ETag that was read.";
    TOO_LARGE_FOR_A_PAGE = "too-large-for-a-page" NOT_ACCEPTABLE "The item is too large for a page":
        "The explorer shows and edits items of up to 512 KiB. A program reads and changes larger ones at the same address below `/v1`.";
    BODY_TOO_LARGE = "body-too-large" PAYLOAD_TOO_LARGE "The body is too large":
        "Bodies are limited; `detail` says to how many bytes. Store large attachments elsewhere and describe them in `files`.";
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type" UNSUPPORTED_MEDIA_TYPE "The body's media type is not supported":
        "A body needs a Content-Type of `application/json` or the group's own type; the only parameter allowed is `charset=utf-8`.";
    MISDIRECTED = "misdirected-request" MISDIRECTED_REQUEST "The host is not one of this service":
        "Anonymous callers may read or write here, so a web site could point its own name at this service and use it through the browser of its visitor (DNS rebinding). Without credentials, the Host header must be an IP address, `localhost`, the host of the base URL, or a host that the operators name with `--allowed-host`. A proxy passes the header on: `proxy_set_header Host $host` in nginx.";
    INVALID_MEMBERS = "invalid-members" UNPROCESSABLE_ENTITY "Validation failed":
        "The body was read, and rules refuse it. `errors` lists every error: where (`pointer`, RFC 6901), which rule (`code`) and what to send instead (`detail`). `validation_messages` says the same by field.";
    DOES_NOT_FIT = "does-not-fit" UNPROCESSABLE_ENTITY "The selection does not fit the format":
        "A sheet has limits of rows, columns and characters in a cell, which `detail` names. Select fewer items or columns, or take another format: NDJSON has no such limits.";
    MALFORMED_FILE = "malformed-file" BAD_REQUEST "The file cannot be read":
        "The file is not of the format that its Content-Type names, or its first row does not name its columns. `detail` says what is wrong. Nothing was imported.";
    ROWS_REFUSED = "rows-refused" UNPROCESSABLE_ENTITY "Rows were refused":
        "The file was read, and some of its rows are refused, so nothing was imported. `errors` lists the errors, each with its `row`, its `column` and what to send instead (`detail`). With `mode=each` the other rows are imported.";
    KEY_REUSED = "idempotency-key-reused" UNPROCESSABLE_ENTITY "The Idempotency-Key was used for another request":
        "A request with the same key and another body was sent to this path and done before. Make a new key for what is to happen beside it; send the same body to get the first answer again.";
    REQUEST_TIMEOUT = "request-timeout" REQUEST_TIMEOUT "The body did not arrive in time":
        "The body stopped arriving, or the connection broke. Send the request again; nothing was written.";
    TOO_MANY_REQUESTS = "too-many-requests" TOO_MANY_REQUESTS "Requests come too fast":
        "The operators limit how fast requests of one caller, or of one address, may come. The RateLimit-Policy header tells the limit; wait for the seconds in Retry-After, and spread requests.";
    INTERNAL = "internal" INTERNAL_SERVER_ERROR "The service failed":
        "The cause lies in the service, not in the request. Tell the operators the request id (header X-Request-Id).";
    UNAVAILABLE = "unavailable" SERVICE_UNAVAILABLE "The service cannot answer now":
        "The store is out of reach or the service is at its limit. Try again after the seconds in Retry-After. A write may have happened: look before you repeat it.";
    INDEX_BUILDING = "index-building" SERVICE_UNAVAILABLE "The full-text index is being built":
        "More was written than a search waits for, as after an import or an upgrade. `indexed` and `of` tell how far the index has come. Try again after the seconds in Retry-After; everything but searches works meanwhile.";
    STORE_FULL = "store-full" INSUFFICIENT_STORAGE "The store is full":
        "There is no space for the write, and nothing was written. Reads still work. Tell the operators.";
}
