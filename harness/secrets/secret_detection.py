"""Recognises secrets by the name of a field, by the place in an address or a command, or by their shape.

Pure and light: command line, settings, tasks and environment are all judged here, so that they are judged alike. It
errs on the side of secrecy where a value only becomes unreadable on disk, and does not guess where words of pages would
vanish: a secret in the path of an address, or given to a command of a person's own in a way of that command's own, is
not recognised.
"""

import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

MIN_ENVIRONMENT_CHARS = 8
"""Shorter values of variables are words: redacting them would make pages unreadable."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset(
    """
    key apikey token secret pass pwd pw pin otp totp tan mfa pat dsn auth authorization bearer cookie cookies credential
    credentials signature sig sas sessionid jsessionid phpsessid sid
    """.split()
)
_SECRET_ENDINGS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "passwort", "kennwort")
_NUMBERING = frozenset({"id", "old", "new", "prod", "dev", "test", "staging", "main", "default", "value", "raw"})
"""Last words that say which one, not what."""
_NO_SECRETS = frozenset({"PWD", "OLDPWD"})

_USERINFO = re.compile(r"://([^\s/?#@:\"'<>]{0,256})(?::([^\s/?#\"'<>]{0,256}))?@")
_ASKED = re.compile(r"[?&#;]([\w.\[\]-]{1,64})=([^&#;\s\"'<>]{1,4096})")
_LEAST_USER = 12
"""A user name without a password that is as long as this is a token."""
_SHAPES = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{16,512}|gh[opsur]_\w{20,512}|github_pat_\w{20,512}|glpat-[\w-]{16,512}|"
    r"xox[abeprs]-[\w-]{10,512}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,512}|hf_\w{16,512}|eyJ[\w-]{8,2048}\.[\w-]{8,4096}(?:\.[\w-]{0,2048})?)"
)
"""Keys that say so themselves."""
_SCHEME = re.compile(r"(?i)\s*(?:basic|bearer|digest|negotiate|token|apikey)\s+")
_OPTION = re.compile(r"(?:^|\s)--?([A-Za-z][\w-]{0,64})(?:=|\s+)(\"[^\"]*\"|'[^']*'|[^\s\"']+)")
_ASSIGNED = re.compile(r"(?:^|[\s;&|(\"'])([A-Za-z_]\w{0,64})=(\"[^\"]*\"|'[^']*'|[^\s\"';&|)]+)")
_HEADER = re.compile(r"[\"']?([A-Za-z][\w-]{0,64}):\s*([^\"'\n]{1,4096})")
_USER_OPTION = re.compile(r"(?:^|\s)(?:-u|--user|--proxy-user)[\s=]*[\"']?[^\s:\"']{0,256}:([^\s\"']{1,256})")
# `mysql -pPASSWORD`: without a space, unlike the options of other programs.
_MYSQL = re.compile(r"\bm(?:ysql|ariadb)[\w-]*\b")
_MYSQL_OPTION = re.compile(r"\s-p([^\s\"';&|]{1,256})")

_HARMLESS_HEADERS = frozenset(
    {"accept", "accept-language", "user-agent", "content-type", "referer", "http-referer", "x-title", "openai-beta"}
)
_USER_WORDS = re.compile(
    r"user|login|log in|mail|name|account|nutzer|utilisateur|usuario|identifi|phone|customer", re.I
)
_LAST_COMPOUND = re.compile(r"[\s>+~]+(?![^\[]*\])")

_COMMON = frozenset(
    """
    access admin administrator anonymous anything apikey authtoken changeit changeme changethis default demo development
    disabled dummy empty example fake false foobar guest hello helloworld ignored invalid insertkeyhere key letmein
    litellm lmstudio local localai localhost login manager master missing mock mykey mytoken nokey nokeyneeded
    nokeyrequired none nope notneeded notoken notrequired notset notused null ollama openai operator owner pass passwd
    password passwort placeholder private public qwerty qwertz random root sample secret secretkey sglang skdummy
    sknokeyrequired something staging superuser support system temp test testing testkey testpass testpassword testtoken
    testuser token toor true undefined unknown unused user username vllm welcome whatever xxxx yourapikey yourapikeyhere
    yourkey yourtoken
    """.split()
)
"""Values that are typed where something has to be given, in lower case and without signs."""
_SEQUENCES = ("12345678901234567890", "01234567890123456789", "98765432109876543210")
_WORD = re.compile(r"[^\W\d_]{1,15}|\d{1,15}")
"""What may stand in a text by chance: a word, or a number."""


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret: `OPENAI_API_KEY`, `accessToken`, `AWS_ACCESS_KEY_ID`, `pin`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and words[-1] in _NUMBERING:
        words.pop()
    if not words or name in _NO_SECRETS:
        return False
    return words[-1] in _SECRET_WORDS or words[-1].endswith(_SECRET_ENDINGS)


def is_common(value: str) -> bool:
    """Whether a value is one that many people give: `EMPTY`, `test`, `admin1234`, `1234`."""
    signs = re.sub(r"[\W_]+", "", value.casefold())
    word = signs.rstrip("0123456789")
    number = signs[len(word) :]
    counts = len(set(number)) <= 1 or any(sequence.startswith(number) for sequence in _SEQUENCES)
    return bool(signs) and counts and (word in _COMMON or len(set(word)) <= 1)


def readable(secrets: Mapping[str, str], texts: Iterable[str], names: Iterable[str] = ()) -> dict[str, str]:
    """Secrets that are not hidden, as that would make a run unreadable and hide nothing; by name, and why.

    Args:
        secrets: By name.
        texts: What the run is about: tasks, plans and settings. A word or a number of them is not a secret. Not read
            when no secret is a word.
        names: Of tasks and sites, which are names of files and cannot be hidden.
    """
    words = [value.casefold() for value in secrets.values() if _WORD.fullmatch(value) and not is_common(value)]
    said, named = "\n".join(texts if words else ()).casefold(), "\n".join(names).casefold()
    found: dict[str, str] = {}
    for name, value in secrets.items():
        if is_common(value):
            found[name] = "a common word"
        elif value and value.casefold() in named:
            found[name] = "in the name of a task or site"
        elif value.casefold() in words and value.casefold() in said:
            found[name] = "a word of the tasks or settings"
    return found


def in_text(text: str) -> Iterator[str]:
    """Secrets in any text: passwords and tokens of addresses, and keys that say so themselves."""
    yield from in_addresses(text)
    for name, value in _ASKED.findall(text) if "=" in text else ():
        if is_secret_name(name):
            yield from _as_written_and_meant(value)
    yield from _SHAPES.findall(text)


def in_addresses(text: str) -> Iterator[str]:
    """Passwords before the host of an address, and user names that are tokens."""
    for user, password in _USERINFO.findall(text) if "://" in text else ():
        if password:
            yield from _as_written_and_meant(password)
        # GitHub's way of giving a token: `https://TOKEN:x-oauth-basic@host`.
        if len(user) >= _LEAST_USER and len(password) < len(user):
            yield from _as_written_and_meant(user)


def without_passwords(text: str) -> str:
    """A text without what stands before the host of an address."""
    return _USERINFO.sub("://", text) if "://" in text else text


def in_command(command: str) -> Iterator[str]:
    """Secrets in a command for the shell: in its addresses, headers, assignments and options."""
    yield from in_text(command)
    for pattern in (_OPTION, _ASSIGNED):
        for name, value in pattern.findall(command):
            if is_secret_name(name):
                yield value.strip("\"'")
    for name, value in _HEADER.findall(command):
        if is_secret_name(name):
            yield from in_header(name, value)
    yield from _USER_OPTION.findall(command)
    if _MYSQL.search(command):
        yield from _MYSQL_OPTION.findall(command)


def in_header(name: str, value: str) -> Iterator[str]:
    """Secrets in a configured header: its value without the scheme, except for known harmless headers."""
    if name.lower() in _HARMLESS_HEADERS:
        return
    secret = _SCHEME.sub("", value, count=1).strip()
    yield secret
    try:
        user, colon, password = b64decode(secret, validate=True).decode().partition(":")
    except (NoBase64, ValueError):
        return
    if colon and user.isprintable():
        yield password


def in_login(fields: Mapping[str, object]) -> Iterator[str]:
    """The values of a login form that are secrets: all except those of fields that ask for a user name or the like.

    When every field seems to, all are secrets.
    """
    # Not only fields that say "pass": by that rule `#pin` and one-time codes were readable.
    values = [str(value) for place, value in fields.items() if not _asks_who(place)]
    yield from values or [str(value) for value in fields.values()]


def in_login_headers(headers: Mapping[str, object]) -> Iterator[str]:
    """The secrets of headers that log in: each value, and what stands behind a user name in it."""
    for name, value in headers.items():
        yield str(value)
        yield str(value).partition(":")[2]
        yield from in_header(name, str(value))


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Secrets in the environment, by variable: the values of some, addresses and headers in others."""
    found: dict[str, str] = {}
    for name, value in environment.items():
        if is_secret_name(name.upper()):
            parts = [value]
        elif name.upper().endswith("HEADERS"):
            parts = [part for line in value.splitlines() for part in in_header(*_header(line))]
        else:
            parts = list(in_text(value))
        found |= numbered(name, (part for part in parts if len(part) >= MIN_ENVIRONMENT_CHARS))
    return found


def numbered(name: str, values: Iterator[str]) -> dict[str, str]:
    """Several secrets of one place under names of their own: `name`, `name.2`, `name.3`."""
    each = dict.fromkeys(values)
    return {name if number == 1 else f"{name}.{number}": value for number, value in enumerate(each, start=1)}


def _as_written_and_meant(text: str) -> Iterator[str]:
    yield text
    if (meant := unquote(text)) != text:
        yield meant


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def _asks_who(place: str) -> bool:
    """Whether a field of a login form (label, placeholder or CSS selector) asks for a name, an address or the like."""
    kind, found, text = place.partition("=")
    if not (found and kind in {"label", "placeholder"}):
        # `#login input` names the form: what the field asks for is said by its last part, if at all.
        text = _LAST_COMPOUND.split(place)[-1]
    words = {word.lower() for word in _WORDS.findall(text)}
    if "pass" in text.lower() or words & (_SECRET_WORDS | {"code", "answer"}) or text.lower().endswith(_SECRET_ENDINGS):
        return False
    # A field that does not say what it asks for holds a secret.
    return _USER_WORDS.search(text) is not None
