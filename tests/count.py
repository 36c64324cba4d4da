"""Counts the instructions of a request: python3 tests/count.py BINARY

Fails if a request takes more than 1.02 of the instructions that docs/performance.md records. The page describes the method.
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
TURNS = 10  # The minimum counts, because background tasks add to some turns.
START_SECONDS = 120


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    recorded = read_recorded()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        database = f"sqlite://{folder}/count.db?mode=rwc"
        with serving(binary, database, folder) as (process, port):
            counts = count_all(process, port, folder)
    failed = False
    for work, count in counts.items():
        ratio = count / recorded[work]
        print(f"{work}: {count:,} instructions, {ratio:.3f} of the recorded {recorded[work]:,}")
        failed |= ratio > LIMIT
    if failed:
        sys.exit(f"A request takes more than {LIMIT} of the recorded instructions (docs/performance.md).")


def read_recorded():
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    table = page.partition("\n## Instructions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (item|page|replace) \| ([0-9,]+) \|", table, re.MULTILINE)
    return {work: int(count.replace(",", "")) for work, count in rows}


@contextlib.contextmanager
def serving(binary, database, folder):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", binary, "serve"]
    command += ["--listen", f"127.0.0.1:{port}", "--database-url", database]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield process, port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def count_all(process, port, folder):
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
