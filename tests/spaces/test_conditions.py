"""Conditional spaces: which parameters a point has, what stands for the others, and what makes no sense."""

import contextlib
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import GPUCB, Categorical, Float, GaussianProcess, Int, Matern52, OptimalityGap, Space, UCBbr, minimize
from regretstop.search import UpperConfidenceBound
from regretstop.search._moves import climbable, moves
from regretstop.spaces import sobol_points

PARTS = {
    "classifier": Categorical(["SVC", "forest", "kNN"]),
    "svc_c": Float(1e-3, 1e3, log=True),
    "kernel": Categorical(["linear", "poly", "rbf"]),
    "degree": Int(2, 5),
    "max_depth": Int(2, 32, log=True),
    "layers": Int(1, 4),
}
WHEN = {
    "svc_c": {"classifier": ["SVC"]},
    "kernel": {"classifier": ["SVC"]},
    "degree": {"kernel": ["poly"]},
    "max_depth": {"classifier": ["forest"]},
}
SPACE = Space(PARTS, when=WHEN)

FINITE_PARTS = {"a": Categorical("xyz".__iter__()), "n": Int(0, 3), "b": Categorical([True, False]), "m": Int(0, 4)}
FINITE = Space(FINITE_PARTS, when={"n": {"a": ["x", "y"]}, "b": {"n": [1, 3], "a": ["x"]}, "m": {"b": [False]}})


def points_of_finite() -> list[dict]:
    """The same space by its words: a nested loop."""
    points = []
    for a in "xyz":
        for n in range(4) if a in "xy" else [None]:
            for b in [True, False] if a == "x" and n in (1, 3) else [None]:
                for m in range(5) if b is False else [None]:
                    point = {"a": a, "n": n, "b": b, "m": m}
                    points.append({name: value for name, value in point.items() if value is not None})
    return points


def test_a_point_has_its_active_parameters_only() -> None:
    given = {"classifier": "SVC", "svc_c": 1.0, "kernel": "poly", "degree": 3, "layers": 2}
    assert SPACE.decode(SPACE.encode(given)) == pytest.approx(given)
    given = {"classifier": "kNN", "layers": 4}
    assert SPACE.decode(SPACE.encode(given)) == given
    assert SPACE.contains(given)
    assert not SPACE.contains({"classifier": "SVC", "kernel": "rbf", "layers": 4})  # without svc_c
    with pytest.raises(ValueError, match="parameter 'max_depth' is missing"):
        SPACE.encode({"classifier": "forest", "layers": 1})


def test_what_is_inactive_is_ignored_whatever_it_is() -> None:
    plain = {"classifier": "kNN", "layers": 4}
    for other in ({"svc_c": 3.0}, {"svc_c": math.nan}, {"kernel": "no such"}, {"degree": 3, "max_depth": 10**9}):
        assert np.array_equal(SPACE.encode(plain | other), SPACE.encode(plain))
        assert SPACE.contains(plain | other)


def test_an_inactive_axis_is_in_its_middle_and_a_category_the_first() -> None:
    point = SPACE.encode({"classifier": "kNN", "layers": 1})
    assert point.tolist() == [2.0, 0.5, 0.0, 0.5, 0.5, 0.125]
    assert SPACE.active(point[None])[0].tolist() == [True, False, False, False, False, True]


def test_snap_projects_and_candidates_are_points_of_branches() -> None:
    points = sobol_points(SPACE, 256, 0)
    assert np.array_equal(SPACE.snap(points), points)
    assert np.array_equal(SPACE.project(points), points)
    assert {SPACE.branch_of(points[[i]])[0] for i in range(256)} == set(range(len(SPACE.branches)))
    for point in points[:32]:
        assert SPACE.encode(SPACE.decode(point)) == pytest.approx(point)


