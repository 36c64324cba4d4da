"""What happens to the cluster, and what clients may see of it."""

import signal
import time

import checks
import parts
import service
from client import Client, Journal, Lost
from failure import Wrong
from load import FEED, FILES, Load, history, path_of
from readers import READERS, Reading
from service import BALANCER, INSTANCES
from upgrade import side_by_side

TTL = 20
SECONDS_OF_QUIET = 3
SECONDS_OF_READING = 5

# How long writes may be away: what docs/guarantees.md promises.
FAILOVER = TTL + 5
SWITCHOVER = 10
STANDBY_LOSS = 10
UNREADY = 20
POOLER_RESTART = 10

QUIET = ("quiet-reader", "quiet-writer")
LOST_KEY = '"lost-with-the-primary"'

EVERYWHERE = (BALANCER, *INSTANCES)


class Run:
    """One scenario: its load, the times in which requests may fail, and the figures that it reports."""

    def __init__(self, cluster):
        self.cluster, self.places, self.database = cluster, cluster.places, cluster.database
        self.journal = Journal()
        addresses = {name: self.places.address(name) for name in (*EVERYWHERE, "pooled")}
        self.load = Load(addresses, self.journal)
        self.windows, self.figures = [], {}
        self.changes_of_history = 0

    def client(self, target):
        return Client(target, self.places.address(target), self.journal)

    def start_load(self, counters=(BALANCER, BALANCER, *INSTANCES), creators=(BALANCER, "two"), followers=(BALANCER, "one"),
                   readers=INSTANCES):
        client = self.client(followers[0])
        start = checks.whole_feed(client)[1]
        client.close()
        self.load.start(counters, creators, followers, readers, start)
        time.sleep(SECONDS_OF_QUIET)

    def permit(self, targets, begun, seconds, outcomes=(503,)):
        self.windows.append(checks.Window(tuple(targets), begun, begun + seconds, outcomes))

    def await_writes(self, since, seconds, targets=EVERYWHERE):
        """Waits until every target has written since a time; then the longest pause of each is known."""
        def is_back():
            return all(any(end > since for end in self.written(target)) for target in targets)

        wanted = f"writes at {', '.join(targets)} continue"
        parts.await_that(wanted, is_back, seconds * 10, pause=0.1)

    def written(self, target):
        with self.journal.lock:
            requests = list(self.journal.requests)
        return [r.ended for r in requests if r.target == target and r.outcome in (200, 201) and r.method in ("PUT", "POST")]

    def check_pauses(self, since, limit, targets=EVERYWHERE):
        """The longest time without an acknowledged write, from a moment on, at each target."""
        for target in targets:
            ends = [since] + [end for end in self.written(target) if end > since]
            pause = max(later - earlier for earlier, later in zip(ends, ends[1:]))
            self.figures[f"pause at {target}"] = f"{pause:.1f} s"
            if pause > limit:
                self.journal.violation(f"writes at {target} are back within {limit} s", f"after {pause:.1f} s")

    def finish(self, targets=INSTANCES):
        """Ends the load and checks everything."""
        time.sleep(SECONDS_OF_QUIET)
        self.load.stop()
        try:
            checks.check_store(self.load, self.places, targets, self.journal)
        except Lost as lost:
            self.journal.violation("everything can be read in the end", lost)
        checks.check_outcomes(self.journal, self.windows, self.changes_of_history)
        self.figures["requests"] = len(self.journal.requests)
        self.figures["acknowledged writes"] = len(self.load.writes)
        failed = sum(request.outcome == 503 for request in self.journal.requests)
        self.figures["503"] = failed
        self.require_no_violations()

    def require_no_violations(self):
        if self.journal.wrong:
            shown = [f"{Wrong(expected, seen)}" for expected, seen in self.journal.wrong[:10]]
            raise Wrong("a scenario without violations", f"{len(self.journal.wrong)} of them:\n  " + "\n  ".join(shown))


def synchronous_failover(run):
    """The primary and its Patroni are killed; replication is synchronous: nothing that was acknowledged is lost."""
    run.start_load()
    run.changes_of_history = 1
    killed = run.database.primary()
    begun = time.monotonic()
    run.database.kill(killed)
    run.permit(EVERYWHERE, begun, FAILOVER)
    run.await_writes(begun + 5, FAILOVER)
    run.check_pauses(begun, FAILOVER)
    run.finish()
    run.figures["lost"] = sum(counter.lost for counter in run.load.counters)
    run.figures["standby back after"] = f"{run.database.await_healthy():.1f} s"


