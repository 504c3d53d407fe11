"""The HTML report of a run: pages that open from disk, one file, and what the viewer serves."""