def test_moves_stay_in_the_domain_and_climbs_in_the_branch() -> None:
    point = SPACE.encode({"classifier": "kNN", "layers": 1})
    near = moves(SPACE, point)
    assert np.array_equal(SPACE.project(near), near)
    assert {SPACE.decode(each)["classifier"] for each in near} == {"SVC", "forest", "kNN"}
    assert len(near) == 3 + 4
    # An integer that decides is moved, never climbed.
    space = Space({"n": Int(1, 3), "x": Float(0, 1), "y": Float(0, 1)}, when={"y": {"n": [2, 3]}})
    both = np.array([space.encode({"n": 1, "x": 0.2}), space.encode({"n": 3, "x": 0.2, "y": 0.9})])
    assert climbable(space, both).tolist() == [[False, True, False], [False, True, True]]


def test_a_finite_space_lists_each_point_of_each_branch_once() -> None:
    expected = points_of_finite()
    listed = [FINITE.decode(point) for point in FINITE.enumerate()]
    assert FINITE.size == len(expected) == len(listed)
    assert all(point in listed for point in expected)
    assert len(np.unique(FINITE.enumerate(), axis=0)) == len(expected)
    assert sum(branch.size for branch in FINITE.branches) == len(expected)


def test_branches_are_a_partition() -> None:
    points = FINITE.enumerate()
    index = FINITE.branch_of(points)
    assert np.bincount(index).tolist() == [branch.size for branch in FINITE.branches]
    for point, b in zip(points, index, strict=True):
        assert FINITE.active(point[None])[0].tolist() == FINITE.branches[b].active.tolist()


conditions = st.dictionaries(
    st.sampled_from("bcd"),
    st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(0, 2), min_size=1), max_size=2),
)


@given(conditions, st.data())
def test_any_conditions_partition_the_points(when: dict, data: st.DataObject) -> None:
    parts = {"a": Int(0, 2), "b": Categorical([0, 1, 2]), "c": Int(0, 2), "d": Int(0, 2)}
    space = None
    with contextlib.suppress(ValueError):  # a circle, or one that never holds
        space = Space(parts, when=when)
    if space is None:
        return

    def is_active(name: str, point: dict) -> bool:
        return all(is_active(p, point) and point[p] in values for p, values in when.get(name, {}).items())

    expected = {
        tuple(sorted((name, value) for name, value in point.items() if is_active(name, point)))
        for point in (dict(zip("abcd", values, strict=True)) for values in itertools.product(range(3), repeat=4))
    }
    listed = [tuple(sorted(space.decode(point).items())) for point in space.enumerate()]
    assert len(listed) == space.size == len(expected)
    assert set(listed) == expected
    point = space.enumerate()[data.draw(st.integers(0, int(space.size) - 1))]
    assert np.array_equal(space.encode(space.decode(point)), point)


def test_trivial_conditions_are_none() -> None:
    """Also through a parent with one value, and through the order of the names."""
    parts = {"y": Float(0, 1), "c": Categorical("ab".__iter__()), "one": Int(3, 3)}
    space = Space(parts, when={"y": {"c": ["a", "b"], "one": [3]}, "c": {}})
    assert len(space.branches) == 1
    assert not space.deciding.any()


def test_a_fixed_parameter_may_be_conditional() -> None:
    space = Space({"c": Categorical("ab".__iter__()), "k": Int(7, 7)}, when={"k": {"c": ["a"]}})
    assert space.decode([0.0]) == {"c": "a", "k": 7}
    assert space.decode([1.0]) == {"c": "b"}
    assert space.encode({"c": "b", "k": 8}).tolist() == [1.0]
    with pytest.raises(ValueError, match="fixed at 7"):
        space.encode({"c": "a", "k": 8})


