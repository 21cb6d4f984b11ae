# SPDX-License-Identifier: Apache-2.0
"""Commands, flags and files that the documents name inside a line are there, and every help has examples that are
commands. docs_commands_test.py runs what stands in blocks."""
import functools
import pathlib
import re
import subprocess
import unittest

from processes import BIN, SOURCE

PROGRAMS = ("vixen", "vixen-actor", "vixen-learner")
SPAN = re.compile(r"`([^`\n]+)`")
FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]*)")


def documents():
    folders = ("docs", "python", "bench", "deploy", "data")
    found = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md"]
    return found + sorted(path for folder in folders for path in (SOURCE / folder).rglob("*.md"))


def spans(text):
    """Inline code, without what stands in fenced blocks."""
    outside = re.sub(r"^```.*?^```[ \t]*$", "", text, flags=re.M | re.S)
    return [span.strip() for span in SPAN.findall(outside) if span.strip()]


@functools.cache
def help_of(*words):
    done = subprocess.run([BIN / words[0], *words[1:], "--help"], capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)} --help ended with {done.returncode}: {done.stderr}")
    return done.stdout


def flags(text):
    return {name.replace("-", "_") for name in FLAG.findall(text)}


def subcommands(*words):
    """Of a program or a command: the names that its help lists."""
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_of(*words), re.M)
    return re.findall(r"^  ([a-z][\w-]*)", listed[1], re.M) if listed else []


def command_of(words):
    """(the words that choose a command, the rest). `vixen config print --learner` has the learner's flags."""
    chosen, rest = [words[0]], list(words[1:])
    while rest and rest[0] in subcommands(*chosen):
        chosen.append(rest.pop(0))
    if chosen == ["vixen", "config", "print"] and "--learner" in rest:
        chosen.append("--learner")
    return chosen, rest


def leaves(*words):
    below = [path for name in subcommands(*words) for path in leaves(*words, name)]
    return below or [words]


@functools.cache
def known_flags():
    """Of all programs, scripts and benches; and the settings that no help lists (those of tests)."""
    known = set().union(*(flags(help_of(*path)) for program in PROGRAMS for path in leaves(program)))
    known |= flags(help_of("vixen", "config", "print", "--learner"))
    for folder, endings in (("scripts", ("sh", "py")), ("bench", ("sh", "py", "cc")), ("tests", ("sh", "py")),
                            ("python", ("py",))):
        for ending in endings:
            for path in (SOURCE / folder).rglob(f"*.{ending}"):
                if path.name != pathlib.Path(__file__).name:
                    known |= flags(path.read_text())
    for path in (SOURCE / "proto").rglob("*.proto"):
        known |= set(re.findall(r"^\s+(?:optional |repeated )?[\w.]+ (\w+) = \d+", path.read_text(), re.M))
    return known


class Names(unittest.TestCase):
    def check(self, span, place):
        words = span.split()
        program = words[0].rsplit("/", 1)[-1]
        if program in PROGRAMS:
            chosen, rest = command_of([program, *words[1:]])
            self.assertFalse(program == "vixen" and chosen == ["vixen"] and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]),
                             f"{place}: `{span}`: vixen has no command {rest[:1]}")
            # … stands for the rest of the command's name too.
            had = [flags(help_of(*path)) for path in (leaves(*chosen) if "…" in rest else [chosen])]
            for flag in flags(" ".join(rest)) - {"help", "version"}:
                self.assertTrue(any(flag in one for one in had) or ("plant" in flag and flag in known_flags()),
                                f"{place}: `{span}`: {' '.join(chosen)} has no --{flag}")
        elif re.fullmatch(r"(\./)?(scripts|bench|tests|config|docker|deploy)/[\w./-]+", words[0]):
            file = SOURCE / words[0]
            built = file.with_suffix(".cc")  # a program of the build
            self.assertTrue(file.exists() or built.exists() or re.search(r"[A-Z]{3}", words[0]),
                            f"{place}: `{span}`: there is no {words[0]}")
            own = span.split(" -- ")[0]  # what follows is another program's
            if file.is_file() and flags(own):
                self.assertLessEqual(flags(own), flags(file.read_text()), f"{place}: `{span}`")
        elif words[0].startswith("--"):
            unknown = flags(span) - known_flags()
            self.assertFalse(unknown, f"{place}: `{span}`: nothing has a flag {unknown}")

    def test_that_the_documents_use_are_those_of_the_programs(self):
        looked_at = 0
        for path in documents():
            for span in spans(path.read_text()):
                with self.subTest(span):
                    self.check(span, path.relative_to(SOURCE))
                looked_at += 1
        self.assertGreater(looked_at, 500)

    def test_are_told_from_others(self):
        for wrong in ("vixen improt csv", "vixen eval --wieghts w", "vixen-actor --episode 3", "scripts/none.sh",
                      "scripts/demo.sh --minuts 3", "--retain_batchs 3"):
            with self.subTest(wrong), self.assertRaises(AssertionError):
                self.check(wrong, "x.md")
        for right in ("vixen import csv a.csv --date-order mdy", "build/release/bin/vixen doctor", "scripts/demo.sh --minutes 1",
                      "vixen config print --learner --capacity 5", "--retain_batches 3", "vixen-learner --plant_reward_scale 500"):
            with self.subTest(right):
                self.check(right, "x.md")


class Help(unittest.TestCase):
    def test_of_every_command_has_examples_of_it_with_flags_that_it_has(self):
        paths = [path for program in PROGRAMS for path in leaves(program)]
        self.assertGreater(len(paths), 20)
        for path in paths:
            text = help_of(*path)
            with self.subTest(" ".join(path)):
                found = re.search(r"^Examples?:\n((?:  .*\n)+)", text, re.M)
                self.assertTrue(found, f"no example in {text}")
                lines = found[1].splitlines()
                wanted = " ".join(path)
                self.assertTrue(any(wanted in line for line in lines), lines)
                for line in lines:
                    command = re.search(rf"{wanted}\b(.*)", line)
                    if command:
                        self.assertLessEqual(flags(command[1]), flags(text), line)


if __name__ == "__main__":
    unittest.main()
