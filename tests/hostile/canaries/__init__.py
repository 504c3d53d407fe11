"""Secrets that were never anybody's, given in every way there is, and looked for in every byte that comes out: `make
canary`.
"""