def test_it_can_be_pickled_and_printed() -> None:
    again = pickle.loads(pickle.dumps(FINITE))
    assert np.array_equal(again.enumerate(), FINITE.enumerate())
    assert "when={'svc_c': {'classifier': ['SVC']}" in repr(SPACE)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({"nope": {"classifier": ["SVC"]}}, "'nope', which is no parameter"),
        ({"svc_c": {"nope": [1]}}, "'nope', which is no parameter"),
        ({"svc_c": ["classifier"]}, r"when\['svc_c'\] must map parents to their values, got \['classifier'\]"),
        ({"svc_c": {"classifier": ["LDA"]}}, r"\['classifier'\] has 'LDA', which is no value"),
        ({"svc_c": {"classifier": "SVC"}}, "must be a collection of values, got 'SVC'"),
        ({"svc_c": {"classifier": 3}}, "must be a collection of values, got 3"),
        ({"svc_c": {"classifier": []}}, r"must not be empty, got \[\]"),
        ({"svc_c": {"svc_c": [1.0]}}, "'svc_c' depend on itself"),
        ({"kernel": {"svc_c": [1.0]}}, "'svc_c', which must be a Categorical or an Int with at most 20 values"),
        ({"kernel": {"max_depth": [3]}}, "'max_depth', which must be a Categorical or an Int with at most 20"),
        ({"layers": {"degree": [7]}}, "has 7, which is no value of 'degree'"),
        ({"layers": {"degree": [2]}, "degree": {"layers": [2]}}, "circles, and makes 'degree' on 'layers' on 'degree'"),
        (
            {"degree": {"kernel": ["poly"], "classifier": ["forest"]}, "kernel": {"classifier": ["SVC"]}},
            "'degree' can never be active",
        ),
        ("svc_c", "when must map"),
    ],
)
def test_what_makes_no_sense_is_named(when: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Space(PARTS, when=when)


def test_branches_are_not_without_number() -> None:
    parts = {f"use{i}": Categorical([False, True]) for i in range(9)} | {f"x{i}": Float(0, 1) for i in range(9)}
    with pytest.raises(ValueError, match="more than 256 branches"):
        Space(parts, when={f"x{i}": {f"use{i}": [True]} for i in range(9)})
    # What many parameters share, and values that decide alike, make no more.
    assert len(Space(parts, when={f"x{i}": {"use0": [True]} for i in range(9)}).branches) == 2


# ---- Certificates --------------------------------------------------------------------------------------------------

RULES = [
    UCBbr(0.05),
    UCBbr(0.05, a=1.0, b=1.0),
    OptimalityGap(0.05),
    OptimalityGap(0.05, beta="grid"),
    OptimalityGap(0.05, beta=4.0),
]


@pytest.mark.parametrize("parent", [Categorical(["a", "b", "c"]), Int(0, 2)], ids=["categorical", "integer"])
@pytest.mark.parametrize("beta", ["calibrated", "matched", "theory"])
def test_with_trivial_conditions_every_bound_is_that_of_the_flat_space(parent: Categorical | Int, beta: str) -> None:
    parts = {"p": parent, "x": Float(0, 1), "k": Int(0, 5)}
    values = parent.choices if isinstance(parent, Categorical) else range(3)
    when = {"x": {"p": list(values)}, "k": {"p": list(values)}}
    found = []
    for space in (Space(parts), Space(parts, when=when)):
        kernel = Matern52(lengthscales=[1.0, 0.4, 0.5], outputscale=1.0)
        surrogate = GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.01, mean=0.0)
        optimizer = GPUCB(space, beta=beta, seed=0, surrogate=surrogate)
        for _ in range(9):
            params = optimizer.ask(epsilon=0.05)
            optimizer.tell(
                params, -((params["x"] - 0.3) ** 2) - 0.01 * params["k"] - 0.1 * list(values).index(params["p"])
            )
        found.append([optimizer.certificate(rule).bound for rule in RULES])
    assert found[1] == pytest.approx(found[0], rel=1e-12)


def value_of(params: dict) -> float:
    return hash_free("".join(f"{name}{value}" for name, value in sorted(params.items())))


def hash_free(text: str) -> float:
    return sum((i + 1) * ord(c) for i, c in enumerate(text)) % 17 / 17.0


def test_a_finite_conditional_space_is_certified_by_enumeration() -> None:
    """Every point once, none twice, and then the bound is 0; the certified trial is the best of the nested loop."""
    surrogate = GaussianProcess(noise_std=0.0)
    result = minimize(value_of, FINITE, rule=OptimalityGap(1e-9), max_trials=60, surrogate=surrogate, seed=0)
    certificate = result.certificate
    assert certificate.stop
    tried = [dict(each.params) for each in result.history]
    assert all(point in points_of_finite() for point in tried)
    assert len({tuple(sorted(point.items())) for point in tried}) == len(tried)
    assert certificate.incumbent_value == min(map(value_of, points_of_finite()))


