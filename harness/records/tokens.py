"""The tokens of a request and of its answer, as the endpoint counted them: what a policy is trained on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Of one answer; ids are those of the model's own tokenizer."""

    prompt_ids: tuple[int, ...]
    """Of the whole prompt, as the model's chat template wrote it; () = the endpoint gave none."""
    completion_ids: tuple[int, ...]
    """That were sampled, in order; () = the endpoint gave none."""
    logprobs: tuple[float | None, ...]
    """Natural logarithm of the probability of each sampled token, None = the endpoint did not say; () = of none."""
