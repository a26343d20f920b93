"""Rows that are not in memory: batches, files, databases, clusters."""
