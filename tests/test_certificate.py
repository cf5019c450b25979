"""The certificate: its words, its dictionary, its decision."""

import json
import math
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regretstop import (
    Asked,
    Certificate,
    Claim,
    DataSeen,
    GapClaim,
    ModelReport,
    Noise,
    ProbabilityLeft,
    RiskSpent,
)
from regretstop.rules._estimate import verdict
from tests.changes import changed

# Reserved in terms, as the words for numbers that JSON does not have.
NON_FINITE = ("inf", "-inf", "nan")
CERTIFICATE = Certificate(
    asked=Asked(rule="OptimalityGap", epsilon=0.05, delta=0.07),
    claim=Claim(
        bound=0.0123,
        guarantee="model",
        incumbent=17,
        incumbent_value=0.93123,
        maximum="searched",
        reason="the bound is below ε",
        terms={"sqrt_beta": 2.0, "tests": 3},
    ),
    gap=GapClaim(bound=0.0123, guarantee="model", incumbent=17),
    data=DataSeen(n_observations=41, n_excluded=2),
)
NO_BOUND = changed(
    CERTIFICATE,
    bound=math.inf,
    incumbent=None,
    incumbent_value=None,
    n_observations=1,
    n_excluded=0,
    optimality_gap=math.inf,
    optimality_gap_incumbent=None,
    reason="too few observations",
    terms={},
    maximum=None,
)


@pytest.mark.parametrize(("bound", "stop"), [(0.0499, True), (0.05, False), (math.inf, False), (math.nan, False)])
def test_it_stops_below_epsilon_only(bound: float, stop: bool) -> None:
    assert changed(CERTIFICATE, bound=bound).stop is stop


def test_it_cannot_be_changed_and_is_a_value() -> None:
    with pytest.raises(FrozenInstanceError):
        CERTIFICATE.bound = 0.0  # pyright: ignore[reportAttributeAccessIssue]
    assert pickle.loads(pickle.dumps(CERTIFICATE)) == CERTIFICATE
    assert len({CERTIFICATE, replace(CERTIFICATE)}) == 1


# ---------------------------------------------------------------------------------- dictionary


def test_the_dictionary() -> None:
    data = CERTIFICATE.to_dict()
    assert data["version"] == 2
    assert data["stop"] is True
    assert data["terms"] == {"sqrt_beta": 2.0, "tests": 3}
    assert (data["maximum"], data["risk"]) == ("searched", None)
    assert NO_BOUND.to_dict()["bound"] == "inf"


@given(
    bound=st.floats(allow_nan=False),
    incumbent=st.none() | st.integers(0),
    value=st.none() | st.floats(allow_nan=False),
    guarantee=st.sampled_from(["theorem", "model", "heuristic"]),
    terms=st.dictionaries(
        st.text(),
        st.one_of(st.floats(allow_nan=False), st.integers(), st.sampled_from(["enumerated", "searched"])),
    ),
)
def test_it_survives_strict_json(
    bound: float, incumbent: int | None, value: float | None, guarantee: Any, terms: dict[str, Any]
) -> None:
    certificate = changed(
        CERTIFICATE,
        bound=bound,
        guarantee=guarantee,
        incumbent=incumbent,
        incumbent_value=value,
        terms=terms,
    )
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == certificate


def test_numpy_scalars_become_plain_numbers() -> None:
    certificate = changed(
        CERTIFICATE,
        bound=np.float64(0.5),
        incumbent=np.int64(3),
        terms={"jitter": np.float64(math.nan), "n": np.int64(2)},
    )
    data = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert data["terms"] == {"jitter": "nan", "n": 2}
    assert data["stop"] is False
    assert np.isnan(Certificate.from_dict(data).terms["jitter"])


@pytest.mark.parametrize("version", [None, 0, 3, "1"])
def test_an_unknown_version(version: Any) -> None:
    with pytest.raises(ValueError, match=f"version must be 1 or 2, got version={version!r}"):
        Certificate.from_dict({**CERTIFICATE.to_dict(), "version": version})


def test_a_damaged_dictionary() -> None:
    data = CERTIFICATE.to_dict()
    del data["bound"], data["terms"]
    with pytest.raises(ValueError, match="got none for bound, terms"):
        Certificate.from_dict(data)
    with pytest.raises(ValueError, match=r"guarantee must be one of .* got guarantee='proof'"):
        Certificate.from_dict({**CERTIFICATE.to_dict(), "guarantee": "proof"})


# ---------------------------------------------------------------------------------- parts

