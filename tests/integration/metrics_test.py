# SPDX-License-Identifier: Apache-2.0
"""docs/metrics.md against what both processes export, and Prometheus' own checks of it."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "fault")]
from processes import SOURCE, Process, wait_for  # noqa: E402
from world import World  # noqa: E402

ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|([^|]+)\|([^|]*)\|([^|]+)\|")
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def table():
    """name → (type, where, labels) of docs/metrics.md."""
    rows = {}
    for line in (SOURCE / "docs/metrics.md").read_text().splitlines():
        if match := ROW.match(line):
            name, kind, where, labels, _ = (part.strip() for part in match.groups())
            assert name not in rows, f"{name} stands twice in docs/metrics.md"
            rows[name] = (kind, where, frozenset(filter(None, labels.split(", "))))
    return rows


def scrape(port):
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read().decode()


def families(text):
    """name → (type, label names of each sample, help) of a scrape."""
    kinds, helps, samples = {}, {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds, f"{name} is announced twice"
            kinds[name] = kind
        elif line.startswith("# HELP "):
            helps[line.split(" ")[2]] = line.split(" ", 3)[3]
        elif line:
            match = SAMPLE.match(line)
            assert match, line
            name, labels, value = match.groups()
            float(value)
            if kinds.get(base := re.sub("_(bucket|sum|count)$", "", name)) == "histogram":
                name = base
            names = frozenset(key for key, _ in LABEL.findall(labels or "")) - {"le"}
            samples.setdefault(name, []).append(names)
    return {name: (kind, samples.get(name, []), helps[name]) for name, kind in kinds.items()}


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.world = World(cls.folder.name, curiosity_max=0.1, curiosity_hidden=16)
        cls.world.start_actor()
        cls.learner = cls.world.start_learner(checkpoint_seconds=1, checkpoint_keep=1)
        port = cls.learner.ports()[0]
        cls.learner.wait_for(lambda: (cls.learner.metric(port, 'vixen_checkpoints_total{result="written"}') or 0) >= 1
                             and (cls.learner.metric(port, "vixen_learner_updates_total") or 0) > 50, "a checkpoint")
        cls.scrapes = {"A": scrape(cls.world.metrics_port), "L": scrape(port), "TLS": cls.scrape_with_tls()}

    @classmethod
    def scrape_with_tls(cls):
        certs = pathlib.Path(cls.folder.name, "certs")
        subprocess.run([SOURCE / "scripts/dev-certs.sh", certs, "localhost"], check=True, capture_output=True)
        actor = Process(cls.folder.name, "tls", "vixen-actor", "--dataset", cls.world.dataset, "--listen", "127.0.0.1:0",
                        "--metrics_listen", "127.0.0.1:0", "--tls_certificate", certs / "actor.pem", "--tls_key",
                        certs / "actor.key", "--tls_ca", certs / "ca.pem", "--episodes", 4, "--steps", 8)
        try:
            return scrape(actor.ports()[1])
        finally:
            actor.kill()

    @classmethod
    def tearDownClass(cls):
        cls.world.close()
        cls.folder.cleanup()

    def test_every_exported_metric_stands_in_the_table_with_its_type_and_labels(self):
        rows = table()
        for letter, text in self.scrapes.items():
            letter = letter.replace("TLS", "A")
            for name, (kind, samples, _) in families(text).items():
                self.assertIn(name, rows, f"exported by {letter}, not in docs/metrics.md")
                self.assertEqual(rows[name][0], kind, name)
                self.assertIn(letter, rows[name][1].split(",")[0].split(), name)
                for labels in samples:
                    self.assertEqual(labels, rows[name][2], name)

    def test_every_metric_of_the_table_is_exported(self):
        for name, (_, where, _) in table().items():
            letters, _, needs = (part.strip() for part in where.partition(","))
            if needs == "GPU":
                continue
            self.assertIn(needs, ("", "TLS"), name)
            for letter in [needs] if needs else letters.split():
                self.assertTrue(families(self.scrapes[letter]).get(name, (0, []))[1], f"{name} is not exported by {letter}")

    def test_the_metrics_of_a_gpu_are_those_that_the_table_marks_so(self):
        source = (SOURCE / "server/metrics/gpu_collector.cc").read_text()
        marked = {name for name, (_, where, _) in table().items() if where.endswith(", GPU")}
        self.assertEqual(set(re.findall(r'"(vixen_gpu_\w+)"', source)), marked)

    def test_one_name_means_one_thing_in_both(self):
        actor, learner = families(self.scrapes["A"]), families(self.scrapes["L"])
        for name in actor.keys() & learner.keys():
            self.assertEqual(actor[name][0], learner[name][0], name)
            self.assertEqual(set(actor[name][1]), set(learner[name][1]), name)

    def test_prometheus_finds_nothing_to_complain_of(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not here (Debian's prometheus)")
        for text in self.scrapes.values():
            done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_activities_of_a_thread_fill_its_time(self):
        # `sending` is no activity of the collector thread.
        for port, name, apart in ((self.world.metrics_port, "vixen_actor_activity_seconds_total", '"sending"'),
                                  (self.learner.ports()[0], "vixen_learner_activity_seconds_total", "none")):
            spent = lambda: sum(float(line.rsplit(" ", 1)[1]) for line in scrape(port).splitlines()
                                if line.startswith(name) and apart not in line)

            def told(least):
                """(between these two times, so much had been told), once that is more than `least`."""
                def look():
                    begin, seconds = time.monotonic(), spent()
                    return (begin, time.monotonic(), seconds) if seconds > least else None
                return wait_for(look, f"{name} above {least}")
            # The collector thread tells of a wait when it is over, at the latest after a second: from one such moment on.
            begin, after_begin, before = told(spent())
            end, after_end, total = told(before + 3)
            self.assertGreater(after_end - begin, total - before - 1.1, name)
            self.assertLess(end - after_begin, (total - before) * 8 / 3, name)


if __name__ == "__main__":
    unittest.main()
