"""When tests are made, by the number of observations alone: to save time (docs/theory.md, The risk of a stop)."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from regretstop.checks import check_at_least, check_between

# Keeps 1.1 · 10 = 11.000000000000002 from becoming 12, and is far from a whole observation.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Due:
    """The last test that is due.

    Attributes:
        test: Its index k ≥ 1; 0 before the first test.
        n_observations: n_k, the number of observations it sees; 0 before the first test.
        following: n_(k+1), at which the next test is due; None if there is none.
    """

    test: int
    n_observations: int
    following: int | None


@dataclass(frozen=True)
class Schedule(ABC):
    """When tests are made.

    The k-th test sees the first n_k observations, n_1 < n_2 < …, and is made once there are as many. From then until
    there are n_(k+1), whoever asks gets the k-th test: it sees the same observations, also in a resumed run, in another
    process, or where the number of observations jumped over n_k. Numbers below the fewest observations that the model
    needs are passed over and not counted.
    """

    @property
    @abstractmethod
    def words(self) -> str:
        """What is tested when, to follow "for"."""

    def due(self, n: int, fewest: int) -> Due:
        """Return the last test that is due.

        Args:
            n: Number of observations there are.
            fewest: Number of observations that the model needs, at least 1.
        """
        numbers = self._numbers(fewest)
        test, seen, following = 0, 0, next(numbers)
        while following <= n:
            test, seen, following = test + 1, following, next(numbers)
        return Due(test, seen, following)

    @abstractmethod
    def _numbers(self, fewest: int) -> Iterator[int]:
        """Yield n_1 < n_2 < …, all at least `fewest`, without an end."""


@dataclass(frozen=True)
class Every(Schedule):
    """A test at m, 2m, 3m, … observations.

    Args:
        m: How many observations there are between two tests, at least 1.

    Raises:
        ValueError: If m is out of its range.
    """

    m: int = 1

    def __post_init__(self) -> None:
        """Check m."""
        check_at_least("m", self.m, 1)

    @property
    def words(self) -> str:
        """What is tested when."""
        return "tests after every observation" if self.m == 1 else f"tests every {self.m} observations"

    def due(self, n: int, fewest: int) -> Due:
        """Return the last test that is due, without counting up to it."""
        m = int(self.m)
        before = -(-fewest // m) - 1  # multiples of m that are passed over
        test = max(n // m - before, 0)
        return Due(test, (before + test) * m if test else 0, (before + test + 1) * m)

    def _numbers(self, fewest: int) -> Iterator[int]:
        m = int(self.m)
        return itertools.count(-(-fewest // m) * m, m)


@dataclass(frozen=True)
class Geometric(Schedule):
    """A test at `first` observations, and each further one at `ratio` times as many, rounded up: 10, 15, 23, 35, 53.

    Args:
        first: Observations at the first test, at least 1.
        ratio: How many times as many there are at the next one, in (1, 1000).

    Raises:
        ValueError: If an argument is out of its range.
    """

    first: int = 10
    ratio: float = 1.5

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_at_least("first", self.first, 1)
        check_between("ratio", self.ratio, 1, 1000)

    @property
    def words(self) -> str:
        """What is tested when."""
        return f"tests from {self.first} observations on, whenever there are {self.ratio:.4g} times as many"

    def _numbers(self, fewest: int) -> Iterator[int]:
        return _growing(int(self.first), float(self.ratio), fewest)


@dataclass(frozen=True)
class Thinning(Schedule):
    """A test after every observation while they are few, and from then on each at `ratio` times as many, rounded up.

    It is the default of all rules: after every observation up to 100, then at 105, 111, 117, 123, …, 1915, 2011. A fit
    costs more the more observations there are, and says less that is new. After n observations the next test is at
    1.05 n, rounded up, at the latest: by so much a stop is delayed, and by more if the bound is above ε again by then.
    In return a search of 2,000 observations is tested about 150 times and not 2,000 times.

    Args:
        dense: A test is made after every observation up to this number of them, at least 1.
        ratio: How many times as many there are at the next test after that, in (1, 1000).

    Raises:
        ValueError: If an argument is out of its range.
    """

    dense: int = 100
    ratio: float = 1.05

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_at_least("dense", self.dense, 1)
        check_between("ratio", self.ratio, 1, 1000)

    @property
    def words(self) -> str:
        """What is tested when."""
        return f"tests after every observation up to {self.dense}, then each at {self.ratio:.4g} times as many"

    def _numbers(self, fewest: int) -> Iterator[int]:
        yield from range(fewest, int(self.dense))
        yield from _growing(int(self.dense), float(self.ratio), fewest)


def _growing(number: int, ratio: float, fewest: int) -> Iterator[int]:
    """Yield those of the number, `ratio` times as many, and so on, that are at least `fewest`."""
    while True:
        if number >= fewest:
            yield number
        number = max(number + 1, math.ceil(ratio * number - _ROUNDING))


EVERY_OBSERVATION = Every()
# When people are told where a search stands: ten times in a hundred evaluations.
PROGRESS = Geometric(10, 1.25)
DEFAULT_SCHEDULE = Thinning()
