"""What an adapter says where its framework is missing."""

import subprocess
import sys

import pytest

# An import fails because there is no such module, or because its own imports fail.
ABSENT = "sys.modules[{0!r}] = None"
BROKEN = """
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {0!r}:
            raise ImportError("a part of it is missing")
sys.meta_path.insert(0, Broken())
"""
IMPORTED = """
import sys
{0}
try:
    import regretstop_{1}{2}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("refusal", [ABSENT, BROKEN], ids=["absent", "broken"])
@pytest.mark.parametrize("module", ["", ".matplotlib"], ids=["package", "matplotlib"])
@pytest.mark.parametrize(
    ("framework", "extra", "words"),
    [("ray", "ray", "Ray Tune"), ("skopt", "skopt", "scikit-optimize"), ("gpytorch", "gpytorch", "GPyTorch")],
)
def test_it_names_the_extra_to_install(framework, extra, words, module, refusal):
    module = ".surrogate" if (framework, module) == ("gpytorch", ".matplotlib") else module
    script = IMPORTED.format(refusal.format(framework), extra, module)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == f"regretstop_{extra} needs {words}: pip install 'regretstop[{extra}]'"
