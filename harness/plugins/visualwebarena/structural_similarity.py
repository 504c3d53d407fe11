"""How alike two pictures are: the structural similarity of scikit-image, as VisualWebArena computes it."""

from io import BytesIO
from typing import TYPE_CHECKING, Any

from harness.api.pictures import FORMATS, MOST_PIXELS

if TYPE_CHECKING:
    from PIL import Image


def is_picture(data: bytes) -> bool:
    """Whether these bytes begin as a picture does; the rest may still be damaged."""
    try:
        _opened(data)
    except ValueError:
        return False
    return True


def structural_similarity(one: bytes, other: bytes) -> float:
    """The structural similarity of two pictures: both are stretched to the larger width and height, and made grey.

    Returns:
        From -1 to 1; 1 for the same picture.

    Raises:
        ValueError: One cannot be read, or both are smaller than the window of 7 x 7 px.
        ImportError: scikit-image is not installed.
    """
    import numpy
    from PIL import Image
    from skimage.metrics import structural_similarity as similarity

    images = _opened(one), _opened(other)
    size = max(image.width for image in images), max(image.height for image in images)
    if size[0] * size[1] > MOST_PIXELS:
        raise ValueError(f"the pictures have {size[0]} x {size[1]} px together; the limit is {MOST_PIXELS} px")
    try:
        grey: list[Any] = [numpy.array(image.resize(size, Image.Resampling.LANCZOS).convert("L")) for image in images]
    except (OSError, SyntaxError) as error:
        raise ValueError(f"a picture is damaged ({error})") from error
    score, _ = similarity(grey[0], grey[1], full=True)  # type: ignore[no-untyped-call]
    return float(score)


def _opened(data: bytes) -> "Image.Image":
    """Raises: ValueError: These bytes are not a picture, or one that is too large."""
    from PIL import Image

    try:
        image = Image.open(BytesIO(data), formats=FORMATS)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"no picture ({error})") from error
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"a picture has {image.width} x {image.height} px; the limit is {MOST_PIXELS} px")
    return image
