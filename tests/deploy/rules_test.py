# SPDX-License-Identifier: Apache-2.0
"""promtool's checks of the rules and of the configuration, and rules_test.yaml for each alert."""
import pathlib
import re
import shutil
import tempfile
import unittest

from tools import DEPLOY, SOURCE, need, run, yaml

PROMTOOL = need("promtool")
RULES = DEPLOY / "prometheus/rules.yaml"
CASES = SOURCE / "tests/deploy/rules_test.yaml"


def alerts():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


class Rules(unittest.TestCase):
    def test_promtool_accepts_rules_and_configuration(self):
        run(PROMTOOL, "check", "rules", RULES)
        run(PROMTOOL, "check", "config", DEPLOY / "prometheus/prometheus.yaml")

    def test_each_alert_fires_with_its_cause_and_not_without(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = yaml.safe_load(RULES.read_text())
            for rule in (rule for group in rules["groups"] for rule in group["rules"]):
                del rule["annotations"]
            pathlib.Path(folder, "rules.yaml").write_text(yaml.safe_dump(rules))
            shutil.copy(CASES, folder)
            run(PROMTOOL, "test", "rules", CASES.name, cwd=folder)

    def test_every_alert_has_a_case_that_fires_and_one_that_does_not(self):
        tests = [t for case in yaml.safe_load(CASES.read_text())["tests"] for t in case["alert_rule_test"]]
        for rule in alerts():
            seen = [bool(t["exp_alerts"]) for t in tests if t["alertname"] == rule["alert"]]
            self.assertIn(True, seen, rule["alert"])
            if rule["alert"] != "VixenActorStarved":  # its quiet actors stand beside the loud one
                self.assertIn(False, seen, rule["alert"])

    def test_every_alert_says_how_bad_what_and_where_it_is_explained(self):
        anchors = {re.sub(r"[^\w-]", "", line.lstrip("# ").strip().lower().replace(" ", "-"))
                   for line in (SOURCE / "docs/operations.md").read_text().splitlines() if line.startswith("#")}
        for rule in alerts():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"))
            self.assertLessEqual({"summary", "description", "runbook"}, set(rule["annotations"]))
            document, anchor = rule["annotations"]["runbook"].split("#")
            self.assertEqual(document, "docs/operations.md")
            self.assertIn(anchor, anchors, rule["alert"])


if __name__ == "__main__":
    unittest.main()
