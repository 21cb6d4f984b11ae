# SPDX-License-Identifier: Apache-2.0
"""Weights of a policy: names and shapes, their digest, and the proof that the actor computes with them.

Sources: a torch.nn.Module or its state_dict, a mapping of numpy arrays, a safetensors file or its bytes.
"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tensor_file
from .errors import WeightsError
from .v1 import batch_pb2, weights_pb2

ACTIONS = 45
KINDS = {"online": weights_pb2.WEIGHTS_KIND_ONLINE, "target": weights_pb2.WEIGHTS_KIND_TARGET,
         "curiosity": weights_pb2.WEIGHTS_KIND_CURIOSITY}
Source = Any  # see above


def layers(architecture: Any, kind: str) -> dict[str, tuple[int, int]]:
    """Layer name → (outputs, inputs), in forward order."""
    a, state = architecture, architecture.features + 3
    if kind == "curiosity":
        embedding = min(32, state)
        return {"0": (a.curiosity_hidden, embedding + 3), "1": (embedding, a.curiosity_hidden)}
    return {"shared_layers.0": (a.hidden1, state), "shared_layers.1": (a.hidden2, a.hidden1),
            "value_layers.0": (a.value_hidden, a.hidden2), "value_layers.1": (1, a.value_hidden),
            "advantage_layers.0": (a.advantage_hidden, a.hidden2), "advantage_layers.1": (ACTIONS, a.advantage_hidden)}


def initial(architecture: Any, kind: str, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Fresh float32 tensors, uniform in ±1/√inputs as torch.nn.Linear begins."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, (outputs, inputs) in layers(architecture, kind).items():
        bound = inputs ** -0.5
        tensors[name + ".weight"] = rng.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)
        tensors[name + ".bias"] = rng.uniform(-bound, bound, outputs).astype(np.float32)
    return tensors


def _array(name: str, values: Any) -> NDArray[Any]:
    if hasattr(values, "detach"):  # a torch tensor, on any device
        values = values.detach().to("cpu")
        values = (values.float() if values.is_floating_point() else values).numpy()
    array = np.asarray(values)
    if array.dtype.kind != "f":
        raise WeightsError(f"tensor {name} is {array.dtype}, expected floating point", name, str(array.dtype))
    return np.array(array, "<f4", order="C")  # a copy: training goes on while it is pushed


def load(source: Source, kind: str) -> dict[str, NDArray[Any]]:
    """The tensors of one kind, float32. Of a bundle those with the prefix `kind.`, else all; `target` of a file
    without a prefix is its online network."""
    if hasattr(source, "state_dict"):
        source = source.state_dict()
    if isinstance(source, (str, os.PathLike, bytes)):
        source = tensor_file.read(source)[0]
    if not isinstance(source, Mapping):
        raise WeightsError(f"{kind} weights are a {type(source).__name__}; expected a module, a state_dict, arrays by "
                           "name, or a safetensors file", kind, type(source).__name__)
    for name in source:
        if not isinstance(name, str):
            raise WeightsError(f"{kind} weights have the key {name!r}; expected arrays by the names of their tensors, "
                               "such as shared_layers.0.weight", kind, name)
    prefix = kind + "."
    bundle = {name.removeprefix(prefix): values for name, values in source.items() if name.startswith(prefix)}
    if not bundle and any(name.startswith(tuple(other + "." for other in KINDS)) for name in source):
        raise WeightsError(f"the weights have no {prefix}… tensors; there are {', '.join(sorted(source))}", kind,
                           sorted(source))
    return {name: _array(name, values) for name, values in (bundle or source).items()}


def _misnamed(name: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    """Where a wrapper's prefix stands before every name, as torch.compile and DistributedDataParallel leave it."""
    for found in tensors:
        if found.endswith("." + name):
            return f"; there is {found}: take the prefix off, or push the module that is wrapped"
    return f"; there are {', '.join(sorted(tensors)) or 'none'}"


