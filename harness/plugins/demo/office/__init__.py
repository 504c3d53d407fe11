"""The embedded back office of a small shop: orders, products, customers, reports; for its staff only."""
