# SPDX-License-Identifier: Apache-2.0
"""Addresses, TLS and channel options, the same for threads and asyncio."""
from __future__ import annotations

import dataclasses
import ipaddress
import os
import pathlib
from typing import Any

import grpc

from .errors import ConfigurationError

MESSAGE_BYTES = 8 << 20


@dataclasses.dataclass(frozen=True)
class Tls:
    """PEM files: `ca` signs the actor; `certificate` and `key` are this client's own (roles by its SAN)."""
    ca: str | os.PathLike[str]
    certificate: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    # The name in the actor's certificate where it is not the host that is connected to.
    server_name: str | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        if (self.certificate is None) != (self.key is None):
            given = "certificate" if self.key is None else "key"
            raise ConfigurationError(f"Tls has {given} alone; certificate and key go together", given,
                                     getattr(self, given))
        return grpc.ssl_channel_credentials(_read("ca", self.ca), _read("key", self.key),
                                            _read("certificate", self.certificate))


def _read(field: str, path: str | os.PathLike[str] | None) -> bytes | None:
    if path is None:
        return None
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"Tls.{field} {path}: {error.strerror}", field, path) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_address(address: str, tls: Tls | None, insecure: bool) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigurationError(f"address is {address!r}, expected HOST:PORT as 127.0.0.1:50051", "address", address)
    if tls is None and not insecure and not _is_loopback(host.strip("[]")):
        raise ConfigurationError(f"actor {address} is not a loopback address: give tls=Tls(ca=…), or insecure=True",
                                 "address", address)


def channel_options(keepalive_seconds: float, tls: Tls | None) -> list[tuple[str, Any]]:
    keepalive = int(keepalive_seconds * 1000)
    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", keepalive), ("grpc.keepalive_timeout_ms", max(1, keepalive // 2)),
        ("grpc.http2.ping_timeout_ms", max(1, keepalive // 2)), ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.min_reconnect_backoff_ms", 3000), ("grpc.dns_min_time_between_resolutions_ms", 1000),
        ("grpc.use_local_subchannel_pool", 1),
        # Proxy variables are meant for the web, not for a cluster's own traffic.
        ("grpc.enable_http_proxy", 0)]
    if tls is not None and tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return options
