"""Clients of the service, and the journal of what they were answered."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field

SECONDS_TO_ANSWER = 60


class Lost(Exception):
    """A request without an answer: it may have been carried out."""


@dataclass
class Request:
    """A request and its outcome: a status, or the kind of error that kept the answer away."""

    target: str
    method: str
    path: str
    begun: float
    ended: float
    outcome: int | str
    note: str = ""

    def __str__(self):
        took = self.ended - self.begun
        return f"{self.method} {self.path} at {self.target}: {self.outcome} after {took:.2f} s {self.note}".strip()


@dataclass
class Journal:
    requests: list = field(default_factory=list)
    wrong: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, request):
        with self.lock:
            self.requests.append(request)

    def violation(self, expected, seen):
        """Takes note of something that is wrong; the scenario fails of it in the end."""
        with self.lock:
            self.wrong.append((expected, seen))


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def etag(self):
        return self.headers.get("etag")

    @property
    def version(self):
        """The version that an item's entity tag names, as 7 in "7.1f0c22ab" and "7-89abcdef.1f0c22ab"."""
        return int(self.etag.strip('"').split(".")[0].split("-")[0])


class Client:
    """One connection to an instance or to HAProxy, opened again when it was lost."""

    def __init__(self, target, address, journal):
        self.target, self.journal = target, journal
        self.host, port = address.split(":")
        self.port = int(port)
        self.connection = None

    def send(self, method, path, members=None, **headers):
        """Sends a request; the names of headers are written with underscores."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        body = None
        if members is not None:
            body = json.dumps(members)
            headers["Content-Type"] = "application/json"
        begun, outcome, note = time.monotonic(), "", ""
        try:
            answer = self.exchange(method, path, body, headers)
            outcome, note = answer.status, self.note_on(answer)
            return answer
        except (OSError, http.client.HTTPException) as error:
            outcome, note = kind_of(error), f"({error!r})"
            self.close()
            raise Lost from error
        finally:
            self.journal.add(Request(self.target, method, path, begun, time.monotonic(), outcome, note))

    def exchange(self, method, path, body, headers):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS_TO_ANSWER)
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        content = response.read()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def note_on(self, answer):
        if answer.status < 400:
            return ""
        is_by_haproxy = "x-request-id" not in answer.headers
        source = "by HAProxy" if is_by_haproxy else f"retry-after {answer.headers.get('retry-after')}"
        return f"({source}: {answer.body[:200].decode(errors='replace')!r})"

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def kind_of(error):
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return "timeout" if isinstance(error, TimeoutError) else "reset"
