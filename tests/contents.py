"""Measures transfers of contents against nginx and cp, as ratios in one run, and the memory of many transfers.

    python3 tests/contents.py BINARY [FOLDER] [S3_URL]

BINARY is that of a release, FOLDER a place on the disk to measure. Needs curl, and nginx for the ratio of downloads. With
S3_URL, such as tests/s3.py prints, contents lie in that bucket.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

SIZE = 1 << 30
ROUNDS = 5
# The transfers at once, each way: their number, and the bytes of each.
AT_ONCE = {"many": (64, 128 << 20), "huge": (1, 4 << 30)}

binary = sys.argv[1]
folder = Path(tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None)).resolve()
bucket = sys.argv[3:4]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(url):
    while True:
        try:
            return urllib.request.urlopen(url).read()
        except OSError:
            time.sleep(0.1)


def start_service():
    port = free_port()
    arguments = ["serve", "--listen", f"127.0.0.1:{port}", "--database-url", f"sqlite://{folder}/proposals.db?mode=rwc"]
    if bucket:
        arguments += ["--contents", bucket[0]]
    process = subprocess.Popen([binary, *arguments], stderr=open(folder / "service.log", "w"))
    wait_for(f"http://127.0.0.1:{port}/readyz")
    return process, f"http://127.0.0.1:{port}"


def start_nginx():
    if not shutil.which("nginx"):
        return None, None
    port = free_port()
    (folder / "nginx.conf").write_text(
        # Workers of another user could not read the folder.
        f"{'user root; ' if os.geteuid() == 0 else ''}daemon off; pid {folder}/nginx.pid; error_log stderr error; events {{}} worker_processes 1; http {{ access_log off; sendfile on; "
        f"server {{ listen 127.0.0.1:{port}; root {folder}; }} }}"
    )
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)], stderr=subprocess.DEVNULL)
    wait_for(f"http://127.0.0.1:{port}/many")
    return process, f"http://127.0.0.1:{port}"


def create(api):
    request = urllib.request.Request(f"{api}/v1/files", b"{}", {"Content-Type": "application/json"})
    return api + "/v1/files/" + json.load(urllib.request.urlopen(request))["id"]


def curl(*arguments):
    # With the lowest priority: real clients take no processor of the server.
    return subprocess.Popen(["nice", "-n", "19", "curl", "--silent", "--show-error", "--fail", "--output", "/dev/null", *map(str, arguments)])


def seconds(command):
    begun = time.monotonic()
    assert command().wait() == 0
    return time.monotonic() - begun


def resident(process, name="VmRSS"):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(name)).split()[1]) / 1000


def put(item, file):
    return curl("--upload-file", file, "--header", "Content-Type: application/octet-stream", item + "/content")


def single_transfers(api, nginx):
    """The medians of ratios to the reference that ran next to each."""
    uploads, downloads = [], []
    for number in range(ROUNDS):
        file = folder / "large"
        with open(file, "wb") as large:
            # Other bytes in each round: the same ones are stored once.
            large.write(number.to_bytes(8, "big"))
            for _ in range(SIZE >> 20):
                large.write(os.urandom(1 << 20))
        copy = lambda: subprocess.Popen(["sh", "-c", f"cp {file} {folder}/copy && sync -f {folder}/copy"])
        reference = seconds(copy)
        item = create(api)
        uploads.append(reference / seconds(lambda: put(item, file)))
        if nginx:
            seconds(lambda: curl(f"{nginx}/large"))
            reference = seconds(lambda: curl(f"{nginx}/large"))
            seconds(lambda: curl(item + "/content"))
            downloads.append(reference / seconds(lambda: curl(item + "/content")))
        (folder / "copy").unlink()
    print(f"PUT of 1 GiB, speed in terms of cp && sync -f: {statistics.median(uploads):.2f} ({min(uploads):.2f} to {max(uploads):.2f})")
    if downloads:
        print(f"GET of 1 GiB, speed in terms of nginx: {statistics.median(downloads):.2f} ({min(downloads):.2f} to {max(downloads):.2f})")


def reads_per_second(item, duration):
    """Sequential reads of an item on one connection."""
    import http.client

    host = item.split("/")[2]
    connection = http.client.HTTPConnection(host)
    path = item.split(host)[1]
    count, end = 0, time.monotonic() + duration
    while time.monotonic() < end:
        connection.request("GET", path)
        connection.getresponse().read()
        count += 1
    return count / duration


def many_transfers(service, api):
    item = create(api)
    idle = reads_per_second(item, 5)
    transfers = []
    for name, (number, size) in AT_ONCE.items():
        stored = create(api)
        assert put(stored, folder / name).wait() == 0
        transfers += [(put, create(api), folder / name)] * number
        # The downloads last as long as the uploads.
        transfers += [(curl, "--limit-rate", size // 6, stored + "/content")] * number
    transfers = [start(*arguments) for start, *arguments in transfers]
    peak, is_over = [0.0], threading.Event()

    def watch():
        while not is_over.wait(0.05):
            peak[0] = max(peak[0], resident(service))

    watcher = threading.Thread(target=watch)
    watcher.start()
    busy = reads_per_second(item, 5)
    assert all(transfer.wait() == 0 for transfer in transfers)
    is_over.set()
    watcher.join()
    print(f"64 transfers of 128 MiB and one of 4 GiB each way at once: {peak[0]:.0f} MB resident at the peak")
    print(f"reads of an item meanwhile, in terms of idle: {busy / idle:.2f}")


def main():
    for name, (_, size) in AT_ONCE.items():
        with open(folder / name, "wb") as file:
            for _ in range(min(size, 128 << 20) >> 20):
                file.write(os.urandom(1 << 20))
            file.truncate(size)
    service, api = start_service()
    server, nginx = start_nginx()
    try:
        single_transfers(api, nginx)
        many_transfers(service, api)
    finally:
        for process in filter(None, (service, server)):
            process.terminate()
            process.wait()
        shutil.rmtree(folder)


main()
