"""PostgreSQL under Patroni with etcd."""

import json
import os
import signal
import subprocess
import urllib.request

import parts
from failure import Wrong

NODES = ("first", "second")
SECONDS_TO_HEAL = 90


class Database:
    def __init__(self, places, programs):
        self.places, self.programs = places, programs
        client, peer = (f"http://{places.address(name)}" for name in ("etcd", "etcd-peer"))
        etcd = ["etcd", "--name", "etcd", "--data-dir", f"{places.state}/etcd", "--log-level", "warn"]
        etcd += ["--listen-client-urls", client, "--advertise-client-urls", client]
        etcd += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"etcd={peer}"]
        self.etcd = parts.Part("etcd", etcd, places.logs)
        self.nodes = {
            node: parts.Part(
                f"patroni-{node}",
                [f"{programs}/patroni", f"{places.state}/{node}.yml"],
                places.logs,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": f"{self.home(node)}"},
                **parts.as_postgres(),
            )
            for node in NODES
        }

    def home(self, node):
        """A separate home, where Patroni has the passwords of this node."""
        home = self.places.state / f"{node}.home"
        home.mkdir(exist_ok=True)
        options = parts.as_postgres()
        if options:
            os.chown(home, options["user"], options["group"])
        return home

    def start(self):
        self.etcd.start()
        first, second = self.nodes.values()
        first.start()
        parts.await_that("the first server is the primary", lambda: first.require_running() and self.primary() == "first")
        second.start()
        account = (self.places.state / "account.sql").read_text()
        for statement in filter(str.strip, account.split(";\n")):
            self.query("first", statement)
        self.await_healthy()

    def end(self):
        """Ends everything at once, by ids: PostgreSQL outlives a Patroni that was killed."""
        for node, patroni in self.nodes.items():
            if patroni.is_running:
                patroni.kill()
            if postmaster := self.postmaster(node):
                # It ends its processes and frees its memory, which it cannot when it is killed.
                parts.send_signal(postmaster, signal.SIGQUIT)
                parts.await_that(f"{node} ends", lambda node=node: not self.postmaster(node), parts.SECONDS_TO_END)
        if self.etcd.is_running:
            self.etcd.kill()

    def api(self, node, path, change=None):
        """The answer of a node's Patroni; `None` where it gives none."""
        url = f"http://{self.places.address(f'{node}-api')}{path}"
        body = None if change is None else json.dumps(change).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="PATCH" if body else "GET")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def is_primary(self, node):
        return self.api(node, "/primary") is not None

    def primary(self):
        return next(filter(self.is_primary, NODES), None)

    def standby(self):
        primary = self.primary()
        return next(node for node in NODES if node != primary)

    def members(self):
        for node in NODES:
            if cluster := self.api(node, "/cluster"):
                return {member["name"]: member for member in cluster["members"]}
        return {}

    def is_healthy(self, is_synchronous):
        """Whether there are a primary and a standby that follows it closely."""
        members = self.members()
        states = {name: (member["role"], member["state"], member.get("lag", 0)) for name, member in members.items()}
        role = "sync_standby" if is_synchronous else "replica"
        wanted = [("leader", "running", 0), (role, "streaming", 0)]
        is_so = sorted(states.values()) == sorted(wanted) and self.primary() is not None
        self.seen = states
        return is_so and self.replicates(is_synchronous)

    def replicates(self, is_synchronous):
        """Whether PostgreSQL itself says so; what Patroni says may be of its last round."""
        rows = self.query(self.primary(), "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")
        return rows == [["sync" if is_synchronous else "async"]]

    def await_healthy(self, is_synchronous=True):
        for node in self.nodes.values():
            if not node.is_running:
                node.start()
        self.seen = None
        kind = "synchronous" if is_synchronous else "asynchronous"
        try:
            return parts.await_that(
                f"a primary and a {kind} standby", lambda: self.is_healthy(is_synchronous), SECONDS_TO_HEAL
            )
        except Wrong as wrong:
            raise Wrong(f"a primary and a {kind} standby within {SECONDS_TO_HEAL} s", self.seen) from wrong

    def configure(self, change):
        if self.api(self.primary(), "/config", change) is None:
            raise Wrong(f"Patroni takes {change}", "it does not")

    def query(self, node, statement, database="postgres"):
        """The rows of a statement, by the superuser."""
        host, port = self.places.address(node).split(":")
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--field-separator", "\t", "--set", "ON_ERROR_STOP=1"]
        command += ["--host", host, "--port", port, "--username", "postgres", "--dbname", database, "--command", statement]
        environment = os.environ | {"PGPASSWORD": "change-me", "PGCONNECT_TIMEOUT": "5"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise Wrong(f"{node} answers {statement}", done.stderr.strip())
        return [line.split("\t") for line in done.stdout.splitlines()]

    def postmaster(self, node):
        try:
            process = int((self.places.data(node) / "postmaster.pid").read_text().split()[0])
            os.kill(process, 0)
        except (OSError, ValueError, IndexError):
            return None
        return process

    def kill(self, node):
        """Kills a server and its Patroni at once, so that etcd is not notified."""
        postmaster = self.postmaster(node)
        self.nodes[node].send_signal(signal.SIGKILL)
        parts.send_signal(postmaster, signal.SIGKILL)
        self.nodes[node].process.wait()

    def switch_over(self):
        """Makes the standby the primary, as before maintenance."""
        leader, candidate = self.primary(), self.standby()
        command = [f"{self.programs}/patronictl", "-c", f"{self.places.state}/{leader}.yml", "switchover", "proposals"]
        command += ["--leader", leader, "--candidate", candidate, "--force"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        (self.places.logs / "switchover.log").write_text(done.stdout + done.stderr)
        if done.returncode or "Successfully" not in done.stdout:
            raise Wrong("patronictl switches over", done.stdout + done.stderr)
        return candidate

    def delay_replay(self, standby, delay):
        """Lets a standby replay each commit so much later."""
        self.query(standby, f"ALTER SYSTEM SET recovery_min_apply_delay = '{delay}'")
        self.query(standby, "SELECT pg_reload_conf()")

    def cut_standby_off(self):
        """Stops what receives for the standby, once the standby has all that was written before; and returns its id."""
        primary, standby = self.primary(), self.standby()
        [[position]] = self.query(primary, "SELECT pg_current_wal_insert_lsn()")
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        parts.await_that("the standby has what was written", lambda: self.query(standby, replayed) == [["t"]], pause=0.05)
        [[receiver]] = self.query(standby, "SELECT pid FROM pg_stat_wal_receiver")
        os.kill(int(receiver), signal.SIGSTOP)
        return int(receiver)
