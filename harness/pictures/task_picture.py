"""A picture of a task, as an agent is sent it: PNG or JPEG, bounded, and otherwise as it was given."""

from base64 import b64encode
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from harness.pictures.png import scaled_size

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 50_000_000
"""Of a picture that is read at all."""
MOST_SENT_PIXELS = 4_194_304
"""Of a picture that is sent; a larger one is scaled down."""
MOST_SENT_BYTES = 3_700_000
"""As base64 these are 5 MB, the least limit of the providers; a larger picture becomes a JPEG."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "ICO")
"""That are read."""
_SENT = ("PNG", "JPEG")


def image_part(data: bytes, detail: str | None = None) -> Mapping[str, Any]:
    """A PNG or JPEG as a part of a message.

    Args:
        detail: For models that know it; None = not sent.
    """
    url = f"data:{media_type(data)};base64,{b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if detail else {})}


def sendable(data: bytes, max_pixels: int | None = None) -> bytes:
    """The picture as it is sent: the same bytes if it is a PNG or a JPEG that is small enough.

    Raises:
        ValueError: It is not a picture of `FORMATS`, or too large; the message goes on after "the picture".
    """
    from PIL import Image

    try:
        image = Image.open(BytesIO(data), formats=FORMATS)
        # Before `load`, which decodes all pixels.
        if image.width * image.height > MOST_PIXELS:
            raise ValueError(f"has {image.width} x {image.height} px; the limit is {MOST_PIXELS} px")
        image.load()
    # Pillow raises a SyntaxError for a broken PNG.
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"cannot be read as a picture ({error})") from error
    size = scaled_size(image.size, min(MOST_SENT_PIXELS, max_pixels or MOST_SENT_PIXELS))
    if size == image.size and image.format in _SENT and len(data) <= MOST_SENT_BYTES:
        return data
    plain = _without_transparency(image)
    return _written(plain if plain.size == size else plain.resize(size, Image.Resampling.LANCZOS))


def as_jpeg(data: bytes) -> bytes:
    """A PNG or JPEG as a JPEG of Pillow's default quality; transparency is left out, whatever is behind it.

    Raises:
        ValueError: It cannot be read; the message goes on after "the picture".
    """
    from PIL import Image

    buffer = BytesIO()
    try:
        Image.open(BytesIO(data), formats=_SENT).convert("RGB").save(buffer, "JPEG")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"cannot be read as a picture ({error})") from error
    return buffer.getvalue()


def media_type(data: bytes) -> str:
    """The media type of a picture that `sendable` gave."""
    return "image/jpeg" if data.startswith(b"\xff\xd8\xff") else "image/png"


def _without_transparency(image: "Image.Image") -> "Image.Image":
    """The picture on white, as a page would show it."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, (255, 255, 255, 255))
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _written(image: "Image.Image") -> bytes:
    buffer = BytesIO()
    image.save(buffer, "PNG")
    if buffer.tell() > MOST_SENT_BYTES:
        buffer = BytesIO()
        image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()
