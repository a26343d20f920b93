"""The order of the gallery: case studies, then from a first look to the details."""

ORDER = (
    "plot_case_cohort.py",
    "plot_case_symptoms.py",
    "plot_case_classifier.py",
    "plot_multimorbidity.py",
    "plot_scene_figure.py",
    "plot_ranking_methods.py",
    "plot_sklearn_pipeline.py",
    "plot_sparse_text.py",
    "plot_million_rows.py",
    "plot_type_one_error.py",
    "plot_feature_pvalues.py",
)


def place(name: str) -> int:
    """Give the place of an example; one that is not listed is an error."""
    return ORDER.index(name)
