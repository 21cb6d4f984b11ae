# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus for tests, with the rules of deploy/ at another pace, and a scrape target that alters
another one's page."""
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

from tools import DEPLOY, SOURCE, need, run, yaml

sys.path.insert(0, str(SOURCE / "tests/integration"))
from processes import wait_for  # noqa: E402

SCRAPE = "500ms"


def quickened(rules):
    """The rules with every minute made a second: windows and `for`, not the days of certificates."""
    rules = re.sub(r"\[(\d+)m\]", r"[\1s]", rules)
    return re.sub(r"(\bfor: \d+)m\b", r"\1s", rules)


class Prometheus:
    """`targets`: job → {instance name: port}. Ends with close()."""

    def __init__(self, folder, port, targets):
        self.folder, self.port = pathlib.Path(folder), port
        config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())
        config["global"] = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE, "evaluation_interval": SCRAPE}
        for scrape in config["scrape_configs"]:
            del scrape["dns_sd_configs"]
            scrape["static_configs"] = [{"targets": [f"127.0.0.1:{number}"], "labels": {"instance": name}}
                                        for name, number in targets[scrape["job_name"]].items()]
        (self.folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        (self.folder / "rules.yaml").write_text(quickened((DEPLOY / "prometheus/rules.yaml").read_text()))
        run(need("promtool"), "check", "config", self.folder / "prometheus.yaml")
        with open(self.folder / "prometheus.log", "wb") as log:
            self.child = subprocess.Popen(
                [need("prometheus"), f"--config.file={self.folder}/prometheus.yaml",
                 f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.wait_for(self.ready, "Prometheus to be ready")

    def wait_for(self, condition, what, seconds=60):
        def alive():
            if self.child.poll() is not None:
                raise AssertionError((self.folder / "prometheus.log").read_text()[-2000:])
            return condition()
        return wait_for(alive, what, seconds)

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def api(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            answer = json.load(urllib.request.urlopen(url, timeout=30))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression):
        return self.api("query", query=expression)["result"]

    def names(self):
        return set(self.api("label/__name__/values"))

    def firing(self):
        """{(alert, instance): labels and annotations} of what fires now."""
        return {(a["labels"]["alertname"], a["labels"].get("instance", "")): a
                for a in self.api("alerts")["alerts"] if a["state"] == "firing"}

    def close(self):
        self.child.terminate()
        self.child.wait(timeout=30)


class AlteredPage:
    """Serves another target's /metrics with `values` ({sample without value: value}) put in place or added."""

    def __init__(self, port_of_target):
        self.values = {}
        self.target = port_of_target
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    body = page.text().encode()
                except OSError:
                    self.send_error(503)
                    return
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/plain; version=0.0.4")
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # Prometheus went

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def text(self):
        lines = urllib.request.urlopen(f"http://127.0.0.1:{self.target}/metrics", timeout=5).read().decode().splitlines()
        values = dict(self.values)
        for number, line in enumerate(lines):
            name = line.rpartition(" ")[0]
            if name in values:
                lines[number] = f"{name} {values.pop(name)}"
        return "\n".join(lines + [f"{name} {value}" for name, value in values.items()]) + "\n"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
