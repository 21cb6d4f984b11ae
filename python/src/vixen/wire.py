# SPDX-License-Identifier: Apache-2.0
"""From the messages of a stream to whole batches.

A chunk's bytes are copied once, from the message that gRPC received to their place in the batch; protobuf
would copy them twice more, so the three tags around them are read here.
"""
from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from .errors import DataError
from .v1 import actor_pb2, batch_pb2, config_pb2

ELEMENTS: dict[int, np.dtype[Any]] = {
    batch_pb2.ELEMENT_TYPE_U8: np.dtype("u1"), batch_pb2.ELEMENT_TYPE_U32: np.dtype("<u4"),
    batch_pb2.ELEMENT_TYPE_F32: np.dtype("<f4"), batch_pb2.ELEMENT_TYPE_F16: np.dtype("<f2")}
# CollectResponse.chunk; BatchChunk.offset, BatchChunk.data: field number · 8 + wire type.
CHUNK_TAG, OFFSET_TAG, DATA_TAG = 0x1a, 0x08, 0x12


@dataclasses.dataclass(frozen=True)
class ColumnLayout:
    name: str
    dtype: np.dtype[Any]
    rows: int
    width: int
    per_slot: bool
    offset: int

    @property
    def nbytes(self) -> int:
        return self.rows * self.width * self.dtype.itemsize


class Layout:
    """What `opened` declares: where each column stands in a payload, and the settings of the run."""

    def __init__(self, opened: Any, most_bytes: int):
        self.opened = opened
        self.episodes, self.steps = opened.episodes, opened.steps
        self.columns: dict[str, ColumnLayout] = {}
        offset = 0
        for column in opened.columns:
            if column.type not in ELEMENTS or column.width < 1 or column.name in self.columns:
                raise DataError(f"opened declares column {column.name!r} of type {column.type} and width "
                                f"{column.width}, which this client does not know", column.name, column.type)
            per_slot = column.scope == batch_pb2.Column.SCOPE_SLOT
            rows = self.episodes if per_slot else self.episodes * self.steps
            layout = ColumnLayout(column.name, ELEMENTS[column.type], rows, column.width, per_slot, offset)
            self.columns[column.name] = layout
            offset += layout.nbytes
        self.payload_bytes = offset
        if offset > most_bytes:
            raise DataError(f"a batch of {self.episodes}×{self.steps} rows is {offset} bytes, above max_batch_bytes "
                            f"{most_bytes}", "max_batch_bytes", most_bytes)
        self.settings = config_pb2.EnvironmentSettings.FromString(opened.settings)
        self.settings_sha256 = hashlib.sha256(opened.settings).digest()

    def views(self, payload: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """[N, L] or [N, L, width] (a slot column [N, width]) views of the payload."""
        views = {}
        for name, column in self.columns.items():
            flat = payload[column.offset:column.offset + column.nbytes].view(column.dtype)
            shape: tuple[int, ...] = (self.episodes,) if column.per_slot else (self.episodes, self.steps)
            views[name] = flat.reshape(shape if column.width == 1 else (*shape, column.width))
        return views


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise DataError("a number of more than 64 bits in a chunk", "chunk", data[:16])


def chunk_of(message: bytes) -> tuple[int, int, int] | None:
    """(offset in the payload, begin, end of the data in the message), None when it is not a plain chunk."""
    if not message or message[0] != CHUNK_TAG:
        return None
    try:
        length, at = _varint(message, 1)
        if at + length != len(message):
            return None
        offset = 0
        if message[at] == OFFSET_TAG:
            offset, at = _varint(message, at + 1)
        if message[at] != DATA_TAG:
            return None
        size, at = _varint(message, at + 1)
    except IndexError:
        return None
    return (offset, at, at + size) if at + size == len(message) else None


class BatchReader:
    """Puts the pieces of one stream together. `feed` gives (header, trailer, payload) when a batch is whole."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self._header: Any = None
        self._payload = np.empty(0, np.uint8)
        self._filled = 0
        self._crc = 0

    def feed(self, message: bytes) -> tuple[Any, Any, NDArray[Any]] | Any | None:
        """The batch's parts, a Notice, or None while one is under way."""
        chunk = chunk_of(message)
        if chunk is not None:
            self._add(message, *chunk)
            return None
        response = actor_pb2.CollectResponse.FromString(message)
        part = response.WhichOneof("part")
        if part == "notice":
            return response.notice
        if part == "chunk":  # in another order of fields than ours
            data = response.chunk.data
            self._add(data, response.chunk.offset, 0, len(data))
        elif part == "header":
            self._begin(response.header)
        elif part == "trailer":
            return self._end(response.trailer)
        else:
            raise DataError(f"{part} in the middle of a stream", "part", part)
        return None

    def _begin(self, header: Any) -> None:
        if self._header is not None:
            raise DataError(f"header of batch {header.sequence} before the trailer of {self._header.sequence}",
                            "sequence", header.sequence)
        if header.payload_bytes != self.layout.payload_bytes:
            raise DataError(f"batch {header.sequence} announces {header.payload_bytes} bytes; the columns of the stream "
                            f"need {self.layout.payload_bytes}", "payload_bytes", header.payload_bytes)
        if header.settings_sha256 != self.layout.settings_sha256:
            raise DataError(f"batch {header.sequence} was made under settings {header.settings_sha256.hex()}, the stream "
                            f"opened with {self.layout.settings_sha256.hex()}", "settings_sha256", header.settings_sha256)
        self._header = header
        self._payload = np.empty(header.payload_bytes, np.uint8)
        self._filled = self._crc = 0

    def _add(self, message: bytes, offset: int, begin: int, end: int) -> None:
        filled = self._filled + end - begin
        if self._header is None or offset != self._filled or filled > self._payload.size:
            raise DataError(f"chunk of {end - begin} bytes at {offset}; expected one at {self._filled} of "
                            f"{self._payload.size}", "offset", offset)
        piece = self._payload[offset:filled]
        piece[:] = np.frombuffer(message, np.uint8, end - begin, begin)
        self._crc = google_crc32c.extend(self._crc, piece)  # while the bytes are in the cache
        self._filled = filled

    def _end(self, trailer: Any) -> tuple[Any, Any, NDArray[Any]]:
        header, self._header = self._header, None
        if header is None or self._filled != self._payload.size:
            raise DataError(f"trailer after {self._filled} of {self._payload.size} bytes", "payload_bytes", self._filled)
        if self._crc != trailer.crc32c:
            raise DataError(f"batch {header.sequence} has CRC-32C {self._crc:08x}, its trailer says {trailer.crc32c:08x}",
                            "crc32c", self._crc)
        return header, trailer, self._payload
