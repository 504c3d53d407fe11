"""The environment of jinja templates: everything is escaped, and what is compiled is kept between starts.

To compile the templates of a report takes 140 ms: without what is kept, a run of one task takes 5 to 12 % more
processor time (3.8 s, measured in pairs). What is kept is executed, as Python's own modules are: it is in a folder of
the user's own, never where others may write. Without such a folder, and where a file is damaged, templates are compiled
again.

For plug-ins that write pages.
"""

import marshal
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from harness.errors import StorageError
from harness.files.disk import write_atomic

__all__ = ["template_environment"]

# Not beside the templates: an installed package is often read-only. Nor in a shared temporary folder: others could
# write there what is executed.
_KEPT = "~/.cache/cairn/templates"
_DIGEST_SIZE = 32


def template_environment(
    *folders: Path, finalize: Callable[..., Any] | None = None, kept: str = _KEPT
) -> jinja2.Environment:
    """An environment of the templates in some folders.

    Args:
        folders: Where the templates are; of those of one name, that of the first.
        finalize: Applied to every value before it is escaped and printed.
        kept: Where they are kept compiled; `~` is the user's home.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        optimized=False,  # else results of filters and of `finalize` become part of what is compiled
        bytecode_cache=_CompiledTemplates(kept),
    )


class _CompiledTemplates(jinja2.BytecodeCache):
    """A file for each template. Its name is a digest of all that it was compiled from, so that none is out of date."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, RuntimeError, ValueError, EOFError, TypeError):
            path = self._path(bucket)
            kept, is_ours = path.read_bytes(), path.stat().st_uid == os.geteuid()  # sudo may leave another's home
            # marshal checks nothing: of a damaged file it may make anything, a crash included.
            if is_ours and sha256(kept[_DIGEST_SIZE:]).digest() == kept[:_DIGEST_SIZE]:
                bucket.code = marshal.loads(kept[_DIGEST_SIZE:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        # As Python does with its own modules.
        if sys.dont_write_bytecode:
            return
        code = marshal.dumps(bucket.code)
        with suppress(OSError, RuntimeError, StorageError):
            path = self._path(bucket)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Lost in a power cut, it is compiled again.
            write_atomic(path, sha256(code).digest() + code, mode=0o600, durable=False)

    def _path(self, bucket: Bucket) -> Path:
        """Raises: RuntimeError: The user has no home."""
        found = bucket.environment
        options = (found.autoescape, found.trim_blocks, found.lstrip_blocks, found.optimized)
        made_by = f"{sys.implementation.cache_tag} {jinja2.__version__} {options}"
        name = sha256(f"{made_by} {bucket.key} {bucket.checksum}".encode()).hexdigest()
        return Path(self._folder).expanduser() / name
