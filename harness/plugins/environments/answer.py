"""JSON as clients get it over HTTP."""

import json
from typing import Any

from starlette.responses import JSONResponse


class Answer(JSONResponse):
    """In ASCII: what a client named may hold half of a surrogate pair, which UTF-8 cannot say."""

    def render(self, content: Any) -> bytes:
        """See starlette."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
