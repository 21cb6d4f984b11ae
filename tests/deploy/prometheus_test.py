# SPDX-License-Identifier: Apache-2.0
"""Debian's Prometheus scrapes real actors and learners: the pages are well-formed, every panel of the
dashboards has data, no alert fires while all is well, each fires with its cause and ends after it.

Each cause is one of a real process: killed, starved, cut off from its weights, with a certificate that ends, a
folder that cannot be written, a container whose memory limit was lowered; books that do not add up and a lost
GPU are the actor's own faults on purpose (`--fault`). NVML's families, which a machine without a card lacks, are
added to the page of a real actor on its way to Prometheus, so that panels and rules find their names.
"""
import json
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

from tools import DEPLOY, SOURCE, documents, need, skip, yaml
from prometheus import AlteredPage, Prometheus, quickened
from scene import Scene, free_port

try:
    import grpc
except ImportError as error:
    skip(error)

GPU_NAMES = sorted(set(re.findall(r'"(vixen_gpu_\w+)"', (SOURCE / "server/metrics/gpu_collector.cc").read_text())))
METRIC = re.compile(r"\b(?:vixen_\w+|process_\w+|up)\b")


def panels(name):
    board = json.loads((DEPLOY / f"grafana/{name}.json").read_text())
    return [(panel["title"], target["expr"].replace("$__rate_interval", "5s"))
            for panel in board["panels"] for target in panel.get("targets", [])]


def rules():
    return [rule for group in yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text())["groups"]
            for rule in group["rules"]]


class RealPrometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.scene = Scene(cls.folder.name)
        cls.addClassCleanup(cls.scene.close)
        cls.scene.start()
        cls.page = AlteredPage(cls.scene.metrics["actor"])
        cls.addClassCleanup(cls.page.close)
        cls.page.values = {f'{name}{{gpu="0"}}': 0 for name in GPU_NAMES}
        ports = cls.scene.metrics
        cls.prometheus = Prometheus(cls.folder.name, free_port(), {
            "vixen-actor": {"actor": ports["actor"], "tls-actor": ports["tls-actor"], "altered": cls.page.port},
            "vixen-learner": {"learner": ports["learner"], "tls-learner": ports["tls-learner"]}})
        cls.addClassCleanup(cls.prometheus.close)

    def wait(self, condition, what, seconds=120):
        return self.prometheus.wait_for(condition, what, seconds)

    def quiet(self, seconds=3.0):
        """No alert fires for so long."""
        since = [time.monotonic()]

        def still():
            if self.prometheus.firing():
                since[0] = time.monotonic()
            return time.monotonic() - since[0] > seconds
        try:
            self.wait(still, f"{seconds} s without an alert")
        except AssertionError as error:
            raise AssertionError(f"{error}; firing: {sorted(self.prometheus.firing())}") from error

    def test_1_the_pages_keep_to_the_conventions(self):
        for name, port in self.scene.metrics.items():
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
            done = subprocess.run([need("promtool"), "check", "metrics"], input=page, capture_output=True, timeout=30)
            complaints = [line for line in (done.stdout + done.stderr).decode().splitlines()
                          if not line.startswith("exposer_")]  # prometheus-cpp's own
            self.assertEqual(complaints, [], name)

    def test_1b_the_probes_of_the_manifests_are_answered(self):
        def serving(service):
            with grpc.insecure_channel(f"127.0.0.1:{self.scene.health}") as channel:
                ask = channel.unary_unary("/grpc.health.v1.Health/Check")
                return ask(b"\x0a" + bytes([len(service)]) + service.encode(), timeout=30) == b"\x08\x01"
        for path, kind in ((DEPLOY / "base/actor.yaml", "StatefulSet"), (DEPLOY / "base/learner.yaml", "Deployment"),
                           (DEPLOY / "components/population/learners.yaml", "StatefulSet"),
                           (DEPLOY / "components/data-parallel/job.yaml", "Job")):
            workload = next(item for item in documents(path) if item["kind"] == kind)
            container = workload["spec"]["template"]["spec"]["containers"][0]
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                with self.subTest(path=path.name, probe=probe):
                    if "grpc" in container[probe]:
                        self.wait(lambda: serving(container[probe]["grpc"]["service"]), "SERVING")
                    else:
                        url = f"http://127.0.0.1:{self.scene.metrics['learner']}{container[probe]['httpGet']['path']}"
                        self.wait(lambda: urllib.request.urlopen(url, timeout=5).status == 200, url)

    def test_2_nothing_fires_while_all_is_well(self):
        self.wait(lambda: len(self.prometheus.query("up == 1")) == 5, "five targets")
        self.quiet()

    def test_3_every_panel_has_data_of_metrics_that_exist(self):
        self.wait(lambda: self.prometheus.query("vixen_checkpoints_total > 0"), "a checkpoint")
        names = self.prometheus.names()
        for board in ("operations", "training"):
            for title, expression in panels(board):
                with self.subTest(board=board, panel=title, expression=expression):
                    used = set(METRIC.findall(expression))
                    self.assertTrue(used)
                    self.assertLessEqual(used, names)
                    if not expression.endswith("> 0"):  # shown only when something is wrong
                        self.wait(lambda: self.prometheus.query(expression), f"data for {title}")

    def test_4_the_rules_use_metrics_that_exist(self):
        names = self.prometheus.names()
        for rule in rules():
            self.assertLessEqual(set(METRIC.findall(rule["expr"])), names, rule["alert"])

    def test_4b_the_autoscalers_ask_for_a_number_of_learners(self):
        scaled = documents(DEPLOY / "examples/keda.yaml")[0]["spec"]["triggers"][0]["metadata"]["query"]
        adapter = documents(DEPLOY / "components/population/autoscaler.yaml")[0]["spec"]["metrics"][0]["external"]["metric"]["name"]
        for query in (quickened(scaled), f"max({adapter})"):
            answer = self.wait(lambda: self.prometheus.query(query), query)
            self.assertEqual(len(answer), 1)
            self.assertGreaterEqual(float(answer[0]["value"][1]), 1)

    def until(self, expected, fire):
        """Waits until every one of `expected` fires (or none does); prints how long each took."""
        began, missing = time.monotonic(), set(expected)

        def all_of_them():
            firing = self.prometheus.firing()
            for alert in [a for a in missing if (a in firing) == fire]:
                missing.remove(alert)
                print(f"{'fires' if fire else 'ends'} after {time.monotonic() - began:4.1f} s: {' '.join(alert)}", flush=True)
                if fire:
                    for text in firing[alert]["annotations"].values():
                        self.assertNotIn("error", text)
            return not missing
        try:
            self.wait(all_of_them, "alerts", 120)
        except AssertionError as error:
            verb = "fire" if fire else "end"
            raise AssertionError(f"{error}: these do not {verb}: {sorted(missing)}; "
                                 f"firing: {sorted(self.prometheus.firing())}") from error

    def test_5_each_alert_fires_with_its_cause_and_ends_after_it(self):
        scene = self.scene
        first = [("VixenLearnerDead", "learner"), ("VixenWeightsStale", "actor"),
                 ("VixenCertificateExpiring", "tls-actor"), ("VixenCheckpointFailing", "tls-learner")]
        scene.kill("learner")
        scene.collect_without_a_learner()
        scene.renew_certificate(days=3)
        scene.break_checkpoints()
        self.until(first, True)
        scene.stop_collecting()
        scene.start_learner()
        # The learner that came back had no checkpoint: what it had acknowledged is lost with it. An alert of ten
        # seconds: nothing else is done before it was seen.
        lost = [("VixenBatchesDropped", "actor")]
        self.until(lost, True)
        scene.renew_certificate(days=30)
        scene.mend_checkpoints()
        self.until(first + lost, False)

        second = [("VixenActorDown", "actor"), ("VixenNotReady", "learner"), ("VixenActorStarved", "tls-actor"),
                  ("VixenCertificateReloadFailing", "tls-actor")]
        scene.kill("tls-learner")
        scene.tear_certificate()
        scene.kill("actor")
        self.until(second, True)
        scene.start_actor()
        scene.start_tls_learner()
        scene.renew_certificate(days=30)
        self.until(second, False)

        third = [("VixenGpuLost", "actor"), ("VixenBalanceBroken", "actor"), ("VixenMemoryNearLimit", "actor")]
        scene.kill("actor")
        scene.start_actor("gpu_lost=0", "miscount")
        scene.limit_memory(int(scene.processes["actor"].metric(scene.metrics["actor"], "process_resident_memory_bytes")))
        self.until(third, True)
        scene.kill("actor")
        scene.start_actor()
        self.until(third, False)
        seen = {name for name, _ in first + lost + second + third}
        self.assertEqual(seen, {rule["alert"] for rule in rules()})


if __name__ == "__main__":
    unittest.main()
