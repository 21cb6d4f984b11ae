# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the real binaries for the integration tests. Standard library only."""
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

SOURCE = pathlib.Path(os.environ["VIXEN_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["VIXEN_BIN_DIR"])


def wait_for(condition, what, seconds=60.0):
    """Polls until `condition()` is truthy and returns its value; fails naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


_given = set()


def free_port():
    """Below the ports that the system gives out by itself: one that an actor gives up for a moment while it
    is killed must not be taken meanwhile by somebody's connection. Where there are none below, one of those.
    Never one that it gave before."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(max(1024, first - 12000), first)
    for port in random.SystemRandom().sample(ports, min(100, len(ports))):
        if port in _given:
            continue
        try:
            with socket.create_server(("127.0.0.1", port)):
                _given.add(port)
                return port
        except OSError:
            continue
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def flags(settings):
    """Settings by name as flags of a command line."""
    return [text for name, value in settings.items()
            for text in ((f"--{name}",) if value is True else (f"--{name}", str(value)))]


def vixen(*arguments, check=True):
    """Runs the command-line tool to its end; output as text."""
    done = subprocess.run([BIN / "vixen", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if check and done.returncode != 0:
        raise AssertionError(f"vixen {arguments[0]} ended with {done.returncode}: {done.stderr}")
    return done


class Process:
    """One running binary. stderr goes to a file, so that a full pipe never stops it."""

    def __init__(self, folder, name, program, *arguments, environment=None):
        self.ports_file = pathlib.Path(folder, f"{name}.ports")
        self.log = pathlib.Path(folder, f"{name}.log")
        self.ports_file.unlink(missing_ok=True)
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen([BIN / program, *map(str, arguments), "--port_file", str(self.ports_file)],
                                          stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                          env={**os.environ, **(environment or {})})

    def wait_for(self, condition, what, seconds=60.0):
        """As wait_for, but fails at once with the log when this process ends meanwhile."""
        def alive():
            value = condition()
            if not value and self.child.poll() is not None:
                raise AssertionError(f"ended with {self.child.returncode} before {what}: {self.log.read_text()}")
            return value
        return wait_for(alive, what, seconds)

    def ports(self):
        read = lambda: self.ports_file.exists() and self.ports_file.read_text().split()
        return [int(port) for port in self.wait_for(read, self.ports_file.name)]

    def metric(self, port, name):
        """The value of the first sample whose name (with labels) begins with `name`, or None."""
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read().decode()
        for line in text.splitlines():
            if line.startswith(name):
                return float(line.rsplit(" ", 1)[1])
        return None

    @contextlib.contextmanager
    def stopped(self):
        """Inside it the process does nothing: a place for what must not be seen half done."""
        self.child.send_signal(signal.SIGSTOP)
        state = lambda: pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()[0]
        try:
            self.wait_for(lambda: state() == "T", "the process to stop")
            yield
        finally:
            self.child.send_signal(signal.SIGCONT)

    def terminate(self, seconds=60):
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(timeout=seconds)

    def wait(self, seconds=240):
        return self.child.wait(timeout=seconds)

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()


def read_log(path):
    """The lines of a training log; a line still being written is left out."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


class WithProcesses(unittest.TestCase):
    """A folder with a dataset of bed b0, and processes that end with the test."""
    bars = 20000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.dataset = self.path / "b0.safetensors"
        vixen("synth", "b0", "--bars", self.bars, "--seed", 11, "--out", self.dataset)

    def start(self, name, program, *arguments, environment=None):
        process = Process(self.path, name, program, *arguments, environment=environment)
        self.addCleanup(process.kill)
        return process
