"""Names that the parsers offer as choices.

They stand here once more so that help does not import the modules that compute; a
test compares the two.
"""

RANKINGS = (
    "score",
    "products",
    "products-joint",
    "l1",
    "score+l1",
    "forward",
    "ssc",
    "br-chi2",
    "br-ig",
    "lp-chi2",
    "lp-ig",
    "oner",
)
# Rankings that do without rows.
RANKED_BY_SUMS = ("score", "products", "products-joint", "forward", "ssc")
PRODUCTS = ("individual", "joint", "given", "given-joint")
PVALUES = ("auto", "chi2", "saddlepoint", "permutation")
COMBINE = ("acat", "sum", "omnibus")
METHODS = ("nodewise", "joint", "pseudo")
COMPARED = ("nodewise", "ebic")
COV_TYPES = ("nonrobust", "HC0", "HC2", "cluster")
ADJUSTMENTS = (
    "bonferroni",
    "sidak",
    "holm-sidak",
    "holm",
    "simes-hochberg",
    "hommel",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
    "fdr_gbs",
)
ESTIMATORS = ("ebic", "nodewise")
MEASURES = ("sensitivity", "specificity", "correlation", "cs")
METRICS = ("subset", "hamming", "jaccard", "f1", "f1-micro", "f1-macro")
CLASSIFIERS = ("ising", "chain")
SPLITS = ("stratified", "random", "ordered")
UNITS = ("term", "column")
EXPERIMENTS = (
    "figure-scene",
    "figure-score",
    "figure-roc",
    "figure-size",
    "table1",
    "tables",
    "figure-time",
)
