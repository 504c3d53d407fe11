"""Hands the DevTools pipe of a Chromium that playwright starts to the worker, and then becomes that Chromium.

A separate program, which imports nothing of this package: `python -I -S pipe_handover.py SOCKET CHROMIUM SWITCH…`.
Playwright speaks to what it has started over descriptors 3 and 4. Those go to the worker over SOCKET, together with the
worker's ends of two new pipes, whose other ends become descriptors 3 and 4 of CHROMIUM. The process, and so its id, its
group and its place in the process tree, stay the ones that playwright knows.
"""

import os
import signal
import socket
import sys

_COMMANDS, _ANSWERS = 3, 4
"""Where Chromium reads commands and writes answers; Chromium's numbers."""
_FAILED = 125


def main(arguments: list[str]) -> int:
    """Returns only if it fails."""
    address, command = arguments[0], arguments[1:]
    try:
        commands, to_chromium = os.pipe()
        from_chromium, answers = os.pipe()
        with socket.socket(socket.AF_UNIX) as worker:
            worker.connect(address)
            socket.send_fds(worker, [b"pipes"], [_COMMANDS, _ANSWERS, to_chromium, from_chromium])
        os.dup2(commands, _COMMANDS)
        os.dup2(answers, _ANSWERS)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and a program that it becomes would, too
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"the browser cannot be started: {error.strerror or error}\n".encode())
    return _FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
