# SPDX-License-Identifier: Apache-2.0
"""Several learners on one policy through the real processes, started as a launcher starts them: by RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
import contextlib
import json
import re
import shutil
import time
import unittest

from processes import WithProcesses, free_port, read_log, vixen

BED = ["--episodes", 32, "--steps", 8, "--carry_over", "--max_episode_steps", 200, "--actions", "1,19,37",
       "--gamma", 0.95, "--risk_scale", 0, "--diversity_penalty", 0]
NETWORK = ["--hidden1", 32, "--hidden2", 32, "--value_hidden", 16, "--advantage_hidden", 16, "--curiosity_hidden", 16]
LEARNER = ["--capacity", 20000, "--min_size", 512, "--batch_size", 32, "--samples_per_insert", 8,
           "--metrics_listen", "127.0.0.1:0", "--torch_threads", 1, "--rank_timeout_seconds", 5]


class Ranks(WithProcesses):
    def setUp(self):
        super().setUp()
        self.actor = self.start("actor", "vixen-actor", "--dataset", self.dataset, "--listen", "127.0.0.1:0",
                                "--metrics_listen", "127.0.0.1:0", "--threads", 1, *BED, *NETWORK)
        self.port = self.actor.ports()[0]

    def start_ranks(self, world, *more, of_rank=lambda rank: [], local_rank=lambda rank: rank):
        port = free_port()
        return [self.start(f"rank{rank}", "vixen-learner", "--actor", f"127.0.0.1:{self.port}", "--dataset",
                           self.dataset, "--out", self.path / "out", *LEARNER, *more, *of_rank(rank),
                           environment={"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local_rank(rank)),
                                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
                for rank in range(world)]

    def log(self, rank=0):
        return read_log(self.path / "out" / ("" if rank == 0 else f"rank-{rank}") / "training.jsonl")

    def wait_for_updates(self, process, more):
        before = self.log()[-1]["updates"] if self.log() else 0
        process.wait_for(lambda: self.log() and self.log()[-1]["updates"] >= before + more, f"{more} updates more")

    def tensors(self, path):
        """Their bytes: what follows the header."""
        content = path.read_bytes()
        return content[8 + int.from_bytes(content[:8], "little"):]

    def weights(self, folder):
        return self.tensors(folder / "weights.safetensors")

    def version(self):
        info = json.loads(vixen("inspect", "--actor", f"127.0.0.1:{self.port}", "--json").stdout)
        return info["policies"][0]["online"]

    def test_three_ranks_train_one_policy_from_the_batches_of_one_group(self):
        ranks = self.start_ranks(3, "--max_transitions", 6000)
        for rank in ranks:
            self.assertEqual(rank.wait(), 0, rank.log.read_text())
        for rank in (1, 2):
            self.assertEqual(self.weights(self.path / "out"), self.weights(self.path / "out" / f"rank-{rank}"))
        updates = [self.log(rank)[-1]["updates"] for rank in range(3)]
        self.assertEqual(updates, 3 * updates[:1])
        # 8 samples an inserted row, over all ranks.
        self.assertGreater(updates[0] * 3 * 32, 0.5 * 8 * (6000 - 3 * 512))
        rows = [int(re.search(r"inserted \d+ batches, (\d+) rows", rank.log.read_text())[1]) for rank in ranks]
        for rank in range(3):
            self.assertGreater(rows[rank], 1000, rows)
        self.assertGreaterEqual(sum(rows), 6000)
        info = json.loads(vixen("inspect", "--actor", f"127.0.0.1:{self.port}", "--json").stdout)
        self.assertEqual(len([s for s in info["balance_rows"] if s["policy"] == "default"]), 1)
        self.assertEqual(sum(rows), info["balance_rows"][0]["durable"])

    def test_when_a_rank_is_killed_the_others_say_so_and_stop(self):
        ranks = self.start_ranks(2)
        self.wait_for_updates(ranks[0], 100)
        ranks[1].kill()
        self.assertEqual(ranks[0].wait(), 1)
        self.assertRegex(ranks[0].log.read_text(), r"rank 1 is lost; rank 0 stopped after \d+ updates")
        # What is live is what rank 0 made last, or what it pushed last before.
        final = json.loads(vixen("inspect", self.path / "out" / "weights.safetensors", "--json").stdout)
        self.assertLessEqual(self.version(), final["kinds"][0]["version"])

    def test_when_rank_zero_is_killed_the_others_say_so_and_stop(self):
        ranks = self.start_ranks(2, "--on_rank_lost", "continue")
        self.wait_for_updates(ranks[0], 100)
        ranks[0].kill()
        self.assertEqual(ranks[1].wait(), 1)
        self.assertIn("rank 0 is lost", ranks[1].log.read_text())

    def test_when_rank_zero_is_frozen_the_others_say_so_and_stop(self):
        ranks = self.start_ranks(2, "--on_rank_lost", "continue")
        self.wait_for_updates(ranks[0], 100)
        with ranks[0].stopped():
            self.assertEqual(ranks[1].wait(), 1)
        self.assertIn("rank 0 is lost (it does not answer)", ranks[1].log.read_text())
        ranks[0].kill()

    def test_with_continue_the_rest_goes_on(self):
        ranks = self.start_ranks(3, "--on_rank_lost", "continue")
        self.wait_for_updates(ranks[0], 100)
        ranks[1].kill()
        ranks[0].wait_for(lambda: "rank 1 is lost: going on with 2 of them" in ranks[0].log.read_text(), "the loss")
        self.wait_for_updates(ranks[0], 100)
        self.assertEqual(ranks[2].terminate(), 0, ranks[2].log.read_text())  # one that is asked to stop
        ranks[0].wait_for(lambda: "rank 2 was asked to stop: going on without" in ranks[0].log.read_text(), "its leave")
        self.wait_for_updates(ranks[0], 100)
        self.assertEqual(ranks[0].terminate(), 0, ranks[0].log.read_text())

    def cuts(self, rank, after):
        """Weights and optimiser of the checkpoints with more than `after` updates, by their updates; those that are
        removed meanwhile are left out."""
        folder = self.path / "out" / ("" if rank == 0 else f"rank-{rank}") / "checkpoints"
        cuts = {}
        for path in folder.glob("checkpoint-??????"):
            with contextlib.suppress(FileNotFoundError):
                updates = int(re.search(r"^updates: (\d+)", (path / "state.textproto").read_text(), re.M)[1])
                if updates > after:
                    cuts[updates] = [self.tensors(path / f"{part}.safetensors") for part in ("weights", "optimizer")]
        return cuts

    def test_survivors_of_ranks_killed_one_after_the_other_stay_equal(self):
        ranks = self.start_ranks(4, "--on_rank_lost", "continue", "--checkpoint_updates", 25, "--checkpoint_keep", 1000,
                                 "--rank_timeout_seconds", 15)
        for killed, survivors in ((1, (0, 2, 3)), (3, (0, 2))):
            self.wait_for_updates(ranks[0], 60)
            # The others stand in the middle of what they do together, and one of them looks up late.
            with ranks[killed].stopped(), ranks[2].stopped():
                time.sleep(0.5)
                ranks[killed].kill()
                time.sleep(0.5)
            for rank in survivors:
                word = f"rank {killed} is lost: going on with {len(survivors)} of them"
                ranks[rank].wait_for(lambda: word in ranks[rank].log.read_text(), word)
            lost_at = self.log()[-1]["updates"]
            self.wait_for_updates(ranks[0], 150)

            def common():
                cuts = [self.cuts(rank, lost_at) for rank in survivors]
                updates = sorted(set.intersection(*map(set, cuts)))
                return len(updates) >= 3 and [[cut[n] for cut in cuts] for n in updates]
            for cuts in ranks[0].wait_for(common, "checkpoints of all of the same updates"):
                for cut in cuts[1:]:
                    self.assertEqual(cut, cuts[0])
        self.assertEqual(ranks[0].terminate(), 0, ranks[0].log.read_text())
        self.assertEqual(ranks[2].wait(), 0, ranks[2].log.read_text())

    def test_ranks_stop_together_and_resume_from_their_checkpoints(self):
        ranks = self.start_ranks(2, "--checkpoint_updates", 100)
        self.wait_for_updates(ranks[0], 300)
        self.assertEqual(ranks[1].terminate(), 0, ranks[1].log.read_text())
        self.assertEqual(ranks[0].wait(), 0, ranks[0].log.read_text())
        before = self.log()[-1]["updates"]
        again = self.start_ranks(2, "--resume")
        self.wait_for_updates(again[0], 100)
        for rank in again:
            self.assertIn(f"{before} updates", rank.log.read_text())
        self.assertEqual(again[0].terminate(), 0, again[0].log.read_text())
        self.assertEqual(again[1].wait(), 0, again[1].log.read_text())

    @unittest.skipUnless(shutil.which("nvidia-smi"), "no GPU")
    def test_ranks_on_a_gpu_and_on_the_host_are_refused(self):
        ranks = self.start_ranks(2, of_rank=lambda rank: ["--device", ["cuda", "cpu"][rank]])
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("rank 1 has replay and updates on the host, rank 0 has on a GPU", rank.log.read_text())

    @unittest.skipUnless(shutil.which("nvidia-smi"), "no GPU")
    def test_ranks_that_share_a_gpu_go_through_the_host_and_say_so(self):
        ranks = self.start_ranks(2, "--device", "cuda", "--max_updates", 300, of_rank=lambda _: [],
                                 local_rank=lambda _: 0)
        for rank in ranks:
            self.assertEqual(rank.wait(), 0, rank.log.read_text())
            self.assertIn("gradients go through the host (Gloo), one update a launch: ranks 0 and 1 share GPU",
                          rank.log.read_text())
        self.assertEqual(self.weights(self.path / "out"), self.weights(self.path / "out" / "rank-1"))
        refused = self.start_ranks(2, "--device", "cuda", "--gradient_exchange", "nccl", local_rank=lambda _: 0)
        for rank in refused:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("gradient_exchange is NCCL: ranks 0 and 1 share GPU", rank.log.read_text())

    def test_ranks_that_disagree_are_refused_with_both_values(self):
        ranks = self.start_ranks(2, of_rank=lambda rank: ["--learning_rate", [0.001, 0.002][rank]])
        for rank in ranks:
            self.assertEqual(rank.wait(), 1)
            self.assertIn("rank 1 has learning_rate 0.002, rank 0 has 0.001", rank.log.read_text())


if __name__ == "__main__":
    unittest.main()
