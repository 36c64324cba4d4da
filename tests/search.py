"""Compares searches under masks with those of a caller who sees all members: python3 tests/search.py BINARY [DATABASE_URL]

Seeds 20,000 proposals into an empty store, by default a new SQLite file. Each search is sent by each caller in turn, for
twenty common words in three rounds. Prints the medians of the times in ms and of the ratios. docs/performance.md has the figures.
"""

import collections
import http.client
import json
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

PROPOSALS = "20000"
WORDS = 20
ROUNDS = 3
START_SECONDS = 600
POLICIES = """
policies:
- {id: reading, group: [proposals, status], allow: [read], to: [all, hidden, by-status]}
- {id: hiding, group: proposals, hide: [researcher_id, project_description, methodology], to: [hidden]}
- id: hiding_by_status
  group: proposals
  hide: [researcher_id, project_description, methodology]
  to: [by-status]
  lookup: {steps: 'status[subject = self.id]'}
  when: size(steps) == 0
- {id: showing, group: proposals, allow: [read], show: [project_title, project_description, start_date], to: [shown]}
"""
ROLES = ["all", "hidden", "by-status", "shown"]


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        url = sys.argv[2] if len(sys.argv) > 2 else f"sqlite://{folder}/search.db?mode=rwc"
        subprocess.run([binary, "seed", "--proposals", PROPOSALS, "--database-url", url], check=True)
        (folder / "policies.yaml").write_text(POLICIES)
        made = [subprocess.check_output([binary, "keys", "new", role, "--roles", role], text=True) for role in ROLES]
        keys = {role: text.split("\n")[0] for role, text in zip(ROLES, made)}
        lines = [line for text in made for line in text.splitlines()[1:]]
        (folder / "identity.yaml").write_text("\n".join(["keys:", *lines, ""]))
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        command = [binary, "serve", "--listen", f"127.0.0.1:{port}", "--database-url", url]
        command += ["--policies", folder / "policies.yaml", "--identity", folder / "identity.yaml"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            get(port, keys["all"], "?q=unheard&page_size=1", is_awaited=True)
            words = common_words(get(port, keys["all"], "?page_size=100"))
            pairs = [f"{first} {second}" for first, second in zip(words, words[1:])]
            report(port, keys, "a word", words)
            report(port, keys, "two words", pairs)
            report(port, keys, "a prefix", [word[:4] + "*" for word in words])
        finally:
            process.terminate()
            process.wait()


def report(port, keys, kind, queries):
    times = {role: [] for role in ROLES}
    for number, query in enumerate(queries * ROUNDS):
        # Pages of other sizes are not answered from memory.
        target = f"?fields=project_title&page_size={25 + number // len(queries)}&q={urllib.parse.quote(query)}"
        for role, key in keys.items():
            before = time.perf_counter()
            get(port, key, target)
            times[role].append(1000 * (time.perf_counter() - before))
    for role in ROLES:
        ratio = statistics.median(own / whole for own, whole in zip(times[role], times["all"]))
        print(f"{kind}, {role}: {statistics.median(times[role]):.0f} ms, {ratio:.2f}", flush=True)


def common_words(page):
    counts = collections.Counter()
    for item in page["_embedded"]["proposals"]:
        text = " ".join(value for value in item.values() if isinstance(value, str))
        counts.update(set(re.findall("[a-z]{4,}", text.lower())))
    return [word for word, _ in counts.most_common(WORDS)]


def get(port, key, query, is_awaited=False):
    """Reads a page. If it is awaited, waits until the service has started and indexed everything."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", f"/v1/proposals{query}", headers={"Authorization": f"Bearer {key}"})
            response = connection.getresponse()
            body = response.read()
            if response.status == 200:
                return json.loads(body)
            assert response.status == 503 and is_awaited, (response.status, body)
        except ConnectionError:
            assert is_awaited
        assert time.monotonic() < until, "the service does not start"
        time.sleep(0.2)


main()
