"""The flags of Chromium: the same pages everywhere, and no unnecessary background work."""

from collections.abc import Sequence

# A dozen further switches were tried for speed, and had no measurable effect.
SWITCHES = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-smooth-scrolling",  # else keys scroll for half a second, and an observation shows some part of it
    "--disable-sync",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--no-first-run",
)
"""What a picture or a page may depend on, and what talks to others; a reference has the same."""

# A script that takes RTCPeerConnection away is noticed by pages, and undone by frames and workers.
_WALLS = ("--force-webrtc-ip-handling-policy=disable_non_proxied_udp",)  # without "force", headless mode ignores it
"""Pages reach no host but their sites without a proxy: WebRTC would send packets past it."""
_FEATURES_OFF = "--disable-features="
# A test compares this list with the command line of a browser, as a new playwright may have a longer one.
_OFF_BY_PLAYWRIGHT = """
    AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable
    LensOverlay MediaRouter PaintHolding ThirdPartyStoragePartitioning AvoidCorsURLLoaderRestartOnRedirect
    TcpPortRandomizationWin OptimizationHints NetworkTimeServiceQuerying AimEnabled PreconnectToSearch
    msForceBrowserSignIn msEdgeUpdateLaunchServicesPreferredVersion
    """.split()
"""Chromium heeds the last switch of a name only, so ours has to say again what playwright's says."""
# In the embedded shop, a navigation takes 70 ms of the processor without it, and 105 ms with it.
_OFF_BY_US = ("RenderDocument",)
"""A frame host, a widget and a compositor for every document: pages show no difference, a navigation takes half again
as much of the processor.
"""


def switches(*, resolver_rules: str = "", further: Sequence[str] = ()) -> list[str]:
    """All switches; `resolver_rules` of hosts that are not to be found."""
    unknown = (f"--host-resolver-rules={resolver_rules}",) if resolver_rules else ()
    return [*SWITCHES, *_WALLS, *unknown, *further, _FEATURES_OFF + ",".join([*_OFF_BY_PLAYWRIGHT, *_OFF_BY_US])]
