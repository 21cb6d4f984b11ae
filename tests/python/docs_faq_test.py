# SPDX-License-Identifier: Apache-2.0
"""Every error that docs/faq.md quotes is one that a program of ours can say."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from processes import BIN, SOURCE


def quotes(text):
    """The quoted texts of the definition lists' terms, but for those said to be somebody else's."""
    lines = text.splitlines()
    for term, definition in zip(lines, lines[1:]):
        if definition.startswith(": ") and "(" not in re.sub(r"`[^`]*`", "", term):
            yield from re.findall(r"`([^`]+)`", term)


def fragments(quote):
    """What stands between the varying parts, without the ends of names."""
    return [part.strip() for part in quote.split("…") if len(part.strip()) >= 8]


class Faq(unittest.TestCase):
    def test_quotes_texts_that_the_programs_hold(self):
        programs = [name for name in ("vixen", "vixen-actor", "vixen-learner") if (BIN / name).exists()]
        held = b"\n".join((BIN / name).read_bytes() for name in programs)
        # Adjacent literals of the Python sources are one text.
        python = "\n".join(path.read_text() for path in sorted((SOURCE / "python").rglob("*.py")))
        held += re.sub(r'"\s*\n\s*f?"', "", re.sub(r"\{[^{}]*\}", "…", python)).encode()
        found = list(quotes((SOURCE / "docs/faq.md").read_text()))
        self.assertGreater(len(found), 25)
        for quote in found:
            parts = fragments(quote)
            self.assertTrue(parts, f"`{quote}` quotes nothing but varying parts")
            for part in parts:
                with self.subTest(quote):
                    self.assertTrue(part.encode() in held, f"no program says: {part}")


if __name__ == "__main__":
    unittest.main()
