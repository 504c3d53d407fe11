"""How the harness asks a `ModelProvider`: over plain HTTP, or by the package of its maker."""

from abc import abstractmethod

from harness.api import ChatSettings, Message, ModelProvider
from harness.llm.connection import Connection, PlainConnection
from harness.llm.endpoint import Endpoint


class SdkProvider(ModelProvider):
    """A provider that is asked by the client package of its maker."""

    @abstractmethod
    def connect(self, endpoint: Endpoint, settings: ChatSettings) -> Connection:
        """A connection that sends bodies of this format.

        Raises:
            ConfigError: The package that it needs is not installed.
        """


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