NUMBER = st.floats(allow_nan=False)
COUNT = st.integers(0, 10**6)
PARTS: dict[str, st.SearchStrategy[Any]] = {
    "maximum": st.sampled_from([None, "enumerated", "searched", "evaluated"]),
    "risk": st.none() | st.builds(RiskSpent, schedule=st.text(), risk=NUMBER, spent=NUMBER, test_risk=NUMBER,
                                  slope_risk=NUMBER, model_risk=NUMBER),
    "model": st.none() | st.builds(ModelReport, n_samples=COUNT, sampling=st.sampled_from([None, "HMC", "mode"]),
                                   n_transitions=st.none() | COUNT, n_divergent=st.none() | COUNT,
                                   acceptance=st.none() | NUMBER, n_residuals=COUNT, residual_rms=st.none() | NUMBER,
                                   inflation=NUMBER),
    "noise": st.none() | st.builds(Noise, noise_std=NUMBER, jitter_std=NUMBER),
    "left": st.none() | st.builds(ProbabilityLeft, probability=NUMBER, n_paths=COUNT),
    "test": st.none() | COUNT,
    "next_test": st.none() | COUNT,
}  # fmt: skip


@given(st.fixed_dictionaries(PARTS).filter(lambda parts: getattr(parts["risk"], "schedule", "") not in NON_FINITE))
def test_parts_survive_strict_json(parts: dict[str, Any]) -> None:
    certificate = changed(CERTIFICATE, **parts)
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == certificate


@pytest.mark.parametrize("part", ["risk", "left", "model"])
def test_a_damaged_part(part: str) -> None:
    for damaged in ({}, "0.5", [1]):
        with pytest.raises(ValueError, match=f"{part} must"):
            Certificate.from_dict({**CERTIFICATE.to_dict(), part: damaged})


def test_an_unknown_maximum() -> None:
    with pytest.raises(ValueError, match=r"maximum must be one of .* got maximum='guessed'"):
        Certificate.from_dict({**CERTIFICATE.to_dict(), "maximum": "guessed"})


# ---------------------------------------------------------------------------------- version 1

OWN = {"sqrt_beta": 2.0, "log_n_grid": "inf"}
IN_1: dict[str, tuple[dict[str, Any], Any]] = {
    "maximum": ({"maximum": "enumerated"}, "enumerated"),
    "risk": (
        {"schedule": "tests", "risk": 0.1, "risk_spent": 0.2, "test_risk": 0.3, "slope_risk": 0.4, "model_risk": 0.0},
        RiskSpent(schedule="tests", risk=0.1, spent=0.2, test_risk=0.3, slope_risk=0.4, model_risk=0.0),
    ),
    "model": ({"n_samples": 1}, ModelReport(n_samples=1)),
    "noise": ({"noise_std": 0.5, "jitter_std": 1e-6}, Noise(noise_std=0.5, jitter_std=1e-6)),
    "left": ({"probability_left": 0.25, "paths": 64}, ProbabilityLeft(probability=0.25, n_paths=64)),
    "test": ({"test": 7}, 7),
    "next_test": ({"next_test": 105}, 105),
}


