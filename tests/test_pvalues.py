"""p-values against exact distributions, quadrature at many digits, enumeration and simulation."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom, chi2, false_discovery_control, norm
from statsmodels.stats.multitest import multipletests

from isingmlc import exceptions as exc
from isingmlc.inference import pvalues as pv

LOG10_TAILS = [np.log10(0.999), np.log10(0.5), -3, -12, -50, -300]


def relative_error(found, expected):
    return float(abs(mpmath.mpf(float(found)) / expected - 1))


def exact_chi2_sf(statistic, df):
    with mpmath.workdps(50):
        return mpmath.gammainc(
            mpmath.mpf(float(df)) / 2, mpmath.mpf(float(statistic)) / 2, regularized=True
        )


def weighted_quantile(weights, log10_tail):
    """Where the tail of a weighted sum is about as large as asked."""

    def excess(log_statistic):
        found = pv.weighted_chi2_log10_sf([np.exp(log_statistic)], weights[None])
        return found[0] - log10_tail

    return np.exp(brentq(excess, -40, 40, xtol=1e-3))


def tail_by_quadrature(statistic, weights):
    """Invert the moment generating function along two straight rays, at 30 digits."""
    with mpmath.workdps(30):
        q, lam = mpmath.mpf(float(statistic)), [mpmath.mpf(float(w)) for w in weights]
        limit = 1 / (2 * max(lam))
        c = limit * mpmath.mpf(
            brentq(
                lambda x: float(
                    mpmath.fsum(w / (1 - 2 * w * x * limit) for w in lam) - 1 / (x * limit) - q
                ),
                1e-12,
                1 - 1e-12,
            )
        )
        direction = mpmath.expjpi(mpmath.mpf("0.4"))

        def log_integrand(s):
            return -mpmath.fsum(mpmath.log(1 - 2 * w * s) for w in lam) / 2 - s * q

        peak = log_integrand(c)

        def integrand(r):
            s = c + r * direction
            return (mpmath.exp(log_integrand(s) - peak) / s * direction).imag

        spread = mpmath.fsum(2 * (w / (1 - 2 * w * c)) ** 2 for w in lam) + 1 / c**2
        ends = [0, *(2**k / mpmath.sqrt(spread) for k in range(-1, 8)), mpmath.inf]
        return mpmath.exp(peak) * mpmath.quad(integrand, ends) / mpmath.pi


@pytest.mark.parametrize("df", [1, 1.5, 2, 3, 7.3, 50, 401, 1e4])
def test_chi2_tails_have_their_digits_everywhere(df):
    statistics = df * np.array([1e-3, 0.1, 0.9, 1.1, 2, 10, 100])
    for statistic in statistics:
        expected = exact_chi2_sf(statistic, df)
        if expected > 1e-300:
            assert relative_error(pv.chi2_sf(statistic, df), expected) < 1e-11
        with mpmath.workdps(50):
            below = mpmath.gammainc(df / 2, 0, mpmath.mpf(statistic) / 2, regularized=True)
            log10 = mpmath.log(expected) if expected < 0.5 else mpmath.log1p(-below)
            log10 /= mpmath.log(10)
        if abs(log10) > 1e-300:
            assert relative_error(pv.chi2_log10_sf(statistic, df), log10) < 1e-11


@pytest.mark.parametrize("df", [1, 2.5, 20, 1000])
@pytest.mark.parametrize("statistic", [1e4, 1e6, 1e8])
def test_log10_of_chi2_tails_is_accurate_where_they_underflow(statistic, df):
    assert pv.chi2_sf(statistic, df) == 0
    expected = mpmath.log10(exact_chi2_sf(statistic, df))
    assert relative_error(pv.chi2_log10_sf(statistic, df), expected) < 1e-12


@pytest.mark.parametrize("exponent", [-300, -30, -12, -6, -3, -1, 0, 1, 2, 3])
def test_log10_of_squared_normal_tails_is_accurate_from_one_to_nothing(exponent):
    statistics = 10.0**exponent * np.linspace(1, 10, 40)
    with mpmath.workdps(50):
        halves = [mpmath.sqrt(mpmath.mpf(float(statistic)) / 2) for statistic in statistics]
        expected = [
            mpmath.log1p(-mpmath.erf(x)) if x < 1 else mpmath.log(mpmath.erfc(x)) for x in halves
        ]
        expected = np.array([float(value / mpmath.log(10)) for value in expected])
    found = pv.chi2_log10_sf(statistics, 1)
    assert (found <= 0).all()
    np.testing.assert_allclose(found, expected, rtol=2e-15, atol=1e-15)


def test_chi2_tails_broadcast_and_keep_missing_values():
    statistic = np.array([[0.0, 1.0, np.nan], [np.inf, -1.0, 1e5]])
    for df in (1, 3.5):
        sf, log10 = pv.chi2_sf(statistic, df), pv.chi2_log10_sf(statistic, df)
        np.testing.assert_allclose(sf, chi2.sf(statistic, df), rtol=1e-13)
        assert np.isnan(log10[0, 2])
        assert log10[0, 0] == 0
        assert not np.signbit(log10[0, 0])
        assert log10[1, 0] == -np.inf
        assert -np.inf < log10[1, 2] < -20000
    np.testing.assert_allclose(
        pv.chi2_sf([[1.0], [9.0]], [1, 2, 3]), chi2.sf([[1.0], [9.0]], [1, 2, 3]), rtol=1e-13
    )
    assert np.isnan(pv.chi2_sf(1.0, [0.0, -1.0, np.nan])).all()
    assert isinstance(pv.chi2_sf(1.0, 1.0), float)
    assert pv.chi2_log10_sf(1e300, 2) == pytest.approx(-5e299 / np.log(10), rel=1e-12)


@pytest.mark.parametrize("n_weights", [1, 2, 3, 10, 200])
@pytest.mark.parametrize("log10_tail", LOG10_TAILS)
def test_equal_weights_make_a_chi2_variable(n_weights, log10_tail):
    weights = np.full(n_weights, 0.3)
    statistic = weighted_quantile(weights, log10_tail)
    with mpmath.workdps(50):
        half = mpmath.mpf(statistic) / mpmath.mpf(0.3) / 2
        expected = mpmath.gammainc(mpmath.mpf(n_weights) / 2, half, regularized=True)
    found = pv.weighted_chi2_sf([statistic], weights[None])[0]
    assert relative_error(found, expected) < 1e-12


@pytest.mark.parametrize("log10_tail", [*LOG10_TAILS, -1e4, -1e6])
def test_pairs_of_equal_weights_make_a_sum_of_exponentials(log10_tail):
    rates = np.array([1.0, 0.9, 0.5, 0.1, 1e-3, 1e-10])
    weights = np.repeat(rates, 2)
    statistic = weighted_quantile(weights, log10_tail)
    with mpmath.workdps(80):
        exact = [mpmath.mpf(rate) for rate in rates]
        expected = mpmath.fsum(
            mpmath.exp(-mpmath.mpf(statistic) / (2 * a))
            * mpmath.fprod(a / (a - b) for b in exact if b != a)
            for a in exact
        )
        log10 = mpmath.log10(expected)
    found = pv.weighted_chi2_log10_sf([statistic], weights[None])[0]
    assert relative_error(found, log10) < 1e-12
    if log10_tail >= -300:
        found = pv.weighted_chi2_sf([statistic], weights[None])[0]
        assert relative_error(found, expected) < 1e-12


def ragged_weights(kind):
    rng = np.random.default_rng(11)
    if kind == "alike":
        return rng.uniform(0.5, 1.5, 7)
    if kind == "unequal":
        return 10.0 ** rng.uniform(-10, 0, 6)
    if kind == "two":
        return np.array([1.0, 1e-10])
    # One weight that stands out, and many that together outweigh it: a second saddlepoint.
    return np.r_[1.0, np.full(12, 0.1)]


@pytest.mark.parametrize("kind", ["alike", "unequal", "two", "one above many"])
@pytest.mark.parametrize("log10_tail", [np.log10(0.5), -3, -12, -50])
def test_weighted_tails_agree_with_quadrature_at_thirty_digits(kind, log10_tail):
    weights = ragged_weights(kind)
    statistic = weighted_quantile(weights, log10_tail)
    found = pv.weighted_chi2_sf([statistic], weights[None])[0]
    assert relative_error(found, tail_by_quadrature(statistic, weights)) < 1e-12


def test_weighted_tails_agree_with_simulated_sums():
    rng = np.random.default_rng(5)
    weights = rng.exponential(size=8)
    sums = rng.chisquare(1, size=(200_000, 8)) @ weights
    points = np.quantile(sums, [0.05, 0.5, 0.9, 0.99, 0.999])
    found = pv.weighted_chi2_sf(points, np.tile(weights, (5, 1)))
    rates = (sums[:, None] > points).mean(axis=0)
    assert (np.abs(found - rates) < 4 * np.sqrt(rates * (1 - rates) / len(sums))).all()


def test_weighted_tails_of_special_rows():
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, np.nan], [2.0, -1e-17], [np.inf, 1.0]])
    found = pv.weighted_chi2_sf([3.0, 3.0, 3.0, 6.0, 3.0], weights)
    np.testing.assert_allclose(found[[0, 3]], chi2.sf(3.0, 1), rtol=1e-12)
    assert np.isnan(found[[1, 2, 4]]).all()
    statistic = [0.0, -1.0, np.inf, np.nan, 1e-200, 1e300]
    rows = np.ones((6, 2))
    np.testing.assert_array_equal(pv.weighted_chi2_sf(statistic, rows), [1, 1, 0, np.nan, 1, 0])
    log10 = pv.weighted_chi2_log10_sf(statistic, rows)
    assert log10[2] == -np.inf
    assert log10[5] == pytest.approx(-5e299 / np.log(10), rel=1e-12)
    assert pv.weighted_chi2_sf([], np.empty((0, 3))).shape == (0,)
    assert np.isnan(pv.weighted_chi2_sf([1.0], np.empty((1, 0)))).all()


def test_weighted_tails_do_not_depend_on_the_blocks(monkeypatch):
    rng = np.random.default_rng(6)
    weights = rng.exponential(size=(100, 4))
    statistic = rng.exponential(size=100) * 20
    together = pv.weighted_chi2_sf(statistic, weights)
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 1)
    np.testing.assert_allclose(pv.weighted_chi2_sf(statistic, weights), together, rtol=1e-13)


@pytest.mark.parametrize(
    ("statistic", "weights", "message"),
    [
        ([1.0], [[1.0, -0.1]], "not be negative"),
        ([1.0, 2.0], [[1.0, 1.0]], "one row of weights per statistic"),
        ([1.0], [1.0], "one row of weights per statistic"),
    ],
)
def test_weights_that_make_no_sense_are_refused(statistic, weights, message):
    with pytest.raises(exc.DataError, match=message):
        pv.weighted_chi2_sf(statistic, weights)


positive = st.floats(1e-6, 1.0)


@settings(deadline=None, max_examples=60)
@given(
    arrays(float, st.integers(1, 12), elements=positive),
    st.floats(0.01, 1000),
    st.floats(1.001, 3),
    st.floats(1e-5, 1e5),
)
def test_weighted_tails_fall_do_not_feel_units_and_ignore_zeros(weights, start, factor, unit):
    statistic = start * weights.sum()
    row = weights[None]
    near, far = pv.weighted_chi2_log10_sf([statistic, factor * statistic], np.repeat(row, 2, 0))
    assert far < near < 0 or near > -1e-14
    shuffled = np.r_[0.0, weights[::-1], 0.0][None]
    again = pv.weighted_chi2_log10_sf([unit * statistic], unit * shuffled)
    np.testing.assert_allclose(again, near, rtol=1e-10, atol=1e-14)
    # More weight makes large sums likelier: bounds by chi-square variables.
    lower = pv.chi2_log10_sf(statistic / weights.max(), 1)
    upper = pv.chi2_log10_sf(statistic / weights.max(), len(weights))
    assert lower * (1 + 1e-11) - 1e-13 <= near <= upper * (1 - 1e-11) + 1e-13


def enumerate_scores(x, probability):
    """All 2^n scores of one column and their probabilities."""
    outcomes = (np.arange(2 ** len(x))[:, None] >> np.arange(len(x))) & 1
    chances = np.where(outcomes == 1, probability, 1 - probability).prod(axis=1)
    return (outcomes - probability) @ x, chances


def small_problem(n_rows, seed, *, rare):
    rng = np.random.default_rng(seed)
    probability = rng.uniform(0.05, 0.2, n_rows) if rare else rng.uniform(0.2, 0.8, n_rows)
    x = rng.lognormal(size=n_rows)
    spread = probability * (1 - probability)
    return x - spread @ x / spread.sum(), probability


# With one or two outcomes in 14 rows the distribution is far from a continuous one.
@pytest.mark.parametrize(("rare", "usual", "large"), [(True, 0.3, 0.7), (False, 0.08, 0.2)])
def test_saddlepoint_is_near_the_enumerated_distribution(rare, usual, large):
    errors, normal_errors = [], []
    for seed in range(100, 120):
        x, probability = small_problem(14, seed, rare=rare)
        scores, chances = enumerate_scores(x, probability)
        order = np.argsort(-np.abs(scores))
        tails = np.cumsum(chances[order])
        far = np.abs(scores[order]) > 2 * np.sqrt((probability * (1 - probability)) @ x**2)
        chosen = np.flatnonzero(far & (tails > 1e-5))[::5]
        columns = np.tile(x[:, None], len(chosen))
        for collected, cutoff in ((errors, 2.0), (normal_errors, np.inf)):
            found, _ = pv.bernoulli_saddlepoint(
                scores[order[chosen]], columns, probability, cutoff=cutoff
            )
            error = np.abs(np.log(found / tails[chosen]))
            collected.append([np.median(error), np.quantile(error, 0.95)])
    middle, high = np.median(errors, axis=0)
    assert middle < usual
    assert high < large
    assert middle < np.median(normal_errors, axis=0)[0] / 2


def upper_tail_by_formula(score, x, probability):
    """Barndorff-Nielsen's formula for one column."""

    def tilted(t):
        odds = probability * np.exp(x * t)
        return odds / (1 - probability + odds)

    t = brentq(lambda t: x @ (tilted(t) - probability) - score, 0, 50, xtol=1e-13)
    value = np.log(1 - probability + probability * np.exp(x * t)).sum() - t * probability @ x
    w = np.sqrt(2 * (t * score - value))
    v = t * np.sqrt((tilted(t) * (1 - tilted(t))) @ x**2)
    return norm.sf(w + np.log(v / w) / w)


