"""The experiments of the paper, and the values that it prints."""
