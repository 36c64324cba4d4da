"""The configuration files: those that docs/failover.md shows, with the addresses and paths of this machine."""

import re
from dataclasses import dataclass
from pathlib import Path

import parts

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/failover.md"
FENCE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ADDRESSES = {
    "etcd": "10.0.0.10:2379",
    "first": "10.0.0.11:5432",
    "first-api": "10.0.0.11:8008",
    "second": "10.0.0.12:5432",
    "second-api": "10.0.0.12:8008",
    "service": "10.0.0.20:80",
    "postgresql": "10.0.0.20:5432",
    "pgbouncer": "10.0.0.20:6432",
    "one": "10.0.0.31:8080",
    "two": "10.0.0.32:8080",
    "three": "10.0.0.33:8080",
    "etcd-peer": "10.0.0.10:2380",
    "pooled": "10.0.0.34:8080",
    "quiet-reader": "10.0.0.35:8080",
    "quiet-writer": "10.0.0.36:8080",
    "reader-one": "10.0.0.37:8080",
    "reader-two": "10.0.0.38:8080",
    "reader-three": "10.0.0.39:8080",
}


@dataclass
class Places:
    """Where everything is: free ports of this machine, a folder for what PostgreSQL's user owns, and one for logs."""

    state: Path
    logs: Path

    def __post_init__(self):
        ports = parts.free_ports(len(ADDRESSES))
        self.port = dict(zip(ADDRESSES, ports))

    def address(self, name):
        return f"127.0.0.1:{self.port[name]}"

    def data(self, node):
        return self.state / node

    def url(self, name):
        return self.url_at(self.address(name))

    def url_at(self, address):
        return f"postgres://proposals:change-me@{address}/proposals"

    def write(self, name, text):
        """Writes a file where PostgreSQL's user can read it, and keeps a copy with the logs."""
        file = self.state / name
        for copy in (file, self.logs / name):
            copy.write_text(text)
        file.chmod(0o644)
        return file

    def localised(self, text):
        """A documented text with the addresses and paths of this machine."""
        for name in ("first", "second"):
            checked = f"127.0.0.1:{self.port[name]} check port {self.port[f'{name}-api']}"
            text = text.replace(f"{ADDRESSES[name]} check port 8008", checked)
        for name, documented in ADDRESSES.items():
            text = re.sub(rf"{re.escape(documented)}\b", self.address(name), text)
            host, port = documented.split(":")
            # PgBouncer has host and port apart.
            text = re.sub(rf"(host ?= ?){host}( port=){port}\b", rf"\g<1>127.0.0.1\g<2>{self.port[name]}", text)
            text = re.sub(rf"(listen_addr = ){host}(\nlisten_port = ){port}\b", rf"\g<1>127.0.0.1\g<2>{self.port[name]}", text)
        binaries = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        paths = {
            "10.0.0.0/24": "127.0.0.0/8",
            "/usr/lib/postgresql/15/bin": f"{binaries}",
            "/run/haproxy/admin.sock": f"{self.state}/haproxy.sock",
            "/etc/pgbouncer/": f"{self.state}/",
        }
        for documented, here in paths.items():
            text = text.replace(documented, here)
        if found := re.search(r"10\.0\.0\.\d+\S*", text):
            raise ValueError(f"{PAGE} has an address that the suite does not know: {found[0]}")
        return text


def documented():
    """The files that the page shows, by their names."""
    return dict(FENCE.findall(PAGE.read_text()))


def write_all(places):
    files = documented()
    first = files.pop("patroni.yml")
    second = first.replace("name: first", "name: second").replace("10.0.0.11", "10.0.0.12")
    for node, text in (("first", first), ("second", second)):
        text = text.replace("/var/lib/postgresql/15/proposals", f"{places.data(node)}")
        places.write(f"{node}.yml", places.localised(text))
    for name, text in files.items():
        places.write(name, places.localised(text))
