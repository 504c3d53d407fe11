"""The embedded shop: catalogue, search, cart, checkout, orders, reviews, account."""
