"""docs/install.md: each way is short, and does what it says, as far as it can be done without systemd, Docker and Kubernetes."""

import re
import shlex
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import yaml
from helm_python import Chart

from tools import ROOT, WORK, Wrong, fresh, passed, require, run, sole

MOST_LINES = 10


def check():
    text = (ROOT / "docs/install.md").read_text()
    ways = dict(re.findall(r"^```sh way=(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    for name, commands in ways.items():
        require(len(commands.splitlines()) <= MOST_LINES, f"{name} has more than {MOST_LINES} lines")
    require(set(ways) == {"check", "debian", "archive", "container", "compose", "helm", "sources"}, f"ways: {sorted(ways)}")
    folder = fresh("page")
    for file in (WORK / "release").iterdir():
        shutil.copy(file, folder)
    run("bash", "-euc", ways["check"], cwd=folder, quiet=True)
    passed("check: run")
    debian(ways["debian"], folder)
    archive(ways["archive"], folder)
    container(ways["container"], folder)
    compose(ways["compose"])
    helm(ways["helm"], folder)
    require(ways["sources"].startswith("cargo build --release\n"), "sources: the build is another than that of tests/run")
    passed("sources: the step `build` of tests/run")


def debian(commands, folder):
    """In the clean Debian of the check `debian`, where no systemd runs that could start anything."""
    root = WORK / "clean"
    place = root / "root"
    shutil.copy(sole(folder, "*.deb"), place)
    *made, start = commands.splitlines()
    require(start == "systemctl start proposal-service.socket proposal-service.service", f"debian ends with {start}")
    script = "\n".join(["cd /root", *made])
    run("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "HOME=/root", "bash", "-euc", script, quiet=True)
    secret = root / "etc/credstore/proposal-service.database-url"
    require(secret.stat().st_mode & 0o777 == 0o600 and secret.read_text().startswith("postgres://"), "the secret is not there, or open to others")
    require((root / "etc/systemd/system/multi-user.target.wants/proposal-service.service").is_symlink(), "it is not enabled")
    passed("debian: run in a clean Debian, all but the start")


def archive(commands, folder):
    service = subprocess.Popen(["bash", "-euc", commands.replace("./proposal-service --demo", "exec ./proposal-service --demo --listen 127.0.0.1:0")],
                               cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        found = next((match for line in service.stderr if (match := re.search(r"listening on (http://[\d.:]+)", line))), None)
        require(found, "the service does not start")
        with urllib.request.urlopen(f"{found[1]}/v1/proposals", timeout=20) as answer:
            require(b'"total_items"' in answer.read(), "it has no proposals")
    finally:
        service.terminate()
        service.communicate(timeout=30)
    passed("archive: run")


def container(commands, folder):
    """podman cannot start containers on a machine without cgroups; the check `image` runs this image by buildah."""
    first, second, *_ = commands.splitlines()
    run("bash", "-euc", first, cwd=folder, quiet=True)
    storage = folder / "podman"
    run("podman", "--root", storage, "--runroot", f"{storage}-run", "--storage-driver", "vfs", *shlex.split(second)[1:], cwd=folder, quiet=True)
    variables = re.findall(r"--env (\w+)=", commands)
    passed(f"container: pulled by podman; {', '.join(variables)} are options of the binary")
    require_options(variables)
    run("podman", "--root", storage, "--runroot", f"{storage}-run", "--storage-driver", "vfs", "rmi", "--all", "--force", quiet=True)


def require_options(variables):
    options = run(ROOT / "target/release/proposal-service", "serve", "--help", quiet=True)
    for variable in variables:
        require(variable in options, f"no option reads {variable}")


def compose(commands):
    *made, last = commands.splitlines()
    require(last == "docker compose up --detach", f"compose ends with {last}")
    with tempfile.TemporaryDirectory() as folder:
        run("bash", "-euc", "\n".join(made), cwd=folder, quiet=True)
        shutil.copy(ROOT / "compose.yaml", folder)
        document = yaml.safe_load(run("podman-compose", "config", cwd=folder, quiet=True))
        for secret in document["secrets"].values():
            require((Path(folder) / secret["file"]).stat().st_mode & 0o777 == 0o644, f"the user of a container cannot read {secret['file']}")
        password = (Path(folder) / "secrets/postgres-password").read_text()
        require(len(password) == 32 and password in (Path(folder) / "secrets/database-url").read_text(), "the URL has another password")
    passed("compose: run up to `docker compose up`, which podman-compose reads")


def helm(commands, folder):
    words = shlex.split(commands.replace("\\\n", " "), comments=True)
    settings = [words[number + 1].split("=", 1) for number, word in enumerate(words) if word == "--set"]
    values = {}
    for name, value in settings:
        inner = values
        *outer, last = name.split(".")
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    with Chart.load(sole(folder, "*.tgz")) as chart:
        rendered = "\n".join(chart.render(values, name="proposals", namespace="default").values())
    for secret in re.findall(r"create secret generic (\S+)", commands):
        if f'secretName: "{secret}"' not in rendered:
            raise Wrong(f"the chart does not use the secret {secret}")
    passed("helm: the packaged chart renders with these values, and uses these secrets")
