"""How the harness asks a `ModelProvider`: over plain HTTP, or by the package of its maker."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from harness.api import ChatSettings, Message, ModelProvider
from harness.codec import JsonObject
from harness.llm.connection import Connection, PlainConnection, SdkErrors
from harness.llm.endpoint import Endpoint


class SdkProvider(ModelProvider):
    """A provider that is asked by the client package of its maker."""

    @abstractmethod
    def connect(self, endpoint: Endpoint, settings: ChatSettings) -> Connection:
        """A connection that sends bodies of this format.

        Raises:
            ConfigError: The package that it needs is not installed.
        """


class SdkConnection(ABC):
    """Through the client package of its maker; fits `Connection`."""

    def __init__(self, client: Any, http_client: Any, path: str, errors: SdkErrors) -> None:
        """
        Args:
            client: The package's, which neither retries nor follows redirects.
            http_client: Its HTTP client.
            path: Of the interface.
            errors: The package's.
        """
        from harness.llm.copied_request import CopiedRequests  # needs the client, which reading does not

        self.errors = errors
        self._client = client
        self._copied = CopiedRequests(client, http_client, path, errors)

    @abstractmethod
    async def send(self, body: JsonObject) -> Any:
        """See `Connection.send`."""

    async def pass_on(self, body: bytes, headers: Mapping[str, str]) -> Any:
        """See `Connection.pass_on`."""
        return await self._copied.send(body, headers)

    async def close(self) -> None:
        await self._client.close()


def connect(provider: ModelProvider, endpoint: Endpoint, settings: ChatSettings) -> Connection:
    """A connection that sends bodies of the provider's format.

    Raises:
        ConfigError: The package that it needs is not installed.
    """
    if isinstance(provider, SdkProvider):
        return provider.connect(endpoint, settings)
    url = endpoint.address.rstrip("/") + provider.path
    headers = {**({"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}), **endpoint.settings.headers}
    return PlainConnection(url, headers, endpoint.with_client().http_client)


def example_role(message: Message) -> str:
    """Whose turn a message is, for formats whose messages have no names: examples become turns."""
    match message.role, message.name:
        case "system", "example_user":
            return "user"
        case "system", "example_assistant":
            return "assistant"
        case role, _:
            return role
