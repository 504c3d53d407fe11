"""Pictures as models are sent them: read with bounds, scaled, cut, and as parts of a message.

For agents that look at screenshots, evaluators that compare pictures, and exports.
"""

from harness.pictures.png import blank_picture, crop_picture, scale_picture, scaled_size
from harness.pictures.task_picture import FORMATS, MOST_PIXELS, image_part, media_type, sendable

__all__ = [
    "FORMATS",
    "MOST_PIXELS",
    "blank_picture",
    "crop_picture",
    "image_part",
    "media_type",
    "scale_picture",
    "scaled_size",
    "sendable",
]
