#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what Kubernetes and Grafana load from what people edit:

  prometheus/prometheus-rule.yaml   rules.yaml as an object of the Prometheus operator
  grafana/operations.json           the panels of grafana/operations.panels
  grafana/training.json             the panels of grafana/training.panels

generate.py [--check]: --check writes nothing and exits 1 when a file is not what it would be.

A .panels file has blocks between blank lines: `# Row`, or a panel: title, unit and width (of 24) between
bars, then lines of `legend = expression`. `$range` stands for Grafana's rate interval.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def prometheus_rule():
    lines = (HERE / "prometheus/rules.yaml").read_text().splitlines()
    groups = lines[lines.index("groups:"):]
    head = ["# SPDX-License-Identifier: Apache-2.0", "# Made from rules.yaml by ../generate.py.",
            "apiVersion: monitoring.coreos.com/v1", "kind: PrometheusRule", "metadata:", "  name: vixen",
            "  labels: {app.kubernetes.io/part-of: vixen}", "spec:"]
    return "\n".join(head + ["  " + line if line else line for line in groups]) + "\n"


def blocks(name):
    text = (HERE / f"grafana/{name}.panels").read_text()
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("//")]
        if lines:
            yield lines


def panel(lines, number, x, y, width):
    title, unit, *_ = [part.strip() for part in lines[0].split("|")]
    targets = []
    for letter, line in zip("ABCDEFGHIJ", lines[1:]):
        legend, expression = line.split(" = ", 1)
        targets.append({"refId": letter, "datasource": SOURCE, "legendFormat": legend.strip(),
                        "expr": expression.strip().replace("$range", "$__rate_interval")})
    return {"id": number, "type": "timeseries", "title": title, "datasource": SOURCE, "targets": targets,
            "gridPos": {"x": x, "y": y, "w": width, "h": 8},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0 if unit in ("percentunit", "bytes") else None,
                                         "custom": {"fillOpacity": 8, "showPoints": "never"}}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}}


def dashboard(name, title, about):
    panels, x, y = [], 0, 0
    for lines in blocks(name):
        if lines[0].startswith("# "):
            y += 8 if x else 0
            panels.append({"id": len(panels) + 1, "type": "row", "title": lines[0][2:], "collapsed": False,
                           "panels": [], "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
            x, y = 0, y + 1
            continue
        width = int(lines[0].split("|")[2])
        if x + width > 24:
            x, y = 0, y + 8
        panels.append(panel(lines, len(panels) + 1, x, y, width))
        x += width
    board = {"uid": f"vixen-{name}", "title": title, "description": about, "tags": ["vixen"], "schemaVersion": 38,
             "editable": True, "refresh": "15s", "time": {"from": "now-1h", "to": "now"}, "timezone": "utc",
             "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus",
                                      "label": "Prometheus"}]},
             "panels": panels}
    return json.dumps(board, indent=1) + "\n"


def main():
    made = {"prometheus/prometheus-rule.yaml": prometheus_rule(),
            "grafana/operations.json": dashboard("operations", "Vixen: operations",
                                                 "Is it up, is it busy, where is every transition."),
            "grafana/training.json": dashboard("training", "Vixen: training",
                                               "Does it learn, from what, and who waits for whom.")}
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("generate.py: there is only --check")
    old = [name for name, text in made.items()
           if not (HERE / name).exists() or (HERE / name).read_text() != text]
    if sys.argv[1:]:
        sys.exit(f"generate.py: run deploy/generate.py: {', '.join(old)} is not what it makes" if old else 0)
    for name in old:
        (HERE / name).write_text(made[name])


if __name__ == "__main__":
    main()
