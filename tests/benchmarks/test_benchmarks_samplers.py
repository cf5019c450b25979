"""The section on where to look next counts what the records say."""

from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.sections import samplers as section


def record(sampler: str, seed: int, regrets: list[float], **stops: tuple[int, float]) -> dict[str, Any]:
    ends = {rule: {"n": n, "regret": regret} for rule, (n, regret) in stops.items()}
    key = {"problem": "Branin", "sampler": sampler, "seed": seed, "trials": len(regrets)}
    return key | {"epsilon": 0.1, "regrets": regrets, "stops": ends}


def test_searches_are_counted_by_how_points_were_chosen(tmp_path: Path) -> None:
    """One comes within ε at 2 and is stopped rightly at 8; one is stopped falsely at 12; one does neither."""
    assert section.section(tmp_path) is None
    for one in (
        record("√β = 2", 0, [1.0, 0.05] + [0.2] * 10, UCBbr=(8, 0.05)),
        record("√β = 2", 1, [1.0] * 12, UCBbr=(12, 1.0), PRB=(8, 1.0)),
        record("√β = 2", 2, [1.0] * 12),
        record("matched", 0, [0.1] * 12),
    ):
        records.append(tmp_path / "samplers.jsonl.gz", one)
    found = section.section(tmp_path)
    assert found is not None
    assert found.shown.to_dict("records")[0] == {
        "points by": "√β = 2",
        "within ε": "1/3",
        "median": "∞",
        "best regret / ε, median": "10",
        "UCBbr: stopped, false": "2, 1",
        "median UCBbr stop": "12",
        "PRB: stopped, false": "1, 1",
        "median PRB stop": "∞",
    }
    assert found.tables["samplers"]["problem"].tolist() == ["all", "all", "Branin", "Branin"]
    assert found.tables["samplers"]["searches"].tolist() == [3, 1, 3, 1]
