"""Interactive reports of fits, drawn by Bokeh: one HTML file that opens without a connection."""
