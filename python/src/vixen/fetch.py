# SPDX-License-Identifier: Apache-2.0
"""GetDataset into a cache: kept by fingerprint, resumed where it broke, shared with vixen-learner."""
from __future__ import annotations

import fcntl
import logging
import os
import time
from typing import Any

import grpc

from .dataset import Dataset
from .errors import TRANSIENT, ActorError, DataError
from .v1 import actor_pb2

log = logging.getLogger("vixen")


def dataset(actor: Any, method: Any, folder: str) -> Dataset:
    info = actor.info().dataset
    path = os.path.join(folder, info.fingerprint.hex() + ".safetensors")
    if os.path.exists(path):
        try:
            return _matching(path, info)
        except DataError as error:
            log.warning("%s; fetching it again", error)
    os.makedirs(folder, exist_ok=True)
    part = path + ".part"
    while True:
        with open(part, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Another process may have finished, or removed it, while this one waited for the lock.
            if not os.path.exists(part) or os.fstat(file.fileno()).st_ino != os.stat(part).st_ino:
                if os.path.exists(path):
                    return _matching(path, info)
                continue
            if file.tell() > info.file_bytes:
                file.truncate(0)
            _receive(actor, method, info, file)
            file.flush()
            os.fsync(file.fileno())
            try:
                _matching(part, info)
            except DataError:
                os.unlink(part)
                raise
            os.replace(part, path)
            return _matching(path, info)


def _receive(actor: Any, method: Any, info: Any, file: Any) -> None:
    deadline = time.monotonic() + 60.0
    while (at := file.seek(0, os.SEEK_END)) < info.file_bytes:
        request = actor_pb2.GetDatasetRequest(fingerprint=info.fingerprint, offset=at)
        try:
            with actor.errors("GetDataset"):
                for piece in method(request, wait_for_ready=True):
                    if piece.offset != at or at + len(piece.data) > info.file_bytes:
                        raise DataError(f"GetDataset: {len(piece.data)} bytes at {piece.offset}, expected them at {at} of "
                                        f"{info.file_bytes}", "offset", piece.offset)
                    file.write(piece.data)
                    at += len(piece.data)
                    deadline = time.monotonic() + 60.0
        except ActorError as error:
            if error.code not in TRANSIENT or error.code == grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            if time.monotonic() > deadline:
                raise
            log.warning("dataset: %d of %d bytes received (%s); going on", at, info.file_bytes, error)
            time.sleep(0.2)


def _matching(path: str, info: Any) -> Dataset:
    found = Dataset(path)
    if found.fingerprint != info.fingerprint:
        raise DataError(f"dataset {path} has fingerprint {found.fingerprint.hex()}, the actor's is "
                        f"{info.fingerprint.hex()}", "fingerprint", found.fingerprint.hex())
    return found
