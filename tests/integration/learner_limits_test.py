# SPDX-License-Identifier: Apache-2.0
"""A learner's limits and files through the real processes: how many samples a row gets, whatever its settings, its
actors and its resumes; and what becomes of its folder when the disk, a kill or a second learner meddles with it."""
import json
import unittest

from processes import WithProcesses, read_log, vixen

BED = ["--carry_over", "--max_episode_steps", 200, "--actions", "1,19,37", "--gamma", 0.95, "--risk_scale", 0,
       "--diversity_penalty", 0]
NETWORK = ["--hidden1", 32, "--hidden2", 32, "--value_hidden", 16, "--advantage_hidden", 16, "--curiosity_hidden", 16]
ROWS, BATCH, MIN_SIZE = 32 * 16, 64, 512
LEARNER = ["--capacity", 20000, "--min_size", MIN_SIZE, "--batch_size", BATCH, "--metrics_listen", "127.0.0.1:0",
           "--torch_threads", 1, "--consumer", "me"]


class Learner(WithProcesses):
    def start_actor(self, name="actor", shape=("--episodes", 32, "--steps", 16)):
        actor = self.start(name, "vixen-actor", "--dataset", self.dataset, "--listen", "127.0.0.1:0",
                           "--metrics_listen", "", "--threads", 1, *shape, *BED, *NETWORK)
        self.actor_process = actor
        return actor.ports()[0]

    def start_learner(self, name, *more, out="out"):
        return self.start(name, "vixen-learner", "--out", self.path / out, "--dataset", self.dataset, *LEARNER, *more)

    def tell(self, file, key, change):
        """Changes what a batch or a policy file says of itself, as if it had been written so."""
        content = file.read_bytes()
        length = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:length])
        header["__metadata__"][key] = change(header["__metadata__"][key])
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        file.write_bytes(len(text).to_bytes(8, "little") + text + content[length:])

    def end_of(self, learner, out="out"):
        """The last line of its log, once it ended well."""
        self.assertEqual(learner.wait(), 0, learner.log.read_text())
        return read_log(self.path / out / "training.jsonl")[-1]


