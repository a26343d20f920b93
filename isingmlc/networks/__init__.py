"""The network of labels as an estimate: errors, centrality, stability, comparison of groups."""
