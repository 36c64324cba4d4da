"""Instances of the service, HAProxy before them and before PostgreSQL, and PgBouncer."""

import http.client
import os
import signal
import socket

import configuration
import parts

BALANCER = "service"
INSTANCES = ("one", "two", "three")
DRAIN_DELAY = "6s"


def binary():
    path = configuration.ROOT / "target/debug/proposal-service"
    return os.environ.get("PROPOSAL_SERVICE_BIN", f"{path}")


def instance(places, name, urls, standbys=()):
    """An instance of the service on servers of PostgreSQL."""
    command = [binary(), "serve", "--listen", places.address(name), "--base-url", f"http://{places.address(BALANCER)}"]
    command += ["--drain-delay", DRAIN_DELAY]
    for url in urls:
        command += ["--database-url", url]
    for url in standbys:
        command += ["--replica-url", url]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROPOSAL_SERVICE_")}
    return parts.Part(f"instance-{name}", command, places.logs, env=environment)


def readiness(address):
    """The status of `/readyz`; `None` without an answer."""
    host, port = address.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def await_ready(places, name, status=200, seconds=parts.SECONDS_TO_START, part=None):
    """Waits for a status of `/readyz`; a part that is starting must not end meanwhile."""
    def is_so():
        return (part is None or part.require_running()) and readiness(places.address(name)) == status

    return parts.await_that(f"/readyz of {name} is {status}", is_so, seconds)


class Balancer(parts.Part):
    """HAProxy, with its view of the servers."""

    def __init__(self, places):
        self.socket = places.state / "haproxy.sock"
        super().__init__("haproxy", ["haproxy", "-db", "-f", f"{places.state}/haproxy.cfg"], places.logs)

    def states(self, proxy):
        """Which servers of a proxy are up."""
        with socket.socket(socket.AF_UNIX) as console:
            console.settimeout(5)
            console.connect(f"{self.socket}")
            console.sendall(b"show stat\n")
            text = b"".join(iter(lambda: console.recv(65536), b"")).decode()
        names, *rows = (line.split(",") for line in text.lstrip("# ").splitlines() if line)
        entries = [dict(zip(names, row)) for row in rows]
        return {row["svname"]: row["status"].startswith("UP") for row in entries if row["pxname"] == proxy}

    def start_before(self, primary):
        """Starts it, and waits until it knows which server takes writes."""
        self.start()
        wanted = f"HAProxy has {primary} for PostgreSQL, and no other"
        parts.await_that(wanted, lambda: self.socket.exists() and self.servers_up("postgresql") == [primary])

    def servers_up(self, proxy):
        states = self.states(proxy)
        return [server for server, is_up in states.items() if is_up and server not in ("FRONTEND", "BACKEND")]

    def await_state(self, server, is_up, seconds=parts.SECONDS_TO_START):
        wanted = f"HAProxy has {server} {'in' if is_up else 'out'}"
        return parts.await_that(wanted, lambda: self.states("proposals")[server] == is_up, seconds, pause=0.1)


class Pooler(parts.Part):
    def __init__(self, places):
        command = ["pgbouncer", f"{places.state}/pgbouncer.ini"]
        super().__init__("pgbouncer", command, places.logs, **parts.as_postgres())
        self.port = places.port["pgbouncer"]

    def await_listening(self):
        def is_listening():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        parts.await_that("PgBouncer listens", is_listening)

    def restart(self):
        """Ends it without regard to its clients, and starts it again."""
        self.send_signal(signal.SIGTERM)
        self.process.wait(timeout=parts.SECONDS_TO_END)
        self.start()