class Offline(Learner):
    LAUNCHES = 8

    def setUp(self):
        super().setUp()
        port = self.start_actor()
        teacher = self.start_learner("teacher", "--actor", f"127.0.0.1:{port}", "--max_updates", 10,
                                     "--checkpoint_seconds", 0, out="teacher")
        vixen("collect", "--actor", f"127.0.0.1:{port}", "--launches", self.LAUNCHES, "--out", self.path / "batches")
        self.end_of(teacher, "teacher")

    def offline(self, name, *more, out="out"):
        return self.start_learner(name, "--offline", self.path / "batches", *more, out=out)

    def test_batches_that_do_not_fit_the_dataset_are_refused_with_both_values(self):
        for key, change, message in (
                ("architecture", lambda text: json.dumps(json.loads(text) | {"features": 52}),
                 "number of features is 52, that of the dataset is 1"),
                ("scaler_fingerprint", lambda _: "ab" * 32, "scaler fingerprint is " + "ab" * 32),
                ("dataset_fingerprint", lambda _: "cd" * 32, "the batches were made on " + "cd" * 32)):
            for file in (self.path / "batches").iterdir():
                self.tell(file, key, change)
            refused = self.offline("refused")
            self.assertEqual(refused.wait(), 1)
            self.assertIn(message, refused.log.read_text().splitlines()[-1])

    def test_each_row_gets_its_samples_and_no_window_beyond_them(self):
        for ratio in (0.1, 16):
            for window, n_step in ((0, 5), (1e6, 1)):
                end = self.end_of(self.offline("run", "--samples_per_insert", ratio, "--limiter_window", window,
                                               "--n_step", n_step))
                self.assertEqual(end["transitions"], self.LAUNCHES * ROWS)
                self.assertEqual(end["updates"], ratio * (self.LAUNCHES * ROWS - MIN_SIZE) // BATCH)

    def test_max_transitions_ends_it_with_the_samples_of_those_rows(self):
        for rows, launches in ((ROWS + 1, 2), (3 * ROWS, 3)):
            end = self.end_of(self.offline("run", "--samples_per_insert", 16, "--max_transitions", rows))
            self.assertEqual(end["transitions"], launches * ROWS)
            self.assertEqual(end["updates"], 16 * (launches * ROWS - MIN_SIZE) // BATCH)

    def test_any_cut_of_a_short_run_goes_on_with_the_same_samples(self):
        more = ["--samples_per_insert", 8, "--n_step", 4]
        straight = self.end_of(self.offline("straight", *more, "--checkpoint_seconds", 0, "--checkpoint_updates", 1,
                                            "--checkpoint_keep", 1000, "--update_trace", self.path / "straight.trace"))
        trace = (self.path / "straight.trace").read_text().splitlines()
        self.assertEqual(len(trace), straight["updates"])
        cuts = sorted((self.path / "out/checkpoints").iterdir())
        kept = {json.loads(vixen("inspect", cut, "--json").stdout)["updates"]: cut for cut in cuts}
        for updates in sorted(kept)[::max(1, len(kept) // 6)]:
            folder = self.path / f"from{updates}"
            folder.mkdir()
            (folder / "checkpoint-000001").symlink_to(kept[updates])
            self.end_of(self.offline("resumed", *more, "--checkpoint_seconds", 0, "--checkpoint_folder", folder, "--resume",
                                     "--update_trace", self.path / "resumed.trace", out="resumed"), "resumed")
            self.assertEqual((self.path / "resumed.trace").read_text().splitlines(), trace[updates:], updates)


class Metrics(Learner):
    def test_prometheus_and_the_log_count_the_same(self):
        learner = self.start_learner("learner", "--actor", f"127.0.0.1:{self.start_actor()}", "--samples_per_insert", 4)
        port = learner.ports()[0]
        value = lambda name: learner.metric(port, name + " ") or 0
        by_action = lambda: [value(f'vixen_learner_action_rows_total{{action="{action}"}}') for action in (1, 19, 37)]
        learner.wait_for(lambda: value("vixen_learner_updates_total") > 200, "updates")
        with self.actor_process.stopped():
            lines = lambda: read_log(self.path / "out/training.jsonl")
            line = lambda: lines()[-1]
            learner.wait_for(lambda: lines() and line()["updates"] > 0 and line()["updates_per_second"] == 0, "a quiet second")
            self.assertEqual(value("vixen_learner_updates_total"), line()["updates"])
            self.assertEqual(value("vixen_replay_inserts_total"), line()["transitions"])
            self.assertEqual(value("vixen_replay_rows"), line()["replay_rows"])
            self.assertEqual(value("vixen_learner_samples_total"), line()["updates"] * BATCH)
            self.assertEqual(value("vixen_learner_weights_version"), line()["online_version"])
            self.assertEqual(value("vixen_learner_epsilon_ratio"), line()["epsilon"])
            self.assertEqual(sum(by_action()), line()["transitions"])
            self.assertGreater(min(by_action()), 0)
            for distribution in ("vixen_learner_sampled_td", "vixen_learner_sampled_q", "vixen_replay_sampled_age_versions",
                                 "vixen_replay_sampled_age_seconds"):
                self.assertEqual(value(f"{distribution}_count"), line()["updates"] * BATCH // 16, distribution)
            self.assertEqual(value('vixen_limiter_blocked{side="learner"}'), 1)
        self.assertEqual(learner.terminate(), 0, learner.log.read_text())


class Limits(Learner):
    def test_another_ratio_at_a_resume_holds_for_what_comes_and_not_for_what_was(self):
        actor = ["--actor", f"127.0.0.1:{self.start_actor()}"]
        before = self.end_of(self.start_learner("first", *actor, "--samples_per_insert", 16, "--max_transitions", 20000))
        # The first would have waited for seven times the rows, the second have made three times the updates at once.
        for ratio in (2, 64):
            end = self.end_of(self.start_learner(f"ratio{ratio}", *actor, "--samples_per_insert", ratio, "--resume",
                                                 "--max_transitions", before["transitions"] + 20 * ROWS))
            rows, updates = end["transitions"] - before["transitions"], end["updates"] - before["updates"]
            self.assertGreaterEqual(rows, 20 * ROWS)
            self.assertAlmostEqual(updates * BATCH, ratio * rows, delta=ratio * rows * 0.05 + 2 * BATCH)
            self.assertIn("changed since then: samples_per_insert", (self.path / f"ratio{ratio}.log").read_text())
            before = end

    def test_counters_go_on_exactly_from_where_thirty_two_and_fifty_three_bits_end(self):
        actor = ["--actor", f"127.0.0.1:{self.start_actor()}", "--checkpoint_seconds", 0, "--samples_per_insert", 4,
                 "--n_step", 1]
        self.end_of(self.start_learner("first", *actor, "--max_updates", 10))
        for start in (2**31 - 1000, 2**32 - 1000, 2**53 - 1000):
            for counter in ("step", "transitions"):
                self.tell(self.path / "out/weights.safetensors", counter, lambda _: str(start))
            end = self.end_of(self.start_learner("later", *actor, "--resume", "--max_transitions", start + 20 * ROWS))
            # An empty replay: the ratio holds for what comes from now on.
            self.assertEqual(end["transitions"] - start, 20 * ROWS)
            self.assertAlmostEqual((end["updates"] - start) * BATCH, 4 * (20 * ROWS - MIN_SIZE), delta=2 * 4 * ROWS + BATCH)

    def test_many_actors_with_long_windows_do_not_wait_for_each_other_for_ever(self):
        actors = []
        for number in range(5):
            port = self.start_actor(f"actor{number}", ("--episodes", 16, "--steps", 2))
            actors += ["--actor", f"127.0.0.1:{port}"]
        end = self.end_of(self.start_learner("many", *actors, "--n_step", 20, "--cut_exploratory=false", "--samples_per_insert", 4,
                                             "--batch_size", 16, "--min_size", 64, "--max_transitions", 5000))
        self.assertGreaterEqual(end["transitions"], 5000)

    def test_one_frozen_actor_of_three_holds_up_nobody(self):
        actors, frozen = [], None
        for number in range(3):
            actors += ["--actor", f"127.0.0.1:{self.start_actor(f'actor{number}')}"]
            frozen = frozen or self.actor_process
        # Keepalive would end the frozen one's stream, and give its credit back.
        learner = self.start_learner("learner", *actors, "--samples_per_insert", 4, "--keepalive_seconds", 3600)
        port = learner.ports()[0]
        updates = lambda: learner.metric(port, "vixen_learner_updates_total ") or 0
        learner.wait_for(lambda: learner.metric(port, 'vixen_learner_actors{state="ready"}') == 3 and updates() > 100,
                         "updates from three actors")
        with frozen.stopped():
            before = updates()
            learner.wait_for(lambda: updates() > before + 3000, "3,000 updates from the other two", seconds=240)
        self.assertEqual(learner.terminate(), 0, learner.log.read_text())


class Together(Learner):
    def test_two_that_push_one_policy_and_are_no_ranks_both_say_so(self):
        actor = ["--actor", f"127.0.0.1:{self.start_actor()}", "--samples_per_insert", 4]
        first = self.start_learner("first", *actor, out="first")
        second = self.start_learner("second", *actor, "--consumer", "you", out="second")
        said = "somebody else pushes weights of policy default too"
        for learner in (first, second):
            learner.wait_for(lambda learner=learner: said in learner.log.read_text(), "the warning")
        self.assertEqual(second.terminate(), 0, second.log.read_text())
        updates = lambda: max((line["updates"] for line in read_log(self.path / "first/training.jsonl")), default=0)
        before = updates()
        first.wait_for(lambda: updates() > before, "more updates")
        self.assertEqual(first.terminate(), 0, first.log.read_text())


class Folder(Learner):
    def setUp(self):
        super().setUp()
        self.actor = ["--actor", f"127.0.0.1:{self.start_actor()}", "--samples_per_insert", 4]
        self.log = self.path / "out/training.jsonl"

    def updates(self):
        lines = read_log(self.log)
        return lines[-1]["updates"] if lines else 0

    def wait_for_more(self, learner):
        before = self.updates()
        learner.wait_for(lambda: self.updates() > before, "more lines")

    def test_a_second_learner_is_kept_out_of_it(self):
        first = self.start_learner("first", *self.actor, "--checkpoint_folder", self.path / "kept")
        self.wait_for_more(first)
        lines = len(read_log(self.log))
        for more in (["--consumer", "other"], ["--policy", "other", "--resume"],
                     ["--policy", "other", "--out", self.path / "else", "--checkpoint_folder", self.path / "kept"]):
            second = self.start_learner("second", *self.actor, *more)
            self.assertEqual(second.wait(), 1)
            last = second.log.read_text().splitlines()[-1]
            self.assertIn(f"{self.path / ('kept' if 'else' in str(more) else 'out')} is in use by another process", last)
        self.assertGreaterEqual(len(read_log(self.log)), lines)
        first.kill()
        third = self.start_learner("third", *self.actor, "--checkpoint_folder", self.path / "kept", "--resume")
        self.wait_for_more(third)
        self.assertEqual(third.terminate(), 0, third.log.read_text())

    def test_a_line_that_a_kill_cut_short_is_gone_after_a_resume(self):
        self.end_of(self.start_learner("first", *self.actor, "--max_updates", 50))
        with open(self.log, "a") as log:
            log.write('{"updates":')
        self.end_of(self.start_learner("second", *self.actor, "--max_updates", 100, "--resume"))
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        self.assertEqual(lines[-1]["updates"], 100)

    def test_what_cannot_be_written_for_a_while_is_told_and_ends_no_training(self):
        (self.path / "out").mkdir()
        self.log.symlink_to("/dev/full")
        weights = self.path / "out/weights.safetensors"
        weights.mkdir()
        learner = self.start_learner("learner", *self.actor, "--checkpoint_seconds", 0, "--save_seconds", 0.1)
        port = learner.ports()[0]
        updates = lambda: learner.metric(port, "vixen_learner_updates_total ")
        for file, why in ((self.log, "No space left on device"), (weights, "it is not a regular file")):
            learner.wait_for(lambda: f"{file}: {why}; training goes on" in learner.log.read_text(), why)
        before = updates()
        learner.wait_for(lambda: updates() > before, "more updates")
        self.log.unlink()
        weights.rmdir()
        self.wait_for_more(learner)
        self.assertEqual(learner.terminate(), 0, learner.log.read_text())
        self.assertTrue(weights.is_file())

    def test_what_cannot_be_written_at_the_end_is_a_failure(self):
        (self.path / "out").mkdir()
        self.log.symlink_to("/dev/full")
        learner = self.start_learner("learner", *self.actor, "--max_updates", 50)
        self.assertEqual(learner.wait(), 1)
        self.assertIn("No space left on device", learner.log.read_text().splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
