"""Serves an ASGI application: inside a command's event loop, WebSockets included, or as a process of its own.

For commands that serve, agents whose process asks a gateway, and sites that a run starts (`cairn.servers`).
"""

from harness.embedded_server import KEY_HEADER, KEY_VARIABLE
from harness.loopback_server import Clients, WebSockets, call_when_input_ends, run, serving

__all__ = ["KEY_HEADER", "KEY_VARIABLE", "Clients", "WebSockets", "call_when_input_ends", "run", "serving"]
