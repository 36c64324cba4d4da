"""The Debian package: judged by lintian and systemd's own tools, and installed, upgraded and removed in a clean Debian."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from tools import BINARY, PACKAGING, ROOT, WORK, Wrong, fresh, passed, require, run, sole, version

UNIT = "usr/lib/systemd/system/proposal-service.service"
MOST_EXPOSURE = 1.5
SUITE = "bookworm"


def build():
    run(PACKAGING / "release/assemble", quiet=True)
    folder = fresh("deb")
    # The binary is there, with its list of crates, which stripping keeps.
    run("cargo", "deb", "--quiet", "--no-build", "--package", "bootstrap", "--deb-version", f"{version()}-1", "--output", folder, cwd=ROOT, quiet=True)
    return sole(folder, "*.deb")


def check():
    package = build()
    passed(f"cargo-deb: {package.name}, {package.stat().st_size / 1e6:.1f} MB")
    # lintian's own files may be readable by root alone.
    run("lintian", "--allow-root", "--fail-on", "error,warning", package)
    scripts = fresh("scripts")
    run("dpkg-deb", "--control", package, scripts, quiet=True)
    restarts = re.findall(r"deb-systemd-invoke (\S*start.*?) \|\|", (scripts / "postinst").read_text())
    require(restarts == ["try-restart proposal-service.service"], f"an upgrade does {restarts}")
    passed("an upgrade restarts the service, and leaves its socket open")
    unpacked = fresh("unpacked")
    run("dpkg-deb", "--extract", package, unpacked, quiet=True)
    pages(unpacked)
    exposure(unpacked)
    system_calls()
    socket_activation()
    in_a_clean_debian(package)


def pages(unpacked):
    folder = unpacked / "usr/share/man/man1"
    for page in folder.glob("*.gz"):
        said = run("man", "--warnings", "--local-file", page, quiet=True, env={"MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        require("warning" not in said.splitlines()[0], f"man: {said.splitlines()[0]}")
    passed(f"man --warnings: {len(list(folder.glob('*.gz')))} pages without one")
    for shell, file in (("bash", "bash-completion/completions/proposal-service"),):
        run(shell, "-n", unpacked / "usr/share" / file, quiet=True)
        passed(f"{shell} -n reads the completions")


def exposure(unpacked):
    said = run("systemd-analyze", "security", "--offline=yes", f"--threshold={int(MOST_EXPOSURE * 10)}", unpacked / UNIT, quiet=True)
    found = float(re.search(r"exposure level for \S+: ([\d.]+)", said)[1])
    require(found <= MOST_EXPOSURE, f"the exposure is {found}")
    passed(f"systemd-analyze security --offline: {found} of 10")


def system_calls():
    """The calls of a service that is used, against the filter of its unit: systemd does not run here to enforce it."""
    allowed = filtered()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        shutil.copy(BINARY, folder)
        # As root SQLite makes calls that it does not make as another user.
        shutil.chown(folder, "daemon")
        service = subprocess.Popen(
            ["strace", "--user=daemon", "--follow-forks", "--summary-only", "--output", trace, "./proposal-service", "serve", "--demo", "--listen",
             "127.0.0.1:0"], cwd=folder, stderr=subprocess.PIPE, text=True)
        address = listening(service)
        for path in ("/readyz", "/v1/proposals?q=a", "/exports/proposals.xlsx", "/explore", "/openapi.json"):
            with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as answer:
                answer.read()
        stop_child_of(service)
        made = {line.split()[-1] for line in trace.read_text().splitlines()[2:] if line and line.split()[0][0].isdigit()} - {"total"}
    # strace itself starts the binary by it, as systemd does before it sets the filter.
    refused = made - allowed - {"execve"}
    require(len(made) > 30 and not refused, f"the filter refuses {sorted(refused)} of {len(made)}")
    passed(f"the filter allows the {len(made)} system calls that a service makes (strace)")


def filtered():
    """The calls that the unit's filter allows, by systemd's own lists."""
    groups, current = {}, None
    for line in run("systemd-analyze", "syscall-filter", "--no-pager", quiet=True).splitlines():
        if line.startswith("@"):
            current = groups.setdefault(line.strip(), [])
        elif current is not None and line.strip() and not line.strip().startswith("#"):
            current.append(line.strip())

    def expand(name):
        return set().union(*(expand(inner) if inner.startswith("@") else {inner} for inner in groups[name]))

    allowed = set()
    for rule in re.findall(r"^SystemCallFilter=(.+)$", (PACKAGING / "debian/proposal-service.service").read_text(), re.MULTILINE):
        names = set().union(*(expand(name) for name in rule.lstrip("~").split()))
        allowed = allowed - names if rule.startswith("~") else allowed | names
    return allowed


def listening(service):
    for line in service.stderr:
        found = re.search(r"listening on http://(\S+),", line)
        if found:
            return found[1]
    raise Wrong("the service does not start")


def stop_child_of(process):
    """Stops the service that a tool runs, by its id."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children or [str(process.pid)]:
        os.kill(int(child), signal.SIGTERM)
    process.stderr.read()
    process.wait(timeout=30)