def test_saddlepoint_is_the_formula_in_both_directions():
    x, probability = small_problem(40, 4, rare=True)
    score = 3.0 * np.sqrt((probability * (1 - probability)) @ x**2)
    expected = sum(upper_tail_by_formula(score, column, probability) for column in (x, -x))
    for sign in (1, -1):
        found, log10 = pv.bernoulli_saddlepoint([sign * score], x[:, None], probability)
        assert found[0] == pytest.approx(expected, rel=1e-8)
        assert log10[0] == pytest.approx(np.log10(expected), rel=1e-8)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_score_has_its_exact_probability_and_none_is_beyond(sign):
    x, probability = small_problem(12, 3, rare=True)
    # Neither of these rows has a say.
    x[:2] = [0.0, 1e-18]
    x *= sign
    scores, chances = enumerate_scores(x, probability)
    largest = np.abs(scores).max()
    top = scores[np.abs(scores).argmax()]
    expected = chances[np.abs(scores) > largest - 1e-9].sum()
    found, log10 = pv.bernoulli_saddlepoint([top], x[:, None], probability)
    assert found[0] == pytest.approx(expected, rel=1e-12)
    assert log10[0] == pytest.approx(np.log10(expected), rel=1e-12)
    found, log10 = pv.bernoulli_saddlepoint([1.001 * top], x[:, None], probability)
    assert found[0] == 0
    assert log10[0] == -np.inf


