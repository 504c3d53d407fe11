"""The environment variables that the browser and its driver receive: those they need, and none that could hold a key.

Pages run in the browser's processes, and code that escapes the sandbox could read their environment; with `DEBUG` or
`NODE_OPTIONS` the driver would log what is typed. An allowlist needs no guess about which variables are secret.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

# What an unusual system needs besides, a wrapper script given as `browser.executable` can set.
_PASS = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"),
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
        *("NODE_COMPILE_CACHE", "CHROMIUM_PATH", "CHROMIUM_FLAGS", "CHROME_DEVEL_SANDBOX", "SNAP", "SNAP_NAME", "CI"),
        *("PW_LANG_NAME", "PW_LANG_NAME_VERSION", "PW_CLI_DISPLAY_VERSION", "SYSTEMROOT", "__CF_USER_TEXT_ENCODING"),
        # Marks by which a later start finds the processes that a killed run has left.
        *("CAIRN_RUN", "CAIRN_WORKER", "CAIRN_HOOK"),
    }
)
_PASS_FAMILIES = re.compile(
    r"(?:LC|FONTCONFIG|FREETYPE|GDK|GTK|LIBGL|MESA|EGL|VK|LIBVA|PLAYWRIGHT)_[A-Z_]+|"
    r"XDG_(?:[A-Z]+_(?:DIRS?|HOME)|SESSION_TYPE)"
)
# Families have keys among their names, too, PLAYWRIGHT_SERVICE_ACCESS_TOKEN for instance.
_NEVER = re.compile(r"KEY|TOKEN|SECRET|PASS|COOKIE|AUTH(?!ORITY)|CREDENTIAL")
_PROXIES = re.compile(r"(?i)(?:https?|all|no|ftp)_proxy")
_CREDENTIALS = re.compile(r"(?:(?<=://)|^)[^/?#\s]*@")
_DRIVER_MODULES = ("playwright._impl.transport", "playwright._impl._transport")
_ASKED = "get_driver_env"


def browser_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What of `environment` Chromium and playwright's driver are started with."""
    kept: dict[str, str] = {}
    for name, value in environment.items():
        if _PROXIES.fullmatch(name):
            kept[name] = _CREDENTIALS.sub("", value)  # which Chromium would not use, either
        elif name in _PASS or (_PASS_FAMILIES.fullmatch(name) and not _NEVER.search(name)):
            kept[name] = value
    return kept


@contextmanager
def driver_environment() -> Iterator[None]:
    """Start playwright's driver in here: it gets no other variables. Playwright itself has no setting for it.

    Where playwright has changed inside, the driver gets all; Chromium never does, as that is a setting.
    """
    module = next((import_module(name) for name in _DRIVER_MODULES if find_spec(name)), None)
    theirs = getattr(module, _ASKED, None)
    if module is None or theirs is None:
        yield
        return
    setattr(module, _ASKED, lambda: browser_environment(theirs()))
    try:
        yield
    finally:
        setattr(module, _ASKED, theirs)
