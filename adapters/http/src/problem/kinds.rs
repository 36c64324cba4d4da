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
    EMPTY_BODY = "empty-body" BAD_REQUEST "Empty request body":
        "The operation requires a JSON object. Send one, with a Content-Type header.";
    NOT_UTF8 = "not-utf8" BAD_REQUEST "Request body is not UTF-8":
        "JSON is exchanged in UTF-8 (RFC 8259 section 8.1). Convert the body to UTF-8. `detail` gives the position of the first wrong byte.";
    MALFORMED_JSON = "malformed-json" BAD_REQUEST "Malformed JSON":
        "The body is not valid JSON (RFC 8259). `detail` gives the line, the column and the expected input.";
    TOO_DEEP = "too-deep" BAD_REQUEST "Request body nested too deeply":
        "A body may have at most 128 levels of arrays and objects. Flatten it.";
    DUPLICATE_MEMBER = "duplicate-member" BAD_REQUEST "Duplicate member name":
        "An object must not repeat a member name, because parsers disagree about which value counts. Remove one.";
    LONE_SURROGATE = "lone-surrogate" BAD_REQUEST "Unpaired surrogate":
        "A \\uD800 to \\uDFFF escape is half a character. Send the pair, or better the character itself in UTF-8.";
    INCOMPLETE_BODY = "incomplete-body" BAD_REQUEST "Incomplete request body":
        "The body ended before its declared length, or its chunks are malformed. Send it completely. No data was written.";
    MALFORMED_HOST = "malformed-host" BAD_REQUEST "Missing, repeated or malformed Host header":
        "An HTTP/1.1 request must have exactly one Host header with a host and an optional port (RFC 9112 section 3.2).";
    NOT_AN_OBJECT = "not-an-object" BAD_REQUEST "Request body has the wrong shape":
        "An item is a JSON object. A replacement of a collection is an array of objects, or a HAL collection as returned by GET.";
    MALFORMED_DIGEST = "malformed-digest" BAD_REQUEST "Malformed digest":
        "Repr-Digest and Content-Digest take digests as in `sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:` (RFC 9530): 32 bytes in Base64 between colons.";
    DIGEST_MISMATCH = "digest-mismatch" BAD_REQUEST "Content does not match its digest":
        "The bytes that arrived do not have the SHA-256 digest of the request. Nothing was stored. Send them again.";
    MALFORMED_CONDITION = "malformed-condition" BAD_REQUEST "Malformed condition":
        "If-Match and If-None-Match take `*` or a list of entity tags in double quotes, as in the ETag header of a response (RFC 9110 section 13.1).";
    MALFORMED_KEY = "malformed-idempotency-key" BAD_REQUEST "Malformed Idempotency-Key":
        "The header takes one string in double quotes, as in `Idempotency-Key: \"8e03978e-40d5-43dd-bc93-6894a57f9324\"`. Use a new key, preferably a UUID, for each operation that must happen once.";
    MALFORMED_TOKEN = "malformed-consistency-token" BAD_REQUEST "Malformed Consistency-Token":
        "The header takes one token, unchanged from the Consistency-Token header of the response to a write. Clients cannot create tokens. Omit the header if you have no token.";
    INVALID_QUERY = "invalid-query" BAD_REQUEST "Invalid query parameter":
        "`detail` names the parameter and its valid values, or the closest known name for an unknown parameter. Each parameter may be given once, except filters. Percent-encode all characters except letters, digits, `-`, `.`, `_` and `~`: a bare `+` is a space. A cursor comes from a link and is valid for its query only. If a cursor is refused, start again from the collection or a page number.";
    MALFORMED_CREDENTIALS = "malformed-credentials" BAD_REQUEST "Malformed credentials":
        "A request may have at most one Authorization header: `Bearer`, a space and a token of at most 8 KiB (RFC 6750 section 2.1). Other schemes are not supported.";
    CREDENTIALS_REQUIRED = "credentials-required" UNAUTHORIZED "Credentials required":
        "The operation requires sign-in. Send `Authorization: Bearer` with an access token of an issuer listed at `/.well-known/oauth-protected-resource`, or with a key of this service.";
    INVALID_TOKEN = "invalid-token" UNAUTHORIZED "Invalid token":
        "`detail` gives the reason: the token has expired, is for another audience, comes from an unknown issuer, was revoked, or is not a token of this service. Get a new one from the issuer.";
    CROSS_SITE = "cross-site" FORBIDDEN "Cross-site request refused":
        "Anonymous callers may write here, or the browser is signed in, so a page of any web site could write through the browser of its visitor. A write without credentials is refused if its `Origin` is not that of the service or if `Sec-Fetch-Site` is `cross-site`. Programs should omit both headers. Operators allow the pages of an origin with `--cors-origin`. A write with the cookie of a session is also refused unless a page of this session sends it, with `Page-Token`: reload the page. Programs send `Authorization` and no cookie.";
    HTTPS_REQUIRED = "https-required" FORBIDDEN "HTTPS required":
        "Without HTTPS, others on the network could read the cookie of a session and use it. Open the service by an `https` address, or on the machine that it runs on. Operators name this address with `--base-url`. Programs send their token with each request and need no session.";
    INSUFFICIENT_SCOPE = "insufficient-scope" FORBIDDEN "Insufficient token scope":
        "You are allowed to do this, but the program you use is not. The WWW-Authenticate header names the scopes that grant it. Ask the issuer for a token with one of them.";
    NOT_PERMITTED = "not-permitted" FORBIDDEN "Not allowed":
        "You are not allowed to do this. `policies` names the policies that deny it. If it is empty, no policy allows it. Deleting an item also requires `delete` on the items that belong to it. `/v1/access` lists your permissions.";
    MEMBERS_NOT_PERMITTED = "members-not-permitted" FORBIDDEN "Members not allowed":
        "You may write the item, but you may not change these of its members, or do not see them. `errors` names them. Leave out what you do not see: a write keeps it. Send others unchanged, or use PATCH without them.";
    NEEDS_WHOLE_COLLECTION = "needs-whole-collection" FORBIDDEN "Write access to the whole collection required":
        "The request writes all items of the collection, but you may write only some of them. Write these one by one.";
    NO_ROUTE = "no-route" NOT_FOUND "Not found":
        "This service has no such path. Paths have no trailing slash. The entry point `/` links to every collection.";
    ITEM_NOT_FOUND = "item-not-found" NOT_FOUND "Item not found":
        "No item has this identifier, or it was deleted, or it belongs to another proposal. List the collection to find the existing items.";
    NO_CONTENT = "no-content" NOT_FOUND "Item without content":
        "The item exists, but it has no content that you may read. PUT it at the `edit-media` link of the item. Earlier contents are at the versions of the item.";
    PARENT_NOT_FOUND = "proposal-not-found" NOT_FOUND "Proposal not found":
        "The library belongs to a proposal that does not exist. List `/v1/proposals` to find the existing ones.";
    RULE_NOT_FOUND = "rule-not-found" NOT_FOUND "Rule not found":
        "No business rule of this name is in force. `/rules` lists the current rules. They can change while the service runs.";
    POLICY_NOT_FOUND = "policy-not-found" NOT_FOUND "Policy not found":
        "No policy of this name is in force. `/policies` lists the current policies. They can change while the service runs.";
    METHOD_NOT_ALLOWED = "method-not-allowed" METHOD_NOT_ALLOWED "Method not allowed":
        "The Allow header lists the supported methods.";
    NOT_ACCEPTABLE = "not-acceptable" NOT_ACCEPTABLE "No acceptable media type":
        "The Accept header allows none of the types of this path: `application/hal+json`, `application/json` and the group's own. Name one of them, or `*/*`.";
    PAGE_OUT_OF_RANGE = "page-out-of-range" CONFLICT "Page does not exist":
        "The page is beyond the last one. Follow `_links.next` until it is absent, or start at `_links.first`.";
    VERSION_NOT_FOUND = "version-not-found" NOT_FOUND "Version not found":
        "The item never had a version of this number. `versions` below the item lists the existing ones.";
    VERSION_GONE = "version-gone" GONE "Version is a deletion":
        "The item was deleted with this version, so it has no content to show or restore. The version before it has the last content.";
    BODY_REMOVED = "body-removed" GONE "Version body removed":
        "Operators of this service keep the bodies of superseded versions for a limited time. This one was removed after that time, at `removed_at`. `versions` below the item lists its author and time. It cannot be shown, compared or restored. Use another version, whose entry in that list has no `removed_at`.";
    ANOTHER_HISTORY = "another-history" GONE "Position of another history":
        "The position in the change log belongs to another store, or to a state of this one that was lost in a restore or failover: changes that you received may not exist. Read the collections again, and follow the log without the position.";
    KEY_IN_USE = "idempotency-key-in-use" CONFLICT "Request still in progress":
        "A request with the same Idempotency-Key was sent to this path and is still in progress. Wait and retry: you will get the response to the first request.";
    PRECONDITION_FAILED = "precondition-failed" PRECONDITION_FAILED "Item or collection has changed":
        "If-Match names a version that is not the current one: the item was changed after it was read. Read it again, repeat the change, and send it with the new ETag. Or If-None-Match names the current version, which is then not overwritten.";
    CONDITION_REQUIRED = "condition-required" PRECONDITION_REQUIRED "Condition required":
        "The operators of this service require a condition for each change and deletion of an item (RFC 6585 section 3), to prevent lost updates. Send If-Match with the ETag that you read.";
    TOO_LARGE_FOR_A_PAGE = "too-large-for-a-page" NOT_ACCEPTABLE "Item too large for the explorer":
        "The explorer shows and edits items of up to 512 KiB. Use a program to read and change larger ones, at the same address below `/v1`.";
    BODY_TOO_LARGE = "body-too-large" PAYLOAD_TOO_LARGE "Request body too large":
        "`detail` gives the limit in bytes. Large attachments are contents of `files`: PUT them at the `edit-media` link of a file description.";
    RANGE_NOT_SATISFIABLE = "range-not-satisfiable" RANGE_NOT_SATISFIABLE "Range not satisfiable":
        "No byte of the requested ranges exists. Content-Range gives the size of the content.";
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type" UNSUPPORTED_MEDIA_TYPE "Unsupported media type":
        "A body needs a Content-Type of `application/json` or the group's own type. The only allowed parameter is `charset=utf-8`. Content is sent with its own type, and not as a form.";
    MISDIRECTED = "misdirected-request" MISDIRECTED_REQUEST "Unknown host":
        "Anonymous callers may read or write here, so a web site could point its own name at this service and use it through the browser of its visitor (DNS rebinding). Without credentials, the Host header must be an IP address, `localhost`, the host of the base URL, or a host that the operators name with `--allowed-host`. A proxy must pass the header on: `proxy_set_header Host $host` in nginx.";
    INVALID_MEMBERS = "invalid-members" UNPROCESSABLE_ENTITY "Validation failed":
        "The body violates rules. `errors` lists every error with its place (`pointer`, RFC 6901), its `code` and its fix (`detail`). `validation_messages` lists them by field.";
    DOES_NOT_FIT = "does-not-fit" UNPROCESSABLE_ENTITY "Selection does not fit the format":
        "A sheet has limits of rows, columns and characters in a cell, a dossier of files and members. `detail` names the limit. Select fewer items or columns, or use another format: NDJSON has no such limits.";
    MALFORMED_FILE = "malformed-file" BAD_REQUEST "Malformed file":
        "The file does not have the format of its Content-Type, or its first row does not name its columns. `detail` gives the error. No rows were imported.";
    ROWS_REFUSED = "rows-refused" UNPROCESSABLE_ENTITY "Rows refused":
        "Some rows of the file were refused, so no rows were imported. `errors` lists the errors, each with its `row`, its `column` and its fix (`detail`). With `mode=each` the other rows are imported.";
    KEY_REUSED = "idempotency-key-reused" UNPROCESSABLE_ENTITY "Idempotency-Key used for another request":
        "A request with the same key and another body was sent to this path before. Use a new key for a new request, or send the same body to get the first response again.";
    REQUEST_TIMEOUT = "request-timeout" REQUEST_TIMEOUT "Request timeout":
        "The body stopped arriving, or the connection broke. Send the request again. No data was written.";
    TOO_MANY_REQUESTS = "too-many-requests" TOO_MANY_REQUESTS "Too many requests":
        "The operators limit the request rate of one caller, or of one address. The RateLimit-Policy header gives the limit. Wait for the seconds in Retry-After, and spread your requests.";
    INTERNAL = "internal" INTERNAL_SERVER_ERROR "Internal error":
        "The cause is in the service, not in the request. Give the request id (header X-Request-Id) to the operators.";
    UNAVAILABLE = "unavailable" SERVICE_UNAVAILABLE "Service unavailable":
        "The store cannot be reached, or the service is at its limit. Retry after the seconds in Retry-After. A write may have been done: check before you repeat it.";
    INDEX_BUILDING = "index-building" SERVICE_UNAVAILABLE "Full-text index is being built":
        "Many changes are not indexed yet, as after an import or an upgrade. `indexed` and `of` give the progress. Retry after the seconds in Retry-After. Only searches are affected.";
    CONTENT_LOST = "content-lost" INTERNAL_SERVER_ERROR "Content missing or corrupted":
        "The item has content, but its bytes are missing or corrupted. Report the `X-Request-Id` to the operators, who can restore them from a backup.";
    STORE_FULL = "store-full" INSUFFICIENT_STORAGE "Storage full":
        "No space is left for the write. No data was written. Reads still work. Inform the operators.";
}
