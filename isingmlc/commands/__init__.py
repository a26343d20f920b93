"""The subcommands of ``isingmlc``, one module each; `isingmlc.commands.cli` puts them together.

A module has ``add_parser``, which adds its parser, and ``run``, which does the work. What computes
is imported in ``run``: ``isingmlc --help`` answers at once.
"""
