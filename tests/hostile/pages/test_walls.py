"""`browser.allowed=sites`: nothing of WebRTC leaves the browser either."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from harness.actions import Click
from harness.browser.driver import chromium_flags
from harness.browser.network.allowlist import Allowlist
from harness.browser.session.chromium import ChromiumPool
from tests.hostile.pages.wild import QUICK, Wild, staying

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CALL = """<!doctype html><title>Page</title><button id=go onclick="call()">go</button><p id=out></p><script>
async function call() {{
  const peer = new RTCPeerConnection({config});
  const said = [];
  peer.onicecandidate = ({{ candidate }}) => said.push(candidate ? candidate.candidate : 'end');
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
  {more}
  for (let n = 0; n < 40 && !said.includes('end'); n++) await new Promise((done) => setTimeout(done, 50));
  document.getElementById('out').textContent = 'said ' + said.join(' | ');
}}
</script>"""
ANSWER = """const other = new RTCPeerConnection({config});
  other.createDataChannel('y');
  await other.setRemoteDescription(peer.localDescription);
  await other.setLocalDescription(await other.createAnswer());
  await peer.setRemoteDescription(other.localDescription);
  for (const host of ['127.0.0.1', '{own}', 'x.local', 'outside.invalid']) await peer.addIceCandidate({{
    candidate: 'candidate:1 1 udp 2122260223 ' + host + ' {udp} typ host', sdpMid: '0' }}).catch(() => 0);
  await peer.addIceCandidate({{
    candidate: 'candidate:2 1 tcp 1518280447 127.0.0.1 {tcp} typ host tcptype passive', sdpMid: '0' }}).catch(() => 0);"""
SERVERS = {
    "stun": "{{ iceServers: [{{ urls: 'stun:{host}:{udp}' }}] }}",
    "turn": (
        "{{ iceServers: [{{ urls: 'turn:{host}:{udp}', username: 'u', credential: 'p' }}], iceTransportPolicy:"
        " 'relay' }}"
    ),
    "turn by TCP": "{{ iceServers: [{{ urls: 'turn:{host}:{tcp}?transport=tcp', username: 'u', credential: 'p' }}] }}",
    "turns": "{{ iceServers: [{{ urls: 'turns:{host}:{tcp}?transport=tcp', username: 'u', credential: 'p' }}] }}",
    "a candidate": "{{}}",
}


class Heard(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.packets: list[bytes] = []
        self.calls = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.packets.append(data)

    async def called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Heard, dict[str, object]]]:
    """Somebody outside of all sites, on every address of this machine."""
    heard = Heard()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: heard, local_addr=("0.0.0.0", 0))
    tcp = await asyncio.start_server(heard.called, "0.0.0.0", 0)
    try:
        yield (
            heard,
            {
                "udp": transport.get_extra_info("sockname")[1],
                "tcp": tcp.sockets[0].getsockname()[1],
                "own": _own_address(),
            },
        )
    finally:
        transport.close()
        tcp.close()


def _own_address() -> str:
    """Of this machine to others, where it has one; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


async def call(pool: ChromiumPool, wild: Wild, kind: str, places: dict[str, object]) -> str:
    places = {**places, "host": places["own"]}
    config = SERVERS[kind].format(**places)
    more = ANSWER.format(config=config, **places) if kind == "a candidate" else ""
    wild.pages["/"] = CALL.format(config=config, more=more)
    async with staying(pool) as stay:
        await stay.act(Click(target=stay.target("go")))
        for _ in range(30):
            if "said" in stay.text:
                break
            await stay.act(Click(target=stay.target("go")))
        return stay.text


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", SERVERS)
async def test_nothing_of_webrtc_leaves(chromium: ChromiumPool, wild: Wild, kind: str) -> None:
    async with listening() as (heard, places):
        assert "said" in await call(chromium, wild, kind, places)
        assert heard.packets == [] and heard.calls == 0


@pytest.mark.hostile
@pytest.mark.parametrize("kind", SERVERS)
async def test_without_the_wall_it_does(wild: Wild, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium_flags, "_WALLS", ())
    monkeypatch.setattr(Allowlist, "proxy", lambda *_: {"server": "http://127.0.0.1:9", "bypass": "*"})
    async with ChromiumPool(replace(QUICK, allowed="any"), sites=lambda _: (wild.site,)) as pool:
        async with listening() as (heard, places):
            assert "said" in await call(pool, wild, kind, places)
            assert heard.packets or heard.calls