def check(tensors: Mapping[str, NDArray[Any]], architecture: Any, kind: str) -> None:
    """WeightsError naming the tensor that is missing, extra, of another shape or not finite."""
    expected: dict[str, tuple[int, ...]] = {}
    for name, (outputs, inputs) in layers(architecture, kind).items():
        expected[name + ".weight"], expected[name + ".bias"] = (outputs, inputs), (outputs,)
    for name, shape in expected.items():
        if name not in tensors:
            raise WeightsError(f"{kind} weights have no tensor {name}; the actor's network needs {list(shape)} there"
                               + _misnamed(name, tensors), name, None)
        if tensors[name].shape != shape:
            raise WeightsError(f"{kind} weights: {name} is {list(tensors[name].shape)}, the actor's network needs "
                               f"{list(shape)}", name, tensors[name].shape)
        if not np.isfinite(tensors[name]).all():
            place = int(np.flatnonzero(~np.isfinite(tensors[name]).ravel())[0])
            value = tensors[name].flat[place]
            raise WeightsError(f"{kind} weights: {name} holds {value} at {place}", name, float(value))
    extra = sorted(set(tensors) - set(expected))
    if extra:
        raise WeightsError(f"{kind} weights have a tensor {extra[0]}, which the actor's network does not", extra[0], None)


def digest(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 over the tensors' bytes in name order: what a push carries and the actor computes again."""
    sha = hashlib.sha256()
    for name in sorted(tensors, key=str.encode):
        sha.update(np.ascontiguousarray(tensors[name], "<f4").data)
    return sha.digest()


def probe_state(width: int) -> NDArray[Any]:
    return ((np.arange(width) * 37 % 64) - 32) / 32.0


def _leaky(x: NDArray[Any]) -> NDArray[Any]:
    return np.where(x > 0, x, 0.01 * x)


def q_values(tensors: Mapping[str, NDArray[Any]], states: NDArray[Any]) -> NDArray[Any]:
    """[…, 45] of the dueling network in float64, for any states […, F + 3]."""
    def linear(x: NDArray[Any], name: str) -> NDArray[Any]:
        return np.asarray(x @ tensors[name + ".weight"].T.astype(np.float64) + tensors[name + ".bias"])

    hidden = _leaky(linear(_leaky(linear(np.asarray(states, np.float64), "shared_layers.0")), "shared_layers.1"))
    value = linear(_leaky(linear(hidden, "value_layers.0")), "value_layers.1")
    advantage = linear(_leaky(linear(hidden, "advantage_layers.0")), "advantage_layers.1")
    return np.asarray(value + advantage - advantage.mean(axis=-1, keepdims=True))


def probe_outputs(tensors: Mapping[str, NDArray[Any]], architecture: Any, kind: str) -> NDArray[Any]:
    """What the probe state must give: the Q-values, or the curiosity model's outputs with category flat."""
    probe = probe_state(architecture.features + 3)
    if kind != "curiosity":
        return q_values(tensors, probe)
    x = np.concatenate([probe[:min(32, len(probe))], [0.0, 1.0, 0.0]])
    hidden = tensors["0.weight"].astype(np.float64) @ x + tensors["0.bias"]
    return np.asarray(tensors["1.weight"].astype(np.float64) @ _leaky(hidden) + tensors["1.bias"])


def check_answer(answer: Any, tensors: Mapping[str, NDArray[Any]], architecture: Any, kind: str) -> None:
    """The actor's answer to a push: the same bytes read back, and the same outputs within the precision's tolerance."""
    if answer.sha256 != digest(tensors):
        raise WeightsError(f"{kind} weights: the actor read back other bytes than were sent (SHA-256 "
                           f"{answer.sha256.hex()})", "sha256", answer.sha256.hex())
    expected, answered = probe_outputs(tensors, architecture, kind), np.array(answer.probe)
    if answered.shape != expected.shape:
        raise WeightsError(f"{kind} weights: probe has {answered.size} values, expected {expected.size}", "probe",
                           answered.size)
    exact = answer.precision == batch_pb2.PRECISION_FP32
    tolerance = 1e-3 + 1e-4 * np.abs(expected) if exact else np.full(expected.shape, 2e-3 * np.ptp(expected))
    wrong = ~(np.abs(answered - expected) <= tolerance)  # a NaN is wrong too
    if wrong.any():
        at = int(np.argmax(wrong))
        raise WeightsError(f"{kind} weights: probe value {at} is {answered[at]:g} on the actor's device "
                           f"({batch_pb2.Precision.Name(answer.precision)}), {expected[at]:g} here; tolerance "
                           f"{tolerance[at]:g}", "probe", float(answered[at]))
