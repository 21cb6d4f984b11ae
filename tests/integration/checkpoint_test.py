# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, resume and audit through the real processes: what a killed learner goes on from, and that both
ends account for every row."""
import hashlib
import json
import shutil
import struct
import unittest

from processes import WithProcesses, vixen, wait_for

BED = ["--episodes", 32, "--steps", 16, "--carry_over", "--max_episode_steps", 200, "--actions", "1,19,37",
       "--gamma", 0.95, "--risk_scale", 0, "--diversity_penalty", 0]
NETWORK = ["--hidden1", 32, "--hidden2", 32, "--value_hidden", 16, "--advantage_hidden", 16, "--curiosity_hidden", 16]
LEARNER = ["--capacity", 20000, "--min_size", 512, "--n_step", 3, "--batch_size", 64, "--metrics_listen", "127.0.0.1:0",
           "--torch_threads", 1, "--consumer", "me"]
OFFLINE = [*LEARNER, "--samples_per_insert", 128, "--limiter_window", 100000, "--curiosity_every", 3]


class Folder(WithProcesses):
    def start_actor(self, *more):
        actor = self.start("actor", "vixen-actor", "--dataset", self.dataset, "--listen", "127.0.0.1:0",
                           "--metrics_listen", "127.0.0.1:0", "--threads", 1, *BED, *NETWORK, *more)
        return actor, actor.ports()[0]

    def start_learner(self, port, *more, name="learner", out="out"):
        return self.start(name, "vixen-learner", "--actor", f"127.0.0.1:{port}", "--out", self.path / out,
                          "--cache", self.path / "cache", *LEARNER, *more)

    def checkpoints(self, out="out"):
        return sorted(path for path in (self.path / out / "checkpoints").glob("checkpoint-*") if not path.suffix)

    def newest(self, out="out"):
        """What `vixen inspect` says of the newest checkpoint, while a learner writes newer ones and removes old ones."""
        def inspected():
            done = vixen("inspect", self.checkpoints(out)[-1], "--json", check=False)
            return json.loads(done.stdout) if done.returncode == 0 else None
        return wait_for(inspected, "a checkpoint that stays")

    def record(self, launches, *more):
        """Batches of a learner's policy, and every version that it pushed."""
        actor, port = self.start_actor()
        learner = self.start_learner(port, "--weights_archive", self.path / "archive", "--max_transitions", 3000,
                                     "--checkpoint_seconds", 0, out="recorded", *more)
        vixen("collect", "--actor", f"127.0.0.1:{port}", "--launches", launches, "--out", self.path / "batches")
        self.assertEqual(learner.wait(), 0, learner.log.read_text())
        self.assertEqual(actor.terminate(), 0)
        return sorted((self.path / "batches").iterdir())


