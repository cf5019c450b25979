import pytest

for name in ("jinja2", "rich", "typer"):
    pytest.importorskip(name)