def standby_failure(run):
    """The synchronous standby and its Patroni are killed: writes wait until Patroni lets the primary continue alone."""
    run.start_load()
    begun = time.monotonic()
    run.database.kill(run.database.standby())
    run.permit(EVERYWHERE, begun, STANDBY_LOSS)
    run.await_writes(begun + 5, STANDBY_LOSS)
    run.check_pauses(begun, STANDBY_LOSS)
    run.finish()
    run.figures["standby back after"] = f"{run.database.await_healthy():.1f} s"


def hung_patroni(run):
    """Patroni of the primary hangs, and its PostgreSQL continues next to the new primary: HAProxy sends it no client."""
    run.start_load(["one"] * 3, ["one"] * 2, ["one"], ["one"] * 2)
    run.changes_of_history = 1
    old, new = run.database.primary(), run.database.standby()
    begun = time.monotonic()
    run.database.nodes[old].send_signal(signal.SIGSTOP)
    try:
        run.permit(["one"], begun, FAILOVER)
        parts.await_that(f"{new} takes over", lambda: run.database.is_primary(new))
        run.await_writes(time.monotonic() + 1, FAILOVER, ["one"])
        run.check_pauses(begun, FAILOVER, ["one"])
        if run.database.query(old, "SELECT pg_is_in_recovery()") != [["f"]]:
            raise Wrong(f"PostgreSQL of {old} continues as a primary", "it does not, so nothing is tested")
        time.sleep(SECONDS_OF_QUIET)
    finally:
        run.database.nodes[old].send_signal(signal.SIGCONT)
    run.figures["standby back after"] = f"{run.database.await_healthy():.1f} s"
    for name in INSTANCES:
        service.await_ready(run.places, name)
    run.finish()


def switchover(run):
    """The standby is made the primary by patronictl, as before maintenance."""
    run.start_load()
    run.changes_of_history = 1
    begun = time.monotonic()
    run.database.switch_over()
    run.figures["patronictl"] = f"{time.monotonic() - begun:.1f} s"
    run.permit(EVERYWHERE, begun, SWITCHOVER)
    run.await_writes(time.monotonic() + 1, SWITCHOVER)
    run.check_pauses(begun, SWITCHOVER)
    run.finish()
    run.figures["standby back after"] = f"{run.database.await_healthy():.1f} s"


def rolling_restart(run):
    """The instances are restarted one after the other, behind HAProxy: no request fails."""
    run.start_load([BALANCER] * 5, [BALANCER] * 3, [BALANCER], [BALANCER] * 3)
    begun = time.monotonic()
    for name in INSTANCES:
        instance, balancer = run.cluster.instances[name], run.cluster.balancer
        if status := instance.stop():
            run.journal.violation(f"{name} ends with status 0", status)
        instance.start()
        service.await_ready(run.places, name)
        balancer.await_state(name, True)
    run.figures["restarts"] = f"{time.monotonic() - begun:.1f} s"
    run.check_pauses(begun, 10, [BALANCER])
    run.finish()


def partition(run):
    """Nothing passes between one instance and PostgreSQL, and no connection is reset."""
    run.start_load(readers=("one", "two"))
    begun = time.monotonic()
    for network in run.cluster.networks.values():
        network.fall_silent()
    unready = service.await_ready(run.places, "three", 503, UNREADY)
    out = unready + run.cluster.balancer.await_state("three", False)
    run.figures |= {"/readyz 503 after": f"{unready:.1f} s", "out of HAProxy after": f"{out:.1f} s"}
    time.sleep(max(0, UNREADY - (time.monotonic() - begun)))
    healed = time.monotonic()
    for network in run.cluster.networks.values():
        network.heal()
    back = service.await_ready(run.places, "three")
    run.cluster.balancer.await_state("three", True)
    run.figures["/readyz 200 again after"] = f"{back:.1f} s"
    run.permit(["three"], begun, healed - begun + 30)
    # Requests that HAProxy had given to it.
    run.permit([BALANCER], begun, out + 30)
    run.await_writes(healed + 1, 30, ["three"])
    run.check_pauses(begun, 15, ["one", "two"])
    run.finish()


