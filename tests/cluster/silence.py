"""A network between an instance and PostgreSQL that can fall silent: nothing is delivered, and nothing is reset."""

import selectors
import socket
import threading


class Network:
    """Passes connections on to one address, until it is silent; what was sent then arrives when it has healed."""

    def __init__(self, target):
        host, port = target.split(":")
        self.target = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.delivers = threading.Event()
        self.delivers.set()
        threading.Thread(target=self.accept, daemon=True).start()

    def fall_silent(self):
        self.delivers.clear()

    def heal(self):
        self.delivers.set()

    def close(self):
        self.listener.close()
        self.heal()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=[client], daemon=True).start()

    def pass_on(self, client):
        self.delivers.wait()
        with client:
            try:
                server = socket.create_connection(self.target, timeout=5)
            except OSError:
                return
            with server, selectors.DefaultSelector() as ready:
                server.settimeout(None)
                ready.register(client, selectors.EVENT_READ, server)
                ready.register(server, selectors.EVENT_READ, client)
                try:
                    self.copy(ready)
                except OSError:
                    return

    def copy(self, ready):
        """Copies until either end closes: an end that is half closed says nothing more in PostgreSQL's protocol."""
        while True:
            for key, _ in ready.select():
                self.delivers.wait()
                data = key.fileobj.recv(65536)
                if not data:
                    return
                self.delivers.wait()
                key.data.sendall(data)