def socket_activation():
    """systemd's own tool listens, and starts the service at the first connection."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        manager = subprocess.Popen(["systemd-socket-activate", f"--listen=127.0.0.1:{port}", BINARY, "serve"], cwd=folder,
                                   stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(100):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=20) as answer:
                        require(answer.status == 200, f"/readyz is {answer.status}")
                    break
                except (ConnectionError, urllib.error.URLError):
                    time.sleep(0.1)
            else:
                raise Wrong("the socket does not answer")
        finally:
            # It becomes the service.
            manager.send_signal(signal.SIGTERM)
            manager.wait(timeout=30)
    passed("systemd-socket-activate hands the socket over, and the first connection is answered")


def in_a_clean_debian(package):
    root = WORK / "clean"
    shutil.rmtree(root, ignore_errors=True)
    sources = "/etc/apt/sources.list" if Path("/etc/apt/sources.list").exists() else "/etc/apt/sources.list.d/debian.sources"
    run("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", "--include=systemd,man-db", "--customize-hook=copy-in /etc/resolv.conf /etc",
        SUITE, root, sources, quiet=True)
    passed(f"mmdebstrap: a clean {SUITE}")
    shutil.copy(package, root / "tmp")
    inside = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]
    run(*inside, "apt-get", "update", "--quiet=2", quiet=True)
    run(*inside, "apt-get", "install", "--quiet=2", "--yes", f"/tmp/{package.name}", quiet=True)
    said = run(*inside, "proposal-service", "--version")
    require(version() in said, said)
    run("systemd-analyze", "verify", "--root", root, "--man=no", "proposal-service.service", "proposal-service.socket")
    run(*inside, "systemctl", "is-enabled", "proposal-service.service", expect=1, quiet=True)
    run(*inside, "systemctl", "enable", "proposal-service.socket", "proposal-service.service", quiet=True)
    require((root / "etc/systemd/system/sockets.target.wants/proposal-service.socket").is_symlink(), "the socket is not enabled")
    passed("it is enabled on request, and not before")
    environment = root / "etc/proposal-service/environment"
    environment.write_text(environment.read_text() + "# changed\n")
    run(*inside, "apt-get", "install", "--quiet=2", "--yes", "--reinstall", f"/tmp/{package.name}", quiet=True)
    require(environment.read_text().endswith("# changed\n"), "an upgrade changes the configuration")
    run(*inside, "apt-get", "remove", "--quiet=2", "--yes", "proposal-service", quiet=True)
    require(environment.exists(), "a removal takes the configuration away")
    run(*inside, "dpkg", "--purge", "proposal-service", quiet=True)
    require(not environment.exists() and not list(root.glob("etc/systemd/system/*/proposal-service*")), "a purge leaves files")
    passed("installed, upgraded with its configuration kept, removed, purged without a rest")
