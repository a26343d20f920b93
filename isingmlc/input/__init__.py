"""The door: what a user hands in, checked once."""
