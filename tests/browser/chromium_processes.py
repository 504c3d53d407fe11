"""The processes of the Chromium that a test has started, to kill them."""

import psutil


def is_browser(process: psutil.Process) -> bool:
    """Whether it is the main process of a Chromium."""
    try:
        words, name = process.cmdline(), process.name().lower()
        if not words:  # it ends, and a renderer that does would look like a browser
            return False
        return ("chrom" in name or "headless_shell" in name) and not any("--type=" in word for word in words)
    except psutil.Error:
        return False  # gone meanwhile, or a zombie


def the_browser() -> psutil.Process:
    """The newest Chromium under this process."""
    browsers = filter(is_browser, psutil.Process().children(recursive=True))
    return max(browsers, key=lambda process: process.create_time())


def helpers(word: str) -> list[psutil.Process]:
    """Processes of the newest Chromium with a word in their command line."""
    found = the_browser().children(recursive=True)
    return [process for process in found if any(word in part for part in process.cmdline())]


def kill_browser() -> None:
    """Until it is gone: on a busy machine a killed process lives on until it is scheduled once more."""
    _kill(the_browser())


def kill_network_service() -> None:
    """Until it is gone."""
    (service,) = helpers("--utility-sub-type=network.mojom.NetworkService")
    _kill(service)


def _kill(process: psutil.Process) -> None:
    process.kill()
    process.wait(timeout=600)
