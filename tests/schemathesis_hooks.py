"""What schemathesis gets wrong about the document, and what JSON Schema cannot say of a query."""

import re
import uuid
from datetime import datetime, timedelta, timezone

import schemathesis

PATTERNED = ("If-Match", "If-None-Match", "Repr-Digest")
DAY_OR_TIME = re.compile(r"filter\[\w*(_date|_at)\]\[in\]")


@schemathesis.hook
def filter_case(context, case):
    """Schemathesis 4.32.5 counts the number 0 as a valid value of every text parameter, regardless of its pattern; an entity
    tag has quotes, and a digest colons. It sends no value as the text `null` and no conditions as the empty text, which
    are texts like any other."""
    query = case.query if isinstance(case.query, dict) else {}
    is_null = any(value in (None, "null", "", {}) for name, value in query.items() if name.startswith("filter"))
    # The body of a file is a string. One of another type would be sent as its JSON, which is a string and may be a good file.
    is_file = case.path.startswith("/imports/") and case.media_type != "application/json"
    is_no_string = is_file and not isinstance(case.body, (str, bytes, schemathesis.core.NotSet))
    return not is_null and not is_no_string and all((case.headers or {}).get(name) != "0" for name in PATTERNED)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Only the service gives cursors and tokens. What a dry run deletes is still there. A search holds a word, an order names
    nothing twice, a filter has a name that is not `id`, a list of days holds days, and `check` asks about what is whole and now."""
    query = case.query
    if "return" in str((case.headers or {}).get("Prefer", "")):
        # A document cannot say that a 201 with a content type may lack its body; tests/tests/interface/preferences.rs checks it.
        del case.headers["Prefer"]
    is_negative = case.meta is not None and case.meta.generation.mode.is_negative
    if is_negative:
        if case.path.startswith("/imports/") and isinstance(query, dict) and query.get("mode") == "each":
            # Wrong rows are refused one by one within a 200 then; all together they are refused as a whole.
            del query["mode"]
        return
    if "Idempotency-Key" in (case.headers or {}):
        # A key is made for one request.
        case.headers["Idempotency-Key"] = f'"{uuid.uuid4()}"'
    # It ends in a checksum, which a pattern cannot state; tests/tests/faults/replicas.rs reads by tokens.
    (case.headers or {}).pop("Consistency-Token", None)
    if not isinstance(query, dict):
        return
    if case.method == "DELETE":
        query.pop("dry_run", None)
    if str(query.get("check")).lower() == "true":
        # Rules are asked about the whole item as it is now.
        query.pop("fields", None)
        query.pop("as_of", None)
    if "version" in query:
        # A dossier takes one of them.
        query.pop("as_of", None)
    if "as_of" in query:
        # The future has no state. Filters, orders and permissions are about the present.
        query["as_of"] = (datetime.now(timezone.utc) - timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
        for name in [name for name in query if name in ("access", "sort", "q", "embed", "count_by") or name.startswith("filter")]:
            del query[name]
    for name in ("cursor", "after"):
        if re.fullmatch(r"[A-Za-z0-9_-]+", str(query.get(name, ""))):
            del query[name]
    if isinstance(query.get("q"), str) and 0 < len(query["q"]) <= 1000:
        query["q"] = "".join(letter if letter.isalnum() else " " for letter in query["q"])[:60] + " x"
    if query.get("count_by") in ("id", "created_at", "updated_at"):
        # They are no members.
        del query["count_by"]
    keys = str(query.get("sort", "")).split(",")
    if len({key.removeprefix("-") for key in keys}) < len(keys) <= 8:
        query["sort"] = keys[0]
    for name in [name for name in query if name.startswith(("filter[]", "filter[id]")) or DAY_OR_TIME.fullmatch(name) or name.count("][") > 1]:
        del query[name]
