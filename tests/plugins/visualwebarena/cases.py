"""Cases for VisualWebArena's evaluators: tasks, and what answers, pages, pictures and judges say. The same each time."""

import random
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw, ImageFilter

Case = dict[str, Any]
WORDS = (
    "red blue $14.00 14 1,200 1200 5 0 N/A yes no dr. inc. u.s.a e.g. kayak's don't state-of-the-art café 7.5 \"quoted\""
    " 'single' http://a.b/c 2023-01-05 5% (brackets) [x] `` '' yellow gold 12'' naïve ... ! ? ;"
).split()
REPLIES = ("correct", "incorrect", "partially correct", "Correct.", "same", "different", "Same!", "perhaps", "")
CONDITIONS = (
    ">= 5",
    "< 100",
    "== 14",
    "<= 1200",
    "> 1200",
    "5",
    "< x",
    ">= 1 <= 2",
    "== 14.00",
    "<5 |OR| > 1000",
    "> 3 |OR| oops",
)
URLS = (
    "http://classifieds.com/index.php?page=item&id=1",
    "http://classifieds.com/index.php?page=item&id=11",
    "http://classifieds.com/",
    "http://classifieds.com",
    "http://localhost:9980/a/",
    "http://127.0.0.1:9980/a",
    "http://onestopmarket.com/cart//",
    "https://classifieds.com/",
)
LOCATORS = (
    "",
    "document.querySelector('.a').outerText",
    "[...document.querySelectorAll('b')].map(one => one.id)",
    "lambda:(() => 1)()",
    "lambda:document.title",
    "func:get_query_text(__page__, '.desc')",
    "func:get_query_text(__page__, \"a[href='x']\")",
    "func:get_query_text_lowercase(__page__, '.desc')",
    "func:shopping_get_order_product_name_list(__page__)",
    "func:shopping_get_order_product_quantity(__page__, 'B1')",
    "func:shopping_get_order_product_quantity(__page__, 'B9 |OR| B2')",
    "func:shopping_get_order_product_option(__page__, 'B1', 'Size')",
    "func:shopping_get_order_product_option(__page__, 'B2', 'Size')",
    "func:shopping_get_product_attributes(__page__, 'brand |OR| maker')",
    "func:shopping_get_product_price(__page__)",
    "func:shopping_get_num_reviews(__page__)",
    "func:reddit_get_latest_comment_content_by_username(__page__, 'ann')",
    "func:reddit_get_latest_comment_content_by_username(__page__, 'bob')",
    "func:reddit_get_parent_comment_username_of_latest_comment_by_username(__page__, 'ann')",
    "func:shopping_get_sku_latest_review_author('B1')",
    "func:shopping_get_sku_latest_review_rating('B1')",
    "func:shopping_get_sku_latest_review_text('B2')",
)


