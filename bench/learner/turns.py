#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs by turns and compares them with the last one named.
    turns.py KEY ROUNDS COMMAND… [-- COMMAND…]…     KEY: the figure, such as updates_per_second
A program prints its figures as JSON lines, or writes them into the file that stands for JSON_FILE in its command, as
`vixen bench` does. Those of one program are told apart by their field `case`, where they have one. A program that fails, or is not done within three
minutes, is named and left out from then on; exit code 1 where it is the last one."""
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

LIMIT_S = 180


def commands_of(arguments):
    found = [[]]
    for argument in arguments:
        if argument == "--":
            found.append([])
        else:
            found[-1].append(argument)
    return found


def figures_of(command, key):
    """Objects with that key; None, with a word about it, from a command that failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "figures.json")
        try:
            done = subprocess.run([str(file) if word == "JSON_FILE" else word for word in command],
                                  stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"left out: {error}", file=sys.stderr)
            return None
        if not file.exists():
            return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        lists = [value for value in json.loads(file.read_text()).values() if isinstance(value, list)]
        return [figure for figures in lists for figure in figures if key in figure]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    key, rounds, commands = sys.argv[1], int(sys.argv[2]), commands_of(sys.argv[3:])
    figures = collections.defaultdict(list)
    for _ in range(rounds):
        for command in list(commands):
            results = figures_of(command, key)
            if results is None:
                if command is commands[-1]:
                    sys.exit(1)
                commands.remove(command)
            for result in results or []:
                figures[result.get("case", ""), result["program"]].append(result[key])
    cases = list(dict.fromkeys(case for case, _ in figures))
    for case in cases:
        programs = [program for of_case, program in figures if of_case == case]
        last = figures[case, programs[-1]]
        for program in programs:
            values = figures[case, program]
            ratio = statistics.median(ours / theirs for ours, theirs in zip(values, last))
            print(f"{case:14} {program:28} {key} {statistics.median(values):12.1f} "
                  f"({min(values):.1f} … {max(values):.1f})  {ratio:6.2f} × {programs[-1]}")


if __name__ == "__main__":
    main()