def pooler(run):
    """PgBouncer pools the sessions of an instance, and is restarted."""
    pooled = run.cluster.pooled
    run.cluster.pooler.start()
    run.cluster.pooler.await_listening()
    pooled.start()
    try:
        service.await_ready(run.places, "pooled")
        run.start_load(["pooled"] * 3 + ["one"], ["pooled"] * 2, ["pooled"], ["pooled"])
        begun = time.monotonic()
        run.cluster.pooler.restart()
        run.permit(["pooled"], begun, POOLER_RESTART)
        run.await_writes(begun + 2, POOLER_RESTART, ["pooled"])
        run.check_pauses(begun, POOLER_RESTART, ["pooled"])
        run.finish(("pooled", "one"))
    finally:
        pooled.kill()
        run.cluster.pooler.stop()


def asynchronous_failover(run):
    """The primary is killed, and the standby that takes over lacks its last writes: what was lost is not shown."""
    database = run.database
    # The standby is cut off for so long that Patroni would rather have no primary.
    database.configure({"synchronous_mode": False, "maximum_lag_on_failover": 64 * 1024 * 1024})
    database.await_healthy(is_synchronous=False)
    client = run.client("one")
    kept, known = create(client, "kept"), create(client, "known")
    quiet = start_quiet(run)
    run.start_load()
    run.changes_of_history = 1
    run.load.keep()
    receiver = database.cut_standby_off()
    run.load.is_lossy = True
    lost = make_lost(client, kept)
    tag = client.send("PUT", known, {"name": "lost"}).etag
    for name in QUIET:
        if run.client(name).send("GET", known, If_None_Match=tag).status != 304:
            raise Wrong(f"{name} knows what will be lost", "it does not")
    begun = time.monotonic()
    database.kill(database.primary())
    parts.send_signal(receiver, signal.SIGKILL)
    run.permit(EVERYWHERE, begun, FAILOVER + 5)
    parts.await_that("the standby takes over", database.primary)
    run.load.is_restored()
    check_quiet(run, known, tag)
    for part in quiet:
        part.kill()
    run.await_writes(time.monotonic() + 1, FAILOVER)
    run.check_pauses(begun, FAILOVER + 5)
    check_lost_key(run, lost)
    for name in INSTANCES:
        check_lost(run, name, kept, lost)
    check_rewritten(run, kept, lost)
    client.close()
    run.finish()
    run.figures["lost increments"] = sum(counter.lost for counter in run.load.counters)
    database.configure({"synchronous_mode": True, "maximum_lag_on_failover": None})
    run.figures["standby back after"] = f"{database.await_healthy():.1f} s"


def start_quiet(run):
    """Instances without requests: they learn by the next request that another server has taken over."""
    urls = [run.places.url(node) for node in ("first", "second")]
    run.cluster.quiet = [service.instance(run.places, name, urls) for name in QUIET]
    for name, part in zip(QUIET, run.cluster.quiet):
        part.start()
        service.await_ready(run.places, name, part=part)
    return run.cluster.quiet


def check_quiet(run, known, tag):
    """The lost version is written again elsewhere: its tag of before matches nothing at an instance's first request."""
    journal = Journal()
    two, reader, writer = (Client(name, run.places.address(name), journal) for name in ("two", *QUIET))

    def is_in_next_history():
        try:
            answer = two.send("GET", known)
        except Lost:
            return False
        return answer.status == 200 and history(answer.etag) != history(tag)

    parts.await_that("the next server answers", is_in_next_history, pause=0.02)
    again = two.send("PUT", known, {"name": "again"})
    read = reader.send("GET", known, If_None_Match=tag)
    written = writer.send("PUT", known, {"name": "overwritten"}, If_Match=tag)
    if again.status != 200 or read.status != 200 or read.json["name"] != "again":
        run.journal.violation("a quiet instance shows what was written again", f"{again.status}, {read.status} {read.body}")
    if written.status not in (412, 503) or writer.send("PUT", known, {}, If_Match=tag).status != 412:
        run.journal.violation("a lost tag overwrites nothing at a quiet instance", f"{written.status} {written.body}")


def create(client, name, **headers):
    answer = client.send("POST", FILES, {"name": name}, **headers)
    if answer.status != 201:
        raise Wrong("an item is created", f"{answer.status} {answer.body}")
    return f"{FILES}/{answer.json['id']}"


