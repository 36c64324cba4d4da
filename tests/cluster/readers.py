"""Clients that read what they wrote, each write and each read at another instance, where standbys are read too."""

import threading
import time
from collections import Counter as Count
from dataclasses import dataclass, field

import parts
from client import Client, Lost
from load import FILES

READERS = ("reader-one", "reader-two", "reader-three")
CLIENTS = 64
# A read at the primary takes less, also here.
SECONDS_OF_A_WAIT = 0.05


def is_of_standby(answer):
    """Whether a standby was read: what the store itself answers has no age."""
    return "age" in answer.headers


@dataclass
class Reading:
    """The clients, and what they count."""

    places: object
    journal: object
    counts: Count = field(default_factory=Count)

    def __post_init__(self):
        self.is_stopped = threading.Event()
        # While a standby can be read.
        self.has_standby = True
        self.lock = threading.Lock()
        self.clients = [ReadingClient(self, number) for number in range(CLIENTS)]

    def start(self):
        for client in self.clients:
            client.start()

    def stop(self):
        self.is_stopped.set()
        for client in self.clients:
            client.join()

    def client(self, name):
        return Client(name, self.places.address(name), self.journal)

    def await_standby(self):
        """Waits until each instance reads at a standby."""
        for name in READERS:
            client = self.client(name)
            wanted = f"{name} reads at a standby"
            parts.await_that(wanted, lambda: is_of_standby(client.send("GET", f"{FILES}?page_size=1")), pause=0.1)
            client.close()

    def count(self, *names):
        with self.lock:
            self.counts.update(names)

    def figures(self):
        counts = self.counts
        share = counts["at a standby that runs"] / max(1, counts["while it runs"])
        names = ("writes", "with a token", "with a token at a standby", "waits", "without a token",
                 "without a token at a standby", "lagged", "stale in spite of a token", "wrong 304")
        figures = {name: counts[name] for name in names}
        figures["share at a standby while it runs"] = f"{share:.0%}"
        figures["5xx"] = sum(isinstance(request.outcome, int) and request.outcome >= 500 for request in self.journal.requests)
        for name in ("stale in spite of a token", "wrong 304", "5xx"):
            if figures[name]:
                self.journal.violation(f"{name}: none", figures[name])
        for name in ("with a token at a standby", "without a token at a standby", "waits"):
            if not figures[name]:
                self.journal.violation(f"{name}: some", 0)
        return figures


class ReadingClient(threading.Thread):
    def __init__(self, reading, number):
        super().__init__(daemon=True, name=f"reader {number}")
        self.reading, self.number = reading, number
        names = [READERS[(number + step) % len(READERS)] for step in range(len(READERS))]
        self.clients = [reading.client(name) for name in names]

    def run(self):
        try:
            created = self.clients[0].send("POST", FILES, {"client": self.name, "n": 0})
            self.path = f"{FILES}/{created.json['id']}"
            before = self.written(created, 0)
            n = 0
            while not self.reading.is_stopped.is_set():
                n += 1
                writer, reader, other = (self.clients[(n + step) % len(self.clients)] for step in range(3))
                answer = writer.send("PUT", self.path, {"client": self.name, "n": n}, If_Match=before["etag"])
                if answer.status != 200:
                    raise Lost(f"{answer.status} {answer.body}")
                now = self.written(answer, n)
                self.read_without_token(other, now)
                self.read(reader, now, before)
                self.list(other, now)
                before = now
        except Exception as error:
            self.reading.journal.violation(f"{self.name} understands every answer", repr(error))
        finally:
            for client in self.clients:
                client.close()

    def written(self, answer, n):
        self.reading.count("writes")
        return {"etag": answer.etag, "token": answer.headers["consistency-token"], "n": n}

    def read(self, client, now, before):
        """Reads with the token, and the entity tag of before: it is another one now."""
        begun = time.monotonic()
        answer = client.send("GET", self.path, Consistency_Token=now["token"], If_None_Match=before["etag"])
        took = time.monotonic() - begun
        self.note("with a token", answer)
        if took >= SECONDS_OF_A_WAIT:
            self.reading.count("waits")
        if answer.status == 304:
            self.reading.count("wrong 304")
        elif (answer.etag, answer.json["n"]) != (now["etag"], now["n"]):
            self.reading.count("stale in spite of a token")
        again = client.send("GET", self.path, Consistency_Token=now["token"], If_None_Match=now["etag"])
        self.note("with a token", again)
        if again.status != 304:
            self.reading.count("stale in spite of a token")

    def read_without_token(self, client, now):
        answer = client.send("GET", self.path)
        self.note("without a token", answer)
        if answer.etag != now["etag"]:
            self.reading.count("lagged")
            if not is_of_standby(answer):
                self.reading.count("stale in spite of a token")

    def list(self, client, now):
        query = f"{FILES}?filter[client]={self.name.replace(' ', '%20')}"
        answer = client.send("GET", query, Consistency_Token=now["token"])
        self.note("with a token", answer)
        if [item["n"] for item in answer.json["_embedded"]["files"]] != [now["n"]]:
            self.reading.count("stale in spite of a token")
        again = client.send("GET", query, Consistency_Token=now["token"], If_None_Match=answer.etag)
        if again.status == 200 and [item["n"] for item in again.json["_embedded"]["files"]] != [now["n"]]:
            self.reading.count("stale in spite of a token")

    def note(self, kind, answer):
        names = [kind]
        if self.reading.has_standby:
            names.append("while it runs")
        if is_of_standby(answer):
            names.append(f"{kind} at a standby")
            if self.reading.has_standby:
                names.append("at a standby that runs")
        self.reading.count(*names)
