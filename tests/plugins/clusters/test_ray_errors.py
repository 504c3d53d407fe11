"""What Ray raises when it is not reached, or does not start, is one sentence for the person who can do something."""

import pytest

from harness.errors import ConfigError
from harness.plugins.clusters.ray_cluster import RayErrors

TIMED_OUT = "The current node timed out during startup. This could happen because some of the raylet failed to startup"
MISMATCH = (
    "Version mismatch: The cluster was started with:\n    Ray: 2.1\n    Python: 3.9\nThis process was started with:"
)
NO_GCS = (
    "Failed to start GCS. Last connection error: Traceback (most recent call last):\n  File \"x.py\"\nKeyError: 'x'"
)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (Exception(TIMED_OUT), "The current node timed out during startup"),
        (RuntimeError(MISMATCH), "Ray: 2.1 Python: 3.9 This process"),
        (RuntimeError(NO_GCS), "Failed to start GCS. Last connection error:"),
        (ConnectionError("Could not find any running Ray instance."), "Could not find any running Ray instance"),
        (TimeoutError("Timed out after 10 seconds"), "Timed out after 10 seconds"),
        (ValueError(""), "ValueError"),
        (Exception("x" * 5000), "more characters"),
    ],
)
@pytest.mark.parametrize("address", [None, "head:6379"])
def test_it_is_one_sentence(error: Exception, why: str, address: str | None) -> None:
    with pytest.raises(ConfigError) as raised, RayErrors(address):
        raise error
    said = str(raised.value)
    assert why in said and "\n" not in said and "Traceback" not in said and len(said) < 1000
    assert said.startswith(
        "Ray does not start on this machine: " if address is None else "executor.address=head:6379: "
    )
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyError("ours"), AssertionError("ours"), KeyboardInterrupt()])
def test_what_is_not_rays_stays_what_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)), RayErrors(None):
        raise error
