# SPDX-License-Identifier: Apache-2.0
"""Client of vixen-actor: batches as numpy arrays, weights that are proved to be live.

    import vixen

    with vixen.connect("127.0.0.1:50051") as actor:
        policy = actor.policy("mine")
        policy.push(online=net, target=net, epsilon=1.0)
        for batch in policy.batches(dataset=actor.dataset(), limit=100):
            states, reward = batch.states(), batch["reward"]

vixen.aio is the same for asyncio. docs/guide-ml.md walks through it.
"""
from . import weights
from .batch import BARRIERS, TERMS, Batch
from .client import Actor, connect
from .connection import Tls
from .dataset import Dataset
from .errors import ActorError, ActorUnavailable, ConfigurationError, DataError, VixenError, WeightsError
from .policy import Policy
from .stream import BatchStream

__version__ = "0.1.0"
__all__ = ["BARRIERS", "TERMS", "Actor", "ActorError", "ActorUnavailable", "Batch", "BatchStream",
           "ConfigurationError", "DataError", "Dataset", "Policy", "Tls", "VixenError", "WeightsError", "connect", "weights"]
