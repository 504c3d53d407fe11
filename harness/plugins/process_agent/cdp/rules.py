"""Which CDP commands an agent's process may send, and what is done with each. A list of what is allowed; pure.

Everything that is not listed is refused: what reaches beyond the episode's browser context, the files of the host, or
the settings of the run, and whatever later versions of the protocol add.

Source: https://chromedevtools.github.io/devtools-protocol/tot/.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Treatment(Enum):
    """What becomes of a command."""

    PASS = "passed on without a record"
    """It reads, or sets up what the client hears."""
    RELEASE = "passed on at once"
    """A page may stand still until it comes: it overtakes commands that wait."""
    REPLY = "passed on at once, after the episode says that scripts run"
    """The same for what a page is answered, which may change what it does."""
    SCRIPT = "passed on after the episode says that scripts run"
    """It runs a script of the process, which may do anything that a page may do, and mostly only reads."""
    CHANGE = "recorded, then passed on"
    """Input, navigation, another tab, and what changes a document or cookies."""
    STREAM = "passed on; its answer may name a stream"
    HANDLE = "passed on if this client was given the stream"
    TARGETS = "answered for the targets of this episode only"
    OURS = "passed on for the context of this episode only"
    KEPT = "answered, and not passed on: the run has set this"


def _table(**methods: str) -> Mapping[str, Treatment]:
    return MappingProxyType({name: Treatment[kind] for kind, names in methods.items() for name in names.split()})


_BROWSER = _table(
    PASS="Browser.getVersion Schema.getDomains",
    OURS="Browser.grantPermissions Browser.resetPermissions Browser.setPermission Storage.getCookies",
    CHANGE="Storage.setCookies Storage.clearCookies",
    KEPT=(
        "Browser.setContentsSize Browser.setDownloadBehavior Browser.setWindowBounds"
        " Security.setIgnoreCertificateErrors"
    ),
    TARGETS=(
        "Target.activateTarget Target.attachToTarget Target.closeTarget Target.createTarget Target.detachFromTarget"
        " Target.getBrowserContexts Target.getTargetInfo Target.getTargets Target.setAutoAttach"
        " Target.setDiscoverTargets Browser.getWindowForTarget"
    ),
)
"""What becomes of commands in the session of the browser, and in any other."""

_PAGE = _table(
    PASS=(
        "Accessibility.* Audits.disable Audits.enable CSS.get* CSS.collectClassNames CSS.disable CSS.enable"
        " CSS.resolveValues CSS.takeComputed*"
        " CSS.track* DOM.collectClassNames* DOM.describeNode DOM.disable DOM.discardSearchResults DOM.enable"
        " DOM.get* DOM.highlight* DOM.hideHighlight DOM.performSearch DOM.pushNode* DOM.querySelector*"
        " DOM.requestChildNodes DOM.requestNode DOM.resolveNode DOMDebugger.getEventListeners DOMSnapshot.*"
        " DOMStorage.disable DOMStorage.enable DOMStorage.getDOMStorageItems Emulation.canEmulate"
        " Emulation.setFocusEmulationEnabled Fetch.disable Fetch.enable HeapProfiler.collectGarbage"
        " IndexedDB.disable IndexedDB.enable IndexedDB.get* IndexedDB.request* Input.setInterceptDrags"
        " Inspector.disable Inspector.enable LayerTree.* Log.* Media.disable Media.enable"
        " Network.canClear* Network.canEmulate* Network.disable Network.enable Network.get*"
        " Network.searchInResponseBody Network.setCacheDisabled Network.setBypassServiceWorker"
        " Network.enableReportingApi"
        " Page.captureScreenshot Page.captureSnapshot"
        " Page.createIsolatedWorld Page.disable Page.enable Page.get* Page.removeScriptToEvaluateOnNewDocument"
        " Page.resetNavigationHistory Page.screencastFrameAck Page.searchInResource Page.setBypassCSP"
        " Page.setInterceptFileChooserDialog Page.setLifecycleEventsEnabled Page.setPrerenderingAllowed"
        " Page.startScreencast Page.stopLoading Page.stopScreencast Performance.* PerformanceTimeline.enable"
        " Runtime.addBinding Runtime.compileScript Runtime.disable Runtime.discardConsoleEntries Runtime.enable"
        " Runtime.getHeapUsage Runtime.getIsolateId Runtime.globalLexicalScopeNames Runtime.queryObjects"
        " Runtime.releaseObject Runtime.releaseObjectGroup Runtime.removeBinding Runtime.setAsyncCallStackDepth"
        " Runtime.setMaxCallStackSizeToCapture Security.disable Security.enable ServiceWorker.disable"
        " ServiceWorker.enable Storage.getStorageKey* Storage.getUsageAndQuota WebMCP.disable WebMCP.enable"
    ),
    RELEASE="Runtime.runIfWaitingForDebugger Runtime.terminateExecution",
    REPLY=(
        "Fetch.continueRequest Fetch.continueResponse Fetch.continueWithAuth Fetch.failRequest Fetch.fulfillRequest"
        " Page.handleJavaScriptDialog"
    ),
    SCRIPT=(
        "DOM.scrollIntoViewIfNeeded Page.addScriptToEvaluateOnNewDocument Runtime.awaitPromise Runtime.callFunctionOn"
        " Runtime.evaluate Runtime.getProperties Runtime.runScript"
    ),
    CHANGE=(
        "DOM.copyTo DOM.focus DOM.moveTo DOM.removeAttribute DOM.removeNode DOM.setAttributeValue"
        " DOM.setAttributesAsText DOM.setFileInputFiles DOM.setNodeName DOM.setNodeValue DOM.setOuterHTML"
        " DOMStorage.clear DOMStorage.removeDOMStorageItem DOMStorage.setDOMStorageItem Input.cancelDragging"
        " Input.dispatchDragEvent Input.dispatchKeyEvent Input.dispatchMouseEvent Input.dispatchTouchEvent"
        " Input.emulateTouchFromMouseEvent Input.imeSetComposition Input.insertText Input.synthesizePinchGesture"
        " Input.synthesizeScrollGesture Input.synthesizeTapGesture Network.clearBrowserCache"
        " Network.clearBrowserCookies Network.deleteCookies Network.setCookie Network.setCookies"
        " Network.setExtraHTTPHeaders Page.bringToFront Page.close Page.navigate Page.navigateToHistoryEntry"
        " Page.reload Page.setDocumentContent"
    ),
    STREAM="Fetch.takeResponseBodyAsStream Page.printToPDF",
    HANDLE="IO.close IO.read IO.resolveBlob",
    KEPT=(
        "Emulation.clear* Emulation.reset* Emulation.set* Network.emulateNetworkConditions"
        " Network.setUserAgentOverride Page.setDownloadBehavior Page.setFontFamilies Page.setFontSizes"
        " Page.setWebLifecycleState"
    ),
)
"""What becomes of commands in the session of a page, a frame or a worker."""
# It tells where on this machine a file lies that was uploaded.
_REFUSED = frozenset({"DOM.getFileInfo"})
"""Commands that a prefix above would let pass."""


def treatment(method: str, *, page: bool) -> Treatment | None:
    """What to do with a command; None = it is refused.

    Args:
        page: It was sent in the session of a page, a frame or a worker, not in that of the browser.
    """
    for table in (_PAGE, _BROWSER) if page else (_BROWSER,):
        if (found := table.get(method)) is not None:
            return found
    return _by_prefix(method) if page and method not in _REFUSED else None


def is_harmless(method: str) -> bool:
    """Whether a command that is refused only asks for events, or for their end, in a session that has none of them.

    Clients send commands such as Page.enable to the browser itself out of habit; it is not an attempt to escape.
    """
    return method.endswith((".enable", ".disable")) and treatment(method, page=True) is Treatment.PASS


def _by_prefix(method: str) -> Treatment | None:
    return next((kind for prefix, kind in _PREFIXES if method.startswith(prefix)), None)


_PREFIXES = tuple((name[:-1], kind) for name, kind in _PAGE.items() if name.endswith("*"))
