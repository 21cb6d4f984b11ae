# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the real binaries for the integration tests. Standard library only."""
import json
import os
import pathlib
import signal
import subprocess
import time
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
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
        for line in text.splitlines():
            if line.startswith(name):
                return float(line.rsplit(" ", 1)[1])
        return None

    def terminate(self, seconds=40):
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
