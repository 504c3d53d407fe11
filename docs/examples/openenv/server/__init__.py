"""Serves them."""
