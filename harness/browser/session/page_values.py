"""Reads a value out of a page with scripts of its own: completely, or not at all."""

LARGEST = 10_000_000
"""Bytes of one value as JSON."""
MOST_ITEMS = 200_000
"""Values in one value: each takes as long to be read as a page of text."""
_DEEPEST = 500


def bounded(expression: str, given: str = "") -> str:
    """A script that gives, in an array, what the expression is, or what it returns if it is a function of `given`.

    It gives "" when that is too much to be sent. `argument` is the script's own argument. It calls nothing that
    a page could have replaced but what playwright itself calls.
    """
    return f"""async (argument) => {{
  let left = {LARGEST}, few = {MOST_ITEMS};
  const fits = (one, depth) => {{
    if (typeof one === "string") left -= one.length;
    if (few-- < 0 || left < 0 || depth > {_DEEPEST}) return false;
    if (typeof one !== "object" || one === null || one === window || one instanceof Node) return true;
    for (const key in one) {{
      left -= key.length;
      if (!fits(one[key], depth + 1)) return false;
    }}
    return true;
  }};
  let value = {expression};
  if (typeof value === "function") value = value({given});
  value = await value;
  return fits(value, 0) ? [value] : "";
}}"""
