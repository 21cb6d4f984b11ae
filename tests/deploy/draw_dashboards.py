#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the dashboards of deploy/grafana from real data: two real pairs of actor and learner, of which one
learner is killed and comes back, scraped by a real Prometheus; its answers to the panels' expressions are
drawn with matplotlib, panel by panel in the dashboards' layout. It is not Grafana's own picture.

  draw_dashboards.py [--minutes 6] [--out docs/pictures]     (needs matplotlib, PyYAML and prometheus)
"""
import argparse
import json
import math
import os
import pathlib
import re
import tempfile
import time

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402
from PIL import Image  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("VIXEN_SOURCE_DIR", str(SOURCE))
os.environ.setdefault("VIXEN_BIN_DIR", str(SOURCE / "build/release/bin"))
import prometheus as prometheus_module  # noqa: E402
from prometheus import Prometheus  # noqa: E402
from scene import Scene, free_port  # noqa: E402

COLOURS = ["#3366b0", "#d9730d", "#2e8b57", "#b0305c", "#7a5cc4", "#8c6d31", "#3aa6b9", "#6b7280", "#c0392b", "#9acd32"]


def short(value, unit):
    if unit == "percentunit":
        return f"{100 * value:g} %"
    if unit == "s" and abs(value) >= 86400:
        return f"{value / 86400:.0f} d"
    if unit == "s" and 0 < abs(value) < 1:
        return f"{1000 * value:g} ms"
    for limit, suffix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{suffix}{'B' if unit in ('bytes', 'Bps') else ''}"
    return f"{value:g}"


def series(server, target, begin, end):
    expression = target["expr"].replace("$__rate_interval", "15s").replace("[1h]", "[1m]")
    for result in server.api("query_range", query=expression, start=begin, end=end, step=2)["result"]:
        label = re.sub(r"{{(\w+)}}", lambda m: result["metric"].get(m[1], ""), target["legendFormat"])
        points = [((float(t) - begin) / 60, float(v)) for t, v in result["values"]]
        points = [(t, v) for t, v in points if math.isfinite(v)]
        if points:
            yield label.strip(), *zip(*points)


def draw(server, name, begin, end, out):
    board = json.loads((SOURCE / f"deploy/grafana/{name}.json").read_text())
    gpu = False
    rows = []  # of the dashboard: (title or None, panels)
    for panel in board["panels"]:
        gpu = panel["title"].startswith("GPU") if panel["type"] == "row" else gpu
        if gpu:
            continue  # no GPU on the machine of the picture
        if panel["type"] == "row":
            rows.append((panel["title"], []))
        elif not rows or sum(p["gridPos"]["w"] for p in rows[-1][1]) + panel["gridPos"]["w"] > 24:
            rows.append((None, [panel]))
        else:
            rows[-1][1].append(panel)
    figure = plt.figure(figsize=(15, 2.5 * len(rows) + 0.6), dpi=76)
    grid = figure.add_gridspec(len(rows), 24, hspace=0.5, wspace=6, left=0.045, right=0.985,
                               top=1 - 0.55 / len(rows) / 2.2, bottom=0.03)
    figure.suptitle(board["title"], x=0.045, y=0.996, ha="left", va="top", fontsize=15, fontweight="bold")
    for number, (title, panels) in enumerate(rows):
        for panel in panels:
            place, unit = panel["gridPos"], panel["fieldConfig"]["defaults"]["unit"]
            axes = figure.add_subplot(grid[number, place["x"]:place["x"] + place["w"]])
            lines = [line for target in panel["targets"] for line in series(server, target, begin, end)]
            for line, (label, x, y) in enumerate(lines):
                axes.plot(x, y, color=COLOURS[line % len(COLOURS)], lw=1.1, label=label)
            axes.set_title(panel["title"], fontsize=9.5, loc="left", fontweight="bold" if title else "normal")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _, unit=unit: short(v, unit)))
            axes.set_xlim(0, (end - begin) / 60)
            axes.tick_params(labelsize=7, length=2)
            axes.grid(alpha=0.25, lw=0.5)
            axes.spines[["top", "right"]].set_visible(False)
            if lines and min(min(y) for _, _, y in lines) >= 0:
                axes.set_ylim(bottom=0)
            if lines:
                axes.legend(fontsize=5.8, frameon=False, loc="best", ncol=1 if len(lines) < 7 else 2)
            else:
                axes.text(0.5, 0.5, "nothing", transform=axes.transAxes, ha="center", color="#888", fontsize=8)
        if title:
            figure.text(0.006, grid[number, 0].get_position(figure).y0, title, rotation=90, fontsize=9, color="#555")
    figure.savefig(out / f"{name}.png")
    plt.close(figure)
    picture = Image.open(out / f"{name}.png").convert("RGB")
    picture.quantize(48, dither=Image.Dither.NONE).save(out / f"{name}.png", optimize=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "docs/pictures")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    prometheus_module.SCRAPE = "2s"
    with tempfile.TemporaryDirectory() as folder:
        scene, server = Scene(folder, learner={"checkpoint_seconds": 60}), None
        try:
            scene.start()
            server = Prometheus(folder, free_port(), {
                "vixen-actor": {name: scene.metrics[name] for name in ("actor", "tls-actor")},
                "vixen-learner": {name: scene.metrics[name] for name in ("learner", "tls-learner")}})
            begin = time.time() + 10
            part = arguments.minutes * 60 / 3
            time.sleep(10 + part)
            scene.kill("learner")
            time.sleep(part / 2)
            scene.start_learner()
            time.sleep(1.5 * part)
            for name in ("operations", "training"):
                draw(server, name, begin, time.time(), arguments.out)
        finally:
            scene.close()
            if server is not None:
                server.close()


if __name__ == "__main__":
    main()