def test_the_maximum_over_a_finite_conditional_space_is_exact() -> None:
    optimizer = GPUCB(FINITE, seed=0, surrogate=GaussianProcess(noise_std=0.1))
    for point in points_of_finite()[::2]:
        optimizer.tell(point, value_of(point))
    maximizer = optimizer.snapshot().model.maximizers[0]
    assert maximizer.how == "enumerated"
    points = np.array([FINITE.encode(point) for point in points_of_finite()])
    mean, std = maximizer.posterior.mean_std(points)
    found = maximizer.maximize(UpperConfidenceBound(2.0))
    assert found.value == pytest.approx(np.max(mean + 2.0 * std), rel=1e-12)


def test_a_search_asks_for_points_of_branches_only() -> None:
    optimizer = GPUCB(SPACE, seed=1)
    for _ in range(18):
        params = optimizer.ask(epsilon=0.01)
        assert SPACE.contains(params)
        assert SPACE.encode(params).shape == (6,)
        assert params.keys() == SPACE.decode(SPACE.encode(params)).keys()
        optimizer.tell(params, value_of({"classifier": params["classifier"]}) + 0.1 * params["layers"])
    assert math.isfinite(optimizer.certificate(OptimalityGap(0.1)).bound)
    assert math.isfinite(optimizer.certificate(OptimalityGap(0.1, beta="grid")).bound)


# ---- Few data in a branch ------------------------------------------------------------------------------------------

TWO = Space(
    {"c": Categorical(["good", "bad"]), "x": Float(0, 1), "y": Float(0, 1)},
    when={"x": {"c": ["good"]}, "y": {"c": ["bad"]}},
)


def told(**options) -> GPUCB:
    optimizer = GPUCB(TWO, seed=0, **options)
    for x in np.linspace(0.0, 1.0, 9):
        optimizer.tell({"c": "good", "x": x}, 1.0 - (x - 0.4) ** 2)
    for y in (0.2, 0.6):
        optimizer.tell({"c": "bad", "y": y}, 0.0)
    return optimizer


def test_two_observations_do_not_tell_an_estimated_model_about_a_branch() -> None:
    """They agree, so that the likeliest lengthscale is a long one: nothing is certified from so few."""
    optimizer = told()
    certificate = optimizer.certificate(UCBbr(0.05))
    assert math.isinf(certificate.bound)
    assert certificate.reason == "too few observations with 'y': 2 of at least 5"
    for _ in range(3):  # the search sees to it, however little the branch promises
        params = optimizer.ask(epsilon=0.05)
        assert params["c"] == "bad"
        optimizer.tell(params, 0.0)
    assert math.isfinite(optimizer.certificate(UCBbr(0.05)).bound)
    assert optimizer.ask(epsilon=0.05)["c"] == "good"


def test_points_that_are_being_evaluated_are_not_asked_for_again() -> None:
    optimizer = told()
    assert [optimizer.ask()["c"] for _ in range(4)] == ["bad"] * 3 + ["good"]


def test_points_that_were_pruned_are_not_asked_for_again() -> None:
    """They showed that they were not good enough."""
    optimizer = told()
    for c in ("bad", "bad", "bad", "good"):
        params = optimizer.ask()
        assert params["c"] == c
        optimizer.tell(params, None)
    assert math.isinf(optimizer.certificate(UCBbr(0.05)).bound)


def test_a_branch_is_given_up_when_twice_as_many_points_failed_as_are_needed() -> None:
    """One may fail by accident; nobody is asked for ever for what only fails."""
    optimizer = told()
    for _ in range(10):
        params = optimizer.ask()
        assert params["c"] == "bad"
        optimizer.tell(params, math.nan)
    assert optimizer.ask()["c"] == "good"
    assert optimizer.certificate(UCBbr(0.05)).reason == "too few observations with 'y': 2 of at least 5"