def test_the_largest_score_is_known_in_whatever_order_it_was_added_up():
    # Rows that are nearly certain hardly count in the largest score, but their digits do in sums.
    x = np.r_[np.full(6, 5.0), 4e-6, -3e-6]
    probability = np.r_[np.full(6, 1 - 1e-12), 0.5, 0.3]
    outcomes = x > 0
    expected = np.log10(np.where(outcomes, probability, 1 - probability)).sum()
    rng = np.random.default_rng(14)
    for _ in range(100):
        order = rng.permutation(8)
        scores = [
            ((outcomes - probability) * x)[order].sum(),
            (outcomes * x)[order].sum() - (probability * x)[order].sum(),
        ]
        columns = np.tile(x[order, None], 2)
        _, log10 = pv.bernoulli_saddlepoint(scores, columns, probability[order], cutoff=0.1)
        np.testing.assert_allclose(log10, expected, rtol=1e-10)


@settings(deadline=None, max_examples=100)
@given(
    arrays(float, 9, elements=st.floats(-5, 5)),
    arrays(float, 9, elements=st.floats(0, 1)),
    arrays(bool, 9),
)
@example(np.ones(9), np.full(9, 5e-324), np.ones(9, dtype=bool))
@example(np.full(9, 5e-324), np.full(9, 0.1), np.arange(9) < 1)
@example(np.r_[np.full(8, 1e-160), 1.0], np.r_[np.full(8, 0.5), 1.0], np.arange(9) > 4)
def test_possible_scores_have_finite_logarithms_however_extreme(x, chances, flips):
    # Outcomes that the probabilities allow.
    outcomes = np.where(chances == 1, True, flips & (chances > 0))
    # The same score, but for rounding.
    scores = [(outcomes - chances) @ x, outcomes @ x - chances @ x]
    found, log10 = pv.bernoulli_saddlepoint(scores, np.tile(x[:, None], 2), chances, cutoff=0.1)
    varies = np.abs(x[(chances > 0) & (chances < 1)]).max(initial=0.0)
    if varies < 1e-290:
        assert np.isnan(found).all()
        assert np.isnan(log10).all()
    else:
        assert (log10 > -np.inf).all()
        assert (log10 <= 0).all()
        np.testing.assert_allclose(found, 10**log10, rtol=1e-10)


