"""Pictures and files of tasks: each is fetched once, and one that could not be had is asked for again."""

import pytest

from harness.evaluation.task_files import FileMissing, _Stored


class Site:
    """Stands for what fetches; slow at first."""

    def __init__(self, fails: int) -> None:
        self.fails, self.asked = fails, 0

    async def read(self, place: str) -> bytes:
        self.asked += 1
        if self.asked <= self.fails:
            raise FileMissing(f"{place} cannot be fetched (no answer within 30 s)")
        return place.encode()


async def test_a_file_that_could_not_be_had_is_fetched_again_and_one_that_could_is_not() -> None:
    site = Site(fails=1)
    stored = _Stored(site, lambda data: data.decode())  # type: ignore[arg-type]
    with pytest.raises(FileMissing):
        await stored("a.png")
    assert [await stored("a.png") for _ in range(2)] == ["a.png"] * 2
    assert site.asked == 2
