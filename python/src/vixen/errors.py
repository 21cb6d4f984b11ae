# SPDX-License-Identifier: Apache-2.0
"""Every exception of this package is a VixenError; `field` and `value` name what it is about."""
from __future__ import annotations

from typing import Any

import grpc


class VixenError(Exception):
    """`field`: the argument, tensor or column; `value`: what it was. Both may be None."""

    def __init__(self, message: str, field: str | None = None, value: Any = None):
        super().__init__(message)
        self.field = field
        self.value = value


class ConfigurationError(VixenError, ValueError):
    """An argument that cannot work."""


class DataError(VixenError):
    """Bytes that are not what they should be: a checksum, a layout, a file."""


class WeightsError(VixenError, ValueError):
    """Weights that do not fit the actor's network, or that it did not take over as they were sent."""


class ActorError(VixenError):
    """What the actor answered. `code` is the grpc.StatusCode, `details` its own words."""

    def __init__(self, what: str, code: grpc.StatusCode, details: str):
        super().__init__(f"{what}: {code.name}: {details}", field="code", value=code)
        self.code = code
        self.details = details


class ActorUnavailable(ActorError):
    """The actor could not be reached for as long as `patience` allows."""


# Codes after which a stream is opened again: the peer, the network or its proxies may be back at once.
TRANSIENT = frozenset({
    grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.ABORTED, grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.RESOURCE_EXHAUSTED})


def from_rpc(error: grpc.RpcError, what: str) -> ActorError:
    code, details = error.code(), error.details() or ""
    if code == grpc.StatusCode.DEADLINE_EXCEEDED and details == "Deadline Exceeded":
        # Calls wait for a connection, so "nobody listens" looks like this.
        return ActorUnavailable(what, code, "no answer in time: does the actor listen there (its --listen), and do both "
                                            "sides use TLS or neither?")
    kind = ActorUnavailable if code == grpc.StatusCode.UNAVAILABLE else ActorError
    return kind(what, code, details)
