"""Which hosts are this machine, or what only this machine reaches: no page is let near them, unless one is a site's.

Private networks are not among them: sites are often hosted there.
"""

import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

Address = IPv4Address | IPv6Address

_METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Of Alibaba, Azure, Oracle, AWS and Google; the others' are link-local."""
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
_WITH_IPV4 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
"""Whose last 32 bits are an IPv4 address that is meant: NAT64, and the oldest notation."""
_SOME_PORT = 9


def why_local(address: Address) -> str:
    """What an address is that pages must not reach, as "an address of this machine"; "" = they may."""
    for one in (address, *_inner(address)):
        if one.is_loopback or one.is_unspecified or one in _THIS_NETWORK or _is_own(one):
            return "an address of this machine"
        if one.is_link_local:
            return "a link-local address"
        if one in _METADATA:
            return "the metadata service of a cloud"
        if one.is_multicast or one == IPv4Address("255.255.255.255"):
            return "an address of many machines"
    return ""


def why_local_name(host: str) -> str:
    """The same of a host, as far as that shows without a look-up."""
    if (address := literal(host)) is not None:
        return why_local(address)
    if host == "localhost" or host.endswith(".localhost") or host == socket.gethostname().lower():
        return "a name of this machine"
    return ""


def literal(host: str) -> Address | None:
    """The address that a host is written as, in any notation that a browser takes (`127.1`, `0x7f000001`); None = it is
    a name.
    """
    bare = host.strip("[]").partition("%")[0]
    with suppress(ValueError):
        return ip_address(bare)
    with suppress(OSError, UnicodeEncodeError):  # a name
        return IPv4Address(socket.inet_aton(bare))
    return None


def host_of_page(url: str) -> str:
    """The host of an address as a browser reads it, in small letters, without port and final dot; "" = it has none.

    Good for what is said about an address. Nothing is let through because of it: a browser may read it differently.
    """
    text = "".join(url.split()).replace("\\", "/")
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        return ""
    return normalize("NFKC", unquote(host)).lower().rstrip(".")


def _inner(address: Address) -> Iterator[Address]:
    """IPv4 addresses within an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    for one in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())):
        if one is not None:
            yield one
    if int(address) > 1 and any(address in network for network in _WITH_IPV4):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _is_own(address: Address) -> bool:
    """Whether this machine has it: then it would also be the one that is sent from. Nothing is sent."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((str(address), _SOME_PORT))
            return bool(asking.getsockname()[0] == str(address))
    except OSError:  # it cannot be reached at all
        return False