def test_saddlepoint_agrees_with_chi2_for_balanced_outcomes():
    rng = np.random.default_rng(7)
    columns = rng.standard_normal((20_000, 8))
    probability = rng.uniform(0.4, 0.6, 20_000)
    deviation = np.sqrt((probability * (1 - probability)) @ columns**2)
    z = np.array([0.0, 1.0, 1.9, -2.1, 2.5, 3.0, -4.0, 5.0])
    found, _ = pv.bernoulli_saddlepoint(z * deviation, columns, probability)
    np.testing.assert_allclose(found[:3], chi2.sf(z[:3] ** 2, 1), rtol=1e-12)
    np.testing.assert_allclose(found[3:], chi2.sf(z[3:] ** 2, 1), rtol=0.02)


def test_saddlepoint_keeps_its_level_for_rare_outcomes_where_chi2_does_not():
    rng = np.random.default_rng(8)
    level, rejected = 0.001, np.zeros(2)
    for _ in range(40):
        outcomes = rng.random(500) < 0.025
        probability = np.full(500, outcomes.mean())
        columns = rng.lognormal(size=(500, 1250))
        columns -= columns.mean(axis=0)
        score = (outcomes - probability) @ columns
        for method, cutoff in enumerate((2.0, np.inf)):
            found, _ = pv.bernoulli_saddlepoint(score, columns, probability, cutoff=cutoff)
            rejected[method] += np.count_nonzero(found < level)
    rates = rejected / 50_000
    assert abs(rates[0] - level) < 4 * np.sqrt(level / 50_000)
    assert rates[1] > 5 * level


