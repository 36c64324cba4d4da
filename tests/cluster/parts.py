"""Parts of the cluster, each a separate process with a log file, ended by their ids."""

import os
import pwd
import socket
import subprocess
import time
from contextlib import suppress

from failure import Wrong

SECONDS_TO_START = 120
SECONDS_TO_END = 30


def free_ports(count):
    """Ports that are free now, all different."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def as_postgres():
    """Options of a process that may not run as root, of whom PostgreSQL and PgBouncer start nothing."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


class Part:
    """A process that can be started again after it ended."""

    def __init__(self, name, command, logs, **options):
        self.name, self.command, self.options = name, command, options
        self.log = logs / f"{name}.log"
        self.process = None

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.options
            )

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def require_running(self):
        """Fails immediately if the process has ended, rather than after a timeout."""
        if not self.is_running:
            last = "".join(self.log.read_text().splitlines(keepends=True)[-5:])
            raise Wrong(f"{self.name} runs", f"it ended with status {self.process.returncode}: {last}")
        return True

    def send_signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Asks the process to end, and waits until it has; returns its status."""
        if self.process is None:
            return 0
        if self.is_running:
            self.process.terminate()
        try:
            return self.process.wait(timeout=SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong(f"{self.name} ends within {SECONDS_TO_END} s of SIGTERM", f"it did not; {self.log}") from None


def await_that(wanted, is_so, seconds=SECONDS_TO_START, pause=0.2):
    """Waits until something is so, and returns how long that took."""
    start = time.monotonic()
    while not (seen := is_so()):
        if time.monotonic() - start > seconds:
            raise Wrong(f"{wanted} within {seconds} s", f"{seen!r} after that time")
        time.sleep(pause)
    return time.monotonic() - start


def send_signal(process, number):
    """Sends a signal to a process that is no child of ours."""
    with suppress(ProcessLookupError):
        os.kill(process, number)
