"""An agent that sees pictures of the page and points at places in them, by a model made for it (`agent=computer`)."""
