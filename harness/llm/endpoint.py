"""Where chat requests go, and how its client is made.

Nothing is taken from the environment behind the user's back: without a key a placeholder is sent, so that a key in
`OPENAI_API_KEY` never travels to another server than the one it was configured for. Nor do organization, project or the
headers of `OPENAI_CUSTOM_HEADERS`, one of which could take the place of the key: what is to be sent is in the
settings.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from harness.errors import ConfigError
from harness.settings.models import EndpointSettings

if TYPE_CHECKING:  # importing it takes longer than a start that asks no model
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
"""Where requests go whose settings name no address."""
ANTHROPIC_URL = "https://api.anthropic.com"
NO_KEY = "none"
"""Sent as a key where there is none: the package demands one."""
_VARIABLES = ("OPENAI_", "AZURE_OPENAI_", "ANTHROPIC_")
KEY_VARIABLES = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
"""Hosts that answer no request without a key, and where the shipped settings take it from."""
_AZURE_KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
_KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key"})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks one of the interfaces."""

    settings: EndpointSettings = field(repr=False)
    group: str = "llm"
    """Group of settings that it is made from, for messages."""
    http_client: Any = None
    """Made by `http_client.bounded_client`; None = a new one."""

    def __post_init__(self) -> None:
        if self.azure and not self.settings.base_url:
            raise ConfigError(
                f"{self.group}.base_url is missing; give the Azure resource, https://NAME.openai.azure.com"
            )
        if self.settings.base_url and not re.match(r"https?://[^/\s]", self.settings.base_url):
            raise ConfigError(
                f"{self.group}.base_url must begin with http:// or https://, not {self.settings.base_url!r}"
            )
        if not ((key := self.key).isascii() and key.isprintable()):
            raise ConfigError(
                f"{self.group}.api_key contains characters that are not allowed in an HTTP header; copy the key again"
            )
        for name, value in self.settings.headers.items():
            if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
                raise ConfigError(
                    f"{self.group}.headers: {name!r} contains characters that no HTTP header allows; correct it"
                )

    @property
    def key(self) -> str:
        """The key as it is sent; "" without one."""
        return (self.settings.api_key or "").strip()

    @property
    def address(self) -> str:
        """Where its requests go, whatever their interface: its key is for no other server."""
        return self.settings.base_url or OPENAI_URL

    @property
    def azure(self) -> bool:
        return self.settings.kind == "azure"

    @property
    def label(self) -> str:
        """The address for messages: without credentials, query or trailing slash."""
        # Up to the last `@` before the path: a password may hold others, and what else a query begins with.
        return re.sub(r"//[^/]*@", "//", self.address).partition("?")[0].rstrip("/")

    def check_key(self) -> None:
        """See that there is a key where the endpoint is known to need one.

        Raises:
            ConfigError: There is none.
        """
        host = urlsplit(self.address).hostname or ""
        variable = _AZURE_KEY_VARIABLE if self.azure else KEY_VARIABLES.get(host)
        has_key = self.key or any(name.lower() in _KEY_HEADERS for name in self.settings.headers)
        if variable is not None and not has_key and variable in os.environ:  # which other settings read
            raise ConfigError(
                f"{self.label} needs a key, and {self.group}.api_key is not set;"
                f" give {self.group}.api_key='${{oc.env:{variable}}}'"
            )
        if variable is not None and not has_key:
            raise ConfigError(
                f"{self.label} needs a key, and {variable} is not set; set {variable}, or {self.group}.api_key"
            )

    def redact(self, text: str) -> str:
        """`text` without the key, headers and password, should the server have quoted them."""
        password = urlsplit(self.address).password or ""
        # The password as it stands in the address, and decoded, as it is sent.
        for secret in (self.key, password, unquote(password), *self.settings.headers.values()):
            text = text.replace(secret, "[key]") if secret else text
        return text

    def with_client(self) -> "Endpoint":
        """The endpoint with an HTTP client."""
        from harness.llm.http_client import bounded_client

        return self if self.http_client is not None else replace(self, http_client=bounded_client())

    def client_options(self) -> dict[str, Any]:
        """What the client of any package is given."""
        return {
            "api_key": self.key or NO_KEY,
            "max_retries": 0,  # one layer retries (`retry`); the package would, too, without permits and uncounted
            "timeout": None,
            "default_headers": dict(self.settings.headers),
            "http_client": self.with_client().http_client,
        }

    def connect(self) -> "AsyncOpenAI":
        """A client without retries and timeouts of its own: both are done above it, once."""
        from openai import AsyncAzureOpenAI, AsyncOpenAI

        shared = self.client_options()
        with without_variables():
            if not self.azure:
                return AsyncOpenAI(base_url=self.address, **shared)
            resource = self.address.rstrip("/")
            if self.settings.api_version:
                return AsyncAzureOpenAI(azure_endpoint=resource, api_version=self.settings.api_version, **shared)
            url = resource if resource.endswith("/openai/v1") else f"{resource}/openai/v1"
            return AsyncOpenAI(base_url=url, **shared)


@contextmanager
def without_variables() -> Iterator[None]:
    """The packages read growing lists of variables when a client is created; they are removed meanwhile."""
    # To overwrite what a package has read from them would have to follow every version of it.
    away = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_VARIABLES)}
    try:
        yield
    finally:
        os.environ.update(away)
