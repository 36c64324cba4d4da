"""What must be so after a scenario."""

import json
from collections import Counter as Count
from dataclasses import dataclass

from client import Client, Lost
from load import FEED, FILES, path_of


@dataclass
class Window:
    """The time in which some requests at some targets may fail, and how."""

    targets: tuple
    begun: float
    ended: float
    outcomes: tuple = (503,)

    def permits(self, request):
        is_then = request.begun <= self.ended and request.ended >= self.begun
        return request.target in self.targets and request.outcome in self.outcomes and is_then


def check_outcomes(journal, windows, changes_of_history):
    """Each request had one of the permitted outcomes at its time."""
    permitted = {200, 201, 304} | ({410, 412} if changes_of_history else set())
    refused = []
    for request in journal.requests:
        if request.outcome in permitted or is_about_a_repetition(request):
            continue
        if not any(window.permits(request) for window in windows):
            refused.append(request)
        elif request.outcome == 503 and "retry-after None" in request.note and request.path != "/readyz":
            journal.violation("503 has Retry-After", request)
    if refused:
        shown = "\n          ".join(f"{request}" for request in refused[:10])
        journal.violation("no other outcome than those permitted", f"{len(refused)} others, as\n          {shown}")
    check_refusals_of_tags(journal, changes_of_history)


def is_about_a_repetition(request):
    """409 is for a key whose first request is still running, and 412 for a write that was made without an answer; the
    workers look closer at both."""
    return (request.method, request.outcome) in (("POST", 409), ("PUT", 412))


def check_refusals_of_tags(journal, changes_of_history):
    followers = Count(request.target for request in journal.requests if request.outcome == 410)
    if any(count > 2 * changes_of_history for count in followers.values()):
        journal.violation(f"a follower's cursor is 410 once for each of {changes_of_history} failovers", followers)


def check_store(load, places, targets, journal):
    """Each acknowledged write is present once at each instance, and once in the feed."""
    for target in targets:
        client = Client(target, places.address(target), journal)
        try:
            items = exported(client)
            check_items(load, target, items, journal)
        finally:
            client.close()
    client = Client(targets[0], places.address(targets[0]), journal)
    changes, end = whole_feed(client)
    client.close()
    check_feed(load, changes, journal)
    return end


def exported(client):
    answer = client.send("GET", "/exports/files.ndjson")
    if answer.status != 200:
        raise Lost(f"the export at {client.target} is {answer.status}")
    return [json.loads(line) for line in answer.body.splitlines()]


def check_items(load, target, items, journal):
    numbers = {f"{FILES}/{item['id']}": item.get("n") for item in items}
    for counter in load.counters:
        if numbers.get(counter.path) != counter.acknowledged:
            expected = f"{counter.path} counts {counter.acknowledged} at {target}"
            journal.violation(expected, numbers.get(counter.path))
    keys = Count(item["key"] for item in items if "key" in item)
    if repeated := [key for key, count in keys.items() if count > 1]:
        journal.violation("one item for each key", f"several at {target}: {repeated}")
    for creator in load.creators:
        missing = [key for key, is_sure in creator.acknowledged() if is_sure and key not in keys]
        if missing:
            journal.violation(f"every item that was acknowledged is at {target}", f"{len(missing)} are not, as {missing[:3]}")


def whole_feed(client):
    """The feed from its beginning, and the path of its next page."""
    changes, path = [], FEED
    while True:
        answer = client.send("GET", path)
        if answer.status != 200:
            raise Lost(f"the feed at {client.target} is {answer.status}")
        page = answer.json
        path = path_of(page["_links"]["next"]["href"])
        if not page["_embedded"]["changes"]:
            return [version_of(change) for change in changes], path
        changes += page["_embedded"]["changes"]


def version_of(change):
    return f"/v1/{change['group']}/{change['item_id']}", change["version"]


def check_feed(load, changes, journal):
    counts = Count(changes)
    if repeated := [change for change, count in counts.items() if count > 1]:
        journal.violation("the feed has each change once", f"several of {repeated[:3]}")
    last = {}
    for path, version in changes:
        if version != last.get(path, 0) + 1:
            journal.violation(f"version {last.get(path, 0) + 1} of {path} is the next in the feed", version)
        last[path] = version
    missing = [write for write in load.sure_writes() if write not in counts]
    if missing:
        journal.violation("every write that was acknowledged is in the feed", f"{len(missing)} are not, as {missing[:3]}")
    for follower in load.followers:
        seen = [version_of(change) for change in follower.changes]
        wanted = changes[len(changes) - len(seen) :]
        if seen != wanted or len(seen) < follower.least():
            first = next((pair for pair in zip(wanted, seen) if pair[0] != pair[1]), f"only {len(seen)}")
            journal.violation(f"{follower.name} received each change once, in order", first)
