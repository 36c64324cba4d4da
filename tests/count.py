"""Counts the instructions of a request: python3 tests/count.py BINARY

Fails if a request takes more than 1.02 of the instructions that docs/performance.md records, or, with policies, more than
a limit of the instructions with less of them. The page describes the method.
"""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parent.parent
LIMIT = 1.02
EVERYTHING = """
policies:
  - id: everything
    group: [proposedprograms, gadscores, statuses, files, lib, proposals, cashprogram, status]
    allow: [read, history, write]
    to: [anyone]
"""
HIDDEN = """
  - id: blind
    group: [proposals]
    hide: [researcher_id, meta.created_by]
    when: self.proposal_type == "R&D Project"
    to: [anyone]
"""
# What is served: the policies, what its counts are compared with, and the limits of the ratios. Valgrind does not emulate the
# processor's SHA instructions, so an item with a hidden member, whose tag is a hash of the others, has no limit.
SERVED = {
    "no policy": (None, None, {}),
    "a policy that allows everything": (EVERYTHING, "no policy", {"item": 1.05, "page": 1.05, "replace": 1.05}),
    "a policy that hides a member": (EVERYTHING + HIDDEN, "a policy that allows everything", {"page": 1.15}),
}
TURNS = 20  # The minimum counts, because background tasks and the place in the write-ahead log add to some turns.
START_SECONDS = 120


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    recorded = read_recorded()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with serving([binary], folder) as (_, port):
            path = create_items(connect(port))
        counts = {name: count_all(binary, folder, policies, path) for name, (policies, _, _) in SERVED.items()}
    failed = False
    for name, (_, reference, limits) in SERVED.items():
        for work, count in counts[name].items():
            compared, limit = (counts[reference][work], limits.get(work)) if reference else (recorded[work], LIMIT)
            failed |= limit is not None and count > limit * compared
            print(f"{work}, {name}: {count:,} instructions, {count / compared:.3f} of {compared:,} with {reference or 'the record'}")
    if failed:
        sys.exit(f"A request takes more than {LIMIT} of the recorded instructions (docs/performance.md), or more than a limit of SERVED.")


def read_recorded():
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    table = page.partition("\n## Instructions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (item|page|replace) \| ([0-9,]+) \|", table, re.MULTILINE)
    return {work: int(count.replace(",", "")) for work, count in rows}


def count_all(binary, folder, policies, path):
    options = []
    if policies:
        (folder / "policies.yaml").write_text(policies)
        options = ["--policies", "policies.yaml"]
    with tempfile.TemporaryDirectory(dir=folder) as copy:
        copy = pathlib.Path(copy)
        for file in folder.iterdir():
            if file.is_file():
                shutil.copy(file, copy)
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={copy}/out", binary]
        with serving(command, copy, options) as (process, port):
            return count_works(process, connect(port), copy, path)


@contextlib.contextmanager
def serving(command, folder, options=()):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [*command, "serve", "--listen", f"127.0.0.1:{port}", "--database-url", f"sqlite://{folder}/count.db?mode=rwc", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def create_items(connection):
    """Creates a programme and 100 proposals that name it. Returns the path of the last one."""
    program = request(connection, "POST", "/v1/proposedprograms", {"program_title": "Renewable energy"})
    members = {
        "proposal_type": "R&D Project",
        "program_id": program["id"],
        "project_title": "Solar dryers",
        "researcher_id": "R-00301",
        "start_date": "2026-01-01",
        "methodology": "Randomized complete block design, three treatments. " * 40,
    }
    for _ in range(100):
        created = request(connection, "POST", "/v1/proposals", members)
    return created["_links"]["self"]["href"]


def count_works(process, connection, folder, path):
    visible = request(connection, "GET", path)
    members = {name: value for name, value in visible.items() if name != "id" and not name.startswith("_")}
    bodies = [{**members, "project_title": title} for title in ("Tidal mills.", "Solar dryers")]
    works = {
        "item": (500, lambda _: request(connection, "GET", path)),
        "page": (200, lambda _: request(connection, "GET", "/v1/proposals?page_size=25")),
        "replace": (100, lambda number: request(connection, "PUT", path, bodies[number % 2])),
    }
    counts = {}
    for work, (times, send) in works.items():
        turns = []
        for turn in range(TURNS + 1):
            callgrind_control(process, "--zero")
            for number in range(times):
                send(number)
            callgrind_control(process, "--dump")
            turns.append(totals(folder) // times)
        counts[work] = min(turns[1:])  # The first turn fills caches.
    return counts


def connect(port):
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.connect()
            return connection
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def request(connection, method, path, body=None):
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    text = response.read()
    assert response.status in (200, 201), (response.status, text)
    return json.loads(text)


def callgrind_control(process, option):
    subprocess.run(["callgrind_control", option, str(process.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def totals(folder):
    """Returns the instructions of the newest dump and removes all dumps."""
    dumps = list(folder.glob("out.*"))
    newest = max(dumps, key=lambda dump: int(dump.suffix[1:]))
    count = re.search(r"^(?:totals|summary): (\d+)", newest.read_text(), re.MULTILINE)
    for dump in dumps:
        dump.unlink()
    return int(count[1])


main()
