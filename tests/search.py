"""Measures searches by callers who see all members and by others: python3 tests/search.py BINARY [DATABASE_URL]

Seeds 20,000 proposals into an empty store, by default a new SQLite file. Prints medians in ms over twenty common words, one
search after the other. docs/performance.md has the figures.
"""

import collections
import contextlib
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
START_SECONDS = 600
READ = "policies:\n- {id: reading, group: [proposals, status], allow: [read], to: [anyone]}\n"
HIDE = READ + "- {id: hiding, group: proposals, hide: [researcher_id, project_description, methodology], to: [anyone]"
POLICIES = {
    "all members": None,
    "a policy that allows everything": READ,
    "three members hidden": HIDE + "}\n",
    "hidden by the status": HIDE + ", lookup: {steps: 'status[subject = self.id]'}, when: 'size(steps) == 0'}\n",
    "three members shown": READ.replace("to:", "show: [project_title, project_description, start_date], to:"),
}


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[2] if len(sys.argv) > 2 else f"sqlite://{folder}/search.db?mode=rwc"
        subprocess.run([binary, "seed", "--proposals", PROPOSALS, "--database-url", url], check=True)
        words = []
        for name, policies in POLICIES.items():
            file = pathlib.Path(folder, "policies.yaml")
            file.write_text(policies or "")
            with serving(binary, url, ["--policies", file] if policies else []) as port:
                get(port, "?q=unheard&page_size=1", is_awaited=True)
                words = words or common_words(get(port, "?page_size=100"))
                report(name, port, words)


@contextlib.contextmanager
def serving(binary, url, options):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [binary, "serve", "--listen", f"127.0.0.1:{port}", "--database-url", url, *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def report(name, port, words):
    pairs = [f"{first} {second}" for first, second in zip(words, words[1:])]
    searches = {"a word": words, "two words": pairs, "a prefix": [word[:4] + "*" for word in words]}
    for kind, queries in searches.items():
        times = []
        for query in queries:
            before = time.perf_counter()
            get(port, f"?fields=project_title&q={urllib.parse.quote(query)}")
            times.append(1000 * (time.perf_counter() - before))
        print(f"{name}: {kind}: {statistics.median(times):.0f} ms", flush=True)


def common_words(page):
    counts = collections.Counter()
    for item in page["_embedded"]["proposals"]:
        text = " ".join(value for value in item.values() if isinstance(value, str))
        counts.update(set(re.findall("[a-z]{4,}", text.lower())))
    return [word for word, _ in counts.most_common(WORDS)]


def get(port, query, is_awaited=False):
    """Reads a page; if it is awaited, until the service has started and indexed everything."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", f"/v1/proposals{query}")
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
