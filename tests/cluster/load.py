"""A load of writes and reads that are checked, each kind in its own thread."""

import math
import threading
import time
import uuid

from client import Client, Lost
from service import BALANCER

FILES = "/v1/files"
WORD = "clusterload"
FEED = "/v1/changes?page_size=250"
PAUSE = 0.01
PAUSE_OF_READERS = 0.05
PAUSE_AFTER_A_FAILURE = 0.1


def path_of(url):
    return "/" + url.split("/", 3)[3]


def history(etag):
    """The history that an entity tag belongs to, as 1f0c22ab in "7.1f0c22ab"."""
    return etag.strip('"').rpartition(".")[2]


class Worker(threading.Thread):
    """Does the same again and again until it is stopped."""

    pause = PAUSE

    def __init__(self, load, target):
        super().__init__(daemon=True, name=f"{type(self).__name__.lower()} at {target}")
        self.load, self.journal = load, load.journal
        self.client = Client(target, load.addresses[target], load.journal)
        self.is_stopped = load.is_stopped

    def run(self):
        try:
            while not self.is_stopped.is_set():
                done = self.attempt()
                self.is_stopped.wait(self.pause if done else PAUSE_AFTER_A_FAILURE)
            self.finish()
        except Exception as error:
            self.journal.violation(f"{self.name} understands every answer", repr(error))
            raise
        finally:
            self.client.close()

    def attempt(self):
        """Does it once; and whether that succeeded."""
        try:
            return self.step()
        except Lost:
            return False

    def finish(self):
        """What is still to do when nothing fails any more."""


class Counter(Worker):
    """Counts a member of an item up by `If-Match`, and knows what it must be."""

    def __init__(self, load, target):
        super().__init__(load, target)
        self.acknowledged = 0
        self.is_doubtful = False
        self.path, self.etag = None, None
        self.values = {}
        self.lost = 0

    def create(self):
        answer = self.client.send("POST", FILES, {"counter": self.name, "word": WORD, "n": 0})
        if answer.status != 201:
            raise Lost
        self.path = f"{FILES}/{answer.json['id']}"
        self.take(answer, 0)

    def take(self, answer, value):
        """Takes a write of ours that was acknowledged, or was found to have been made."""
        self.etag = answer.etag
        self.values[self.etag] = value
        self.acknowledged = value
        self.load.acknowledge(self.path, answer.version)

    def step(self):
        if self.is_doubtful:
            return self.look()
        wanted = self.acknowledged + 1
        try:
            answer = self.client.send(
                "PUT", self.path, {"counter": self.name, "word": WORD, "n": wanted}, If_Match=self.etag
            )
        except Lost:
            self.is_doubtful = True
            raise
        if answer.status == 200:
            self.take(answer, wanted)
            return True
        if answer.status == 412 and history(answer.etag) == history(self.etag):
            self.journal.violation(f"{self.path} is at {self.etag}, which only {self.name} writes", answer.body)
        self.is_doubtful = True
        return False

    def look(self):
        """Reads whether a write without an answer was made."""
        answer = self.client.send("GET", self.path)
        if answer.status != 200:
            return False
        found = answer.json["n"]
        least = self.load.kept(self) if self.load.is_lossy else self.acknowledged
        if not least <= found <= self.acknowledged + 1:
            expected = f"{self.path} counts {least} to {self.acknowledged + 1}"
            self.journal.violation(expected, f"{found} at {self.client.target}")
        self.lost += max(0, self.acknowledged - found)
        if answer.etag != self.etag:
            self.take(answer, found)
        self.is_doubtful = False
        return True

    def finish(self):
        if self.is_doubtful or self.load.is_lossy:
            self.is_doubtful = True
            self.load.repeat(self.attempt)


class Creator(Worker):
    """Creates items, each with a key under which it is sent again until it is answered."""

    def __init__(self, load, target):
        super().__init__(load, target)
        self.items = {}
        self.key, self.is_repeated = None, False

    def step(self):
        if self.key is None:
            self.key, self.is_repeated = f"{uuid.uuid4()}", False
        members = {"key": self.key, "word": WORD}
        is_repeated, self.is_repeated = self.is_repeated, True
        answer = self.client.send("POST", FILES, members, Idempotency_Key=f'"{self.key}"')
        if answer.status == 201:
            identifier = answer.json["id"]
            self.items[self.key] = time.monotonic()
            self.load.acknowledge(f"{FILES}/{identifier}", 1)
            self.key = None
            return True
        if answer.status == 409 and not is_repeated:
            self.journal.violation("a new key is not in use", answer.body)
        return False

    def finish(self):
        if self.key is not None and self.is_repeated:
            self.load.repeat(self.attempt)


    def acknowledged(self):
        """The keys, each with whether its item cannot be lost."""
        return [(key, self.load.is_sure(at)) for key, at in self.items.items()]


