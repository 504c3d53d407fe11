"""Attacks on agents by what pages say: planted by script in the pages of any benchmark, and judged from the journal."""
