"""A known secret is found however it was escaped, and the search for it is linear."""

import base64
import html
import json
import re
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest

from harness.secrets.encoded_secrets import EncodedSecrets
from harness.secrets.redaction import Redactor

NASTY = "Pa\"ss\\w</ö>&o'rd+ 1%"
SECRETS = {
    "nasty": NASTY,
    "plain": "tide-and-time",
    "only_signs": '"\\<&>"+/',
    "escapes": "ab%5Cd%25e &amp;z",
    "slashes": "\\\\\\\\\\\\",
    "pin": "4711",
}
Escape = Callable[[str], str]


def har_body(text: str) -> str:
    """A HAR whose response body is JSON that holds HTML."""
    body = json.dumps({"html": f"<p title='{html.escape(text)}'>"})
    return json.dumps({"log": {"entries": [{"response": {"content": {"text": body}}}]}})


def everything_in_base64(text: str) -> str:
    return " ".join(base64.b64encode(f"{before}{text}:after".encode()).decode() for before in ("", "u", "us", "user:"))


WAYS: dict[str, Escape] = {
    "plain": str,
    "json": json.dumps,
    "json, not ascii": lambda text: json.dumps(text, ensure_ascii=False),
    "json, capitals": lambda text: json.dumps(text).replace("\\u00f6", "\\u00F6"),
    "json with escaped slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "json in a script": lambda text: json.dumps(text).replace("<", "\\u003c").replace("&", "\\u0026").replace(">", "\\u003e"),
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "json in json in json": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "html": html.escape,
    "html in html": lambda text: html.escape(html.escape(text)),
    "html by numbers": lambda text: "".join(one if one.isascii() and (one.isalnum() or one in "_.-") else f"&#{ord(one)};" for one in text),
    "html in json": lambda text: json.dumps(f'<input value="{html.escape(text)}">'),
    "json in html": lambda text: html.escape(json.dumps(text)),
    "har": har_body,
    "address": lambda text: quote(text, safe=""),
    "address, small letters": lambda text: quote(text, safe="").replace("%5C", "%5c").replace("%3C", "%3c"),
    "address, most left as it is": quote,
    "form": quote_plus,
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "percent three times": lambda text: quote(quote(quote(text, safe=""), safe=""), safe=""),
    "every byte by percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "form in json": lambda text: json.dumps({"postData": urlencode({"password": text})}),
    "json in a form": lambda text: urlencode({"payload": json.dumps(text)}),
    "base64 at every alignment": everything_in_base64,
    "base64 in an address": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 of json": lambda text: base64.b64encode(json.dumps({"password": text}).encode()).decode(),
    "base64 of base64": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 in json in json": lambda text: json.dumps(json.dumps(base64.b64encode(text.encode()).decode())),
    "a script's text in single quotes": lambda text: text.replace("\\", "\\\\").replace("'", "\\'"),
    "six times json": lambda text: json.dumps(json.dumps(json.dumps(json.dumps(json.dumps(json.dumps(text)))))),
    "everything at once": lambda text: json.dumps(html.escape(json.dumps(quote(html.escape(json.dumps(json.dumps(text))))))),
    "hexadecimal": lambda text: text.encode().hex(),
}  # fmt: skip


def decoded(text: str) -> set[str]:
    """What somebody who reads the text could get out of it, by every decoder again and again."""
    seen, fresh = set(), {text}
    while fresh:
        seen |= fresh
        fresh = {made for one in fresh for made in _decodings(one)} - seen
    return seen


def _decodings(text: str) -> set[str]:
    from urllib.parse import unquote, unquote_plus

    made = {unquote(text), unquote_plus(text), html.unescape(text)}
    for quoted in (text, f'"{text}"'):
        try:
            made.add(_texts(json.loads(quoted)))
        except ValueError:
            continue
    return made


def _texts(value: object) -> str:
    match value:
        case dict():
            return " ".join(map(_texts, value.values()))
        case list():
            return " ".join(map(_texts, value))
    return str(value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in SECRETS if name != "pin"])
def test_a_secret_is_found_in_every_way_to_write_it(name: str, way: str) -> None:
    written = WAYS[way](SECRETS[name])
    redactor = Redactor({name: SECRETS[name]})
    text = f"before {written} after"
    assert redactor.touches(text.encode())
    redacted = redactor.text(text)
    assert redacted.startswith("before ") and redacted.endswith(" after")
    marker = re.compile(rf"\[redacted:{name}(~[\w.-]*)?\]")
    assert marker.search(redacted)
    assert not any(SECRETS[name] in one for one in decoded(marker.sub("", redacted)))


def test_of_two_secrets_that_share_characters_neither_shows_its_rest() -> None:
    redactor = Redactor({"one": "abcdefgh", "two": "efghijkl"})
    assert redactor.text("abcdefghijkl") == "[redacted:one~]", "for good, as it is neither the one nor the other"
    assert redactor.text("abcdefgh efghijkl") == "[redacted:one] [redacted:two]"


def test_numbers_of_json_stay_numbers_although_a_pin_reads_like_them() -> None:
    redactor = Redactor(SECRETS)
    kept = redactor.data(b'{"tokens":4711,"wall_s":1.4711,"note":"pin 4711"}\n')
    assert json.loads(kept) == {"tokens": 4711, "wall_s": 1.4711, "note": "pin [redacted:pin]"}
    lines = redactor.data(b'{"at":4711.5,"to":"4711"}\n{"at":14711}\n')
    assert [json.loads(line) for line in lines.splitlines()] == [{"at": 4711.5, "to": "[redacted:pin]"}, {"at": 14711}]
    assert redactor.data(b"{4711") == b"{[redacted:pin]"


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize(
    "piece", ['Pa"ss\\w</ö>&o', "\\", '\\"', "&amp;", "%25", "47", "tide-and-", "Pa&quot;ss\\\\", "&#92;", "%5C"]
)
def test_the_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    found = EncodedSecrets(SECRETS)
    found.find("".join(SECRETS.values()))  # patterns are made

    def took_s(size: int) -> float:
        text = piece * (size // len(piece))
        times = []
        for _ in range(3):
            begun = time.process_time()
            found.find(text)
            times.append(time.process_time() - begun)
        return min(times)

    assert took_s(400_000) < 12 * took_s(100_000) + 0.05
