#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The learner's update as a PyTorch user would write it, for `vixen bench learner` to stand beside: prioritised draw over
all rows by a cumulative sum, gather, double dueling DQN, clip, Adam, Polyak target. Eager, and the same captured in one CUDA
graph. Prints a JSON line each: torch_update.py [--batch 1024] [--rows 1000000] [--seconds 2] [--bf16]"""
import argparse
import json
import time

import torch
from torch import nn

SIZES = [54, 256, 256, 128, 128]
ACTIONS = 45


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        state, h1, h2, hv, ha = SIZES
        act = nn.LeakyReLU(0.01)
        self.shared = nn.Sequential(nn.Linear(state, h1), act, nn.Linear(h1, h2), act)
        self.value = nn.Sequential(nn.Linear(h2, hv), act, nn.Linear(hv, 1))
        self.advantage = nn.Sequential(nn.Linear(h2, ha), act, nn.Linear(ha, ACTIONS))

    def forward(self, states):
        hidden = self.shared(states)
        advantage = self.advantage(hidden)
        return self.value(hidden) + advantage - advantage.mean(1, keepdim=True)


class Learner:
    def __init__(self, batch, rows, bf16):
        self.batch, self.rows, self.bf16 = batch, rows, bf16
        device = torch.device("cuda")
        self.online, self.target = Dueling().to(device), Dueling().to(device)
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=1e-4, eps=1e-5, fused=True, capturable=True)
        bars = 1_000_000
        self.features = torch.randn(bars, SIZES[0] - 3, device=device)
        self.bar = torch.randint(0, bars - 2, (rows,), device=device)
        self.portfolio, self.next_portfolio = (torch.randn(rows, 3, device=device) for _ in range(2))
        self.action = torch.randint(0, ACTIONS, (rows, 1), device=device)
        self.reward = 0.01 * torch.randn(rows, device=device)
        self.discount = 0.99 * (torch.rand(rows, device=device) > 0.01).float()
        self.leaf = torch.rand(rows, device=device) + 1e-3
        self.part = torch.arange(batch, device=device)

    def update(self):
        prefix = torch.cumsum(self.leaf, 0, dtype=torch.float64)
        total = prefix[-1]
        mass = (self.part + torch.rand(self.batch, device=prefix.device)) / self.batch * total
        index = torch.searchsorted(prefix, mass).clamp_max(self.rows - 1)
        weight = (self.leaf[index] / self.leaf.min()).pow(-0.4)
        bar = self.bar[index]
        states = torch.cat([self.features[bar], self.portfolio[index]], 1)
        following = torch.cat([self.features[bar + 1], self.next_portfolio[index]], 1)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.bf16):
            with torch.no_grad():
                best = self.online(following).argmax(1, keepdim=True)
                bootstrap = self.target(following).gather(1, best)[:, 0].float()
                y = self.reward[index] + self.discount[index] * bootstrap
            q = self.online(states).gather(1, self.action[index])[:, 0].float()
        loss = (weight * nn.functional.smooth_l1_loss(q, y, reduction="none")).mean()
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.target.parameters()), list(self.online.parameters()), 0.005)
            self.leaf[index] = ((q - y).abs() + 1e-6).pow(0.6)


def rate(run, seconds):
    run()
    torch.cuda.synchronize()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(20):
            run()
        torch.cuda.synchronize()
        done += 20
    return done / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    learner = Learner(args.batch, args.rows, args.bf16)

    def say(peer, updates):
        precision = "bf16" if args.bf16 else "tf32"
        print(json.dumps({"peer": peer, "batch": args.batch, "precision": precision, "rows": args.rows,
                          "torch": torch.__version__, "updates_s": round(updates)}), flush=True)

    for _ in range(3):
        learner.update()
    say("torch eager", rate(learner.update, args.seconds))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            learner.update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        learner.update()
    say("torch graph", rate(graph.replay, args.seconds))


if __name__ == "__main__":
    main()
