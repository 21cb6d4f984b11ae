# SPDX-License-Identifier: Apache-2.0
"""Objects of operators in deploy/ held against the operators' own CustomResourceDefinitions, field by field;
a field that a definition lacks is an error, as the API server would drop it without a word.

    python3 tests/deploy/custom_resources.py CRD.yaml…

Run by hand: the definitions (cert-manager: Certificate, Issuer; Prometheus operator: ServiceMonitor,
PrometheusRule; KEDA: ScaledObject) come with the operators and are not kept here. Exit code 1 names each breach.
"""
import sys

import jsonschema

from manifests_test import EXAMPLES, OPERATORS, RENDERED
from tools import documents


def closed(schema):
    """The schema with unknown fields forbidden wherever it lists the known ones."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    answer = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        answer.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        answer.pop("type", None)
    return answer


def schemas(paths):
    found = {}
    for path in paths:
        for crd in documents(path):
            for version in crd["spec"]["versions"]:
                schema = closed(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                found[f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]] = schema
    return found


def main(paths):
    known, checked, breaches = schemas(paths), {}, 0
    for name, objects in {**RENDERED, **EXAMPLES}.items():
        for item in objects:
            if item["apiVersion"] not in OPERATORS:
                continue
            kind = (item["apiVersion"], item["kind"])
            if kind not in known:
                sys.exit(f"no definition of {kind[1]} ({kind[0]}) among the files given")
            checked[kind] = checked.get(kind, 0) + 1
            for error in jsonschema.Draft202012Validator(known[kind]).iter_errors(item):
                breaches += 1
                print(f"{name}: {kind[1]} {item['metadata']['name']}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    for (version, kind), count in sorted(checked.items()):
        print(f"{count} × {kind} ({version})")
    sys.exit(1 if breaches or not checked else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
