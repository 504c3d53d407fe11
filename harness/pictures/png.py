"""PNG bytes, scaled to a budget of pixels and numbered with marks. Sole owner of Pillow,
which is imported by the first picture: most commands and agents have none.

Marks are drawn on the bytes of a screenshot, never in the page: a page can neither see them nor react to them.
"""

import struct
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from io import BytesIO
from itertools import cycle
from math import sqrt
from typing import TYPE_CHECKING

from harness.actions import Box
from harness.pictures.labels import place_labels

if TYPE_CHECKING:
    from PIL import Image, ImageFont

_COLOURS = ((200, 0, 80), (0, 90, 200), (0, 120, 60), (150, 60, 0), (110, 0, 170), (0, 110, 120))
"""Dark enough for white digits."""
_WHITE = (255, 255, 255)
_FONT_PX = 12
_MARGIN = (3, 1)
_LARGER = 1.5
"""A picture that the fast way makes this much larger than the screenshot was is written the slow way."""
_LEVEL = 3
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def scale_picture(png: bytes, max_pixels: int | None) -> bytes:
    """A PNG with at most `max_pixels` pixels, in the same proportions; one that fits stays as it is."""
    if max_pixels is None:
        return png
    image = _read(png)
    scaled = _scaled(image, max_pixels)
    return png if scaled is image else _written(scaled, like=png)


def scaled_size(size: tuple[int, int], max_pixels: int | None) -> tuple[int, int]:
    """Width and height of a picture of this size when it has been scaled."""
    width, height = size
    if max_pixels is None or width * height <= max_pixels:
        return size
    factor = sqrt(max_pixels / (width * height))
    return max(1, int(width * factor)), max(1, int(height * factor))


def blank_picture(size: tuple[int, int]) -> bytes:
    """All white."""
    from PIL import Image

    return _written(Image.new("RGB", size, _WHITE), like=b"")


def crop_picture(png: bytes, region: Box, size: tuple[int, int]) -> bytes:
    """A part of a picture, made as large as `size` allows without changing its proportions.

    Args:
        region: Left, top, right and bottom in fractions of it.
        size: Width and height in px.
    """
    image = _read(png)
    left, top, right, bottom = region
    edges = int(left * image.width), int(top * image.height), right * image.width, bottom * image.height
    part = image.crop((edges[0], edges[1], max(edges[0] + 1, round(edges[2])), max(edges[1] + 1, round(edges[3]))))
    factor = min(size[0] / part.width, size[1] / part.height)
    enlarged = part.resize((max(1, int(part.width * factor)), max(1, int(part.height * factor))))
    return _written(enlarged, like=png)


def draw_marks(png: bytes, marks: Mapping[str, Box], *, max_pixels: int | None = None) -> bytes:
    """The picture with a box and a number for each mark.

    Args:
        png: A screenshot in CSS px.
        marks: By label, in CSS px.
        max_pixels: Of the result; numbers are drawn after scaling, and are as large in every picture.
    """
    from PIL import ImageDraw

    image = _read(png)
    before = image.size
    image = _scaled(image, max_pixels)
    factors = image.width / before[0], image.height / before[1]
    draw = ImageDraw.Draw(image)
    boxes = {label: _moved(box, factors) for label, box in marks.items()}
    labels = label_boxes(boxes, image.size)
    colours = dict(zip(boxes, cycle(_COLOURS), strict=False))
    for label, (x, y, width, height) in boxes.items():
        draw.rectangle((x, y, x + max(1, width - 1), y + max(1, height - 1)), outline=colours[label], width=1)
    for label, (left, top, *_) in labels.items():
        image.paste(_label(label, colours[label]), (round(left), round(top)))
    return _written(image, like=png)


def label_boxes(marks: Mapping[str, Box], area: tuple[int, int]) -> dict[str, Box]:
    """Where the numbers of marks are drawn in a picture of this width and height."""
    return place_labels(marks, {label: _label_size(label) for label in marks}, area)


@cache
def _font() -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    """Pillow's own, so that a picture is the same on every machine."""
    from PIL import ImageFont

    return ImageFont.load_default(size=_FONT_PX)


@lru_cache(maxsize=4096)
def _label(label: str, colour: tuple[int, int, int]) -> "Image.Image":
    """The number of a mark: most steps of an episode draw the same ones."""
    from PIL import Image, ImageDraw

    width, height = _label_size(label)
    image = Image.new("RGB", (int(width), int(height)), colour)
    ImageDraw.Draw(image).text((_MARGIN[0], height / 2), label, fill=_WHITE, font=_font(), anchor="lm")
    return image


@cache
def _label_size(label: str) -> tuple[float, float]:
    return (round(_font().getlength(label)) + 2 * _MARGIN[0], _FONT_PX + 2 * _MARGIN[1])


def _moved(box: Box, factors: tuple[float, float]) -> Box:
    across, down = factors
    return (box[0] * across, box[1] * down, box[2] * across, box[3] * down)


def _read(png: bytes) -> "Image.Image":
    from PIL import Image

    image = Image.open(BytesIO(png), formats=("PNG",))
    image.load()
    return image if image.mode == "RGB" else image.convert("RGB")


def _scaled(image: "Image.Image", max_pixels: int | None) -> "Image.Image":
    from PIL import Image

    size = scaled_size(image.size, max_pixels)
    return image if size == image.size else image.resize(size, Image.Resampling.BOX)


def _written(image: "Image.Image", *, like: bytes) -> bytes:
    """The image as PNG. Rows that are not filtered take a third of the time, and no more bytes for pages of text.

    Of a viewport of 1280 by 720 it takes 9 ms, and Pillow 29 ms at its fastest level (measured in pairs): a step with
    marks does that each time.
    """
    row = 1 + 3 * image.width
    rows = b"\0" + image.tobytes("raw", "RGB", row)[:-1]  # the empty byte behind a row is the filter of the next one
    header = struct.pack(">IIBBBBB", image.width, image.height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", _compressed(rows)), (b"IEND", b""))
    data = _SIGNATURE + b"".join(_chunk(kind, part) for kind, part in parts)
    if len(data) <= _LARGER * len(like):
        return data
    slow = BytesIO()
    image.save(slow, "PNG", compress_level=3)
    return slow.getvalue()


def _compressed(data: bytes) -> bytes:
    """As one zlib stream (RFC 1950), its halves in two threads: compressing takes most of the time."""
    middle = len(data) // 2
    # A flush ends the first half at a byte without ending the stream, so that the second may follow.
    halves = ((data[:middle], zlib.Z_FULL_FLUSH), (data[middle:], zlib.Z_FINISH))
    with ThreadPoolExecutor(len(halves)) as threads:
        parts = threads.map(_deflated, *zip(*halves, strict=True))
        return b"".join((b"\x78\x01", *parts, struct.pack(">I", zlib.adler32(data))))


def _deflated(data: bytes, flush: int) -> bytes:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(flush)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
