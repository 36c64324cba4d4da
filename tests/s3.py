"""An S3 server for tests: rclone on a folder, whose subfolders are the buckets.

    python3 tests/s3.py FOLDER        prints the port, and serves until standard input ends

The keys are `key` and `secret`. A proxy is in front of rclone, because rclone 1.75 answers a request for a part of an object
with status 200 instead of 206. While the file FOLDER/failing exists, each second request fails with 503 (SlowDown), as an S3
server does under load.
"""

import http.client
import itertools
import pathlib
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 256 * 1024
HOP_BY_HOP = {"connection", "expect", "keep-alive", "transfer-encoding"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start_rclone(folder):
    """rclone comes with the packages of this Python."""
    port = free_port()
    program = pathlib.Path(sys.executable).with_name("rclone")
    arguments = ["serve", "s3", "--auth-key", "key,secret", "--addr", f"127.0.0.1:{port}"]
    process = subprocess.Popen([program, *arguments, folder], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except OSError:
            time.sleep(0.02)


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = itertools.count()

    def setup(self):
        super().setup()
        self.server_side = http.client.HTTPConnection("127.0.0.1", self.server.rclone_port)

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
    rclone, port = start_rclone(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    # A killed service closes its connections.
    server.handle_error = lambda *_: None
    server.rclone_port, server.failing = port, folder / "failing"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    rclone.kill()


main()
