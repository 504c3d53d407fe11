"""MiniWoB++: small pages that start themselves, say what is to be done, and reward it (miniwob.farama.org)."""
