"""Serves an ASGI application inside a command's event loop, WebSockets included; imported by who serves."""

from harness.loopback_server import Clients, WebSockets, serving

__all__ = ["Clients", "WebSockets", "serving"]