class Resume(Folder):
    def offline(self, name, *more):
        return self.start(name, "vixen-learner", "--offline", self.path / "batches", "--dataset", self.dataset,
                          *OFFLINE, *more)

    def test_a_killed_learner_goes_on_with_the_same_samples_and_losses(self):
        self.record(8)
        killed = self.offline("killed", "--out", self.path / "out", "--checkpoint_updates", 400,
                              "--update_trace", self.path / "killed.trace")
        killed.wait_for(lambda: len(self.checkpoints()) >= 3, "three checkpoints")
        killed.kill()
        cut = json.loads(vixen("inspect", self.checkpoints()[-1], "--json").stdout)
        last = cut["updates"] + 1000
        for name, more in (("straight", ["--checkpoint_seconds", 0, "--out", self.path / "straight"]),
                           ("resumed", ["--checkpoint_seconds", 0, "--out", self.path / "out", "--resume"])):
            run = self.offline(name, "--max_updates", last, "--update_trace", self.path / f"{name}.trace", *more)
            self.assertEqual(run.wait(), 0, run.log.read_text())
        straight = (self.path / "straight.trace").read_text().splitlines()
        resumed = (self.path / "resumed.trace").read_text().splitlines()
        self.assertEqual(len(straight), last)
        self.assertEqual(len(resumed), 1000)
        self.assertEqual(resumed, straight[-1000:])

    def test_a_damaged_checkpoint_is_named_and_an_older_one_taken_only_when_allowed(self):
        self.record(8)
        run = self.offline("run", "--out", self.path / "out", "--checkpoint_updates", 200, "--max_updates", 2000)
        self.assertEqual(run.wait(), 0, run.log.read_text())
        older, newest = self.checkpoints()[-2:]
        replay = newest / "replay.safetensors"
        content = bytearray(replay.read_bytes())
        content[len(content) // 2] ^= 1
        replay.write_bytes(content)

        refused = self.offline("refused", "--out", self.path / "out", "--resume")
        self.assertEqual(refused.wait(), 1)
        self.assertIn(str(replay), refused.log.read_text())
        self.assertIn("--resume=previous-ok", refused.log.read_text())
        self.assertEqual(vixen("inspect", newest, check=False).returncode, 1)

        updates = json.loads(vixen("inspect", older, "--json").stdout)["updates"]
        resumed = self.offline("resumed", "--out", self.path / "out", "--resume=previous-ok", "--max_updates", updates + 50)
        self.assertEqual(resumed.wait(), 0, resumed.log.read_text())
        self.assertIn(f"resumed from {older}: {updates} updates", resumed.log.read_text())
        self.assertIn(str(replay), resumed.log.read_text())

    def make_unusable(self, checkpoint):
        """An action that there is not, under checksums that say the file is as it was written."""
        replay = checkpoint / "replay.safetensors"
        content = replay.read_bytes()
        length = 8 + int.from_bytes(content[:8], "little")
        header, data = json.loads(content[8:length]), bytearray(content[length:])
        data[header["action"]["data_offsets"][0] + 3] = 99
        before = header["__metadata__"]["sha256"].encode()
        replay.write_bytes(content[:length].replace(before, hashlib.sha256(data).hexdigest().encode()) + data)
        sums = checkpoint / "SHA256SUMS"
        sums.write_text(sums.read_text().replace(hashlib.sha256(content).hexdigest(),
                                                 hashlib.sha256(replay.read_bytes()).hexdigest()))

    def test_a_checkpoint_whose_rows_are_refused_is_passed_over_when_allowed(self):
        self.record(8)
        run = self.offline("run", "--out", self.path / "out", "--checkpoint_updates", 200, "--max_updates", 1000)
        self.assertEqual(run.wait(), 0, run.log.read_text())
        older, newest = self.checkpoints()[-2:]
        self.make_unusable(newest)
        fault = f"{newest}: checkpoint is damaged: row 3: action is 99"

        refused = self.offline("refused", "--out", self.path / "out", "--resume")
        self.assertEqual(refused.wait(), 1)
        self.assertIn(f"{fault}; --resume=previous-ok goes on from an older one", refused.log.read_text())

        updates = json.loads(vixen("inspect", older, "--json").stdout)["updates"]
        resumed = self.offline("resumed", "--out", self.path / "out", "--resume=previous-ok", "--max_updates", updates + 50)
        self.assertEqual(resumed.wait(), 0, resumed.log.read_text())
        self.assertIn(f"{fault}; going on from an older one", resumed.log.read_text())
        self.assertIn(f"resumed from {older}: {updates} updates", resumed.log.read_text())

    def test_without_checkpoints_training_goes_on_from_the_weights(self):
        self.record(8)
        run = self.offline("run", "--out", self.path / "out", "--checkpoint_seconds", 0, "--max_updates", 500)
        self.assertEqual(run.wait(), 0, run.log.read_text())
        resumed = self.offline("resumed", "--out", self.path / "out", "--checkpoint_updates", 600, "--resume",
                               "--max_updates", 600)
        self.assertEqual(resumed.wait(), 0, resumed.log.read_text())
        self.assertRegex(resumed.log.read_text(), r"resumed from .*weights.safetensors: 500 updates")
        self.assertEqual(json.loads(vixen("inspect", self.checkpoints()[-1], "--json").stdout)["updates"], 600)
        steps = (self.checkpoints()[-1] / "optimizer.safetensors").read_bytes()
        length = 8 + int.from_bytes(steps[:8], "little")
        first = json.loads(steps[8:length])["network.steps"]["data_offsets"][0]
        self.assertEqual(struct.unpack_from("<f", steps, length + first)[0], 100)  # Adam began anew

    def test_another_setting_that_gives_the_rows_their_meaning_is_refused_with_both_values(self):
        self.record(4)
        run = self.offline("run", "--out", self.path / "out", "--checkpoint_updates", 200, "--max_updates", 400)
        self.assertEqual(run.wait(), 0, run.log.read_text())
        for setting, value, before in (("--capacity", 30000, "20000"), ("--n_step", 2, "3"), ("--alpha", 0.5, "0.6"),
                                       ("--consumer", "other", "\"me\"")):
            other = self.offline("other", "--out", self.path / "out", "--resume", setting, value)
            self.assertEqual(other.wait(), 1)
            self.assertRegex(other.log.read_text(), f"has {setting[2:]} {before}, this run has .*{value}")


class Books(Folder):
    def balance(self, port, group="learner"):
        """The actor's sheet of a group, in rows."""
        info = json.loads(vixen("inspect", "--actor", f"127.0.0.1:{port}", "--json").stdout)
        return next(sheet for sheet in info["balance_rows"] if sheet["group"] == group)

    def dropped(self, port, reason, group="learner"):
        info = json.loads(vixen("inspect", "--actor", f"127.0.0.1:{port}", "--json").stdout)
        return sum(row["rows"] for row in info.get("dropped", []) if (row["group"], row["reason"]) == (group, reason))

    def test_rows_lost_with_a_killed_learner_are_counted_by_both_ends(self):
        actor, port = self.start_actor()
        flags = ["--checkpoint_updates", 400, "--checkpoint_seconds", 0, "--samples_per_insert", 4]
        for _ in range(3):
            learner = self.start_learner(port, *flags, "--resume")
            before = self.checkpoints()
            learner.wait_for(lambda: self.checkpoints()[-1:] != before[-1:], "a checkpoint")
            held = self.newest()["runs"][0]["rows"]
            learner.wait_for(lambda: self.balance(port)["acknowledged"] + self.balance(port)["durable"] > held,
                             "rows beyond the checkpoint")
            learner.kill()
        last = self.start_learner(port, *flags, "--resume")
        learner_port = last.ports()[0]
        metric = lambda state: last.metric(learner_port, 'vixen_learner_sheet_rows{actor="127.0.0.1:%d",run="live",'
                                                         'state="%s"' % (port, state))
        held = last.wait_for(lambda: metric("inserted"), "the rows of the checkpoint")
        last.wait_for(lambda: metric("inserted") > held, "more rows")
        lost = metric("lost_with_predecessor")
        self.assertEqual(last.terminate(), 0, last.log.read_text())
        self.assertIn("are in no checkpoint: lost", last.log.read_text())

        sheet = self.balance(port)
        final = json.loads(vixen("inspect", self.checkpoints()[-1], "--json").stdout)["runs"][0]
        self.assertGreater(lost, 0)
        self.assertEqual(self.dropped(port, "lost_with_consumer"), lost)
        self.assertEqual(final["lost_rows"], lost)
        self.assertEqual(sheet["durable"], final["rows"])
        self.assertEqual(sheet["acknowledged"], 0)
        self.assertEqual(sheet["offered"], final["rows"] + sheet["dropped"] + sheet["retained"] + sheet["in_flight"])
        self.assertEqual(actor.terminate(), 0)

    def test_two_learners_of_one_actor_train_two_policies_apart(self):
        actor, port = self.start_actor()
        learners = [self.start_learner(port, "--policy", policy, "--epsilon_start", epsilon, "--epsilon_end", epsilon,
                                       "--train_seed", seed, "--max_transitions", 6000, name=policy, out=policy)
                    for policy, epsilon, seed in (("left", 0.25, 1), ("right", 0.75, 2))]
        for learner in learners:
            self.assertEqual(learner.wait(), 0, learner.log.read_text())
        info = json.loads(vixen("inspect", "--actor", f"127.0.0.1:{port}", "--json").stdout)
        policies = {policy["policy"]: policy for policy in info["policies"]}
        self.assertEqual(sorted(policies), ["left", "right"])
        self.assertEqual(policies["left"]["epsilon"], 0.25)
        self.assertEqual(policies["right"]["epsilon"], 0.75)
        sheets = {sheet["policy"]: sheet for sheet in info["balance_rows"]}
        for policy in policies:
            self.assertGreaterEqual(sheets[policy]["offered"], 6000)
            final = json.loads(vixen("inspect", self.checkpoints(policy)[-1], "--json").stdout)
            self.assertEqual(final["policy"], policy)
            self.assertEqual(final["runs"][0]["rows"], sheets[policy]["durable"])
            vixen("collect", "--actor", f"127.0.0.1:{port}", "--policy", policy, "--launches", 1, "--out", self.path / "one")
        batches = [json.loads(vixen("inspect", path, "--json").stdout) for path in sorted((self.path / "one").iterdir())]
        self.assertEqual([batch["policy"] for batch in batches], ["left", "right"])
        self.assertNotEqual(batches[0]["run_seed"], batches[1]["run_seed"])
        self.assertEqual(actor.terminate(), 0)


class Audit(Folder):
    def audit(self, *arguments):
        return vixen("audit", *arguments, check=False)

    def test_recorded_batches_are_computed_again_and_a_changed_one_is_named(self):
        batches = self.record(6)
        archive = self.path / "archive"
        given = ["--data", self.dataset, "--weights", archive]
        passed = self.audit(*batches, *given)
        self.assertEqual(passed.returncode, 0, passed.stdout + passed.stderr)
        self.assertEqual(passed.stdout.count("equal bytes"), 6)

        changed = self.path / "changed.safetensors"
        content = bytearray(batches[3].read_bytes())
        content[-40] ^= 1
        changed.write_bytes(content)
        failed = self.audit(batches[0], changed, *given)
        self.assertEqual(failed.returncode, 1)
        self.assertIn(f"FAILED {changed}", failed.stdout)
        self.assertIn("1 of 2 batches", failed.stderr)

        other = self.audit(batches[0], *given, "--gamma", 0.9)
        self.assertEqual(other.returncode, 1)
        self.assertIn("setting gamma: recorded 0.95, expected 0.9", other.stdout)
        shutil.rmtree(archive)
        archive.mkdir()
        self.assertEqual(self.audit(batches[0], *given).returncode, 1)
        self.assertEqual(self.audit(batches[0], "--data", self.dataset).returncode, 2)
        self.assertEqual(self.audit(batches[0], *given, "--precision", "fp16").returncode, 2)

    def test_a_consumer_keeps_the_weights_that_its_batches_were_made_with(self):
        actor, port = self.start_actor()
        learner = self.start_learner(port, "--max_transitions", 1000, "--checkpoint_seconds", 0)
        self.assertEqual(learner.wait(), 0, learner.log.read_text())
        vixen("collect", "--actor", f"127.0.0.1:{port}", "--launches", 3, "--out", self.path / "batches",
              "--weights_out", self.path / "kept")
        self.assertEqual(len(list((self.path / "kept").iterdir())), 3)
        passed = self.audit(*(self.path / "batches").iterdir(), "--data", self.dataset, "--weights", self.path / "kept")
        self.assertEqual(passed.returncode, 0, passed.stdout + passed.stderr)
        self.assertEqual(actor.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