def make_lost(client, kept):
    """Writes what will be lost, and returns what names it."""
    put = client.send("PUT", kept, {"name": "lost"})
    if put.status != 200 or client.send("GET", kept, If_None_Match=put.etag).status != 304:
        raise Wrong("an item is replaced, and in the cache", put)
    item, collection = create(client, "lost", Idempotency_Key=LOST_KEY), client.send("GET", f"{FILES}?page_size=5").etag
    path = FEED
    while True:
        page = client.send("GET", path).json
        path = path_of(page["_links"]["next"]["href"])
        if len(page["_embedded"]["changes"]) < 250:
            return {"etag": put.etag, "item": item, "collection": collection, "feed": path}


def check_lost(run, name, kept, lost):
    """Nothing that names what was lost means anything."""
    client = run.client(name)
    journal, client.journal = run.journal, Journal()
    questions = [
        ("the lost version is replaced", 412, ("PUT", kept, {"name": "late"}), {"If_Match": lost["etag"]}),
        ("the tag of a lost version", 200, ("GET", kept), {"If_None_Match": lost["etag"]}),
        ("the tag of the collection", 200, ("GET", f"{FILES}?page_size=5"), {"If_None_Match": lost["collection"]}),
        ("a lost item", 404, ("GET", lost["item"]), {}),
        ("the place in the lost feed", 410, ("GET", lost["feed"]), {}),
        ("the stream from a lost event", 410, ("GET", "/v1/changes/stream"), {"Last_Event_ID": cursor_in(lost["feed"])}),
    ]
    for what, status, request, headers in questions:
        answer = client.send(*request, **headers)
        if answer.status != status:
            journal.violation(f"{what} is {status} at {name}", f"{answer.status} {answer.body[:300]}")
        elif request == ("GET", kept) and answer.json["name"] != "kept":
            journal.violation(f"{kept} is as before the loss at {name}", answer.json["name"])
    client.close()


def check_lost_key(run, lost):
    """A create whose item was lost is repeated under its key, once."""
    made = set()
    for name in INSTANCES:
        client = run.client(name)
        made.add(create(client, "lost", Idempotency_Key=LOST_KEY))
        client.close()
    if len(made) != 1 or lost["item"] in made:
        run.journal.violation(f"another item than {lost['item']}, once", made)


def check_rewritten(run, kept, lost):
    """The lost version of an item is written again, and is another one."""
    client = run.client("one")
    again = client.send("PUT", kept, {"name": "again"})
    found = client.send("GET", kept, If_None_Match=lost["etag"])
    client.close()
    if again.etag == lost["etag"] or found.status != 200 or found.json["name"] != "again":
        run.journal.violation(f"another tag than {lost['etag']}", f"{again.etag}, {found.status} {found.body}")


def cursor_in(path):
    return path.partition("after=")[2].partition("&")[0]


def replica_reads(run):
    """64 clients read their own writes at a standby that lags by 200 ms, and is killed and comes back meanwhile."""
    standby = run.database.standby()
    run.database.delay_replay(standby, "200ms")
    urls, standbys = [run.places.url("postgresql")], [run.places.url(node) for node in ("first", "second")]
    run.cluster.readers = [service.instance(run.places, name, urls, standbys) for name in READERS]
    try:
        for name, part in zip(READERS, run.cluster.readers):
            part.start()
            service.await_ready(run.places, name, part=part)
        reading = Reading(run.places, run.journal)
        reading.await_standby()
        reading.start()
        time.sleep(SECONDS_OF_READING)
        reading.has_standby = False
        parts.send_signal(run.database.postmaster(standby), signal.SIGQUIT)
        time.sleep(SECONDS_OF_READING)
        run.figures["standby back after"] = f"{run.database.await_healthy():.1f} s"
        reading.await_standby()
        reading.has_standby = True
        time.sleep(SECONDS_OF_READING)
        reading.stop()
        checks.check_outcomes(run.journal, run.windows, 0)
        run.figures |= reading.figures()
        run.require_no_violations()
    finally:
        for part in run.cluster.readers:
            part.kill()
        run.database.delay_replay(standby, "0")


SCENARIOS = [
    replica_reads,
    switchover,
    standby_failure,
    synchronous_failover,
    hung_patroni,
    rolling_restart,
    partition,
    pooler,
    asynchronous_failover,
    # Comes last: no older build can use the store afterwards.
    side_by_side,
]
