"""Applications that others wrote, for the set `apps`: an issue tracker, a wiki and a store.

`installing` gives each an environment of its own in the user's data folder, `programs` says how their own tools fill
and serve them, and `__main__` is what the set file calls. Databases and pages are in the data folder of an instance;
configuration, caches and outgoing mail are in its scratch folder, so that only what a task changed makes it dirty.
"""
