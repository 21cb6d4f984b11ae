# SPDX-License-Identifier: Apache-2.0
"""The rules that rendered manifests must keep: violations(objects) names each breach."""
import re

LONG_RUNNING = ("Deployment", "StatefulSet")
GPU_PRODUCTS = {"NVIDIA-L4", "NVIDIA-L40S"}
PROBES = {"startupProbe": ("startup", "/startupz"), "readinessProbe": ("readiness", "/readyz"),
          "livenessProbe": ("liveness", "/livez")}
WATCHDOG = 5  # seconds after grace_seconds in which a hanging actor ends itself


def workloads(objects):
    return [o for o in objects if o["kind"] in ("Deployment", "StatefulSet", "Job")]


def pod_of(workload):
    return workload["spec"]["template"]["spec"]


def labels_of(workload):
    return workload["spec"]["template"]["metadata"]["labels"]


def named(objects, kind):
    return {o["metadata"]["name"]: o for o in objects if o["kind"] == kind}


def _matches(selector, labels):
    wanted = selector.get("matchLabels", selector) if isinstance(selector, dict) else {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _container(where, container, pod_security):
    security = container.get("securityContext", {})
    if security.get("readOnlyRootFilesystem") is not True:
        yield f"{where}: the root file system can be written"
    if security.get("allowPrivilegeEscalation") is not False:
        yield f"{where}: privileges can be raised"
    if security.get("capabilities", {}).get("drop") != ["ALL"] or security.get("capabilities", {}).get("add"):
        yield f"{where}: capabilities are kept"
    if security.get("privileged") or security.get("runAsUser", pod_security.get("runAsUser", 0)) == 0:
        yield f"{where}: runs as root"
    resources = container.get("resources", {})
    for kind in ("requests", "limits"):
        for what in ("cpu", "memory"):
            if what not in resources.get(kind, {}):
                yield f"{where}: no {kind} of {what}"
    gpus = [resources.get(kind, {}).get("nvidia.com/gpu") for kind in ("requests", "limits")]
    if gpus[0] != gpus[1]:
        yield f"{where}: requests and limits of GPUs differ"
    tag = container["image"].rpartition(":")[2] if ":" in container["image"] else ""
    if tag in ("", "latest"):
        yield f"{where}: the image {container['image']} has no fixed tag"
    if (tag == "cuda") != (gpus[0] is not None):
        yield f"{where}: image {container['image']} with GPUs {gpus[0]}"
    for variable in container.get("env", []):
        if variable["name"] == "NVIDIA_VISIBLE_DEVICES":
            yield f"{where}: NVIDIA_VISIBLE_DEVICES reaches round the device plugin"


def _seconds(objects, pod):
    """grace_seconds of the configuration that the pod mounts, None without one."""
    for volume in pod["volumes"]:
        data = named(objects, "ConfigMap").get(volume.get("configMap", {}).get("name"), {}).get("data", {})
        for text in data.values():
            found = re.search(r"^grace_seconds: (\d+)", text, re.M)
            if found:
                return int(found[1])
    return None


def _probes(where, container):
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        probe = container.get(kind)
        if not probe:
            yield f"{where}: no {kind}"
            continue
        if "grpc" in ports:
            if probe.get("grpc", {}).get("port") != ports.get("health"):
                yield f"{where}: {kind} is not on the health port, which alone answers without certificates"
            if probe.get("grpc", {}).get("service") != PROBES[kind][0]:
                yield f"{where}: {kind} asks for the service {probe.get('grpc', {}).get('service')}"
        elif probe.get("httpGet", {}).get("port") not in ("metrics", ports.get("metrics")):
            yield f"{where}: {kind} is not on the metrics port"
        elif probe["httpGet"]["path"] != PROBES[kind][1]:
            yield f"{where}: {kind} asks for {probe['httpGet']['path']}"
        if probe.get("timeoutSeconds", 1) < 2:
            yield f"{where}: {kind} has less than 2 s"
    startup, live = container.get("startupProbe", {}), container.get("livenessProbe", {})
    if startup.get("periodSeconds", 10) * startup.get("failureThreshold", 3) < 300:
        yield f"{where}: less than 300 s for the load of a dataset"
    if "grpc" in ports and live.get("periodSeconds", 10) * live.get("failureThreshold", 3) > 30:
        yield f"{where}: a lost GPU is found after more than 30 s"
    if live.get("failureThreshold", 3) < 3:
        yield f"{where}: a single slow answer would restart it"


def _pod(objects, workload):
    name = f"{workload['kind']} {workload['metadata']['name']}"
    pod = pod_of(workload)
    security = pod.get("securityContext", {})
    if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
        yield f"{name}: may run as root"
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield f"{name}: no seccomp profile"
    if pod.get("automountServiceAccountToken") is not False:
        yield f"{name}: has a token of the API server"
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield f"{name}: {field}"
    for container in pod.get("initContainers", []) + pod["containers"]:
        yield from _container(f"{name} {container['name']}", container, security)
    gpu = any("nvidia.com/gpu" in c["resources"].get("limits", {}) for c in pod["containers"])
    product = pod.get("nodeSelector", {}).get("nvidia.com/gpu.product")
    if gpu and product not in GPU_PRODUCTS:
        yield f"{name}: nvidia.com/gpu.product is {product}"
    claims, maps = named(objects, "PersistentVolumeClaim"), named(objects, "ConfigMap")
    secrets = {c["spec"]["secretName"] for c in objects if c["kind"] == "Certificate"}
    templates = {t["metadata"]["name"] for t in workload["spec"].get("volumeClaimTemplates", [])}
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    for volume in volumes.values():
        if "hostPath" in volume:
            yield f"{name}: volume {volume['name']} is the node's"
        if "configMap" in volume and volume["configMap"]["name"] not in maps:
            yield f"{name}: no ConfigMap {volume['configMap']['name']}"
        if "secret" in volume and volume["secret"]["secretName"] not in secrets:
            yield f"{name}: no Certificate makes {volume['secret']['secretName']}"
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim and claim not in claims and workload["metadata"]["name"] != "vixen-import":
            yield f"{name}: no claim {claim}"
    for container in pod["containers"]:
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes and mount["name"] not in templates:
                yield f"{name}: mounts {mount['name']}, which is no volume"
    if workload["metadata"]["name"] == "vixen-import":
        return
    grace = _seconds(objects, pod)
    if grace is None:
        yield f"{name}: no configuration with grace_seconds"
        return
    for container in pod["containers"]:
        yield from _probes(f"{name} {container['name']}", container)
        sleep = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        if pod.get("terminationGracePeriodSeconds", 30) <= grace + sleep + WATCHDOG:
            yield f"{name}: killed after {pod.get('terminationGracePeriodSeconds', 30)} s, in the middle of a drain"


def _references(objects):
    pods = workloads(objects)
    for service in named(objects, "Service").values():
        targets = [w for w in pods if _matches(service["spec"]["selector"], labels_of(w))]
        if not targets and service["metadata"]["name"] != "vixen-learner":
            yield f"Service {service['metadata']['name']} selects no pod"
        for workload in targets:
            ports = {p["name"] for c in pod_of(workload)["containers"] for p in c.get("ports", [])}
            for port in service["spec"]["ports"]:
                if port["targetPort"] not in ports:
                    yield f"Service {service['metadata']['name']}: no port {port['targetPort']}"
    for budget in named(objects, "PodDisruptionBudget").values():
        if "minAvailable" in budget["spec"]:
            yield f"PodDisruptionBudget {budget['metadata']['name']}: minAvailable blocks the drain of a node"
        if not any(_matches(budget["spec"]["selector"], labels_of(w)) for w in pods):
            yield f"PodDisruptionBudget {budget['metadata']['name']} selects no pod"
    policies = named(objects, "NetworkPolicy")
    if policies.get("default-deny", {}).get("spec") != {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}:
        yield "NetworkPolicy: not everything is denied that no rule allows"
    for workload in pods:
        if not any(p["spec"]["podSelector"] and _matches(p["spec"]["podSelector"], labels_of(workload))
                   for p in policies.values()):
            yield f"NetworkPolicy: none lets {workload['metadata']['name']} speak"
    monitors = [o for o in objects if o["kind"] == "ServiceMonitor"]
    for monitor in monitors:
        services = [s for s in named(objects, "Service").values()
                    if _matches(monitor["spec"]["selector"], s["metadata"].get("labels", {}))]
        ports = {p["name"] for s in services for p in s["spec"]["ports"]}
        jobs = {s["metadata"]["labels"].get(monitor["spec"]["jobLabel"]) for s in services}
        if jobs != {monitor["metadata"]["name"]} or not all(e["port"] in ports for e in monitor["spec"]["endpoints"]):
            yield f"ServiceMonitor {monitor['metadata']['name']}: jobs {jobs}, ports {ports}"
    for workload in pods:
        notes = workload["spec"]["template"]["metadata"].get("annotations", {})
        port = notes.get("prometheus.io/port")
        declared = {str(p["containerPort"]) for c in pod_of(workload)["containers"] for p in c.get("ports", [])}
        if workload["metadata"]["name"] != "vixen-import" and port not in declared:
            yield f"{workload['metadata']['name']}: scrape annotation names port {port}"


def _certificates(objects):
    """The names by which learners call actors must be in the actor's certificate."""
    certificate = named(objects, "Certificate").get("vixen-actor")
    if certificate is None:
        return
    patterns = [re.escape(name).replace(r"\*", "[^.]+") for name in certificate["spec"]["dnsNames"]]
    for config in named(objects, "ConfigMap").values():
        for text in config.get("data", {}).values():
            for host in re.findall(r'^actor: "([^":]+):\d+"', text, re.M):
                if not any(re.fullmatch(pattern, host) for pattern in patterns):
                    yield f"the actor's certificate does not name {host}"


def violations(objects):
    found = []
    for workload in workloads(objects):
        found += _pod(objects, workload)
    return found + list(_references(objects)) + list(_certificates(objects))
