# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the documents as a reader would type them.

A block fenced as ```sh run is run; every other ```sh block of a listed document must be fenced ```sh norun with a
reason on the line above it (<!-- not run: … -->). The blocks of one document run in order, in one bash with `set -euo
pipefail`, in a scratch folder that looks like a checkout: what stands in the tree is there, build/release/bin holds the
binaries under test, VIXEN_BIN_DIR keeps scripts from building. `git clone`, `cd vixen` and `scripts/build.sh` are what
got us there and are left out; `python3` is this interpreter. Each 127.0.0.1:PORT other than port 0 becomes a free port,
the same for all uses of it in a document.
"""
import dataclasses
import datetime
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from processes import BIN, SOURCE, free_port

FENCE = re.compile(r"^```(\S*)[ \t]*(.*)$")
LEFT_OUT = re.compile(r"^(git clone .*|cd vixen|(\./)?scripts/build\.sh( release)?)$")
COPIED = ("scripts", "config", "python", "examples")  # small, and commands may write beside their files


@dataclasses.dataclass
class Document:
    path: str
    prepare: "callable" = lambda folder: None  # puts the reader's own files into the scratch folder
    instead: tuple = ()  # (text, shorter text): each must occur, so that a changed document is noticed
    seconds: int = 240
    files: tuple = ()  # what must be there and not empty at the end


def own_bars(folder):
    """my.csv: hourly bars of a reader, about a quarter of a year."""
    generator = random.Random(7)
    price, time = 100.0, 1704067200
    with open(folder / "my.csv", "w") as file:
        file.write("time,open,high,low,close,volume\n")
        for _ in range(2200):
            opened = price
            price *= 1 + generator.gauss(0, 0.003)
            high = max(opened, price) * (1 + abs(generator.gauss(0, 0.001)))
            low = min(opened, price) * (1 - abs(generator.gauss(0, 0.001)))
            file.write(f"{time},{opened:.4f},{high:.4f},{low:.4f},{price:.4f},{generator.randint(1, 900)}\n")
            time += 3600


def bars_to_import(folder):
    """What docs/import.md takes for granted: two months of hours, minutes of two instruments, a split."""
    def rows(begin, count, seconds, format_time):
        generator, price = random.Random(begin), 100.0
        for row in range(count):
            opened, price = price, price * (1 + generator.gauss(0, 0.001))
            yield (f"{format_time(begin + row * seconds)},{opened:.4f},{max(opened, price) + .1:.4f},"
                   f"{min(opened, price) - .1:.4f},{price:.4f},{generator.randint(1, 900)}")

    clock = lambda zone: lambda second: datetime.datetime.fromtimestamp(second, zone).strftime("%Y-%m-%d %H:%M:%S")
    utc = clock(datetime.timezone.utc)
    header = "time,open,high,low,close,volume\n"
    for name, begin in (("january", 1704067200), ("february", 1706745600)):
        (folder / f"{name}.csv").write_text(header + "\n".join(rows(begin, 600, 3600, utc)) + "\n")
    minutes = [f"{name},{row}" for name in ("AAA", "BBB") for day in range(2, 5)
               for row in rows(1704205800 + (day - 2) * 86400, 390, 60, lambda second: utc(second) + "Z")]
    (folder / "minutes.csv").write_text("symbol," + header + "\n".join(minutes) + "\n")
    (folder / "splits.csv").write_text("date,symbol,split\n2024-01-03,AAA,2:1\n")


def own_environment(folder):
    """A copy of this interpreter's virtual environment as the reader's `venv`."""
    if sys.prefix == sys.base_prefix:
        raise unittest.SkipTest(f"{sys.executable} is in no virtual environment; scripts/python_env.sh makes one")
    shutil.copytree(sys.prefix, folder / "venv", symlinks=True)


DOCUMENTS = [
    Document("README.md", own_bars, instead=(("--data my.csv --tz UTC", "--data my.csv --tz UTC --minutes 0.1"),),
             files=("out/demo/report.html",)),
    Document("docs/import.md", bars_to_import, files=("sessions.safetensors", "own.safetensors")),
    Document("docs/guide-quant.md", own_bars, instead=(("--minutes 10", "--minutes 0.1"),),
             files=("out/demo/report.html", "report.html", "trades.csv", "comparison.html")),
    Document("docs/guide-ml.md", own_environment,
             instead=(("python3 -m venv venv", "test -x venv/bin/python3"),  # with what pip would fetch in it
                      ("pip install './python[offline]'", "pip install -q --no-deps --no-index --no-build-isolation ./python")),
             files=("sets/b2-random-v0/data/main_data.hdf5", "recorded", "mine.textproto")),
    Document("docs/guide-platform.md", files=("run/weights.safetensors", "actor.log")),
]


def blocks(text):
    """(first line's number, info string, lines) of each fenced block."""
    found, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if current is None and fence:
            current = (number, f"{fence[1]} {fence[2]}".strip(), [])
        elif current is not None and line.startswith("```"):
            found.append(current)
            current = None
        elif current is not None:
            current[2].append(line)
    if current is not None:
        raise AssertionError(f"the block at line {current[0]} is never closed")
    return found


