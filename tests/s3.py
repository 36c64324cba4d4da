"""An S3 server for tests, with one bucket: rclone, or Garage if TEST_GARAGE names its binary.

    python3 tests/s3.py FOLDER        prints the address of the bucket for --contents, and serves until standard input ends

Everything is in FOLDER. A proxy is in front of the server, because rclone 1.75 answers a request for a part of an object with
status 200 instead of 206. While the file FOLDER/failing exists, each second request fails with 503 (SlowDown), as an S3 server
does under load.
"""

import http.client
import itertools
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BUCKET = "bucket"
# Garage refuses shorter ones.
KEY, SECRET = "test-key", "test-secret-of-key"
# That of clients without a setting.
REGION = "us-east-1"
GARAGE = """
metadata_dir = "{folder}/garage/metadata"
data_dir = "{folder}/garage/data"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:0"
rpc_secret = "{rpc_secret}"
[s3_api]
api_bind_addr = "127.0.0.1:{port}"
s3_region = "{region}"
"""
PIECE = 256 * 1024
HOP_BY_HOP = {"connection", "expect", "keep-alive", "transfer-encoding"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def rclone(folder, port):
    """rclone comes with the packages of this Python. Subfolders are its buckets."""
    (folder / BUCKET).mkdir(exist_ok=True)
    program = pathlib.Path(sys.executable).with_name("rclone")
    return [program, "serve", "s3", "--auth-key", f"{KEY},{SECRET}", "--addr", f"127.0.0.1:{port}", folder]


def garage(folder, port):
    configuration = folder / "garage.toml"
    configuration.write_text(GARAGE.format(folder=folder.absolute(), port=port, region=REGION, rpc_secret=os.urandom(32).hex()))
    os.environ.update(GARAGE_DEFAULT_ACCESS_KEY=KEY, GARAGE_DEFAULT_SECRET_KEY=SECRET, GARAGE_DEFAULT_BUCKET=BUCKET)
    return [os.environ["TEST_GARAGE"], "-c", configuration, "server", "--single-node", "--default-bucket"]


def start(folder):
    port = free_port()
    command = (garage if "TEST_GARAGE" in os.environ else rclone)(folder, port)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except OSError:
            time.sleep(0.02)
    sys.exit(f"{command} ended with status {process.returncode}")


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise a small body waits 40 ms for the acknowledgement of its headers.
    disable_nagle_algorithm = True
    requests = itertools.count()

    def setup(self):
        super().setup()
        self.server_side = http.client.HTTPConnection("127.0.0.1", self.server.s3_port)

    def finish(self):
        self.server_side.close()
        super().finish()

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.failing.exists() and next(self.requests) % 2 == 0:
            slow_down = b"<Error><Code>SlowDown</Code></Error>"
            self.send_response(503)
            self.send_header("Content-Length", str(len(slow_down)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(slow_down)
            return
        self.server_side.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP_BY_HOP:
                self.server_side.putheader(name, value)
        self.server_side.endheaders(body)
        self.answer(self.server_side.getresponse())

    def answer(self, response):
        is_part = response.status == 200 and response.getheader("Content-Range")
        self.send_response_only(206 if is_part else response.status)
        whole = None
        if response.chunked:
            whole = response.read()
            self.send_header("Content-Length", str(len(whole)))
        for name, value in response.getheaders():
            # The checksum of a part is that of the whole object.
            if name.lower() not in HOP_BY_HOP and not (is_part and name.lower().startswith("x-amz-checksum")):
                self.send_header(name, value)
        self.end_headers()
        if whole is not None:
            self.wfile.write(whole)
        while piece := response.read(PIECE):
            self.wfile.write(piece)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward

    def log_message(self, *_):
        pass


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    process, port = start(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    # A killed service closes its connections.
    server.handle_error = lambda *_: None
    server.s3_port, server.failing = port, folder / "failing"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    print(f"s3://{BUCKET}?endpoint={endpoint}&region={REGION}&access_key_id={KEY}&secret_access_key={SECRET}", flush=True)
    sys.stdin.read()
    process.kill()


main()
