"""`harness settings`: every setting with its words, values and default, in a terminal and as a page."""