def version_1(terms: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary as version 1 stored it: everything about a certificate's making in its terms."""
    data = {name: value for name, value in NO_BOUND.to_dict().items() if name not in IN_1}
    return {**data, "version": 1, "terms": {**OWN, **terms}}


@given(st.sets(st.sampled_from(sorted(IN_1))))
def test_what_version_1_had_among_its_terms_becomes_parts(there: set[str]) -> None:
    """Whatever an older certificate lacks, the rest is read, and the rule's own terms stay terms."""
    read = Certificate.from_dict(version_1({k: v for name in there for k, v in IN_1[name][0].items()}))
    for name, (_, part) in IN_1.items():
        assert getattr(read, name) == (part if name in there else None)
    assert read.terms == {"sqrt_beta": 2.0, "log_n_grid": math.inf}
    assert Certificate.from_dict(json.loads(json.dumps(read.to_dict(), allow_nan=False))) == read


@pytest.mark.parametrize("name", ["schedule", "risk", "risk_spent", "test_risk", "probability_left", "paths"])
def test_what_makes_up_no_whole_part_stays_a_term(name: str) -> None:
    (part,) = [part for part, (terms, _) in IN_1.items() if name in terms and part in ("risk", "left")]
    terms = {k: v for k, v in IN_1[part][0].items() if k != name}
    read = Certificate.from_dict(version_1(terms))
    assert getattr(read, part) is None
    assert terms.items() <= read.terms.items()
    assert "Risk" not in str(read)


def test_a_certificate_as_version_1_stored_it() -> None:
    """Its words are those that it had then."""
    stored = json.loads((Path(__file__).parent / "data" / "certificates_of_version_1.json").read_text("utf-8"))
    for each in stored:
        read = Certificate.from_dict(each["certificate"])
        assert (str(read), read.summary()) == (each["text"], each["summary"])
        assert str(Certificate.from_dict(read.to_dict())) == each["text"]


# ---------------------------------------------------------------------------------- words


def test_words_of_a_model_certificate() -> None:
    assert str(CERTIFICATE).splitlines() == [
        "Stop (OptimalityGap, ε = 0.05): the bound is below ε",
        "With probability at least 0.93, given the fitted model (its hyperparameters were estimated from the data),",
        "the optimum is at most 0.0123 better than trial 17 (observed value 0.9312).",
        "It rests on a maximum over the space that was searched for, not enumerated.",
        "Based on 41 observations; 2 left out (failed, not finite or without a place in the space).",
    ]


def test_words_of_a_theorem() -> None:
    text = str(changed(CERTIFICATE, guarantee="theorem", optimality_gap_guarantee="theorem"))
    assert "given the kernel and the noise you declared" in text
    assert "estimated" not in text


def test_words_of_a_heuristic_claim_no_probability_and_show_the_gap_beside_it() -> None:
    certificate = changed(
        CERTIFICATE,
        rule="UCBbr",
        guarantee="heuristic",
        optimality_gap=0.4,
        optimality_gap_incumbent=12,
    )
    assert str(certificate).splitlines() == [
        "Stop (UCBbr, ε = 0.05): the bound is below ε",
        "The rule estimates that the optimum is at most 0.0123 better than trial 17 (observed value 0.9312);",
        "no proof at these settings.",
        "Certified optimality gap: at most 0.4 for trial 12, with probability at least 0.93,",
        "given the fitted model (its hyperparameters were estimated from the data).",
        "It rests on a maximum over the space that was searched for, not enumerated.",
        "Based on 41 observations; 2 left out (failed, not finite or without a place in the space).",
    ]
    without_gap = str(changed(certificate, optimality_gap=math.inf))
    assert "Certified optimality gap: none." in without_gap
    assert "probability" not in without_gap


def test_words_without_a_bound_claim_nothing() -> None:
    text = str(NO_BOUND)
    assert text.splitlines() == [
        "Go on (OptimalityGap, ε = 0.05): too few observations",
        "Nothing can be said yet about how far the best trial is from the optimum.",
        "Based on 1 observation; 0 left out (failed, not finite or without a place in the space).",
    ]


def test_a_finite_bound_above_epsilon_goes_on_and_still_says_what_holds() -> None:
    text = str(changed(CERTIFICATE, bound=0.3, optimality_gap=0.3))
    assert text.startswith("Go on ")
    assert "at most 0.3 better than trial 17" in text


def test_rounding_never_claims_more() -> None:
    text = str(changed(CERTIFICATE, bound=0.01234500001, optimality_gap=0.0200001, delta=1e-6))
    assert "at most 0.01235 better" in text
    assert "at most 0.02001 for" in text
    assert "at least 0.9999," in text


def test_the_summary_is_one_line_that_claims_no_more_than_the_bound() -> None:
    said = changed(CERTIFICATE, bound=0.012341, guarantee="heuristic").summary()
    assert said == (
        "OptimalityGap estimates that the regret of trial 17 (value 0.93123) is at most 0.01235 < epsilon = 0.05 "
        "(delta = 0.07, guarantee: heuristic) after 41 evaluations."
    )
    assert "certifies" in CERTIFICATE.summary()


def test_the_summary_of_a_bound_that_is_not_below_epsilon_says_so() -> None:
    said = changed(CERTIFICATE, bound=0.2036, epsilon=0.01).summary()
    assert "is at most 0.2036, not below epsilon = 0.01 (" in said
    assert NO_BOUND.summary() == (
        "OptimalityGap says nothing of the regret of any trial after 1 evaluations: too few observations."
    )


numbers_of_any_size = st.floats(min_value=1e-300, max_value=1e300)
ONE_ABOVE = st.sampled_from([1.0, 1.0 + 1e-15, 1.0 + 1e-9, 1.0 - 1e-12, 1.00004])


@given(epsilon=numbers_of_any_size, ratio=ONE_ABOVE | st.floats(1e-3, 1e3))
def test_what_is_printed_compares_as_the_numbers_do(epsilon: float, ratio: float) -> None:
    bound = epsilon * ratio
    certificate = changed(CERTIFICATE, bound=bound, epsilon=epsilon)
    says_below = re.search(r"is at most (\S+) < epsilon = (\S+) ", certificate.summary())
    says_above = re.search(r"is at most (\S+), not below epsilon = (\S+) ", certificate.summary())
    found = says_below or says_above
    assert found is not None
    assert (says_below is not None) == certificate.stop == (float(found[1]) < float(found[2]))
    reason = re.fullmatch(r"the bound (\S+) is (not )?below ε = (\S+)", verdict(bound, epsilon))
    assert reason is not None
    assert (reason[2] is None) == certificate.stop == (float(reason[1]) < float(reason[3]))
    assert float(found[1]) >= bound  # fewer digits must not claim more


def test_jitter_is_named_as_the_noise_that_it_is() -> None:
    certificate = changed(CERTIFICATE, guarantee="theorem", noise=Noise(noise_std=0.0, jitter_std=2.73751e-6))
    assert str(certificate).splitlines()[1] == (
        "With probability at least 0.93, given the kernel and the noise you declared and noise of deviation 2.738e-06 "
        "on top, against rounding,"
    )
    assert "rounding" not in str(changed(certificate, noise=Noise(noise_std=0.1)))


def test_what_is_left_is_said_in_one_sentence() -> None:
    said = changed(CERTIFICATE, left=ProbabilityLeft(probability=0.03125, n_paths=64))
    sentence = "Estimated probability that something better by more than ε remains: 0.031 (64 posterior paths)."
    assert sentence in str(said).splitlines()
    assert said.summary() == f"{CERTIFICATE.summary()} {sentence.replace('ε', 'epsilon')}"
    assert (
        changed(CERTIFICATE, left=ProbabilityLeft(probability=0.0, n_paths=64))
        .summary()
        .endswith(": 0 (64 posterior paths).")
    )
    stored = json.loads(json.dumps(said.to_dict()))
    assert str(Certificate.from_dict(stored)) == str(said)


def test_a_count_is_not_said_more_exactly_than_it_is_known() -> None:
    small, some = (4.5e-17, "below 0.001"), (0.0123, "at most 0.012")
    for probability, words in (small, (0.0, "below 0.001"), some, (1.0, "at most 1")):
        said = changed(CERTIFICATE, left=ProbabilityLeft(probability=probability, n_paths=None))
        assert f"by more than ε remains: {words}, by the local maxima that are expected." in str(said)


def test_older_certificates_say_nothing_of_it() -> None:
    assert "Estimated probability" not in str(CERTIFICATE) + CERTIFICATE.summary()
    assert Certificate.from_dict(CERTIFICATE.to_dict()) == CERTIFICATE


# ---------------------------------------------------------------------------------- what it is about


def test_words_of_bounds_that_are_not_about_the_regret() -> None:
    heuristic = changed(CERTIFICATE, guarantee="heuristic", optimality_gap=0.4)
    improvement = changed(heuristic, rule="AcquisitionThreshold", measure="expected improvement")
    assert str(improvement).splitlines()[1:3] == [
        "The model expects one more evaluation to improve on trial 17 (observed value 0.9312) by at most 0.0123;",
        "that does not bound how much better the optimum is, and there is no proof at these settings.",
    ]
    assert improvement.summary().startswith(
        "AcquisitionThreshold estimates that the expected improvement on trial 17 (value 0.93123) is at most 0.0123 < "
    )
    change = changed(heuristic, rule="DeltaES", measure="regret change")
    assert str(change).splitlines()[1:3] == [
        "The rule estimates that the last observation changed the expected regret by at most 0.0123;",
        "that does not bound the regret of trial 17 (observed value 0.9312), and there is no proof at these settings.",
    ]
    assert "the last change of the expected regret at trial 17" in change.summary()


@pytest.mark.parametrize("measure", ["regret", "regret change", "expected improvement"])
def test_the_measure_is_stored(measure: Any) -> None:
    certificate = changed(CERTIFICATE, measure=measure)
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


def test_certificates_stored_without_a_measure_are_about_the_regret() -> None:
    data = CERTIFICATE.to_dict()
    assert data.pop("measure") == "regret"
    assert Certificate.from_dict(data) == CERTIFICATE
    with pytest.raises(ValueError, match=r"measure must be one of .* got measure='size'"):
        Certificate.from_dict({**data, "measure": "size"})


@pytest.mark.parametrize("delta", [1e-10, 1e-29, 1e-300])
def test_no_digits_make_a_certainty_of_a_small_risk(delta: float) -> None:
    said = str(replace(CERTIFICATE, asked=replace(CERTIFICATE.asked, delta=delta)))
    assert "at least 0.9999" in said
    assert "at least 1" not in said


@pytest.mark.parametrize("name", ["epsilon", "delta", "bound", "optimality_gap"])
@pytest.mark.parametrize("value", ["abc", None, True, [0.1]])
def test_what_is_no_number_is_no_certificate(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be a number, got {name}="):
        Certificate.from_dict({**CERTIFICATE.to_dict(), name: value})