def script_of(document, text):
    """The bash script of a document's blocks marked `run`; each block says its line before it runs."""
    lines = text.splitlines()
    script = ["set -euo pipefail", "trap 'jobs -p | xargs -r kill 2>/dev/null || true' EXIT"]
    for number, info, commands in blocks(text):
        if not re.match(r"(sh|bash|console|shell)\b", info):
            continue
        if info == "sh norun":
            if not re.match(r"<!-- not run: .+ -->$", lines[number - 2]):
                raise AssertionError(f"{document.path}:{number}: no <!-- not run: reason --> above the block")
            continue
        if info != "sh run":
            raise AssertionError(f"{document.path}:{number}: fenced as '{info}'; mark it `sh run` or `sh norun`")
        script.append(f"echo '== {document.path}:{number}'")
        script += [line for line in commands if not LEFT_OUT.match(re.sub(r"\s+#.*$", "", line).strip())]
    joined = "\n".join(script)
    for old, new in document.instead:
        if old not in joined:
            raise AssertionError(f"{document.path}: '{old}' does not occur in a command any more")
        joined = joined.replace(old, new)
    address = re.compile(r"127\.0\.0\.1:([1-9]\d*)")
    ports = {port: free_port() for port in sorted(set(address.findall(joined)))}
    return address.sub(lambda match: f"127.0.0.1:{ports[match[1]]}", joined) + "\n"


def make_checkout(folder):
    for entry in SOURCE.iterdir():
        if entry.name in (".git", "build", "out"):
            continue
        if entry.name in COPIED:
            shutil.copytree(entry, folder / entry.name)
        else:
            (folder / entry.name).symlink_to(entry)
    (folder / "build/release").mkdir(parents=True)
    (folder / "build/release/bin").symlink_to(BIN)


def others():
    """Every other document of the tree: its commands may only be ones that are not run, with a reason."""
    listed = {document.path for document in DOCUMENTS}
    for folder in (".", "docs", "python", "bench", "deploy", "docker", "data", "examples"):
        found = (SOURCE / folder).glob("*.md") if folder == "." else (SOURCE / folder).rglob("*.md")
        for path in sorted(found):
            if str(path.relative_to(SOURCE)) not in listed:
                yield path


class DocumentedCommands(unittest.TestCase):
    def test_none_stands_in_a_document_that_is_not_listed(self):
        for path in others():
            document = Document(str(path.relative_to(SOURCE)))
            with self.subTest(document.path):
                self.assertNotIn("echo '== ", script_of(document, path.read_text()), "add it to DOCUMENTS")

    def run_document(self, document):
        script = script_of(document, (SOURCE / document.path).read_text())
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            make_checkout(folder)
            document.prepare(folder)
            path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
            with open(folder / "output.log", "w+") as log:
                child = subprocess.Popen(["bash", "-c", script], cwd=folder, stdout=log, stderr=subprocess.STDOUT,
                                         stdin=subprocess.DEVNULL, start_new_session=True,
                                         env={**os.environ, "PATH": path, "VIXEN_BIN_DIR": str(BIN)})
                try:
                    code = child.wait(timeout=document.seconds)
                except subprocess.TimeoutExpired:
                    code = f"no end within {document.seconds} s"
                finally:
                    try:
                        os.killpg(child.pid, signal.SIGKILL)  # what a document left running
                    except ProcessLookupError:
                        pass
                    child.wait()
                log.seek(0)
                output = log.read()
            self.assertEqual(code, 0, f"{document.path}:\n{script}\n{output[-4000:]}")
            for wanted in document.files:
                file = folder / wanted
                self.assertTrue(file.exists() and file.stat().st_size > 0, f"{document.path} left no {wanted}")

    def test_every_command_of_the_listed_documents_runs(self):
        chosen = os.environ.get("VIXEN_DOCUMENTS", "").split()
        for document in DOCUMENTS:
            if chosen and document.path not in chosen:
                continue
            with self.subTest(document.path):
                self.run_document(document)


class TheRunnerItself(unittest.TestCase):
    def script(self, text, **more):
        return script_of(Document("x.md", **more), text)

    def test_takes_the_marked_blocks_in_order(self):
        text = "```sh run\nvixen a\n```\ntext\n```json\n{}\n```\n<!-- not run: no GPU -->\n```sh norun\nb\n```\n```sh run\nc\n```\n"
        self.assertRegex(self.script(text), r"(?s)x\.md:1'\nvixen a\n.*x\.md:12'\nc\n")
        self.assertNotIn("\nb\n", self.script(text))

    def test_refuses_a_block_that_nobody_decided_about(self):
        with self.assertRaisesRegex(AssertionError, "x.md:1: fenced as 'sh'"):
            self.script("```sh\na\n```\n")
        with self.assertRaisesRegex(AssertionError, "no <!-- not run"):
            self.script("\n```sh norun\na\n```\n")

    def test_refuses_a_shortening_that_does_not_occur(self):
        with self.assertRaisesRegex(AssertionError, "--minutes 10"):
            self.script("```sh run\na\n```\n", instead=(("--minutes 10", "--minutes 1"),))

    def test_gives_each_port_a_free_one_and_leaves_port_0(self):
        script = self.script("```sh run\na 127.0.0.1:50051 127.0.0.1:0\nb 127.0.0.1:50051 127.0.0.1:9090\n```\n")
        first, second, third = re.findall(r"127\.0\.0\.1:([1-9]\d+)", script)
        self.assertEqual(first, second)
        self.assertNotEqual(first, third)
        self.assertIn("127.0.0.1:0\n", script)

    def test_leaves_out_what_got_the_reader_here(self):
        script = self.script("```sh run\ngit clone URL vixen\ncd vixen\n./scripts/build.sh   # once\nls\n```\n")
        self.assertNotRegex(script, "clone|cd vixen|build.sh")
        self.assertIn("\nls\n", script)

    def test_sees_a_failing_command(self):
        with tempfile.TemporaryDirectory() as name:
            code = subprocess.run(["bash", "-c", self.script("```sh run\nfalse\ntrue\n```\n")], cwd=name,
                                  stdout=subprocess.DEVNULL).returncode
        self.assertNotEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
