"""The image: the same twice, from scratch, and it runs as its user on a root that cannot be written."""

import json
import re
import subprocess
import tarfile
import time
import urllib.request

from tools import BINARY, PACKAGING, ROOT, WORK, Wrong, fresh, passed, require, run, version

MOST_MEGABYTES = 30


def build(storage):
    return run(PACKAGING / "image/build", "--binary", BINARY, "--storage", storage, quiet=True).splitlines()[-1]


def check():
    for number in "12":
        clear(WORK / f"buildah-{number}")
    digests = [build(WORK / f"buildah-{number}") for number in "12"]
    require(digests[0] == digests[1], f"built twice, it differs: {digests}")
    passed(f"buildah: {digests[0]} twice")
    clear(WORK / "buildah-2")
    content()
    runs(WORK / "buildah-1")
    clear(WORK / "buildah-1")


def clear(storage):
    run("rm", "--recursive", "--force", storage, f"{storage}-run", quiet=True)


def blob(digest):
    return WORK / "image/blobs/sha256" / digest.removeprefix("sha256:")


def content():
    layout = WORK / "image"
    manifest = json.loads(blob(json.loads((layout / "index.json").read_text())["manifests"][0]["digest"]).read_text())
    config = json.loads(blob(manifest["config"]["digest"]).read_text())
    require(len(manifest["layers"]) == 1, "it has more than one layer")
    size = manifest["layers"][0]["size"] / 1e6
    require(size < MOST_MEGABYTES, f"it has {size:.0f} MB")
    settings = config["config"]
    require(settings["User"] == "65532:65532", f"its user is {settings['User']}")
    require(settings["Entrypoint"] == ["/usr/bin/proposal-service"] and settings["Cmd"] == ["serve"], f"it starts {settings}")
    with tarfile.open(blob(manifest["layers"][0]["digest"])) as layer:
        members = {member.name.lstrip("./"): member for member in layer}
    for name in ("usr/bin/proposal-service", "lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/libc.so.6",
                 "etc/ssl/certs/ca-certificates.crt", "usr/share/zoneinfo/Asia/Manila", "usr/share/doc/libc6/copyright"):
        require(name in members, f"it lacks {name}")
    programs = [name for name, member in members.items() if member.isfile() and member.mode & 0o111 and not name.endswith((".so.6", ".so.1", ".so.2"))]
    require(programs == ["usr/bin/proposal-service"], f"it has other programs: {programs}")
    privileged = [name for name, member in members.items() if member.mode & 0o6000]
    require(not privileged, f"it has files with the privileges of their owner: {privileged}")
    owned = [name for name, member in members.items() if member.uid == 65532]
    require(owned == ["data"], f"its user owns {owned}")
    passed(f"one layer of {size:.1f} MB, {len(members)} files, one program, user {settings['User']}")


def runs(storage):
    buildah = ["buildah", "--root", storage, "--runroot", f"{storage}-run", "--storage-driver", "vfs"]
    container = run(*buildah, "from", "--pull-never", "localhost/proposal-service", quiet=True).strip()
    # Without namespaces, which this machine may not give; the user and the files are the image's.
    inside = [*buildah, "run", "--isolation", "chroot", container, "--", "/usr/bin/proposal-service"]
    require(version() in run(*inside, "--version", quiet=True), "it does not tell its version")
    refused = run(*inside, "serve", expect=2, quiet=True)
    require("--allow-anonymous" in refused, f"it serves everybody: {refused}")
    passed("it starts as 65532, and refuses to serve everybody unasked")
    service = subprocess.Popen([*inside, "serve", "--allow-anonymous", "--listen", "127.0.0.1:0", "--time-zone", "Asia/Manila"],
                               stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        for line in service.stderr:
            if "listening on" in line:
                break
            if time.monotonic() > deadline:
                raise Wrong("it does not start")
        else:
            raise Wrong("it ends at once")
        address = re.search(r"http://([\d.]+:\d+)", line)[1]
        with urllib.request.urlopen(f"http://{address}/readyz", timeout=20) as answer:
            require(answer.status == 200, f"/readyz is {answer.status}")
        passed("it serves an SQLite file in its volume: /readyz is 200")
    finally:
        stop(service)
        run(*buildah, "rm", container, quiet=True)


def stop(process):
    """Ends a process and all that it started, by their ids."""
    ids, found = [process.pid], 0
    while found < len(ids):
        children = subprocess.run(["ps", "--ppid", str(ids[found]), "-o", "pid="], capture_output=True, text=True, check=False).stdout
        ids += [int(child) for child in children.split()]
        found += 1
    for one in reversed(ids):
        subprocess.run(["kill", str(one)], check=False, stderr=subprocess.DEVNULL)
    process.communicate(timeout=60)
