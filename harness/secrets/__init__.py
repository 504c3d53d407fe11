"""Secrets: which texts are secrets, how they may be spelt, and how they are kept out of what is written and shown."""
