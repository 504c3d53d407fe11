"""BrowseComp: questions on the open web that are hard to find an answer to (arXiv 2504.12516)."""
