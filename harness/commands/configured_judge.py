"""The judge of the person's own settings, for commands that judge without a run."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from harness.api import Judge
from harness.errors import ConfigError
from harness.evaluation.builder import build_judge, build_rate_limiter
from harness.secrets.redaction import Redactor
from harness.settings.models import JudgeSettings, LlmSettings


async def open_judge(
    settings: JudgeSettings,
    llm: LlmSettings,
    redactor: Redactor,
    closing: AsyncExitStack,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Judge | None:
    """A judge of their own, or the model of the settings, with its reply cache; None = there is none.

    Args:
        settings: Which judge.
        llm: Whose endpoint and limits it has where it names none of its own.
        redactor: Takes secrets out of what is said and kept.
        closing: Closes its connections.
        say: Hears what is wrong with the reply cache, once.
    Raises:
        ConfigError: The folder of the reply cache cannot be used.
    """
    judge = build_judge(settings)
    if judge is not None or not settings.model:
        return judge
    from harness.evaluation.endpoint_settings import load_prices
    from harness.evaluation.model_builder import Models  # a second of imports
    from harness.evaluation.reply_caches import check_reply_caches
    from harness.evaluators.judge import ModelJudge
    from harness.runner.shutdown import ShutdownSignal

    check_reply_caches(llm, settings)
    models = Models(
        llm=llm,
        prices=load_prices(llm),
        closing=closing,
        stopping=ShutdownSignal(),
        rate_limiter=build_rate_limiter(llm, settings),
        redactor=redactor,
        notice=say,
    )
    return ModelJudge(await models.judge_model(settings), name=settings.model)


def keeping_replies(settings: JudgeSettings, llm: LlmSettings, say: Callable[[str], None]) -> JudgeSettings:
    """The settings with the person's reply cache, unless they say whether there is one: a command that writes its
    results at the end would lose what was paid for when it is killed.
    """
    from harness.evaluation.reply_caches import check_reply_caches

    if not settings.model or settings._target_ or settings.cache or llm.cache:
        return settings
    # Not in the folder that is scored: whoever made that could have put replies into it.
    kept = replace(settings, cache="readwrite")
    try:
        check_reply_caches(llm, kept)
    except ConfigError as error:
        say(f"warning: the judge's replies are not kept, and a further start asks again: {error}")
        return settings
    return kept