def test_log10_of_saddlepoint_tails_goes_on_where_they_underflow():
    n_rows = 20_000
    columns = np.ones((n_rows, 1))
    columns[::2] = -1.0
    found, log10 = pv.bernoulli_saddlepoint([0.3 * n_rows], columns, np.full(n_rows, 0.5))
    assert found[0] == 0
    # The score is a centred binomial variable.
    reached = np.arange(0.8 * n_rows, n_rows + 1)
    expected = np.log(2) + logsumexp(binom.logpmf(reached, n_rows, 0.5))
    assert log10[0] == pytest.approx(expected / np.log(10), rel=1e-3)


def test_weights_stand_for_repeated_rows_and_certain_rows_for_none():
    rng = np.random.default_rng(9)
    columns, probability = rng.lognormal(size=(60, 5)), rng.uniform(0.01, 0.1, 60)
    weights = rng.integers(0, 4, 60)
    probability[:2] = [0, 1]
    repeated = np.repeat(np.arange(60), weights * (np.arange(60) > 1))
    deviation = np.sqrt((weights * probability * (1 - probability)) @ columns**2)
    score = np.array([0.5, 2.5, -2.2, 4.0, 6.0]) * deviation
    weighted = pv.bernoulli_saddlepoint(score, columns, probability, weights)
    plain = pv.bernoulli_saddlepoint(score, columns[repeated], probability[repeated])
    np.testing.assert_allclose(weighted, plain, rtol=1e-10)


