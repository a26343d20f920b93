"""The package agrees with the row-wise oracle on random data of ugly kinds."""

import fuzz
import pytest


@pytest.mark.parametrize("check", fuzz.CHECKS)
@pytest.mark.parametrize("seed", [*range(25), 1516193503, 1516193577])
def test_random_data_have_the_statistics_of_the_oracle(seed, check):
    fuzz.run(seed, check)
