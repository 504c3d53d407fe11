"""Sees what a confined process tries to reach: a socket in its network gets the first packet of each attempt.

Everything but the gateway refuses, so an attempt is over when it is seen. Addresses and names in what is reported are
chosen by the process.
"""

import asyncio
import ctypes
import ipaddress
import socket
import struct
from collections.abc import Callable, Collection

MOST_SEEN = 10_000
"""Attempts of one process, after which it is not watched any more; they stay blocked."""
_AT_ONCE = 64
_SNIPPET = 256
_SO_ATTACH_FILTER = 26
_OUTGOING, _IPV4, _IPV6 = 4, 0x0800, 0x86DD
_TCP, _UDP, _ICMP, _ICMP6 = 6, 17, 1, 58
_NAMES = {_TCP: "TCP", _UDP: "UDP", _ICMP: "ICMP", _ICMP6: "ICMP"}
_DNS = 53
_LOAD_W, _LOAD_B, _LOAD_B_AT_X, _HEADER_TO_X = 0x20, 0x30, 0x50, 0xB1
_AND, _EQUAL, _RETURN = 0x54, 0x15, 0x06
_PACKET_KIND, _PROTOCOL = 0xFFFFF004, 0xFFFFF000
"""Where the kernel's filters find what is not in the packet (SKF_AD_OFF + …)."""


def _filter() -> bytes:
    """Only first packets: TCP with SYN alone, UDP, and of IPv4 pings and other protocols.

    Without it, all that the gateway answers would be copied.
    """
    take, drop = 20, 21
    # Each is (code, value) or (code, value, line if equal, line if not).
    lines: list[tuple[int, ...]] = [
        (_LOAD_W, _PACKET_KIND),
        (_EQUAL, _OUTGOING, drop, 2),  # every packet is seen as it leaves and as it arrives
        (_LOAD_W, _PROTOCOL),
        (_EQUAL, _IPV4, 4, 13),
        (_LOAD_B, 9),
        (_HEADER_TO_X, 0),
        (_EQUAL, _TCP, 7, 10),
        (_LOAD_B_AT_X, 13),
        (_AND, 0x12),
        (_EQUAL, 0x02, take, drop),
        (_EQUAL, _ICMP, 11, take),
        (_LOAD_B_AT_X, 0),
        (_EQUAL, 8, take, drop),
        (_EQUAL, _IPV6, 14, drop),
        (_LOAD_B, 6),
        (_EQUAL, _UDP, take, 16),
        (_EQUAL, _TCP, 17, drop),
        (_LOAD_B, 53),
        (_AND, 0x12),
        (_EQUAL, 0x02, take, drop),
        (_RETURN, _SNIPPET),
        (_RETURN, 0),
    ]
    code = b""
    for number, line in enumerate(lines):
        yes, no = (line[2] - number - 1, line[3] - number - 1) if len(line) == 4 else (0, 0)
        code += struct.pack("=HBBI", line[0], yes, no, line[1])
    return code


class PacketWatch:
    """Reports the attempts of one process."""

    def __init__(self, packets: socket.socket, ports: Collection[int], report: Callable[[str], None]) -> None:
        """
        Args:
            packets: In the network of the process; it is closed in the end.
            ports: At 127.0.0.1, which may be reached.
            report: Gets each attempt in words, such as "TCP to 192.0.2.1:80".
        """
        self._packets = packets
        self._allowed = {(ipaddress.ip_address("127.0.0.1"), port) for port in ports}
        self._report = report
        self._seen = 0
        code = ctypes.create_string_buffer(program := _filter())
        wanted = struct.pack("HL", len(program) // 8, ctypes.addressof(code))
        packets.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, wanted)
        packets.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(packets, self.read)

    def read(self) -> None:
        """Report what is there."""
        for _ in range(_AT_ONCE):
            try:
                packet, (_, protocol, *_) = self._packets.recvfrom(_SNIPPET)
            except OSError:
                return
            if (what := self._said(packet, protocol)) is not None:
                self._report(what)
                self._seen += 1
        if self._seen >= MOST_SEEN:
            self.close()

    def close(self) -> None:
        if self._packets.fileno() >= 0:
            self._loop.remove_reader(self._packets)
            self._packets.close()

    def _said(self, packet: bytes, protocol: int) -> str | None:
        try:
            if protocol == _IPV4:
                kind, body = packet[9], packet[(packet[0] & 15) * 4 :]
                address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.IPv4Address(packet[16:20])
            else:
                kind, body, address = packet[6], packet[40:], ipaddress.IPv6Address(packet[24:40])
            if kind not in (_TCP, _UDP):
                return f"{_NAMES.get(kind, f'protocol {kind}')} to {address}"
            (port,) = struct.unpack_from("!H", body, 2)
        except (struct.error, IndexError, ValueError):
            return "a broken packet"
        if kind == _TCP and (address, port) in self._allowed:
            return None
        if kind == _UDP and port == _DNS and (name := _asked_name(body[8:])):
            return f"DNS query for {name}"
        where = f"[{address}]" if address.version == 6 else str(address)
        return f"{_NAMES[kind]} to {where}:{port}"


def _asked_name(message: bytes) -> str:
    """The first name that a DNS query asks for; "" = it has none."""
    labels, at = [], 12
    while at < len(message) and 0 < (size := message[at]) < 64:
        labels.append(message[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += 1 + size
    return ".".join(labels)
