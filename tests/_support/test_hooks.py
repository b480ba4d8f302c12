"""Hooks: a provider each, loaded when it is called; and those of the package are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayesdp
from bayesdp._support import hooks
from bayesdp.errors import BayesDPError, MissingDependencyError

CALLED = re.compile(r'hooks\.(?:call|resolve)\(\s*"([\w.]+)"')


@pytest.fixture
def no_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "_providers", {})


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module with a function, which is not loaded."""
    (tmp_path / "drawing_of_hooks.py").write_text("def draw(what, *, size=1):\n    return f'{what} of size {size}'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "drawing_of_hooks", raising=False)
    return "drawing_of_hooks"


@pytest.mark.usefixtures("no_hooks")
def test_a_provider_is_loaded_when_its_hook_is_called(module: str) -> None:
    hooks.register({"draw": f"{module}:draw"})
    assert hooks.providers() == {"draw": f"{module}:draw"}
    assert module not in sys.modules
    assert hooks.call("draw", "a chart", size=2) == "a chart of size 2"
    assert hooks.resolve("draw") is sys.modules[module].draw


@pytest.mark.usefixtures("no_hooks")
def test_a_hook_has_one_provider() -> None:
    hooks.register({"draw": "math:gcd"})
    hooks.register({"draw": "math:gcd"})
    with pytest.raises(BayesDPError, match="the hook 'draw' already has the provider math:gcd"):
        hooks.register({"draw": "math:lcm"})
    with pytest.raises(BayesDPError, match="the hook 'fit' has no provider"):
        hooks.call("fit")


def test_every_hook_called_has_a_provider_that_exists() -> None:
    source = Path(bayesdp.__file__).parent
    called = {hook for path in source.rglob("*.py") for hook in CALLED.findall(path.read_text(encoding="utf-8"))}
    assert called == set(hooks.providers())
    assert all(callable(hooks.resolve(hook)) for hook in called)


def test_importing_any_module_names_the_providers_and_loads_none() -> None:
    program = (
        "import sys, bayesdp.errors; from bayesdp._support.hooks import providers; "
        "print(len(providers()), {address.partition(':')[0] for address in providers().values()} & {*sys.modules})"
    )
    reported = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert reported == f"{len(hooks.providers())} set()\n"


def test_a_module_of_the_whole_package_that_is_missing_is_named() -> None:
    with pytest.raises(MissingDependencyError, match=r"Thing needs the whole bayesdp.*: pip install bayesdp"):
        hooks.load("bayesdp.not_here.either:Thing")
    with pytest.raises(ModuleNotFoundError, match="not_anywhere"):
        hooks.load("not_anywhere:Thing")
