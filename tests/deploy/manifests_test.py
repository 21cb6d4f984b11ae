# SPDX-License-Identifier: Apache-2.0
"""What deploy/ and docker/ say, checked without a cluster: it renders, fits the schemas of two versions of
Kubernetes, keeps the rules of policy.py, and the programs take the configuration in it."""
import copy
import os
import pathlib
import re
import sys
import tempfile
import unittest

from tools import DEPLOY, SOURCE, documents, need, render, run, skip, yaml
import policy

try:
    import kubernetes_validate
except ImportError as error:
    skip(error)

BIN = pathlib.Path(os.environ["VIXEN_BIN_DIR"])
VERSIONS = ("1.30", "1.37")
# Objects of operators, whose schemas are not Kubernetes' own.
OPERATORS = {"cert-manager.io/v1", "monitoring.coreos.com/v1", "keda.sh/v1alpha1"}
KUSTOMIZATIONS = {path.name: path for path in
                  [*(DEPLOY / "overlays").iterdir(), *(SOURCE / "tests/deploy/overlays").iterdir()]}
RENDERED = {name: render(path) for name, path in sorted(KUSTOMIZATIONS.items())}
EXAMPLES = {path.name: documents(path) for path in sorted((DEPLOY / "examples").glob("*.yaml"))}


def first(objects, kind, name):
    return policy.named(objects, kind)[name]


def container(objects, kind, name):
    return policy.pod_of(first(objects, kind, name))["containers"][0]


