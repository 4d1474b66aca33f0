"""Measurements that are run by hand; no part of the product imports them."""
