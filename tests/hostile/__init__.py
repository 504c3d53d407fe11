"""Hostile and broken inputs as tables: each row an input with its expected outcome. `make hostile` runs all of them."""
