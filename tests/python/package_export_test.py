# SPDX-License-Identifier: Apache-2.0
"""vixen-export and EpisodeWriter: batches as NPZ and as Minari's episodes."""
import contextlib
import io
import json
import os
import types
import unittest

from package_world import OneActor
import numpy as np
import vixen
from vixen import export
from vixen.batch import Batch
from vixen.offline import EpisodeWriter
from vixen.v1 import batch_pb2, config_pb2

try:
    import h5py
except ImportError:
    h5py = None
try:
    import minari
except ImportError:
    minari = None


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = export.main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


class FromAnActor(OneActor):
    settings = {"max_holding_bars": 5}

    def test_npz_files_hold_columns_states_and_what_made_them(self):
        folder = self.world.folder / "npz"
        code, out, err = run("--actor", self.world.address, "--policy", "p", "--launches", 2, "--npz", folder)
        self.assertEqual((code, out), (0, "2 batches, 512 rows\n"), err)
        files = sorted(folder.iterdir())
        first, second = (int(file.stem[17:]) for file in files)
        self.assertEqual(second, first + 1)
        arrays = np.load(files[1])
        dataset = vixen.Dataset(self.world.dataset)
        np.testing.assert_array_equal(arrays["state"], dataset.states(arrays["bar"], arrays["portfolio"]))
        self.assertEqual(arrays["terms"].shape, (8, 32, 5))
        header = json.loads(str(arrays["header"]))
        self.assertEqual((header["sequence"], header["online_version"], header["policy"]), (second, 1, "p"))
        self.assertAlmostEqual(header["gamma"], 0.99, places=6)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_episodes_are_those_of_the_batches(self):
        folder = self.world.folder / "bars-v0"
        with self.actor.batches("p", group="episodes", limit=3, dataset=vixen.Dataset(self.world.dataset)) as stream:
            with EpisodeWriter(folder, "bars-v0") as writer:
                batches = list(stream)
                for batch in batches:
                    writer.add(batch)
        ends = sum(int((b.terminated | b.truncated).sum()) for b in batches)
        self.assertEqual(writer.episodes, ends)
        self.assertEqual(writer.steps, sum(b.rows for b in batches))
        metadata = json.loads((folder / "data/metadata.json").read_text())
        self.assertEqual((metadata["total_episodes"], metadata["total_steps"]), (ends, 768))
        with h5py.File(folder / "data/main_data.hdf5") as file:
            self.assertEqual(len(file), ends)
            first, batch = file["episode_0"], batches[0]
            steps = int(np.flatnonzero(batch.terminated[0] | batch.truncated[0])[0]) + 1
            self.assertEqual(first["rewards"].shape, (steps,))
            np.testing.assert_array_equal(first["observations"][:-1], batch.states()[0, :steps])
            np.testing.assert_array_equal(first["observations"][-1], batch.next_states()[0, steps - 1])
            np.testing.assert_array_equal(first["actions"], batch["action"][0, :steps])
            flags = first["terminations"][:] + 2 * first["truncations"][:]
            self.assertEqual((flags[:-1].sum(), flags[-1] in (1, 2)), (0, True))
            total = sum(file[name]["rewards"][:].sum(dtype=np.float64) for name in file)
        self.assertAlmostEqual(total, sum(b["reward"].sum(dtype=np.float64) for b in batches), places=4)
        with self.assertRaisesRegex(vixen.ConfigurationError, "is there already"):
            EpisodeWriter(folder, "bars-v0")

    @unittest.skipIf(h5py is None or minari is None, "minari is not installed")
    def test_minari_reads_them(self):
        folder = self.world.folder / "read-v0"
        self.assertEqual(run("--actor", self.world.address, "--policy", "p", "--group", "minari", "--launches", 2,
                             "--minari", folder)[0], 0)
        os.environ["MINARI_DATASETS_PATH"] = str(self.world.folder)
        data = minari.load_dataset("read-v0")
        self.assertEqual(data.total_steps, 512)
        episode = data[0]
        self.assertEqual(len(episode.observations), len(episode.actions) + 1)
        self.assertTrue(data.observation_space.contains(episode.observations[0]))

    def test_what_cannot_work_is_said_in_one_line(self):
        code, _, err = run("--actor", "nonsense", "--npz", self.world.folder / "x")
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("expected HOST:PORT", err)


@unittest.skipIf(h5py is None, "h5py is not installed")
class OverLaunches(OneActor):
    settings = {"carry_over": "true", "steps": 4, "max_episode_steps": 10}

    def test_episodes_that_go_on_are_joined_and_torn_ones_left_out(self):
        dataset = vixen.Dataset(self.world.dataset)
        with self.actor.batches("p", group="g", limit=9, dataset=dataset) as stream:
            batches = list(stream)
        self.assertEqual([b.header.launch for b in batches], list(range(9)))

        def lengths(name, chosen):
            with EpisodeWriter(self.world.folder / name, name) as writer:
                for batch in chosen:
                    writer.add(batch)
            with h5py.File(self.world.folder / name / "data/main_data.hdf5") as file:
                for episode in file.values():
                    bars = episode["infos/bar"][:-1].astype(int)
                    self.assertTrue((np.diff(bars) == 1).all(), bars)
                    self.assertEqual(episode["observations"][0, -3], 1.0)  # began with its capital
                return [len(file[f"episode_{i}"]["rewards"]) for i in range(writer.episodes)]

        whole = lengths("whole", batches)
        self.assertEqual(len(whole), sum(int((b.terminated | b.truncated).sum()) for b in batches))
        self.assertIn(10, whole)
        late = lengths("late", batches[1:])
        torn = lengths("torn", batches[:4] + batches[5:])
        self.assertLess(len(late), len(whole))
        self.assertLess(len(torn), len(whole))


class Handmade(unittest.TestCase):
    def test_a_batch_whose_rows_do_not_add_up_is_refused(self):
        columns = {"flags": np.array([[1, 1, 0]], np.uint8)}
        header = batch_pb2.BatchHeader(sequence=4)
        Batch(header, types.SimpleNamespace(valid_rows=2), config_pb2.EnvironmentSettings(), columns, 3)
        with self.assertRaisesRegex(vixen.DataError, "batch 4 has 2 valid rows, its trailer says 3"):
            Batch(header, types.SimpleNamespace(valid_rows=3), config_pb2.EnvironmentSettings(), columns, 3)


if __name__ == "__main__":
    unittest.main()
