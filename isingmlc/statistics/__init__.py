"""The four arrays that everything is computed from, and where they come from."""