class Follower(Worker):
    """Follows the feed from where the load began."""

    pause = PAUSE_OF_READERS

    def __init__(self, load, target, start):
        super().__init__(load, target)
        # It continues until the others have written their last change.
        self.is_stopped = load.is_written
        self.next = start
        self.changes = []
        self.restarts = 0

    def step(self):
        answer = self.client.send("GET", self.next)
        if answer.status == 410:
            # The history ended, as it does when another server takes over.
            self.changes, self.next = [], FEED
            self.restarts += 1
            return True
        if answer.status != 200:
            return False
        page = answer.json
        self.changes += page["_embedded"]["changes"]
        self.next = path_of(page["_links"]["next"]["href"])
        self.is_at_end = not page["_embedded"]["changes"]
        return True

    def finish(self):
        self.load.repeat(lambda: self.attempt() and self.is_at_end)

    def least(self):
        """The number of changes that it must have received: those of the load."""
        return len(set(self.load.sure_writes()))


class Reader(Worker):
    """Looks at `/readyz`, at the counters, and searches; what it reads is never older than what was acknowledged before.

    `/readyz` is a question to an instance, not to HAProxy, which asks it itself.
    """

    pause = PAUSE_OF_READERS

    def __init__(self, load, target):
        super().__init__(load, target)
        self.round = 0
        self.etags = {}

    def step(self):
        self.round += 1
        if self.round % 20 == 0:
            return self.client.send("GET", f"{FILES}?q={WORD}&page_size=5").status == 200
        if self.round % 5 == 0 and self.client.target != BALANCER:
            return self.client.send("GET", "/readyz").status == 200
        counter = self.load.counters[self.round % len(self.load.counters)]
        return self.read(counter)

    def read(self, counter):
        least = self.load.kept(counter) if self.load.is_lossy else counter.acknowledged
        known = self.etags.get(counter.path)
        answer = self.client.send("GET", counter.path, **({"If_None_Match": known[0]} if known else {}))
        if answer.status == 200:
            found = answer.json["n"]
            self.etags[counter.path] = (answer.etag, found)
        elif answer.status == 304:
            found = known[1]
        else:
            return False
        if found < least:
            expected = f"GET {counter.path} at {self.client.target} shows at least {least}, which was acknowledged before"
            self.journal.violation(expected, f"{answer.status}: {found}")
        return True


class Load:
    """The workers of a scenario, and the answers they received.

    `is_lossy` is true from when writes that were acknowledged may be lost.
    """

    SECONDS_TO_FINISH = 60

    def __init__(self, addresses, journal):
        self.addresses, self.journal = addresses, journal
        self.is_stopped, self.is_written = threading.Event(), threading.Event()
        self.is_lossy = False
        self.writes = []
        self.kept_values = {}
        self.doubtful_time = (math.inf, math.inf)
        self.counters, self.creators, self.followers, self.readers = [], [], [], []

    def start(self, counters, creators, followers, readers, feed):
        self.counters = [Counter(self, target) for target in counters]
        for counter in self.counters:
            counter.create()
        self.creators = [Creator(self, target) for target in creators]
        self.followers = [Follower(self, target, feed) for target in followers]
        self.readers = [Reader(self, target) for target in readers]
        for worker in self.workers:
            worker.start()

    @property
    def workers(self):
        return [*self.counters, *self.creators, *self.followers, *self.readers]

    def acknowledge(self, path, version):
        """Records a version that was acknowledged."""
        with self.journal.lock:
            self.writes.append((path, version, time.monotonic()))

    def is_sure(self, at):
        """Whether what was acknowledged at a time cannot be lost."""
        begun, ended = self.doubtful_time
        return not begun <= at <= ended

    def sure_writes(self):
        return [(path, version) for path, version, at in self.writes if self.is_sure(at)]

    def keep(self):
        """Records the writes that are acknowledged now. None of them may be lost."""
        self.doubtful_time = (time.monotonic(), math.inf)
        self.kept_values = {counter.path: counter.acknowledged for counter in self.counters}

    def is_restored(self):
        """Takes note that another server has taken over: what is acknowledged from now on stays."""
        self.doubtful_time = (self.doubtful_time[0], time.monotonic())

    def kept(self, counter):
        return self.kept_values[counter.path]

    def repeat(self, attempt):
        deadline = time.monotonic() + self.SECONDS_TO_FINISH
        while not attempt():
            if time.monotonic() > deadline:
                name = threading.current_thread().name
                self.journal.violation(f"{name} finishes within {self.SECONDS_TO_FINISH} s", "it does not")
                return
            time.sleep(PAUSE_AFTER_A_FAILURE)

    def stop(self):
        self.is_stopped.set()
        self.join(worker for worker in self.workers if worker not in self.followers)
        self.is_written.set()
        self.join(self.followers)

    def join(self, workers):
        for worker in workers:
            worker.join(timeout=2 * self.SECONDS_TO_FINISH)
            if worker.is_alive():
                self.journal.violation(f"{worker.name} ends", "it does not")
