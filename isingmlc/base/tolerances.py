"""Numerical tolerances that several modules share, each with the reason for its value."""

# Squared Newton decrement of a converged fit: coefficients are then within 1e-10 of a standard
# error of the maximum.
CONVERGED = 1e-20
# One that rounding keeps from falling further has converged if it is below this.
STALLED = 1e-12
# Relative loss of log-likelihood that rounding may cause.
ROUNDING_OF_LIKELIHOOD = 1e-10
# Most that a linear predictor moves in one Newton step.
LONGEST_MOVE = 8.0
# Added to the diagonal of information matrices of unit diagonal, so that all can be factored; a
# Newton step loses as much relative precision, and gains it back in the next.
JITTER = 1e-13
# Variance inflation from which on an information matrix has lost the digits that proofs need.
MOST_INFLATED = 1e9
# A column that others explain but for this share of its sum of squares depends on them. Cross-
# products of 0/1 columns are exact; those of other columns have half the digits of the columns,
# which are asked themselves unless more than CLEAR_PIVOT is unexplained.
NO_PIVOT = 1e-9
CLEAR_PIVOT = 1e-5
# Entries of a direction, of unit size, below this are rounding.
NO_DIRECTION = 1e-9
# A column of which the regressors leave less than this share of its variance is collinear.
COLLINEAR = 1e-10
# Nor is a column tested that varies in the uncertain rows by less than this share of COLLINEAR of
# how it varies in all rows: sums around different origins leave more when they are added.
OWN_VARIANCE = 1e-3
# Variance inflation from which on the inverse of an information matrix takes more digits from
# variances of scores than COLLINEAR leaves.
INFLATED = 1e3
# Importances that differ by less than this share of the larger one are ties, whatever the order in
# which a BLAS adds: rounding that adds up over the steps of a forward ranking is about 1e-8 where a
# column is nearly a linear function of those before it.
TIE = 1e-7
