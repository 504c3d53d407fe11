"""Whose connection to a server on loopback it is: other users of the machine can connect, too. Linux only."""

import os
import socket
import struct

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST = 4, 20, 1
_ALL_STATES = 0xFFFFFFFF
_ANY_COOKIE = b"\xff" * 8
_USER = struct.Struct("=64xI")
"""Of `struct inet_diag_msg`, behind family, state, the addresses and the queues."""


def is_of_this_user(accepted: socket.socket) -> bool:
    """Whether the client of an accepted IPv4 connection is of this user; so is one where the system does not tell.

    Source: https://man7.org/linux/man-pages/man7/sock_diag.7.html
    """
    (our_host, our_port), (their_host, their_port) = accepted.getsockname(), accepted.getpeername()
    addresses = b"".join(socket.inet_aton(host).ljust(16, b"\0") for host in (their_host, our_host))
    # The client's end of the connection: its own address first.
    asked = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ALL_STATES)
    asked += struct.pack("!HH", their_port, our_port) + addresses + struct.pack("=I", 0) + _ANY_COOKIE
    message = struct.pack("=IHHII", 16 + len(asked), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0) + asked
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.send(message)
            answer = kernel.recv(4096)
    except (OSError, AttributeError):
        return True
    (kind,) = struct.unpack_from("=4xH", answer)
    if kind != _SOCK_DIAG_BY_FAMILY:  # an error: there is no such connection, or no such question
        return True
    (user,) = _USER.unpack_from(answer, 16)
    return bool(user == os.getuid())
