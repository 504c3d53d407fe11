"""The proxy through which this machine reaches others, if its environment (or its settings, on a Mac) names one."""

import asyncio
import ssl
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from harness.browser.network.local_addresses import why_local_name
from harness.browser.network.outbound import CONNECTS_WITHIN_S, PART, Stream
from harness.errors import ConfigError

_PORTS = {"http": 80, "https": 443, "socks5": 1080}
_SOCKS = {"socks": "socks5", "socks5h": "socks5"}


@dataclass(frozen=True, slots=True)
class SystemProxies:
    """The machine's proxies by scheme of the address; false if there are none."""

    by_scheme: Mapping[str, SplitResult] = field(default_factory=dict)
    is_direct: Callable[[str], bool] = lambda host: True
    """Whether a host is reached without it (`no_proxy`)."""

    def __bool__(self) -> bool:
        return bool(self.by_scheme)

    @classmethod
    def named(cls) -> Self:
        """As urllib finds them, without credentials, which Chromium would not send either.

        Raises:
            ConfigError: One is of a kind that cannot be used.
        """
        found: dict[str, SplitResult] = {}
        for scheme, text in getproxies().items():
            if scheme not in ("http", "https", "all") or not text:
                continue
            parts = urlsplit(text if "://" in text else f"http://{text}")
            kind = _SOCKS.get(parts.scheme, parts.scheme)
            if kind not in _PORTS or not parts.hostname:
                raise ConfigError(
                    f"{scheme}_proxy={parts.scheme}://{parts.hostname or ''} is not an http or socks5 proxy; correct"
                    " it, or unset it"
                )
            found[scheme] = parts._replace(scheme=kind)
        return cls(found, lambda host: bool(proxy_bypass(host)))

    def goes_directly(self, host: str) -> bool:
        """Whether a host is reached without any of them."""
        return not self.by_scheme or self.is_direct(host) or bool(why_local_name(host))

    def for_host(self, scheme: str, host: str) -> SplitResult | None:
        """Through which a host is reached; None = directly."""
        proxy = self.by_scheme.get(scheme) or self.by_scheme.get("all")
        return None if proxy is None or self.goes_directly(host) else proxy


async def connected(proxy: SplitResult) -> Stream:
    """A connection to the proxy itself. Raises OSError: It cannot be reached."""
    async with asyncio.timeout(CONNECTS_WITHIN_S):
        return await asyncio.open_connection(
            proxy.hostname,
            proxy.port or _PORTS[proxy.scheme],
            limit=PART,
            ssl=ssl.create_default_context() if proxy.scheme == "https" else None,
        )


async def tunnelled(proxy: SplitResult, host: str, port: int) -> Stream:
    """A connection through a proxy. Raises OSError: It makes none."""
    reader, writer = stream = await connected(proxy)
    is_open = False
    try:
        async with asyncio.timeout(CONNECTS_WITHIN_S):
            if proxy.scheme == "socks5":
                await _ask_by_socks(stream, host, port)
            else:
                where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
                writer.write(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode("ascii", "replace"))
                said = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)
                if len(said) < 2 or said[1] != b"200":
                    raise ConnectionRefusedError(f"the proxy refuses {where}")
        is_open = True
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionResetError("the proxy hung up") from error
    finally:
        if not is_open:
            writer.close()
    return stream


async def _ask_by_socks(stream: Stream, host: str, port: int) -> None:
    reader, writer = stream
    writer.write(b"\x05\x01\x00")
    if await reader.readexactly(2) != b"\x05\x00":
        raise ConnectionRefusedError("the proxy asks for a password")
    name = host.encode("ascii", "replace")[:255]
    writer.write(b"\x05\x01\x00\x03" + bytes((len(name),)) + name + struct.pack("!H", port))
    _, code, _, kind = await reader.readexactly(4)
    size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
    await reader.readexactly(size + 2)
    if code:
        raise ConnectionRefusedError(f"the proxy refuses {host}:{port}")
