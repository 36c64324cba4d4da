"""Measures stores on PostgreSQL whose items have many versions: TEST_POSTGRES_URL=URL python3 tests/versions.py

Fills a database for each number of items with the rows that the service would have written, measures reads and replacements
in turns, then dumps and restores the largest. docs/capacity.md has the results. Needs psql, pg_dump and pg_restore.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse

BINARY = os.environ.get("PROPOSAL_SERVICE_BIN", pathlib.Path(__file__).parent.parent / "target/release/proposal-service")
BYTES_OF_A_VERSION, KEPT_FREE = 1_500, 6 * 10**9  # with the dump, an upper bound
BEGIN, SPAN = 1_767_225_600_000_000, 200 * 86_400_000_000  # 2026-01-01, and the time of all changes, in microseconds
AS_OF = "as_of=2026-04-11T00:00:00Z"
PATH = "/v1/proposals"
RARE, RARE_WORD = 50, "pangolin"
REQUESTS, ROUNDS = 100, 4
COLUMNS = "sequence, collection, item_id, version, kind, time, request_id, members"
COLUMNS_OF_ITEMS = "collection, id, version, sequence, created_at, updated_at, key_2, key_3, key_4"
SIZES = """SELECT relname, pg_table_size(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
    UNION ALL SELECT 'all', pg_database_size(current_database()) ORDER BY 2 DESC LIMIT 16"""


class Store:
    """A database of items with the same number of versions."""

    def __init__(self, items, versions):
        self.items, self.versions, self.server, self.name = items, versions, os.environ["TEST_POSTGRES_URL"], f"versions_{items}"
        self.url = urllib.parse.urlsplit(self.server)._replace(path=f"/{self.name}").geturl()
        self.step, source = SPAN // (items * versions), random.Random(1)
        self.ids = [uuid_of(BEGIN + (number + 1) * self.step, source) for number in range(items)]
        words = (min(source.randrange(2_000), source.randrange(2_000)) for _ in range(200_000))
        self.text = "".join(f"w{word:04} " for word in words)

    def members(self, number, version, source):
        """About 600 bytes. A new version has another title and description."""
        begin, (research_type, researcher, start_date) = source.randrange(199_900) * 6, keys(number)
        has_rare_word = version >= self.versions and number % (self.items // RARE) == 7
        text = self.text[begin : begin + 61 * 6] + (RARE_WORD if has_rare_word else "end")
        return (
            f'{{"proposal_type":"basic","project_title":"Yield {number}, report {version}","start_date":"{start_date}",'
            f'"research_type":"{research_type}","researcher_id":"{researcher}","implementation_sites":"Bato",'
            f'"outcomes":"outcome-{number}","description":"{text}"}}'
        )

    def write_rows(self, out):
        """The log in rounds: the first versions in the order of the items, further ones in random orders."""
        source, order, sequence, places = random.Random(2), list(range(self.items)), 0, [0] * self.items
        out.write(f"BEGIN; TRUNCATE changes, items; COPY changes ({COLUMNS}) FROM STDIN WITH (FREEZE);\n")
        for version in range(1, self.versions + 1):
            change = f"{version}\t{'replaced' if version > 1 else 'created'}"
            for sequence, number in enumerate(order, sequence + 1):
                places[number], changed = sequence, BEGIN + sequence * self.step
                request, members = uuid_of(changed, source), self.members(number, version, source)
                out.write(f"{sequence}\tproposals\t{self.ids[number]}\t{change}\t{changed}\t{request}\t{members}\n")
            source.shuffle(order)
        out.write(f"\\.\nCOPY items ({COLUMNS_OF_ITEMS}) FROM STDIN WITH (FREEZE);\n")
        for number, (item, place) in enumerate(zip(self.ids, places)):
            times = f"{BEGIN + (number + 1) * self.step}\t{BEGIN + place * self.step}"
            out.write("\t".join(["proposals", item, str(self.versions), str(place), times, *keys(number)]) + "\n")
        # The index has everything before the last versions, but no words: the service would replace those of each version.
        out.write(f"""\\.
            INSERT INTO totals VALUES ('proposals', '00000000-0000-0000-0000-000000000000', 0, {self.items}, {sequence});
            SELECT setval('changes_sequence_seq', {sequence}), setval('write_clock', {BEGIN + sequence * self.step});
            UPDATE search_progress SET sequence = {sequence - self.items};
            INSERT INTO value_counts SELECT collection, member, value, count(*) FROM items, LATERAL (VALUES
                ('proposal_type', 'basic'), ('research_type', key_2), ('start_date', left(key_4, 4))) AS counted (member, value)
                WHERE version > 1 GROUP BY 1, 2, 3;
            COMMIT;\n""")

    def fill(self, folder):
        """Lets the service make the tables, and fills them before they have indexes."""
        empty = folder / "empty.dump"
        self.create()
        with serving(self, folder):
            run("pg_dump", "--format=custom", f"--file={empty}", self.url)
        self.create()
        run("pg_restore", "--section=pre-data", "--section=data", f"--dbname={self.url}", empty)
        with timed(self, "fill"):
            psql = ["psql", "--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1", self.url]
            with subprocess.Popen(psql, stdin=subprocess.PIPE, text=True, bufsize=1 << 20) as process:
                self.write_rows(process.stdin)
            assert process.returncode == 0, "the rows are refused"
        with timed(self, "indexes and statistics of the tables"):
            run("pg_restore", "--section=post-data", "--jobs=2", f"--dbname={self.url}", empty)
            self.query("ANALYZE")

    def create(self):
        self.drop()
        run("psql", "--quiet", f"--command=CREATE DATABASE {self.name}", self.server)

    def drop(self):
        run("psql", "--quiet", f"--command=DROP DATABASE IF EXISTS {self.name} WITH (FORCE)", self.server)

    def query(self, text):
        command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--csv", "--command", text, self.url]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def prepare(self, client):
        with timed(self, "index the last versions for searches"):
            while client.send("GET", f"{PATH}?q=zzzz&page_size=1&total=none") == 503:
                time.sleep(0.1)
        with timed(self, "page by number after a start"):
            client.json(f"{PATH}?page={self.items // 50}")
        self.query("VACUUM (ANALYZE)")  # otherwise autovacuum would run during a turn
        for name, size in (row.split(",") for row in self.query(SIZES).splitlines()):
            of_version, of_item = int(size) / self.items / self.versions, int(size) / self.items
            print(f"{self.items} items: {name}: {size} bytes, {of_version:.1f} a version, {of_item:.0f} an item", flush=True)

    def check(self, client):
        """Fails unless the service finds the store as if it had written it."""
        _, item, body = self.replacement(3)
        assert client.json(f"{PATH}?page_size=1")["total_items"] == self.items
        assert client.json(f"{PATH}?q={RARE_WORD}")["total_items"] == RARE
        assert len(client.json(f"{item}/versions")["_embedded"]["versions"]) == client.json(item)["_meta"]["version"] == self.versions
        tag, conditional = client.tag, [("GET", "", "None-Match"), ("PUT", body, "Match"), ("PUT", body, "Match")]
        assert [client.send(method, item, sent, f"If-{name}: {tag}\r\n") for method, sent, name in conditional] == [304, 200, 412]

    def works(self, client):
        """For each work a function from the number of a request to its method, target and body. All differ."""
        source = random.Random(3)
        numbers = [source.randrange(self.items) for _ in range(REQUESTS)]
        item = lambda turn: f"{PATH}/{self.ids[numbers[turn]]}"
        middle = lambda turn: f"{PATH}?page={self.items // 50 + turn}"
        last = lambda size: f"{PATH}?page={-(-self.items // size)}&page_size={size}"
        nexts = [target for start in range(0, REQUESTS, 10) for target in client.walk(middle(start + REQUESTS), 10)]
        end = next(client.walk("/v1/changes?group=statuses&page_size=1", 1)).partition("after=")[2].partition("&")[0]
        reads = {
            "item by id": item,
            "first page (20 to 119 items)": lambda turn: f"{PATH}?page_size={20 + turn}",
            "page by number, in the middle": middle,
            "page by number, the last": lambda turn: last(20 + turn),
            "`next` by cursor, in the middle": lambda turn: nexts[turn],
            "filter on an indexed member, 20 items": lambda turn: f"{PATH}?filter[researcher_id]={keys(numbers[turn])[1]}",
            "search of a word in 50 items": lambda turn: f"{PATH}?q={RARE_WORD}&page_size={1 + turn}",
            "newest page (`sort=-updated_at`)": lambda turn: f"{PATH}?sort=-updated_at&page_size={20 + turn}",
            "changes, the first": lambda turn: f"/v1/changes?page_size={20 + turn}",
            "changes, the newest": lambda turn: f"/v1/changes?page_size={20 + turn}&after={end}",
            "versions of an item": lambda turn: f"{item(turn)}/versions",
            "item as of a time": lambda turn: f"{item(turn)}?{AS_OF}",
            "first page as of a time": lambda turn: f"{PATH}?{AS_OF}&page_size={20 + turn}",
        }
        replace = lambda _: self.replacement(source.randrange(self.items))
        return {"replace": replace} | {name: lambda turn, read=read: ("GET", read(turn)) for name, read in reads.items()}

    def replacement(self, number):
        return "PUT", f"{PATH}/{self.ids[number]}", self.members(number, self.versions + 1, random)


class Client:
    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=600).makefile("rwb")

    def send(self, method, target, body="", headers=""):
        headers += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        self.stream.write(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{body}".encode())
        self.stream.flush()
        status, length = int(self.stream.readline().split()[1]), 0
        while (line := self.stream.readline()) != b"\r\n":
            if line.startswith(b"content-length: "):
                length = int(line[16:])
            elif line.startswith(b"etag: "):
                self.tag = line[6:].decode().strip()
        self.body = self.stream.read(length)
        return status

    def json(self, target):
        status = self.send("GET", target)
        assert status == 200, (target, status, self.body)
        return json.loads(self.body)

    def walk(self, target, count):
        for _ in range(count):
            target = "/v1/" + self.json(target)["_links"]["next"]["href"].partition("/v1/")[2]
            yield target


def uuid_of(microsecond, source):
    begin, rest = f"{microsecond // 1000:012x}", f"{source.getrandbits(72):018x}"
    return f"{begin[:8]}-{begin[8:]}-7{rest[:3]}-8{rest[3:6]}-{rest[6:]}"


def keys(number):
    """The research type, researcher and start date of an item. Twenty items have the same researcher."""
    research_type = ["basic", "applied", "development", "pilot", "extension"][number % 5]
    return research_type, f"R-{number // 20:07}", f"{2016 + number % 12}-{number // 12 % 12 + 1:02}-01"


def run(*command):
    subprocess.run(command, check=True)


@contextlib.contextmanager
def timed(store, name):
    begun = time.monotonic()
    yield
    print(f"{store.items} items: {name}: {time.monotonic() - begun:.1f} s", flush=True)


@contextlib.contextmanager
def serving(store, folder):
    """Runs the service and yields a connection to it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log, client = folder / f"{store.name}.log", None
    with log.open("ab") as output:
        command = [BINARY, "serve", "--listen", f"127.0.0.1:{port}", "--database-url", store.url]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        while not client or client.send("GET", "/readyz") != 200:
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
            with contextlib.suppress(ConnectionRefusedError):
                client = client or Client(port)
        yield client
    finally:
        process.terminate()
        process.wait()


def measure(stores, clients):
    """Measures in turns. Each round begins with the replacements, after which no page is answered from memory."""
    works = [store.works(client) for store, client in zip(stores, clients)]
    times = {name: [[] for _ in stores] for name in works[0]}
    for _, name, turn in itertools.product(range(ROUNDS), times, range(REQUESTS)):
        for work, client, taken in zip(works, clients, times[name]):
            request = work[name](turn)
            begun = time.perf_counter()
            status = client.send(*request)
            taken.append((time.perf_counter() - begun) * 1000)
            assert status == 200, (request, status, client.body)
    print("\n| p50, p95 in ms |" + "".join(f" {store.items:,} items |" for store in stores) + " ratio of p50 (range) |")
    print("|---" * (len(stores) + 2) + "|")
    for name, of_stores in times.items():
        cells = "".join(f" {statistics.median(taken):.2f}, {statistics.quantiles(taken, n=20)[-1]:.2f} |" for taken in of_stores)
        medians = [[statistics.median(part) for part in zip(*[iter(taken)] * REQUESTS)] for taken in of_stores]
        ratios = [large / small for small, large in zip(medians[0], medians[-1])]
        print(f"| {name} |{cells} {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) |", flush=True)


def dump_and_restore(store, folder):
    dump = folder / "store.dump"
    with timed(store, "dump (pg_dump --format=custom --compress=1)"):
        run("pg_dump", "--format=custom", "--compress=1", f"--file={dump}", store.url)
    print(f"{store.items} items: dump: {dump.stat().st_size} bytes", flush=True)
    store.create()
    with timed(store, "restore (pg_restore --jobs=2) and ANALYZE"):
        run("pg_restore", "--jobs=2", f"--dbname={store.url}", dump)
        store.query("ANALYZE")
    with serving(store, folder) as client:
        assert client.json(f"{PATH}?q={RARE_WORD}")["total_items"] == RARE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", nargs="+", type=int, default=[10_000, 1_000_000], help="of each store, from 10,000 on")
    parser.add_argument("--versions", type=int, default=20, help="of each item")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        space = shutil.disk_usage(folder).free - KEPT_FREE
        assert space > sum(arguments.items) * arguments.versions * BYTES_OF_A_VERSION, "too little free disk"
        stores = [Store(items, arguments.versions) for items in arguments.items]
        for store in stores:
            stack.callback(store.drop)
            store.fill(folder)
        with contextlib.ExitStack() as services:
            clients = [services.enter_context(serving(store, folder)) for store in stores]
            for store, client in zip(stores, clients):
                store.prepare(client)
                store.check(client)
            measure(stores, clients)
        dump_and_restore(stores[-1], folder)


if __name__ == "__main__":
    main()
