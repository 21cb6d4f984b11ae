#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of `vixen bench learner` on the processor: double dueling DQN in eager PyTorch with autograd, fused Adam and
a prioritised replay of 10⁶ rows on a sum tree in NumPy. Prints a JSON line. Needs torch and numpy.
    learner_peer.py [--net default|testbed] [--batch_size 1024] [--threads 1] [--seconds 5]"""
import argparse
import json
import time

import numpy as np
import torch

ROWS = BARS = 1_000_000
FEATURES, PORTFOLIO, ACTIONS = 51, 3, 45
ALPHA, BETA, EPSILON, DISCOUNT, TAU = 0.6, 0.4, 1e-6, 0.99, 0.005


class SumTree:
    """Priorities under a complete binary tree; every operation takes a whole batch, a level at a time."""

    def __init__(self, leaves):
        self.depth = int(np.ceil(np.log2(len(leaves))))
        self.width = 1 << self.depth
        self.node = np.zeros(2 * self.width)
        self.node[self.width:self.width + len(leaves)] = leaves
        for level in range(self.depth - 1, -1, -1):
            first = 1 << level
            self.node[first:2 * first] = self.node[2 * first:4 * first].reshape(-1, 2).sum(1)

    def draw(self, count, random):
        mass = (np.arange(count) + random.random(count)) / count * self.node[1]
        index = np.ones(count, np.int64)
        for _ in range(self.depth):
            index *= 2
            left = self.node[index]
            right = mass >= left
            mass -= left * right
            index += right
        return np.minimum(index - self.width, ROWS - 1)

    def set(self, index, leaves):
        index = index + self.width
        self.node[index] = leaves
        for _ in range(self.depth):
            index >>= 1
            self.node[index] = self.node[2 * index] + self.node[2 * index + 1]


class Network(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        layer = torch.nn.Linear
        self.first, self.second = layer(FEATURES + PORTFOLIO, hidden), layer(hidden, hidden)
        self.value0, self.value1 = layer(hidden, heads), layer(heads, 1)
        self.advantage0, self.advantage1 = layer(hidden, heads), layer(heads, ACTIONS)

    def forward(self, state):
        leaky = torch.nn.functional.leaky_relu
        hidden = leaky(self.second(leaky(self.first(state))))
        value, advantage = self.value1(leaky(self.value0(hidden))), self.advantage1(leaky(self.advantage0(hidden)))
        return value + advantage - advantage.mean(1, keepdim=True)


class Peer:
    def __init__(self, options):
        torch.manual_seed(1)
        self.random = np.random.default_rng(1)
        self.batch = options.batch_size
        hidden, heads = (64, 16) if options.net == "testbed" else (256, 128)
        self.allowed = torch.tensor([1, 19, 37] if options.net == "testbed" else list(range(ACTIONS)))
        self.all_allowed = len(self.allowed) == ACTIONS
        self.online, self.target = Network(hidden, heads), Network(hidden, heads)
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=5e-4, eps=1e-5, fused=True)
        self.features = torch.randn(BARS, FEATURES)
        self.bar = torch.randint(0, BARS - 1, (ROWS,))
        self.portfolio, self.next_portfolio = torch.randn(ROWS, PORTFOLIO), torch.randn(ROWS, PORTFOLIO)
        self.action = self.allowed[torch.randint(0, len(self.allowed), (ROWS,))]
        self.reward = 0.01 * torch.randn(ROWS)
        self.discount = torch.where(torch.rand(ROWS) < 0.01, 0.0, DISCOUNT)
        self.tree = SumTree((np.abs(self.random.standard_normal(ROWS)) + EPSILON) ** ALPHA)

    def update(self):
        index = self.tree.draw(self.batch, self.random)
        weight = self.tree.node[self.tree.width + index] ** -BETA
        weight = torch.from_numpy((weight / weight.max()).astype(np.float32))
        rows = torch.from_numpy(index)
        bar = self.bar[rows]
        state = torch.cat([self.features[bar], self.portfolio[rows]], 1)
        following = torch.cat([self.features[bar + 1], self.next_portfolio[rows]], 1)
        with torch.no_grad():
            choice = self.online(following)
            if self.all_allowed:
                best = choice.argmax(1, keepdim=True)
            else:
                best = self.allowed[choice[:, self.allowed].argmax(1, keepdim=True)]
            goal = self.reward[rows] + self.discount[rows] * self.target(following).gather(1, best)[:, 0]
        taken = self.online(state).gather(1, self.action[rows, None])[:, 0]
        loss = (weight * torch.nn.functional.huber_loss(taken, goal, reduction="none")).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.target.parameters()), list(self.online.parameters()), TAU)
            td = (taken - goal).abs().numpy()
        self.tree.set(index, (td + EPSILON) ** ALPHA)
        return loss.item()  # as a training program looks at its loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", choices=["default", "testbed"], default="default")
    parser.add_argument("--batch_size", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    peer = Peer(options)

    def update_for(seconds):
        end, updates, loss = time.perf_counter() + seconds, 0, 0.0
        while time.perf_counter() < end:
            loss = peer.update()
            updates += 1
        return updates, loss

    update_for(0.5)
    cpu, begin = time.process_time(), time.perf_counter()
    updates, loss = update_for(options.seconds)
    seconds = time.perf_counter() - begin
    print(json.dumps({"program": "torch eager " + torch.__version__, "net": options.net, "batch_size": options.batch_size,
                      "threads": options.threads, "updates_per_second": round(updates / seconds, 1),
                      "cpu_ms_per_update": round(1e3 * (time.process_time() - cpu) / updates, 3), "loss": loss}))


if __name__ == "__main__":
    main()