class Manifests(unittest.TestCase):
    def test_every_overlay_has_an_actor_and_a_learner_that_scale_apart(self):
        self.assertEqual({"cpu", "l4", "l40s", "dev"}, {p.name for p in (DEPLOY / "overlays").iterdir()})
        for name in ("cpu", "l4", "l40s", "dev"):
            kinds = {(o["kind"], o["metadata"]["name"]) for o in RENDERED[name]}
            self.assertLessEqual({("StatefulSet", "vixen-actor"), ("Deployment", "vixen-learner")}, kinds, name)
        job = first(RENDERED["data-parallel"], "Job", "vixen-ranks")["spec"]
        self.assertEqual((job["completionMode"], job["completions"]), ("Indexed", job["parallelism"]))
        world = {v["name"]: v.get("value") for v in policy.pod_of({"spec": job})["containers"][0]["env"]}
        self.assertEqual(world["WORLD_SIZE"], str(job["completions"]))

    def test_every_object_fits_the_schemas_of_two_versions(self):
        for name, objects in {**RENDERED, **EXAMPLES}.items():
            for item in objects:
                if item["apiVersion"] in OPERATORS:
                    continue
                for version in VERSIONS:
                    with self.subTest(name=name, kind=item["kind"], object=item["metadata"]["name"], version=version):
                        kubernetes_validate.validate(item, version, strict=True)

    def test_a_wrong_object_does_not_fit(self):
        broken = copy.deepcopy(first(RENDERED["cpu"], "StatefulSet", "vixen-actor"))
        broken["spec"]["replicas"] = "one"
        self.assertRaises(kubernetes_validate.ValidationError, kubernetes_validate.validate, broken, VERSIONS[0], strict=True)
        unknown = copy.deepcopy(first(RENDERED["cpu"], "StatefulSet", "vixen-actor"))
        unknown["spec"]["replica"] = 1
        self.assertRaises(kubernetes_validate.ValidationError, kubernetes_validate.validate, unknown, VERSIONS[1], strict=True)

    def test_the_rules_are_kept(self):
        for name, objects in RENDERED.items():
            self.assertEqual(policy.violations(objects), [], name)
        job = EXAMPLES["import-job.yaml"]
        self.assertEqual(policy.violations(RENDERED["cpu"] + job), [])

    def test_each_breach_of_a_rule_is_found(self):
        actor = lambda o: container(o, "StatefulSet", "vixen-actor")
        learner = lambda o: container(o, "Deployment", "vixen-learner")
        pod = lambda o: policy.pod_of(first(o, "StatefulSet", "vixen-actor"))
        breaches = {
            "root file system": lambda o: actor(o)["securityContext"].pop("readOnlyRootFilesystem"),
            "privileges": lambda o: learner(o)["securityContext"].update(allowPrivilegeEscalation=True),
            "capabilities": lambda o: actor(o)["securityContext"]["capabilities"].update(add=["NET_ADMIN"]),
            "runs as root": lambda o: actor(o)["securityContext"].update(runAsUser=0),
            "may run as root": lambda o: pod(o)["securityContext"].pop("runAsNonRoot"),
            "seccomp": lambda o: pod(o)["securityContext"].pop("seccompProfile"),
            "token": lambda o: pod(o).pop("automountServiceAccountToken"),
            "hostNetwork": lambda o: pod(o).update(hostNetwork=True),
            "limits of memory": lambda o: actor(o)["resources"]["limits"].pop("memory"),
            "requests of cpu": lambda o: learner(o)["resources"]["requests"].pop("cpu"),
            "GPUs differ": lambda o: actor(o)["resources"]["requests"].pop("nvidia.com/gpu"),
            "fixed tag": lambda o: actor(o).update(image="vixen/actor:latest"),
            "with GPUs": lambda o: actor(o).update(image="vixen/actor:cpu"),
            "NVIDIA_VISIBLE_DEVICES": lambda o: learner(o).setdefault("env", []).append(
                {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}),
            "gpu.product": lambda o: pod(o).update(nodeSelector={"nvidia.com/gpu.product": "L4"}),
            "no livenessProbe": lambda o: actor(o).pop("livenessProbe"),
            "not on the health port": lambda o: actor(o)["readinessProbe"]["grpc"].update(port=50051),
            "asks for the service": lambda o: actor(o)["readinessProbe"]["grpc"].update(service="liveness"),
            "asks for /metrics": lambda o: learner(o)["livenessProbe"]["httpGet"].update(path="/metrics"),
            "not on the metrics port": lambda o: learner(o)["livenessProbe"].update(httpGet={"path": "/", "port": 1}),
            "for the load": lambda o: actor(o)["startupProbe"].update(failureThreshold=3),
            "lost GPU": lambda o: actor(o)["livenessProbe"].update(periodSeconds=30),
            "single slow answer": lambda o: actor(o)["livenessProbe"].update(failureThreshold=1),
            "in the middle of a drain": lambda o: pod(o).update(terminationGracePeriodSeconds=35),
            "no ConfigMap": lambda o: pod(o)["volumes"][0]["configMap"].update(name="other"),
            "no Certificate": lambda o: pod(o)["volumes"][1]["secret"].update(secretName="other"),
            "no claim": lambda o: o.remove(first(o, "PersistentVolumeClaim", "vixen-dataset")),
            "is no volume": lambda o: actor(o)["volumeMounts"].append({"name": "x", "mountPath": "/x"}),
            "the node's": lambda o: pod(o)["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
            "selects no pod": lambda o: first(o, "Service", "vixen-actor")["spec"].update(selector={"a": "b"}),
            "no port": lambda o: first(o, "Service", "vixen-actor")["spec"]["ports"][0].update(targetPort="x"),
            "minAvailable": lambda o: first(o, "PodDisruptionBudget", "vixen-actor")["spec"].update(minAvailable=1),
            "not everything is denied": lambda o: o.remove(first(o, "NetworkPolicy", "default-deny")),
            "lets vixen-learner speak": lambda o: o.remove(first(o, "NetworkPolicy", "vixen-learner")),
            "jobs": lambda o: first(o, "ServiceMonitor", "vixen-actor")["spec"].update(jobLabel="other"),
            "scrape annotation": lambda o: first(o, "StatefulSet", "vixen-actor")["spec"]["template"]["metadata"]
            ["annotations"].update({"prometheus.io/port": "1"}),
            "does not name": lambda o: first(o, "Certificate", "vixen-actor")["spec"].update(dnsNames=["vixen-actor"]),
        }
        for words, breach in breaches.items():
            with self.subTest(words):
                objects = copy.deepcopy(RENDERED["l4"])
                breach(objects)
                found = policy.violations(objects)
                self.assertTrue(any(words in line for line in found), found)

    def test_the_programs_take_every_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, objects in RENDERED.items():
                for kind in ("actor", "learner"):
                    text = next(o["data"][f"{kind}.textproto"] for o in objects if o["kind"] == "ConfigMap"
                                and f"{kind}.textproto" in o.get("data", {}))
                    file = pathlib.Path(folder, f"{name}-{kind}.textproto")
                    file.write_text(text)
                    run(BIN / "vixen", "config", "check", f"--{kind}", file)
            wrong = pathlib.Path(folder, "wrong.textproto")
            wrong.write_text(text + "replay { capacity: 1 }\n")
            self.assertEqual(run(BIN / "vixen", "config", "check", "--learner", wrong, check=False).returncode, 2)

    def test_the_document_of_sizes_says_what_the_overlays_ask_for(self):
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in (SOURCE / "docs/sizing.md").read_text().splitlines() if line.startswith("|")]
        columns = rows[0]
        table = {row[0]: row for row in rows[:20]}
        for overlay in ("l4", "l40s", "cpu"):
            with self.subTest(overlay):
                says = lambda start: next(row[columns.index(f"`{overlay}`")] for name, row in table.items() if name.startswith(start))
                texts = {kind: text for o in RENDERED[overlay] if o["kind"] == "ConfigMap"
                         for kind, text in o.get("data", {}).items()}
                value = lambda kind, field: int(re.search(rf"\b{field}: (\d+)", texts[f"{kind}.textproto"])[1])
                self.assertEqual(says("actor: `episodes`"), f"{value('actor', 'episodes'):,} × {value('actor', 'steps')}")
                self.assertEqual(says("learner: replay rows"), f"{value('learner', 'capacity') // 10 ** 6} million")
                pod = policy.pod_of(first(RENDERED[overlay], "Deployment", "vixen-learner"))
                self.assertEqual(says("learner's `grace_seconds`"),
                                 f"{value('learner', 'grace_seconds')} / {pod['terminationGracePeriodSeconds']}")
                for kind, name in (("StatefulSet", "vixen-actor"), ("Deployment", "vixen-learner")):
                    asked = container(RENDERED[overlay], kind, name)["resources"]
                    self.assertEqual(says(f"{name[6:]}: processors"),
                                     f"{asked['requests']['cpu']} … {asked['limits']['cpu']}, "
                                     f"{asked['limits']['memory'].replace('Gi', ' GiB')}")
                claim = first(RENDERED[overlay], "PersistentVolumeClaim", "vixen-learner")["spec"]["resources"]["requests"]
                self.assertTrue(says("checkpoint").endswith(claim["storage"].replace("Gi", " GiB")))

    def test_the_programs_know_every_argument(self):
        programs = {"actor": "vixen-actor", "learner": "vixen-learner"}
        helps = {program: run(BIN / program, "--help").stdout for program in programs.values()}
        workloads = [w for objects in RENDERED.values() for w in policy.workloads(objects)]
        arguments = [(c["name"], a) for w in workloads for c in policy.pod_of(w)["containers"] for a in c["args"]]
        arguments += [(name, a) for name, service in self.compose()["services"].items() if name in programs
                      for a in service["command"]]
        for name, argument in arguments:
            if argument.startswith("--"):
                self.assertRegex(helps[programs[name]], rf"(?m)^\s+{argument}\b")

    def test_what_is_made_by_a_program_is_what_it_makes_now(self):
        run(sys.executable, DEPLOY / "generate.py", "--check")

    def test_the_dockerfile_is_clean(self):
        hadolint = pathlib.Path(sys.executable).parent / "hadolint"
        run(hadolint if hadolint.exists() else need("hadolint"), SOURCE / "docker/Dockerfile")

    def test_the_images_of_the_manifests_are_targets_of_the_dockerfile(self):
        targets = set(re.findall(r"^FROM \S+ AS (\S+)", (SOURCE / "docker/Dockerfile").read_text(), re.M))
        images = {c["image"] for objects in [*RENDERED.values(), *EXAMPLES.values()] for w in policy.workloads(objects)
                  for c in policy.pod_of(w)["containers"] + policy.pod_of(w).get("initContainers", [])}
        for image in images:
            program, tag = re.fullmatch(r"vixen/(\w+):(cpu|cuda)", image).groups()
            self.assertIn(program if tag == "cpu" else f"{program}-cuda", targets)

    def test_the_images_install_every_library_that_the_programs_are_linked_with(self):
        """scripts/image-test.sh runs them, but not in every build."""
        need("dpkg-query")
        text = (SOURCE / "docker/Dockerfile").read_text()
        stages = {name: body for name, body in re.findall(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM |\Z)", text, re.M | re.S)}
        named = lambda stage: set(re.findall(r"\b(lib[\w.+-]+|zlib1g)\b(?!/)", "".join(
            line for line in re.findall(r"install -y[^&]*", stages[stage]))))

        def with_dependencies(packages):
            known, new = set(), set(packages)
            while new:
                known |= new
                text = run("dpkg-query", "-W", "-f", "${Depends}, ${Pre-Depends}\n", *sorted(new), check=False).stdout
                new = set(re.findall(r"(?:^|[,|])\s*([a-z0-9.+-]+)", text, re.M)) - known
            return known

        programs = {"actor": "vixen-actor", "learner": "vixen-learner", "tool": "vixen"}
        linked = {image: {pathlib.Path(path).name for path in re.findall(r"=> (/(?:usr/)?lib/\S+)", run("ldd", BIN / program).stdout)}
                  for image, program in programs.items()}
        owners = {}  # of a library's file name
        for line in run("dpkg-query", "-S", *(f"*/{name}" for name in sorted(set.union(*linked.values())))).stdout.splitlines():
            package, path = re.match(r"([\w.+-]+)[^/]*(/\S+)", line).groups()
            owners.setdefault(pathlib.Path(path).name, set()).add(package)
        for image, libraries in linked.items():
            self.assertGreater(len(libraries), 20)
            there = with_dependencies(named("runtime") | (named(image) if image == "learner" else set()))
            for library in libraries:
                self.assertTrue(owners[library] & there, f"{image}: nothing installs {library} of {owners[library]}")

    def compose(self):
        return yaml.safe_load((DEPLOY / "compose.yaml").read_text())

    def test_the_compose_file_keeps_the_rules_that_apply_to_it(self):
        services = self.compose()["services"]
        self.assertEqual(set(services), {"market", "actor", "learner", "prometheus", "grafana"})
        for name, service in services.items():
            with self.subTest(name):
                self.assertNotIn(service["image"].rpartition(":")[2], ("", "latest"))
                self.assertEqual(service["cap_drop"], ["ALL"])
                self.assertIn("no-new-privileges:true", service["security_opt"])
                self.assertIn("mem_limit", service)
                self.assertNotIn("NVIDIA_VISIBLE_DEVICES", str(service.get("environment", "")))
                for port in service.get("ports", []):
                    self.assertTrue(port.startswith("127.0.0.1:"), port)
                for volume in service.get("volumes", []):
                    source = volume.split(":")[0]
                    if source.startswith("."):
                        self.assertTrue((DEPLOY / source).exists(), source)
                    else:
                        self.assertIn(source, self.compose()["volumes"])
        for name in ("actor", "learner"):
            config = (DEPLOY / f"overlays/dev/{name}.textproto").read_text()
            grace = int(re.search(r"^grace_seconds: (\d+)", config, re.M)[1])
            self.assertGreater(int(services[name]["stop_grace_period"].rstrip("s")), grace + policy.WATCHDOG)
            self.assertTrue(services[name]["read_only"])
            self.assertEqual(services[name]["user"], "65532:65532")

    def test_prometheus_of_the_compose_file_scrapes_its_services(self):
        config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())
        services = self.compose()["services"]
        for scrape in config["scrape_configs"]:
            for source in scrape["dns_sd_configs"]:
                for host in source["names"]:
                    self.assertEqual(scrape["job_name"], f"vixen-{host}")
                    text = (DEPLOY / f"overlays/dev/{host}.textproto").read_text()
                    self.assertIn(host, services)
                    self.assertIn(f'metrics_listen: "0.0.0.0:{source["port"]}"', text)


if __name__ == "__main__":
    unittest.main()
