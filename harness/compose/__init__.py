"""The composition root: configuration in, objects out; afterwards it steps aside.

The only place that knows which class stands behind which setting. Nothing here runs an episode.
"""
