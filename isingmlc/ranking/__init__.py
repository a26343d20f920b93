"""Methods of ranking features, by name."""
