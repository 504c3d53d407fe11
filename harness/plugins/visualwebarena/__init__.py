"""VisualWebArena: tasks on sites whose pictures matter, many of them asked with pictures (jykoh.com/vwa)."""
