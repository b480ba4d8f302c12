"""The Python and the commands below a screen give its numbers: both are run."""

import json
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

from bayesdp import GaussianGroups
from bayesdp.cli import run
from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.page_text import PageText, wanted_of
from bayesdp.explorer.priced_assumptions import PricedAssumptions, priced_assumptions_of
from bayesdp.explorer.view import Findings, done, next_job, together

NOTHING = ExploredFile.of(None)

SCREENS = [
    Choices(assumed="groups"),
    Choices(assumed="groups", start="alpha", alpha="25", beta="0.1", values='"a, b", it\'s'),
    Choices(assumed="odds", kind="proportion", epsilon="0.3"),
    Choices(assumed="odds", kind="histogram", values="true,false", beta="0.01"),
    Choices(assumed="normal", kind="sum", low="-1234567.5", high="1234567.25"),
    Choices(assumed="normal", kind="mean", start="alpha", alpha="0.125"),
    Choices(assumed="normal", kind="variance", size="12"),
    Choices(assumed="independent", kind="sum"),
]


def complete(
    explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None = None
) -> tuple[PageText, Findings]:
    """Return a screen with nothing left to compute."""
    from bayesdp.explorer.page_text import page_text

    wanted = wanted_of(explored, choices, priced_assumptions)
    findings = Findings.about(wanted)
    while (job := next_job(findings, wanted)) is not None:
        findings = together(findings, done(job))
    return page_text(explored, choices, priced_assumptions, findings), findings


def compare_rows(rows: Sequence[tuple[str, float, float | None]], findings: Findings) -> None:
    """Compare the errors under every theorem, where there are any, with those of the chart."""
    assert findings.comparison is not None
    drawn = {(row.theorem, row.epsilon): row.alpha for row in findings.comparison.rows if row.alpha is not None}
    assert drawn == pytest.approx({row[:2]: row[2] for row in rows if row[2] is not None}, rel=1e-6)


def compare_python(shown: PageText, findings: Findings) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(shown.python, "screen", "exec"), namespace)
    assert shown.figures is not None
    ours, plain = namespace["ours"], namespace["plain"]
    assert ours.tau == shown.figures.ours.belief.tau
    assert ours.leakage.epsilon == shown.figures.ours.belief.epsilon
    assert ours.accuracy(ours.beta) == shown.figures.ours.alpha
    assert plain.epsilon == shown.figures.plain.belief.epsilon
    rows = [(row.theorem, row.epsilon, row.alpha) for row in namespace["every"].rows]
    compare_rows(rows, findings)


def compare_shell(shown: PageText, findings: Findings, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reported: dict[str, Any] = {}
    for line in shown.shell.splitlines():
        if line.startswith("echo "):
            subprocess.run(["sh", "-c", line], cwd=folder, check=True)
            continue
        program, command, *rest = shlex.split(line)
        assert program == "bayesdp"
        capsys.readouterr()
        assert run([command, *rest, "--json"]) == 0
        reported[command] = json.loads(capsys.readouterr().out)
    assert shown.figures is not None
    assert reported["calibrate"]["tau"] == shown.figures.ours.belief.tau
    assert reported["calibrate"]["alpha"] == shown.figures.ours.alpha
    if "leakage" in reported:
        assert reported["leakage"]["epsilon"] == shown.figures.plain.belief.epsilon
    rows = [(row["theorem"], row["epsilon"], row["alpha"]) for row in reported["compare"]["rows"]]
    compare_rows(rows, findings)


def check(
    explored: ExploredFile,
    choices: Sequence[Choices],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    priced_assumptions: Any = None,
) -> None:
    for chosen in choices:
        shown, findings = complete(explored, chosen, priced_assumptions)
        assert shown.problem == ""
        assert not shown.waiting
        compare_python(shown, findings)
        compare_shell(shown, findings, folder, capsys)


@pytest.mark.parametrize("choices", SCREENS)
def test_assumptions(
    choices: Choices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    check(NOTHING, [choices], tmp_path, capsys)


@pytest.mark.slow
def test_a_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    check(NOTHING, [Choices(length="20"), Choices(length="20", start="alpha", kind="sum")], tmp_path, capsys)


def test_a_model_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "it's a model.json"
    path.write_text(GaussianGroups(covariance=[[1, 0.3], [0.3, 2]]).to_json())
    explored = ExploredFile.of(path)
    check(explored, [explored.start], tmp_path, capsys)


@pytest.mark.slow
def test_every_priced_assumption_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "families.csv"
    heights = [100 + (family * 7 + child * 3) % 11 + family % 5 for family in range(60) for child in range(3)]
    polars.DataFrame({"family": [f for f in range(60) for _ in range(3)], "height": heights}).write_csv(path)
    explored = ExploredFile.of(path)
    chosen = Choices(kind="sum", column="height", low="0", high="200", group="family")
    priced_assumptions = priced_assumptions_of(explored, chosen)
    assumptions = [replace(chosen, assumption=each.name) for each in priced_assumptions.shown if each.possible]
    assert len(assumptions) >= 3
    check(explored, assumptions, tmp_path, capsys, priced_assumptions)
