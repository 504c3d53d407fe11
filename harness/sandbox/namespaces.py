"""Makes the network and the writable folders of a confined process, and then becomes bubblewrap.

A separate program, which imports nothing of this package: `python -I -S namespaces.py CONTROL FOLDER SIZE PORTS
COMMAND…`. In namespaces of its own it makes

- a network in which every address of the world is this machine itself, so that nothing leaves it, and in which nothing
  listens but what is made here: a socket at 127.0.0.1 for each of PORTS (`1,2`), and one that sees all attempts;
- a file system in memory of SIZE bytes over FOLDER, for all that may be written,
- a filter of system calls: sockets of families that are not part of a network namespace (AF_VSOCK leads to the host of
  a virtual machine) cannot be made, nor rings (io_uring) that would make them without a system call.

It sends the sockets and the folder `FOLDER/out` over the socket CONTROL to the worker, which then serves and
watches from outside. COMMAND (bubblewrap) is started when the worker says so; it has no rights in these namespaces.
"""

import ctypes
import os
import platform
import socket
import struct
import sys
from contextlib import ExitStack, suppress

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_REC_PRIVATE, MS_NOSUID_NODEV = 0x4000 | 0x40000, 0x2 | 0x4
RTM_NEWLINK, RTM_NEWROUTE = 16, 24
NLM_REQUEST_ACK, NLM_CREATE_EXCL = 0x5, 0x600
LOOPBACK, TABLE_LOCAL, SCOPE_HOST, RTN_LOCAL, RTA_OIF = 1, 255, 254, 2, 4
ETH_P_ALL = 3
FOLDERS = ("out", "home", "tmp", "shm")
"""What may be written: below the mounted folder."""
_FAILED = 125
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, SECCOMP_ALLOW, SECCOMP_ERRNO = 22, 2, 0x7FFF0000, 0x50000
BPF_LOAD, BPF_EQUAL, BPF_AT_LEAST, BPF_RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets of a system call's number, architecture and first argument in what a filter sees."""
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
SYSTEM_CALLS = {
    "x86_64": ((0xC000003E, 41, 0x40000000), (0x40000003, 359, 102)),
    "aarch64": ((0xC00000B7, 198, 1 << 31), (0x40000028, 281, 1 << 31)),
}
"""By machine, for its own programs and those of 32 bits: their architecture, the number of `socket`, and a number that
is refused: from there on for the first (x32 has other numbers), socketcall for i386, whose family cannot be seen.
"""
IO_URING_SETUP = 425
"""The number on every architecture."""
ENOSYS, EAFNOSUPPORT = 38, 97


def _unshare() -> None:
    """Namespaces of its own, in which this user is the same one."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) < 0:
        raise OSError(ctypes.get_errno(), "this system allows no user namespaces")
    # Without rights, a process may write its `gid_map` only after it has denied setgroups.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:  # noqa: PTH123 (starts without pathlib)
            file.write(text)


def _mount(folder: str, size: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) < 0:
        raise OSError(ctypes.get_errno(), "mounts cannot be made private")
    options = f"size={size},nr_inodes=200000,mode=0700".encode()
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", MS_NOSUID_NODEV, options) < 0:
        raise OSError(ctypes.get_errno(), "a file system in memory cannot be mounted")
    for name in FOLDERS:
        os.mkdir(f"{folder}/{name}", 0o700)  # noqa: PTH102


def _everything_is_local() -> None:
    """The loopback device is up, and every address is its own."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        up = struct.pack("=BxHiII", 0, 0, LOOPBACK, 1, 1)
        _request(kernel, RTM_NEWLINK, 0, up)
        device = struct.pack("=HHI", 8, RTA_OIF, LOOPBACK)
        for family in (socket.AF_INET, socket.AF_INET6):
            route = struct.pack("=BBBBBBBBI", family, 0, 0, 0, TABLE_LOCAL, SCOPE_HOST, SCOPE_HOST, RTN_LOCAL, 0)
            with suppress(OSError):  # without a route, nothing is reachable either: only attempts are not seen
                _request(kernel, RTM_NEWROUTE, NLM_CREATE_EXCL, route + device)


def _request(kernel: socket.socket, kind: int, flags: int, body: bytes) -> None:
    kernel.send(struct.pack("=IHHII", 16 + len(body), kind, flags | NLM_REQUEST_ACK, 1, 0) + body)
    (code,) = struct.unpack_from("=i", kernel.recv(4096), 16)
    if code:
        raise OSError(-code, os.strerror(-code))


def _filter(machine: str) -> bytes:
    """The program of the kernel's filter (seccomp), in its own instructions: code, two distances to jump, a value."""
    made = [struct.pack("=HBBI", BPF_LOAD, 0, 0, ARCHITECTURE)]
    for at_least, (architecture, make_socket, refused) in zip((True, False), SYSTEM_CALLS[machine], strict=True):
        families = [
            struct.pack("=HBBI", BPF_EQUAL, len(FAMILIES) - at, 0, family) for at, family in enumerate(FAMILIES)
        ]
        part = [
            struct.pack("=HBBI", BPF_LOAD, 0, 0, NUMBER),
            struct.pack("=HBBI", BPF_AT_LEAST if at_least else BPF_EQUAL, 1, 0, refused),
            struct.pack("=HBBI", BPF_EQUAL, 0, 1, IO_URING_SETUP),
            struct.pack("=HBBI", BPF_RETURN, 0, 0, SECCOMP_ERRNO | ENOSYS),
            struct.pack("=HBBI", BPF_EQUAL, 0, len(FAMILIES) + 2, make_socket),
            struct.pack("=HBBI", BPF_LOAD, 0, 0, FIRST_ARGUMENT),
            *families,
            struct.pack("=HBBI", BPF_RETURN, 0, 0, SECCOMP_ERRNO | EAFNOSUPPORT),
            struct.pack("=HBBI", BPF_RETURN, 0, 0, SECCOMP_ALLOW),
        ]
        made += [struct.pack("=HBBI", BPF_EQUAL, 0, len(part), architecture), *part]
    # An unknown architecture has other numbers of calls, so nothing of it is let through.
    return b"".join([*made, struct.pack("=HBBI", BPF_RETURN, 0, 0, SECCOMP_ERRNO | ENOSYS)])


def _refuse_other_sockets() -> None:
    if platform.machine() not in SYSTEM_CALLS:
        raise OSError(0, f"the system calls of {platform.machine()} are not known here")
    made = _filter(platform.machine())
    instructions = ctypes.create_string_buffer(made, len(made))
    program = struct.pack("@HP", len(made) // 8, ctypes.addressof(instructions))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "this system has no filters of system calls (seccomp)")


def main(arguments: list[str]) -> int:
    """Returns only if it fails."""
    control, folder, size, ports, command = int(arguments[0]), *arguments[1:4], arguments[4:]
    try:
        _unshare()
        _mount(folder, size)
        _everything_is_local()
        with ExitStack() as closing:
            worker = closing.enter_context(socket.socket(fileno=control))
            packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
            made = [closing.enter_context(packets)]
            for port in ports.split(","):
                server = socket.create_server(("127.0.0.1", int(port)), backlog=128)
                made.append(closing.enter_context(server))
            out = os.open(f"{folder}/out", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            # The worker serves these sockets itself: a proxy in here could be attacked, and would copy every byte.
            socket.send_fds(worker, [b"ready"], [out, *(one.fileno() for one in made)])
            if not worker.recv(1):
                return _FAILED
        # Last, as the filter would refuse the packet socket above, too.
        _refuse_other_sockets()
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"the sandbox cannot be made: {error.strerror or error}\n".encode())
    return _FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