def test_saddlepoint_does_not_depend_on_blocks_order_or_sign(monkeypatch):
    rng = np.random.default_rng(10)
    columns, probability = rng.lognormal(size=(300, 12)), rng.uniform(0.01, 0.1, 300)
    deviation = np.sqrt((probability * (1 - probability)) @ columns**2)
    score = rng.uniform(-6, 8, 12) * deviation
    found = pv.bernoulli_saddlepoint(score, columns, probability)
    mirrored = pv.bernoulli_saddlepoint(-score, -columns, probability)
    np.testing.assert_allclose(mirrored, found, rtol=1e-12)
    exchanged = pv.bernoulli_saddlepoint(-score, columns, 1 - probability)
    np.testing.assert_allclose(exchanged, found, rtol=1e-8)
    monkeypatch.setattr("isingmlc.base.arrays.BLOCK_BYTES", 1)
    blocked = pv.bernoulli_saddlepoint(score[::-1], columns[:, ::-1], probability)
    np.testing.assert_allclose(blocked, np.asarray(found)[:, ::-1], rtol=1e-8)


def test_columns_without_variance_and_missing_scores_give_nan():
    columns = np.column_stack([np.zeros(10), np.ones(10), np.full(10, np.nan)])
    found, log10 = pv.bernoulli_saddlepoint([0.0, np.nan, 1.0], columns, np.full(10, 0.5))
    assert np.isnan(found).all()
    assert np.isnan(log10).all()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0], np.ones((3, 2)), [0.5] * 3), {}, "score must have one value per column"),
        (([1.0], np.ones((3, 1)), [0.5] * 2), {}, "probability must have one value per row"),
        (([1.0], np.ones((3, 1)), [0.5] * 3, [1.0]), {}, "weights must have one value per row"),
        (([1.0], np.ones(3), [0.5] * 3), {}, "columns must be two-dimensional"),
        (([1.0], np.ones((1, 1)), [1.5]), {}, "probability must lie between 0 and 1"),
        (([1.0], np.ones((1, 1)), [0.5], [-1]), {}, "weights must be finite and not negative"),
        (([1.0], np.ones((1, 1)), [0.5]), {"cutoff": 0.0}, "cutoff must be at least 0.1"),
    ],
)
def test_saddlepoint_says_what_is_wrong_with_its_arguments(arguments, options, message):
    with pytest.raises(exc.DataError, match=message):
        pv.bernoulli_saddlepoint(*arguments, **options)


