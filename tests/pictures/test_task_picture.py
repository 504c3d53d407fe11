"""Pictures of tasks: sent as they are, or bounded; what is not a picture is said in one sentence."""

import struct
import zlib
from io import BytesIO

import pytest
from PIL import Image

from harness.pictures import task_picture
from harness.pictures.task_picture import media_type, sendable


def written(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    data = BytesIO()
    Image.new(mode, size, (200, 10, 10, 0)[: len(mode)]).save(data, kind)
    return data.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_small_picture_is_sent_byte_for_byte(kind: str) -> None:
    data = written(kind)
    assert sendable(data) is data and media_type(data) == f"image/{kind.lower()}"


@pytest.mark.parametrize(("kind", "mode"), [("WEBP", "RGB"), ("GIF", "RGB"), ("BMP", "RGB"), ("WEBP", "RGBA")])
def test_other_formats_become_png_on_white(kind: str, mode: str) -> None:
    sent = sendable(written(kind, mode=mode))
    image = Image.open(BytesIO(sent))
    assert image.format == "PNG" and image.mode == "RGB" and image.size == (40, 30)
    assert image.getpixel((5, 5)) == ((255, 255, 255) if mode == "RGBA" else image.getpixel((0, 0)))


def claiming(width: int, height: int) -> bytes:
    """A PNG whose header claims this size."""
    header = b"IHDR" + struct.pack(">II", width, height) + written("PNG")[24:29]
    return written("PNG")[:12] + header + struct.pack(">I", zlib.crc32(header)) + written("PNG")[33:]


def test_a_large_picture_is_scaled_down() -> None:
    sent = sendable(written("PNG", (400, 300)), max_pixels=30_000)
    assert Image.open(BytesIO(sent)).size == (200, 150)
    assert Image.open(BytesIO(sendable(written("PNG", (4000, 3000))))).size == (2364, 1773)


@pytest.mark.slow
def test_a_picture_of_many_bytes_becomes_a_jpeg() -> None:
    image = Image.effect_noise((2000, 2000), 90)
    data = BytesIO()
    image.save(data, "PNG")
    assert len(data.getvalue()) > task_picture.MOST_SENT_BYTES
    assert media_type(sendable(data.getvalue())) == "image/jpeg"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<html>not found</html>", "cannot be read as a picture"),
        (b"", "cannot be read as"),
        (written("PNG")[:60], "cannot be read as"),
        (written("PPM"), "cannot be read as"),
        (claiming(8000, 7000), "has 8000 x 7000 px; the limit is 50000000 px"),
    ],
)
def test_what_is_no_picture_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        sendable(data)
