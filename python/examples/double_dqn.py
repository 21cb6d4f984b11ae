# SPDX-License-Identifier: Apache-2.0
"""A whole double-DQN learner in PyTorch against a running vixen-actor.

    python3 double_dqn.py --actor 127.0.0.1:50051 --transitions 20000 --out mine.safetensors

Uniform replay of compact rows; states come from the actor's dataset. The weights that it writes are a bundle as
vixen-learner's: vixen eval and vixen score take it.
"""
import argparse
import copy

import numpy as np
import torch
import vixen
from torch import nn


class DuelingNetwork(nn.Module):
    """Layer names are the contract with the actor (docs/formats.md); widths are what the actor runs."""

    def __init__(self, a):
        super().__init__()
        self.shared_layers = nn.ModuleList([nn.Linear(a.features + 3, a.hidden1), nn.Linear(a.hidden1, a.hidden2)])
        self.value_layers = nn.ModuleList([nn.Linear(a.hidden2, a.value_hidden), nn.Linear(a.value_hidden, 1)])
        self.advantage_layers = nn.ModuleList([nn.Linear(a.hidden2, a.advantage_hidden),
                                               nn.Linear(a.advantage_hidden, 45)])

    def forward(self, x):
        f = nn.functional.leaky_relu
        for layer in self.shared_layers:
            x = f(layer(x))
        value = self.value_layers[1](f(self.value_layers[0](x)))
        advantage = self.advantage_layers[1](f(self.advantage_layers[0](x)))
        return value + advantage - advantage.mean(-1, keepdim=True)


class Replay:
    """The newest `capacity` rows by column; states are looked up when they are sampled."""

    COLUMNS = ("bar", "portfolio", "next_portfolio", "action", "reward", "flags")

    def __init__(self, capacity, dataset, seed):
        self.capacity, self.dataset, self.rng = capacity, dataset, np.random.default_rng(seed)
        self.columns, self.rows = {}, 0

    def insert(self, batch):
        flat = batch.flat(*self.COLUMNS)
        for name, column in flat.items():
            if name not in self.columns:
                self.columns[name] = np.zeros((self.capacity, *column.shape[1:]), column.dtype)
            at = np.arange(self.rows, self.rows + batch.rows) % self.capacity
            self.columns[name][at] = column
        self.rows += batch.rows

    def sample(self, n):
        at = self.rng.integers(0, min(self.rows, self.capacity), n)
        c = {name: column[at] for name, column in self.columns.items()}
        arrays = (self.dataset.states(c["bar"], c["portfolio"]), c["action"].astype(np.int64), c["reward"],
                  self.dataset.states(c["bar"], c["next_portfolio"], offset=1), (c["flags"] & 2 == 0).astype(np.float32))
        return map(torch.from_numpy, arrays)


class Learner:
    def __init__(self, architecture, settings, replay, flags):
        self.online = DuelingNetwork(architecture)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.online.parameters(), flags.learning_rate, eps=1e-5)
        self.replay, self.gamma, self.tau, self.batch_size = replay, settings.gamma, flags.tau, flags.batch_size
        self.forbidden = torch.full((45,), -torch.inf)
        self.forbidden[list(settings.actions) or list(range(45))] = 0.0
        self.updates = 0

    def update(self):
        state, action, reward, next_state, goes_on = self.replay.sample(self.batch_size)
        with torch.no_grad():  # a' by the online network, its value by the target: double DQN
            best = (self.online(next_state) + self.forbidden).argmax(-1, keepdim=True)
            goal = reward + self.gamma * goes_on * self.target(next_state).gather(-1, best)[:, 0]
        loss = nn.functional.huber_loss(self.online(state).gather(-1, action[:, None])[:, 0], goal)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.optimiser.step()
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.online.parameters()):
                slow.lerp_(fast, self.tau)
        self.updates += 1
        return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--actor", required=True, metavar="HOST:PORT")
    parser.add_argument("--policy", default="torch")
    parser.add_argument("--transitions", type=int, default=20000)
    parser.add_argument("--samples_per_insert", type=float, default=32)
    parser.add_argument("--min_size", type=int, default=1000)
    parser.add_argument("--capacity", type=int, default=200_000)
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--learning_rate", type=float, default=5e-4)
    parser.add_argument("--tau", type=float, default=0.005)
    parser.add_argument("--epsilon_end", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", help="folder of fetched datasets")
    parser.add_argument("--out", default="weights.safetensors")
    flags = parser.parse_args()
    torch.manual_seed(flags.seed)
    torch.set_num_threads(1)  # the networks are small

    with vixen.connect(flags.actor) as actor:
        settings = actor.settings()
        if settings.curiosity_max > 0:
            raise SystemExit("this example trains no curiosity model: start the actor with --curiosity_max 0")
        replay = Replay(flags.capacity, actor.dataset(flags.cache), flags.seed)
        learner = Learner(actor.info().architecture, settings, replay, flags)
        policy = actor.policy(flags.policy)
        policy.push(online=learner.online, target=learner.target, epsilon=1.0)
        with policy.batches(group="torch", credit=1, dataset=replay.dataset) as stream:
            loss = float("nan")
            while replay.rows < flags.transitions:
                replay.insert(next(stream))
                while learner.updates * flags.batch_size < flags.samples_per_insert * (replay.rows - flags.min_size):
                    loss = learner.update()
                explored = min(1.0, 5 * replay.rows / flags.transitions)  # over the first fifth
                policy.push(online=learner.online, target=learner.target, step=learner.updates,
                            epsilon=1.0 + explored * (flags.epsilon_end - 1.0))
        print(f"{replay.rows} transitions, {learner.updates} updates, last loss {loss:.4g}, {stream.counters}")
        policy.save(flags.out)


if __name__ == "__main__":
    main()
