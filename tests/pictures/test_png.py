"""Marks on pictures: where the numbers stand, what they leave alone, and the budget of pixels."""

from io import BytesIO

import pytest
from PIL import Image, ImageChops

from harness.actions import Box
from harness.pictures.png import draw_marks, label_boxes, scale_picture
from tests.overlaps import overlapping

SIZE = (1280, 720)


def png(colour: tuple[int, int, int] = (250, 250, 250), size: tuple[int, int] = SIZE, *, noise: bool = False) -> bytes:
    image = Image.effect_noise(size, 90).convert("RGB") if noise else Image.new("RGB", size, colour)
    data = BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def test_a_mark_is_a_box_and_a_number_and_nothing_else_of_the_picture_changes() -> None:
    marks: dict[str, Box] = {"17": (300.0, 200.0, 120.0, 30.0)}
    before, after = png(), draw_marks(png(), marks)
    changed = ImageChops.difference(opened(before), opened(after)).getbbox()
    assert changed is not None
    left, top, width, height = label_boxes(marks, SIZE)["17"]
    assert changed == (300, min(200, int(top)), 420, max(230, int(top + height)))
    assert opened(after).getpixel((360, 215)) == (250, 250, 250), "what the mark is about stays as it was"
    assert opened(after).getpixel((int(left), int(top))) != (250, 250, 250)
    assert opened(after).getpixel((300, 215)) == opened(after).getpixel((int(left), int(top))), "one colour for both"
    assert (width, height) > (10.0, 10.0)


def test_the_same_marks_give_the_same_bytes() -> None:
    marks: dict[str, Box] = {str(n): (30.0 * n, 20.0, 25.0, 12.0) for n in range(30)}
    assert draw_marks(png(), marks) == draw_marks(png(), marks)


def test_numbers_do_not_lie_on_each_other_nor_beyond_the_edge() -> None:
    marks: dict[str, Box] = {str(n): (17.0 * (n % 40), 31.0 * (n // 40), 15.0, 20.0) for n in range(200)}
    boxes = list(label_boxes(marks, SIZE).values())
    assert len(overlapping(boxes)) <= 0.02 * len(boxes)
    assert all(x >= 0 and y >= 0 and x + w <= SIZE[0] and y + h <= SIZE[1] for x, y, w, h in boxes)


def test_a_picture_without_marks_has_the_same_pixels() -> None:
    assert ImageChops.difference(opened(png()), opened(draw_marks(png(), {}))).getbbox() is None


def test_every_row_of_a_picture_keeps_its_pixels() -> None:
    image = Image.new("RGB", (333, 97))
    image.putdata([(x % 7 * 30, y, (x // 9 + y) % 256) for y in range(97) for x in range(333)])
    data = BytesIO()
    image.save(data, "PNG", compress_level=0)
    marked = draw_marks(data.getvalue(), {})
    assert len(marked) < len(data.getvalue()), "written the fast way"
    assert opened(marked).tobytes() == image.tobytes()


def test_a_marked_picture_is_not_much_larger_than_the_screenshot() -> None:
    screenshot = png(noise=True)
    assert len(draw_marks(screenshot, {"1": (10.0, 40.0, 50.0, 20.0)})) < 1.6 * len(screenshot)


def test_a_picture_is_scaled_to_the_budget_and_its_numbers_stay_readable() -> None:
    marks: dict[str, Box] = {"7": (640.0, 360.0, 200.0, 100.0)}
    image = opened(draw_marks(png(), marks, max_pixels=230_400))
    assert image.size == (640, 360)
    assert image.getpixel((320, 200)) != (250, 250, 250), "the left edge of the box"
    assert image.getpixel((370, 205)) == (250, 250, 250)
    assert opened(scale_picture(png(), 230_400)).size == (640, 360)


@pytest.mark.parametrize("most", [None, SIZE[0] * SIZE[1], 10**9])
def test_a_picture_within_the_budget_keeps_its_bytes(most: int | None) -> None:
    assert scale_picture(png(), most) == png()


def test_a_very_long_picture_is_scaled_to_one_pixel_at_least() -> None:
    assert opened(scale_picture(png(size=(4, 9000)), 10_000)).size == (2, 4743)
