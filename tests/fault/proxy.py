# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy on loopback whose faults are switched while connections live. Standard library only."""
import socket
import struct
import threading
import time

UP, DOWN = "up", "down"  # client to server, server to client
_PIECE = 1 << 16


class _Link:
    """One client connection and its way to the server: a thread for each direction."""

    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, client
        self.server = socket.create_connection(("127.0.0.1", proxy.target), timeout=10)
        self.server.settimeout(None)
        for source, sink, way in ((client, self.server, UP), (self.server, client, DOWN)):
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pump, args=(source, sink, way), daemon=True).start()

    def _pump(self, source, sink, way):
        proxy = self.proxy
        try:
            while True:
                proxy.flows[way].wait()
                data = source.recv(_PIECE)
                proxy.flows[way].wait()
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                if proxy.delay_seconds:
                    time.sleep(proxy.delay_seconds)
                if way in proxy.swallowed:
                    continue
                data, reset = proxy.count(way, data)
                sink.sendall(data)
                if reset:
                    self.reset()
                    return
        except OSError:
            self.reset()

    def reset(self):
        """Both sides see RST instead of an orderly end."""
        for end in (self.client, self.server):
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RD)  # wakes the thread that reads from it
            except OSError:
                pass
            end.close()


class Proxy:
    def __init__(self, target_port):
        self.target = target_port
        self.delay_seconds = 0.0
        self.swallowed = set()
        self.refusing = False
        self.flows = {UP: threading.Event(), DOWN: threading.Event()}
        self._reset_after = {}
        self._lock = threading.Lock()
        self._links = []
        self.heal()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            try:
                link = _Link(self, client)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._links.append(link)

    def count(self, way, data):
        """What of `data` still passes, and whether the connection is to be reset after it."""
        with self._lock:
            left = self._reset_after.get(way)
            if left is None:
                return data, False
            if len(data) < left:
                self._reset_after[way] = left - len(data)
                return data, False
            del self._reset_after[way]
            return data[:left], True

    def reset_after(self, way, size):
        """Resets the connection on which byte `size` from now on passes, right behind that byte."""
        with self._lock:
            self._reset_after[way] = size

    def swallow(self, *ways):
        """The connection stays open, but these bytes never arrive: a cable pulled, a half-open peer."""
        self.swallowed = set(ways)

    def hold(self, *ways):
        """Nothing is read any more, so that the sender's window closes: a frozen peer."""
        for way in ways:
            self.flows[way].clear()

    def heal(self):
        self.delay_seconds = 0.0
        self.swallowed = set()
        self.refusing = False
        for flow in self.flows.values():
            flow.set()

    def cut(self):
        """Resets every connection; new ones are taken unless `refusing`."""
        with self._lock:
            links, self._links = self._links, []
        for link in links:
            link.reset()

    def close(self):
        self.heal()
        self._listener.close()
        self.cut()
