# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy on loopback whose faults are switched while connections live. Standard library only."""
import socket
import struct
import threading
import time

UP, DOWN = "up", "down"  # client to server, server to client
_PIECE = 1 << 16
_DATA, _PING, _ACK, _INTERNAL_ERROR = 0, 6, 1, 2  # of HTTP/2
_PREFACE_BYTES = 24            # in front of a client's first frame


def _reset_of(stream):
    """An HTTP/2 frame RST_STREAM."""
    return b"\0\0\4\3\0" + struct.pack(">II", stream, _INTERNAL_ERROR)


class _Frames:
    """Where the HTTP/2 frames of one direction end, piece by piece."""

    def __init__(self, preface):
        self.skip, self.head = preface, b""

    def ends(self, data):
        """(offset behind it, type, flags, stream) of each frame that ends in `data`."""
        at, found = 0, []
        while at < len(data):
            if self.skip > 0:
                step = min(self.skip, len(data) - at)
                self.skip -= step
                at += step
            else:
                take = data[at:at + 9 - len(self.head)]
                self.head += take
                at += len(take)
                if len(self.head) < 9:
                    break
                self.skip = int.from_bytes(self.head[:3], "big")
            if self.skip == 0 and len(self.head) == 9:
                found.append((at, self.head[3], self.head[4], int.from_bytes(self.head[5:], "big")))
                self.head = b""
        return found

    @property
    def between(self):
        """The last piece ended with a frame."""
        return self.skip == 0 and not self.head


class _Link:
    """One client connection and its way to the server: a thread for each direction."""

    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, client
        self.server = socket.create_connection(("127.0.0.1", proxy.target), timeout=10)
        self.server.settimeout(None)
        self.frames = {UP: _Frames(_PREFACE_BYTES), DOWN: _Frames(0)}
        self.begun = set()  # streams on which data came down
        self.sending = {UP: threading.Lock(), DOWN: threading.Lock()}
        self.waiting = b""  # goes up behind the frame that is being sent
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
                with self.sending[way]:
                    sink.sendall(self._with_resets(way, data))
                if reset:
                    self.reset()
                    return
        except OSError:
            self.reset()

    def _with_resets(self, way, data):
        """`data`, and where the proxy is to reset a stream, the frames that do so, one each way."""
        ends = self.frames[way].ends(data)
        if way == UP:
            self.proxy.answered_pings += sum(kind == _PING and flags & _ACK for _, kind, flags, _ in ends)
            if ends and self.waiting:
                at = ends[0][0]
                data, self.waiting = data[:at] + self.waiting + data[at:], b""
            return data
        cut = self.proxy.count_data(ends, self.begun)
        if cut is None:
            return data
        at, stream = cut
        with self.sending[UP]:
            if self.frames[UP].between:
                self.server.sendall(_reset_of(stream))
            else:
                self.waiting = _reset_of(stream)
        return data[:at] + _reset_of(stream) + data[at:]

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
        self.answered_pings = 0  # of the server's, on every connection
        self.flows = {UP: threading.Event(), DOWN: threading.Event()}
        self._reset_after = {}
        self._reset_stream_after, self._reset_unary = 0, False
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

    def count_data(self, ends, begun):
        """(offset, stream) of the frame behind which a stream is to be reset, or None."""
        cut = None
        with self._lock:
            for at, kind, _, stream in ends:
                if kind != _DATA:
                    continue
                unary = stream not in begun
                begun.add(stream)
                if self._reset_stream_after > 0 and unary == self._reset_unary:
                    self._reset_stream_after -= 1
                    if self._reset_stream_after == 0:
                        cut = at, stream
        return cut

    def reset_stream_after(self, frames, unary=False):
        """The HTTP/2 stream whose data come `frames`-th from now on is reset at both ends, as a proxy of HTTP/2
        does; its connection and other streams live on. Data that follow others of their stream are counted, or
        (`unary`) each stream's first, which of a unary call are the answer."""
        with self._lock:
            self._reset_stream_after, self._reset_unary = frames, unary

    @property
    def connections(self):
        """Taken since the last cut."""
        with self._lock:
            return len(self._links)

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
