# SPDX-License-Identifier: Apache-2.0
"""safetensors, as docs/formats.md has it: 8-byte header length, JSON header, raw little-endian tensors.

Tensors are views of the file's pages (numpy.memmap) or of the given bytes; nothing is copied.
"""
from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}
NAMES = {np.dtype(text): name for name, text in DTYPES.items()}
HEADER_BYTES = 100 << 20


def read(source: str | os.PathLike[str] | bytes) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """(tensors, metadata). DataError names file and tensor."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data, name = np.frombuffer(source, np.uint8), "weights"
    else:
        name = os.fspath(source)
        try:
            data = np.memmap(name, np.uint8, "r")
        except (OSError, ValueError) as error:
            raise DataError(f"{name}: {error}", "file", name) from error
    if data.size < 8:
        raise DataError(f"{name}: {data.size} bytes, not a safetensors file", "file", name)
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    if length > min(data.size - 8, HEADER_BYTES):
        raise DataError(f"{name}: header of {length} bytes in a file of {data.size}: not safetensors, or cut off",
                        "file", name)
    try:
        header = json.loads(data[8:8 + length].tobytes())
        metadata = header.pop("__metadata__", {})
    except (ValueError, AttributeError, TypeError) as error:
        raise DataError(f"{name}: header is no JSON object: {error}", "file", name) from error
    region = data[8 + length:]
    return {tensor: _view(name, tensor, entry, region) for tensor, entry in header.items()}, metadata


def _view(name: str, tensor: str, entry: Mapping[str, Any], region: NDArray[Any]) -> NDArray[Any]:
    try:
        dtype = np.dtype(DTYPES[entry["dtype"]])
        shape = tuple(int(size) for size in entry["shape"])
        begin, end = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{name}: tensor {tensor} is described by {entry}", tensor, entry) from error
    count = 1
    for size in shape:
        count *= size
    if not 0 <= begin <= end <= region.size or any(s < 0 for s in shape) or end - begin != count * dtype.itemsize:
        raise DataError(f"{name}: tensor {tensor} {entry['dtype']} {list(shape)} at bytes {begin}…{end} of "
                        f"{region.size}: file cut off or header wrong", tensor, entry)
    return region[begin:end].view(dtype).reshape(shape)


def image(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> bytes:
    """The file's bytes; tensors in the order given, widest types first where alignment matters."""
    header: dict[str, object] = {}
    blobs: list[bytes] = []
    offset = 0
    for name, values in tensors.items():
        dtype = values.dtype.newbyteorder("<")
        if dtype not in NAMES:
            raise DataError(f"tensor {name} is {values.dtype}, which safetensors has no name for", name, values.dtype)
        blob = np.ascontiguousarray(values, dtype).tobytes()
        header[name] = {"dtype": NAMES[dtype], "shape": list(values.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    body = b"".join(blobs)
    if metadata is not None:
        header = {"__metadata__": {**metadata, "sha256": hashlib.sha256(body).hexdigest()}, **header}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def write(path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Whole or not at all: a temporary file beside the target, fsync, rename."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    with open(temporary, "wb") as file:
        file.write(image(tensors, metadata))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
