"""The shelf: plug-ins that are shipped with the core, each in a folder of its own that can be taken away.

The core imports none of them: it finds them by name, see `harness.shelf`.
"""
