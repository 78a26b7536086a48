"""Headsmith forges attention heads that provably run your algorithm."""