@pytest.mark.parametrize("seed", range(4))
def test_one_failure_does_not_lose_a_choice(seed: int) -> None:
    """The first point of the best choice fails once; the search finds that choice, and certifies it truly."""
    space = Space({"model": Categorical(["a", "b", "c"]), "x": Float(0, 1)})
    optimizer, rule, n_failed = GPUCB(space, direction="minimize", seed=seed), UCBbr(0.03), 0
    for _ in range(30):
        params = optimizer.ask(epsilon=0.03)
        fails = params["model"] == "c" and n_failed == 0
        n_failed += fails
        value = (params["x"] - 0.3) ** 2 + {"a": 0.1, "b": 0.2, "c": 0.0}[params["model"]]
        optimizer.tell(params, math.nan if fails else value)
        if optimizer.certificate(rule).stop:
            break
    assert n_failed == 1
    assert optimizer.certificate(rule).stop
    assert min(each.value for each in optimizer.history if each.value is not None) < 0.03


def test_where_many_fail_the_search_stays_away() -> None:
    optimizer = GPUCB(Space({"x": Float(0, 1), "y": Float(0, 1)}), direction="minimize", seed=0)
    for _ in range(40):
        params = optimizer.ask(epsilon=0.01)
        value = math.hypot(params["x"] - 1.0, params["y"] - 1.0)  # the best is where everything fails
        optimizer.tell(params, math.nan if params["x"] + params["y"] > 1.5 else value)
    failed = [math.isnan(each.value) for each in optimizer.history]  # pyright: ignore[reportArgumentType]
    assert 3 < sum(failed) < 20
    assert sum(failed[20:]) < 10


# ---- One value of a parameter ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [{"y": 0.1}, {"c": "a"}, {"n": 3}])
def test_of_a_parameter_that_nobody_varied_nothing_is_known(fixed: dict[str, object]) -> None:
    """As of a sampler that is told to leave it alone; a declared kernel knows how far other values may be."""
    space = Space({"x": Float(0, 1), "y": Float(0, 1), "c": Categorical(["a", "b", "d"]), "n": Int(1, 4)})
    optimizer = GPUCB(space, seed=0)
    for i in range(20):
        params = {"x": i / 19, "y": (i * 7 % 20) / 19, "c": "abd"[i % 3], "n": 1 + i % 4} | fixed
        optimizer.tell(params, 1.0 - (i / 19 - 0.5) ** 2)
    certificate = optimizer.certificate(UCBbr(0.05))
    ((name, value),) = fixed.items()
    assert certificate.reason == f"all observations have {name!r} = {value!r}, which says nothing of its other values"
    assert certificate.bound == math.inf
    kernel = Matern52(lengthscales=[1.0] * 4, outputscale=1.0)
    known = GPUCB(space, surrogate=GaussianProcess(kernel=kernel, noise_std=0.01, hyperparameters="fixed"))
    known.replace_history(optimizer.history)
    assert math.isfinite(known.certificate(UCBbr(0.05)).bound)


def test_a_declared_model_knows_without_data() -> None:
    kernel = Matern52(lengthscales=[1.0, 0.3, 0.3], outputscale=1.0)
    optimizer = told(surrogate=GaussianProcess(hyperparameters="fixed", kernel=kernel, noise_std=0.01, mean=0.0))
    assert math.isfinite(optimizer.certificate(UCBbr(0.05)).bound)


def test_a_branch_with_fewer_points_needs_no_more_than_it_has() -> None:
    space = Space({"x": Float(0, 1), "c": Categorical([False, True]), "k": Int(0, 1)}, when={"k": {"c": [True]}})
    optimizer = GPUCB(space, seed=0)
    for k in range(8):
        optimizer.tell({"x": k / 8, "c": False}, -((k - 3) ** 2))
    assert "'k': 0 of at least 5" in optimizer.certificate(UCBbr(0.05)).reason  # x varies in the branch, too
    space = Space(
        {"c": Categorical([False, True]), "j": Int(0, 9), "k": Int(0, 1)},
        when={"k": {"c": [True]}, "j": {"c": [False]}},
    )
    optimizer = GPUCB(space, seed=0)
    for j in range(8):
        optimizer.tell({"c": False, "j": j}, -((j - 3) ** 2))
    assert "'k': 0 of at least 2" in optimizer.certificate(UCBbr(0.05)).reason
