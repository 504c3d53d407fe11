"""A person as an agent: the run's browser, played through a page on this machine."""
