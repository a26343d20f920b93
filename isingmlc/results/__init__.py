"""What fits, tests and rankings give to a person."""
