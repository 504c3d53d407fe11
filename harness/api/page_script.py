"""Scripts that a plug-in runs in the pages of an episode."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScript:
    """A script of a task's pages, in their own world and under their own address; see `cairn.page_scripts`.

    It runs once in each document of the task's sites that is not a frame of another: before the scripts of documents
    that begin with the action of its step or later, and after that action in those that are open. After a resume it
    runs where it ran before.
    """

    source: str
    """A JavaScript function. It is given the sites of the task, an object of name to base address as the browser
    reaches it, and an array of [canonical address, address as the browser reaches it] of all sites of the run."""
    from_step: int = 0
    """Step with whose action it begins; 0 = the start pages."""
    lift: str = ""
    """A JavaScript function that takes back in a document what `source` did; "" = nothing does. It is called before
    evidence is gathered, in documents in which `source` ran. No page that is opened for evidence has the script."""

    def __post_init__(self) -> None:
        if self.from_step < 0:
            raise ValueError(f"from_step is {self.from_step}; give 0 or more")
