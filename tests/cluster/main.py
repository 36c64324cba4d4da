"""Proves on one machine what docs/failover.md and docs/guarantees.md promise about failover, with the real parts.

    tests/cluster/main.py [SCENARIO...]

PostgreSQL with a standby under Patroni, etcd, HAProxy, PgBouncer and three instances of the service run as processes on
free ports of loopback, with the configuration that docs/failover.md shows. A load of checked writes and reads
runs in each scenario. The logs of all parts are in target/tests-run/cluster afterwards. PATRONI names the folder of
Patroni's programs, PROPOSAL_SERVICE_BIN the binary of the service, PROPOSAL_SERVICE_NEXT_BIN one that is a version of the schema ahead.
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import configuration
import service
from database import Database
from failure import Wrong
from scenarios import SCENARIOS, Run
from silence import Network

LOGS = configuration.ROOT / "target/tests-run/cluster"
PATRONI = Path(os.environ.get("PATRONI", configuration.ROOT / "target/cluster/bin"))


class Cluster:
    """All parts."""

    def __init__(self, state):
        self.places = configuration.Places(state, LOGS)
        configuration.write_all(self.places)
        self.database = Database(self.places, PATRONI)
        self.balancer, self.pooler = service.Balancer(self.places), service.Pooler(self.places)
        self.networks = {node: Network(self.places.address(node)) for node in ("first", "second")}
        # One through HAProxy; one that knows both servers; one that knows both, by a network that can fail.
        urls = {
            "one": [self.places.url("postgresql")],
            "two": [self.places.url(node) for node in ("first", "second")],
            "three": [self.places.url_at(network.address) for network in self.networks.values()],
        }
        self.instances = {name: service.instance(self.places, name, urls[name]) for name in urls}
        # Those that a scenario starts for itself.
        self.quiet, self.readers = [], []
        self.pooled = service.instance(self.places, "pooled", [self.places.url("pgbouncer")])

    def start(self):
        self.database.start()
        self.balancer.start_before(self.database.primary())
        for name, instance in self.instances.items():
            instance.start()
            service.await_ready(self.places, name, part=instance)
        for name in self.instances:
            self.balancer.await_state(name, True)

    def end(self):
        for part in [*self.instances.values(), *self.quiet, *self.readers, self.pooled, self.pooler, self.balancer]:
            if part.is_running:
                part.kill()
        for network in self.networks.values():
            network.close()
        self.database.end()


@contextmanager
def running():
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    state = Path(tempfile.mkdtemp(prefix="cluster."))
    if os.geteuid() == 0:
        shutil.chown(state, "postgres")
    cluster = Cluster(state)
    try:
        cluster.start()
        yield cluster
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        cluster.end()
        shutil.rmtree(state, ignore_errors=True)


def check_names(known):
    """Each scenario is what some guarantee is checked by."""
    page = configuration.ROOT / "docs/guarantees.md"
    text = page.read_text()
    if unnamed := [name for name in known if f"`{name}`" not in text]:
        raise Wrong(f"{page} names each scenario", f"not {', '.join(unnamed)}")


def main(names):
    known = {scenario.__name__: scenario for scenario in SCENARIOS}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"there is no scenario {unknown[0]}: {', '.join(known)}")
    # An end by a signal ends the parts, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    begun = time.monotonic()
    try:
        check_names(known)
        with running() as cluster:
            print(f"the cluster runs after {time.monotonic() - begun:.1f} s", flush=True)
            for name in names or known:
                tell(name, known[name], cluster)
    except Wrong as wrong:
        sys.exit(f"{wrong}\n    logs: {LOGS}")
    print(f"{len(names or known)} scenarios passed in {time.monotonic() - begun:.0f} s")


def tell(name, scenario, cluster):
    begun = time.monotonic()
    run = Run(cluster)
    try:
        scenario(run)
    except Wrong as wrong:
        write_journal(name, run)
        raise Wrong(f"{name}: {scenario.__doc__}", f"{wrong}\n    figures: {run.figures}") from wrong
    finally:
        run.load.is_stopped.set()
        run.load.is_written.set()
    write_journal(name, run)
    figures = ", ".join(f"{what} {figure}" for what, figure in run.figures.items())
    print(f"{name}: {time.monotonic() - begun:.1f} s; {figures}", flush=True)


def write_journal(name, run):
    """All requests that were answered with an error, for looking at."""
    failed = [request for request in run.journal.requests if not (isinstance(request.outcome, int) and request.outcome < 400)]
    (LOGS / f"{name}.requests").write_text("".join(f"{request.begun:.2f} {request}\n" for request in failed))


if __name__ == "__main__":
    main(sys.argv[1:])
