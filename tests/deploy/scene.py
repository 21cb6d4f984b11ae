# SPDX-License-Identifier: Apache-2.0
"""Two real pairs of actor and learner for tests and pictures, one in plain text, one with certificates; what
may go wrong with them, and how it is mended. Ports stay the same over restarts."""
import pathlib
import shutil
import subprocess
import sys

from tools import SOURCE, run

sys.path.insert(0, str(SOURCE / "tests/integration"))
from processes import BIN, Process, flags, free_port, vixen  # noqa: E402

ACTOR = {"episodes": 8, "steps": 16, "curiosity_max": 0, "hidden1": 16, "hidden2": 16, "value_hidden": 16,
         "advantage_hidden": 16, "threads": 1}
LEARNER = {"capacity": 20000, "min_size": 256, "samples_per_insert": 8, "batch_size": 32, "torch_threads": 1}


class Scene:
    def __init__(self, folder, actor=None, learner=None):
        self.folder = pathlib.Path(folder)
        self.dataset, self.certificates = self.folder / "market.safetensors", self.folder / "certs"
        self.actor_settings, self.learner_settings = {**ACTOR, **(actor or {})}, {**LEARNER, **(learner or {})}
        self.ports = {name: free_port() for name in ("actor", "tls-actor")}
        self.metrics = {name: free_port() for name in ("actor", "tls-actor", "learner", "tls-learner")}
        self.health = free_port()  # of the actor in plain text
        self.cgroup = self.folder / "cgroup"  # stands for that actor's /sys/fs/cgroup
        self.processes, self.collecting, self.starts = {}, None, 0

    def start(self):
        vixen("synth", "b2", "--bars", 4000, "--seed", 7, "--out", self.dataset)
        run(SOURCE / "scripts/dev-certs.sh", self.certificates)
        self.start_actor()
        self.start_tls_actor()
        self.start_learner()
        self.start_tls_learner()

    def _start(self, name, program, settings, *more, environment=None):
        self.starts += 1
        settings = {**settings, "metrics_listen": f"127.0.0.1:{self.metrics[name]}"}
        self.processes[name] = Process(self.folder, f"{name}{self.starts}", program, *flags(settings), *more,
                                       environment=environment)
        self.processes[name].ports()

    def _tls(self, name):
        files = self.certificates
        return {"tls_certificate": files / f"{name}.pem", "tls_key": files / f"{name}.key", "tls_ca": files / "ca.pem"}

    def start_actor(self, *faults):
        self.limit_memory(1 << 34)
        committed = [text for fault in faults for text in ("--fault", fault)]
        self._start("actor", "vixen-actor", {**self.actor_settings, "dataset": self.dataset,
                                             "listen": f"127.0.0.1:{self.ports['actor']}",
                                             "health_listen": f"127.0.0.1:{self.health}"},
                    *committed, *["--allow_faults"] * bool(faults),
                    environment={"VIXEN_CGROUP_ROOT": str(self.cgroup)})

    def limit_memory(self, limit):
        """Of the plain actor's container."""
        self.cgroup.mkdir(exist_ok=True)
        (self.cgroup / "memory.max").write_text(f"{limit}\n")

    def start_tls_actor(self):
        self._start("tls-actor", "vixen-actor", {**self.actor_settings, "dataset": self.dataset, **self._tls("actor"),
                                                 "listen": f"127.0.0.1:{self.ports['tls-actor']}"})

    def start_learner(self):
        self._start("learner", "vixen-learner", {
            **self.learner_settings, "actor": f"127.0.0.1:{self.ports['actor']}", "dataset": self.dataset,
            "out": self.folder / "run", "resume": "last", "consumer": "learner", "save_seconds": 1})

    def start_tls_learner(self):
        self._start("tls-learner", "vixen-learner", {
            **self.learner_settings, "actor": f"localhost:{self.ports['tls-actor']}", "dataset": self.dataset,
            **self._tls("learner"), "out": self.folder / "tls-run", "resume": "last", "consumer": "tls-learner",
            "checkpoint_updates": 200})

    def kill(self, name):
        self.processes.pop(name).kill()

    def collect_without_a_learner(self):
        """Somebody goes on taking batches of the policy that nobody trains now."""
        with open(self.folder / "collect.log", "wb") as log:
            self.collecting = subprocess.Popen(
                [BIN / "vixen", "collect", "--actor", f"127.0.0.1:{self.ports['actor']}",
                 "--launches", "1000000", "--summary"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop_collecting(self):
        self.collecting.kill()
        self.collecting.wait()

    def renew_certificate(self, days):
        run(SOURCE / "scripts/dev-certs.sh", "--days", days, "--only", "actor", self.certificates)

    def tear_certificate(self):
        """Half of a new certificate is written, and no more."""
        whole = (self.certificates / "actor.pem").read_text()
        (self.certificates / "actor.pem").write_text(whole[:len(whole) // 2])

    def break_checkpoints(self):
        folder = self.folder / "tls-run/checkpoints"
        with self.processes["tls-learner"].stopped():  # or it would make the folder anew in between
            folder.rename(folder.with_name("aside"))
            folder.write_text("not a folder")

    def mend_checkpoints(self):
        folder = self.folder / "tls-run/checkpoints"
        with self.processes["tls-learner"].stopped():
            folder.unlink()
            folder.with_name("aside").rename(folder)

    def close(self):
        if self.collecting is not None:
            self.stop_collecting()
        for process in self.processes.values():
            process.kill()