def cases(seed: int = 17, each: int = 250) -> Iterator[Case]:
    """So many of each kind of evaluator."""
    chance = random.Random(seed)
    for number in range(each):
        yield {"id": f"string-{number}", **string_case(chance)}
        yield {"id": f"url-{number}", **url_case(chance)}
        yield {"id": f"html-{number}", **html_case(chance)}
    for number in range(each // 2):
        yield {"id": f"image-{number}", **image_case(chance)}


def phrase(chance: random.Random, most: int = 4) -> str:
    said = " ".join(chance.choice(WORDS) for _ in range(chance.randint(0, most)))
    said = chance.choice((said, said, said.upper(), f"'{said}'", f'"{said}"', f" {said} ", f"{said}."))
    return said


def alternatives(chance: random.Random) -> str:
    return " |OR| ".join(phrase(chance, 2) for _ in range(chance.choice((1, 1, 1, 2, 3))))


def string_case(chance: random.Random) -> Case:
    answer = phrase(chance, 6)
    parts = answer.split() or [""]
    near = [chance.choice((chance.choice(parts), answer, phrase(chance, 2))) for _ in range(3)]
    references: dict[str, Any] = {
        "exact_match": chance.choice((answer, near[0])),
        "must_include": [
            chance.choice((one, f"{one} |OR| {near[0]}", alternatives(chance))) for one in near[: chance.randint(1, 3)]
        ],
        "must_exclude": [chance.choice((phrase(chance, 1), near[1]))],
        "one_of": [phrase(chance, 1), chance.choice(near)],
        "required_values": [chance.choice(CONDITIONS) for _ in range(chance.randint(1, 2))],
        "fuzzy_match": chance.choice(("N/A", "N/A", [near[0]], [near[0], near[1]])),
    }
    kinds = chance.sample(sorted(references), chance.choice((1, 1, 1, 2)))
    if "required_values" in kinds and chance.random() < 0.7:
        answer = chance.choice(("14", " 1,200 ", "'5'", "0", "12.5", "1_000", ""))
    if chance.random() < 0.03:
        references["must_include"] = "not a list"
    judged: Case = {"eval_types": ["string_match"], "reference_answers": {kind: references[kind] for kind in kinds}}
    if chance.random() < 0.9:
        judged["string_note"] = "no such thing"
    return {"eval": judged, "answer": chance.choice((answer, answer, "N/A", "n/a")), "replies": replies(chance)}


def replies(chance: random.Random) -> list[str]:
    return [chance.choice(REPLIES) for _ in range(6)]


def url_case(chance: random.Random) -> Case:
    reference = " |OR| ".join(chance.choice(URLS) for _ in range(chance.choice((1, 1, 2))))
    judged: Case = {"eval_types": ["url_match"], "reference_url": reference}
    note = chance.choice((None, "EXACT", "GOLD in PRED", "GOLD in PRED", "odd"))
    if note is not None:
        judged["url_note"] = note
    return {"eval": judged, "url": chance.choice(URLS)}


def html_case(chance: random.Random) -> Case:
    pages = {name: page_of(chance) for name in ("last", "http://onestopmarket.com/a", "order")}
    targets = []
    for _ in range(chance.choice((1, 1, 2))):
        locator = chance.choice(LOCATORS)
        value = str(pages["last"]["scripts"].get("text"))
        near = chance.choice((value, *(value.split() or [""]), phrase(chance, 1)))
        contents: dict[str, Any] = {
            "exact_match": chance.choice((value, near, "2", "14", "None")),
            "must_include": [chance.choice((near, alternatives(chance)))],
            "must_exclude": [chance.choice((near, phrase(chance, 1), "a |OR| b"))],
            "required_values": [chance.choice(CONDITIONS)],
            "fuzzy_match": chance.choice((near, f"{near} |OR| other")),
        }
        if chance.random() < 0.5 and locator.startswith("func:shopping_get") and "price" in locator:
            contents.pop("exact_match")
        kinds = chance.sample(sorted(contents), chance.choice((1, 1, 1, 2)))
        url = chance.choice(
            (
                "last",
                "last",
                "http://onestopmarket.com/a",
                "func:shopping_get_latest_order_url()",
                "func:reddit_get_post_url('__last_url__')",
            )
        )
        targets.append({"url": url, "locator": locator, "required_contents": {kind: contents[kind] for kind in kinds}})
    here = chance.choice(
        ("http://reddit.com/f/pics/7/long-name/-/comment/3", "http://reddit.com/", "http://reddit.com/f/pics")
    )
    judged = {"eval_types": ["program_html"], "program_html": targets}
    return {"eval": judged, "url": here, "pages": pages, "replies": replies(chance), "rest": rest_of(chance)}


def page_of(chance: random.Random) -> Case:
    """What scripts of a page give; None = they fail."""
    text = chance.choice((phrase(chance, 8), phrase(chance, 8), None))
    comments = comment(chance, depth=0)
    return {
        "content": f"<!DOCTYPE html><html><body>{phrase(chance, 20)}</body></html>",
        "scripts": {
            "text": text,
            "value": chance.choice((None, "", "a b", 0, 5, True, False, ["x", 1], {"k": "v"}, 2.5)),
        },
        "orders": chance.choice(
            (
                None,
                [],
                [
                    {"name": "Mug\nSize\nL", "sku": " B1 ", "qty": "Ordered3", "options": {"Size": "L"}},
                    {"name": "Cup", "sku": "B2", "qty": "Orderedx"},
                ],
                [{"name": "Cup", "sku": "B2", "qty": "Ordered12"}, {"sku": "B1", "qty": "Ordered1"}],
            )
        ),
        "attributes": chance.choice((None, "", "Nikon, Olympus")),
        "number": chance.choice((None, 0, 12, 14, 599.99)),
        "comments": chance.choice((None, comments, comments, comments)),
    }


def comment(chance: random.Random, depth: int) -> Case:
    children = [comment(chance, depth + 1) for _ in range(chance.randint(0, 3 - depth))] if depth < 3 else []
    return {
        "username": chance.choice(("ann", "bob", "cy")),
        "content": phrase(chance, 4),
        "time": chance.randint(0, 5) * 1000,
        "children": children,
    }


def rest_of(chance: random.Random) -> Case:
    """What the shop's REST interface answers; None = 500."""
    review = {"nickname": "Ann", "detail": phrase(chance, 4), "ratings": [{"rating_name": "Rating", "percent": 80}]}
    return {
        "orders": chance.choice(({"items": [{"increment_id": "000000170"}]}, {"items": []}, None)),
        "reviews": chance.choice(([], [review], [{**review, "nickname": "Bob"}, review], None)),
    }


# --- pictures ---------------------------------------------------------------------------------------


def picture(chance: random.Random, size: tuple[int, int], mode: str) -> Image.Image:
    image = Image.new("RGB", size, tuple(chance.randint(0, 255) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        x, y = chance.randint(0, size[0]), chance.randint(0, size[1])
        draw.ellipse((x, y, x + size[0] // 3, y + size[1] // 3), fill=tuple(chance.randint(0, 255) for _ in range(3)))
    return image.convert(mode)


def encoded(image: Image.Image, kind: str) -> str:
    """As hexadecimal text."""
    data = BytesIO()
    (image if kind in ("PNG", "WEBP") else image.convert("RGB")).save(data, kind)
    return data.getvalue().hex()


def image_case(chance: random.Random) -> Case:
    modes = ("RGB", "RGB", "L", "P", "RGBA", "LA", "1")
    first = picture(chance, (chance.randint(8, 90), chance.randint(8, 90)), chance.choice(modes))
    other = picture(chance, (chance.randint(4, 60), chance.randint(4, 60)), chance.choice(modes))
    changed = chance.choice(
        (
            first.convert("RGB").filter(ImageFilter.GaussianBlur(chance.choice((0.3, 0.7, 1.5, 3)))),
            first.resize((first.width + chance.randint(0, 30), first.height + chance.randint(0, 9))),
            first.convert("RGB").rotate(chance.choice((1, 3, 180))),
            first,
        )
    )
    kinds = ("PNG", "PNG", "JPEG", "WEBP", "GIF", "BMP")
    bodies = [
        chance.choice((encoded(first, "PNG"), encoded(other, chance.choice(kinds)), b"<html>".hex(), ""))
        for _ in range(chance.randint(0, 3))
    ]
    sources = [
        chance.choice((f"/media/{at}.png", f"http://reddit.com/{at}.png", f"{at}.png")) for at in range(len(bodies))
    ]
    if chance.random() < 0.2:
        sources, bodies = [*sources, None, "www.reddit.com/x.png", "data:image/png;base64,AAAA"], bodies
    query: Case = {
        "eval_image_url": chance.choice(("last", "last", "http://reddit.com/user/x")),
        "eval_image_class": ".row",
    }
    if chance.random() < 0.75:
        query["eval_fuzzy_image_match"] = " |OR| ".join(
            f"http://onestopmarket.com/{at}.jpg" for at in range(chance.choice((1, 1, 2)))
        )
    if chance.random() < 0.4 or "eval_fuzzy_image_match" not in query:
        questions = ("Is this a dog? (yes/no)", "What colour?")
        query["eval_vqa"] = [
            {"question": one, "answer": chance.choice(("yes", "Blue"))} for one in questions[: chance.randint(1, 2)]
        ]
    if chance.random() < 0.4:
        query["ssim_threshold"] = chance.choice((0.6, 0.9, -1.0, 0.95))
    queries = [query] if chance.random() < 0.8 else [query, {**query, "ssim_threshold": 0.99}]
    return {
        "eval": {"eval_types": ["page_image_query"], "page_image_query": queries},
        "url": "http://reddit.com/f/pics/",
        "sources": sources,
        "bodies": bodies,
        "references": [encoded(changed, chance.choice(("PNG", "JPEG", "WEBP"))), encoded(other, "PNG")],
        "captions": {
            one: [chance.choice(("yes", "no", "a blue one", "Yes, it is", "")) for _ in range(4)]
            for one in ("Is this a dog? (yes/no)", "What colour?")
        },
    }
