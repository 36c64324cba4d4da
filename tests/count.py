"""Counts the instructions of a request: python3 tests/count.py BINARY

Fails if a request takes more than 1.02 of the instructions that docs/performance.md records, or, with a policy that
allows everything, more than 1.05 of the instructions without one. The page describes the method.
"""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parent.parent
LIMIT = 1.02
LIMIT_WITH_POLICY = 1.05
POLICY = """
policies:
  - id: everything
    group: [proposedprograms, gadscores, statuses, files, lib, proposals, cashprogram, status]
    allow: [read, history, write]
    to: [anyone]
"""
TURNS = 20  # The minimum counts, because background tasks and the place in the write-ahead log add to some turns.
START_SECONDS = 120


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    recorded = read_recorded()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        policy = folder / "everything.yaml"
        policy.write_text(POLICY)
        counts = count_all(binary, folder / "open")
        with_policy = count_all(binary, folder / "limited", "--policies", policy)
    failed = False
    for work, count in counts.items():
        ratio = count / recorded[work]
        print(f"{work}: {count:,} instructions, {ratio:.3f} of the recorded {recorded[work]:,}")
        ratio_with_policy = with_policy[work] / count
        print(f"{work}, with a policy that allows everything: {with_policy[work]:,} instructions, {ratio_with_policy:.3f} of that")
        failed |= ratio > LIMIT or ratio_with_policy > LIMIT_WITH_POLICY
    if failed:
        sys.exit(f"A request takes more than {LIMIT} of the recorded instructions (docs/performance.md), or {LIMIT_WITH_POLICY} with a policy.")


def read_recorded():
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    table = page.partition("\n## Instructions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (item|page|replace) \| ([0-9,]+) \|", table, re.MULTILINE)
    return {work: int(count.replace(",", "")) for work, count in rows}


def count_all(binary, folder, *options):
    folder.mkdir()
    with serving(binary, folder, options) as (process, port):
        return count_works(process, port, folder)


@contextlib.contextmanager
def serving(binary, folder, options):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", binary, "serve"]
    command += ["--listen", f"127.0.0.1:{port}", "--database-url", f"sqlite://{folder}/count.db?mode=rwc", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def count_works(process, port, folder):
    connection = connect(port)
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
    path = created["_links"]["self"]["href"]
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