def test_every_adjustment_of_statsmodels_is_there_and_skips_missing_values():
    rng = np.random.default_rng(12)
    pvalues = rng.random(30) ** 3
    pvalues[[3, 17]] = np.nan
    known = ~np.isnan(pvalues)
    assert len(pv.METHODS) >= 11
    for method in pv.METHODS:
        found = pv.adjust(pvalues, method)
        np.testing.assert_array_equal(np.isnan(found), ~known)
        expected = multipletests(pvalues[known], method=method)[1]
        np.testing.assert_allclose(found[known], expected, rtol=1e-14)
    for method, name in (("fdr_bh", "bh"), ("fdr_by", "by")):
        expected = false_discovery_control(pvalues[known], method=name)
        np.testing.assert_allclose(pv.adjust(pvalues, method)[known], expected, rtol=1e-12)


@pytest.mark.parametrize("method", pv.METHODS)
@settings(deadline=None, max_examples=25)
@given(st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), max_size=8), st.randoms())
def test_adjusted_values_are_probabilities_that_do_not_depend_on_order(method, pvalues, random):
    found = pv.adjust(pvalues, method)
    known = ~np.isnan(found)
    np.testing.assert_array_equal(known, ~np.isnan(np.asarray(pvalues, dtype=float)))
    assert ((found[known] >= 0) & (found[known] <= 1)).all()
    order = np.array(random.sample(range(len(pvalues)), len(pvalues)), dtype=int)
    shuffled = pv.adjust(np.asarray(pvalues, dtype=float)[order], method)
    np.testing.assert_allclose(shuffled, found[order], rtol=1e-12)


def test_two_stage_adjustment_uses_the_level():
    pvalues = [0.001, 0.01, 0.02, 0.03, 0.2, 0.9]
    for alpha in (0.01, 0.2):
        expected = multipletests(pvalues, alpha=alpha, method="fdr_tsbh")[1]
        np.testing.assert_array_equal(pv.adjust(pvalues, "fdr_tsbh", alpha=alpha), expected)


def test_families_are_tables_columns_or_rows():
    rng = np.random.default_rng(13)
    table = rng.random((5, 4)) ** 2
    table[1, 2] = table[3] = np.nan
    together = pv.adjust_within(table, "fdr_bh")
    np.testing.assert_array_equal(together.ravel(), pv.adjust(table.ravel(), "fdr_bh"))
    by_label = pv.adjust_within(table, "holm", "label")
    by_feature = pv.adjust_within(table, "holm", "feature")
    for column in range(4):
        np.testing.assert_array_equal(by_label[:, column], pv.adjust(table[:, column], "holm"))
    for row in range(5):
        np.testing.assert_array_equal(by_feature[row], pv.adjust(table[row], "holm"))


def test_adjustment_says_what_is_wrong_with_its_arguments():
    with pytest.raises(exc.DataError, match=r"'bonferroni'.*'fdr_gbs'"):
        pv.adjust([0.1], "bh")
    with pytest.raises(exc.DataError, match="between 0 and 1, but go from"):
        pv.adjust([0.1, 3.0], "holm")
    with pytest.raises(exc.DataError, match="Use adjust_within"):
        pv.adjust([[0.1]], "holm")
    with pytest.raises(exc.DataError, match="alpha must lie between"):
        pv.adjust([0.1], "holm", alpha=5)
    with pytest.raises(exc.DataError, match="'label', 'feature'"):
        pv.adjust_within([[0.1]], "holm", "row")
    with pytest.raises(exc.DataError, match="pvalues must be two-dimensional"):
        pv.adjust_within([0.1], "holm")
