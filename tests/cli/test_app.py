import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

from bayesdp import __version__
from bayesdp.cli import run
from bayesdp.cli.app import app
from bayesdp.queries import Query

MARKOV = {
    "type": "markov",
    "states": ["idle", "active"],
    "transition": [[0.882, 0.118], [0.305, 0.695]],
    "length": 15264,
    "start": "stationary",
}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    documents: dict[str, Any] = {
        "markov": MARKOV,
        "numbered": MARKOV | {"states": [0, 1]},
        "texts": MARKOV | {"states": ["0", "1"]},
        "both": MARKOV | {"states": [1, "1"]},
        "truth": MARKOV | {"states": [False, True]},
        "gaussian": {"type": "gaussian", "correlation": 0.275, "size": 3},
        "groups": {"type": "arbitrary", "size": 3},
        "series": {"type": "odds-series", "odds": [5.84, 1.25, 1.44], "additive": True, "states": [0, 1]},
        "network": {"type": "network", "edges": [[0, 1, 4], [1, 2, 4], [0, 2, 2]], "records": 3, "additive": True},
        "unnamed": {"type": "odds-series", "odds": [5.84], "additive": True},
        "unsure": {"type": "any-of", "models": [MARKOV, {"type": "independent"}]},
    }
    for name, document in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "binary.json").write_bytes(bytes(range(256)))
    (tmp_path / "nothing.csv").write_bytes(b"")
    (tmp_path / "bytes.csv").write_bytes(bytes(range(256)))
    return tmp_path


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = run(arguments)
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert printed.err == ""
    return printed.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = run(arguments)
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("bayesdp: ")
    assert "Traceback" not in printed.err
    return printed.err


def test_leakage(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(models / "markov.json")
    text = answered(capsys, "leakage", model, "--query", "count", "--states", "active", "--tau", "1")
    assert "leaks at most ε = 3.47488" in text
    assert "9.04603" in text
    out = answered(capsys, "leakage", model, "--query", "count", "--states", "active", "--tau", "1", "--json")
    document = json.loads(out)
    assert document["epsilon"] == pytest.approx(3.474873, abs=1e-6)
    assert document["theorem"] in ("markov-mixing", "markov-count")
    rows = {row["theorem"]: row for row in document["theorems"]}
    assert rows["markov-paper"]["epsilon"] == pytest.approx(9.046, abs=6e-4)
    assert rows["general"]["applies"]
    assert not rows["gaussian-tight"]["applies"]


def test_leakage_to_one_adversary(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("leakage", str(models / "markov.json"), "--query", "count", "--states", "active", "--tau", "1")
    worst = json.loads(answered(capsys, *asked, "--json"))
    one = json.loads(answered(capsys, *asked, "--target", "5", "--known", "6, 3", "--json"))
    assert one["adversary"] == {"target": 5, "known": [3, 6]}
    assert "adversary" not in worst
    assert one["epsilon"] < worst["epsilon"]
    said = answered(capsys, *asked, "--target", "5")
    assert "one who knows no other record and asks about record 5" in said
    assert "not a guarantee" in said


def test_calibrate(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(models / "gaussian.json")
    arguments = ("calibrate", model, "--query", "sum", "--bounds", "0", "100")
    document = json.loads(answered(capsys, *arguments, "--epsilon", "1", "--json"))
    assert document["tau"] == pytest.approx(1 / 1.55, abs=1e-6)
    assert document["alpha"] == pytest.approx(464.34, abs=0.01)
    document = json.loads(answered(capsys, *arguments, "--alpha", "464.34", "--beta", "0.05", "--json"))
    assert document["epsilon"] == pytest.approx(1, abs=1e-4)
    assert "off by less than" in answered(capsys, *arguments, "--epsilon", "1")


def test_compare(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        "compare",
        str(models / "markov.json"),
        "--query",
        "count",
        "--states",
        "active",
        "--epsilon",
        "0.5,1,10",
    )
    assert "45726.9" in answered(capsys, *arguments)
    picture = models / "picture.png"
    rows = json.loads(answered(capsys, *arguments, "--json", "--plot", str(picture)))["rows"]
    assert {(row["theorem"], row["epsilon"]) for row in rows} >= {("general", 0.5), ("markov-paper", 10.0)}
    assert picture.exists()


def test_a_picture_does_not_overwrite_the_model(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disguised = models / "model.svg"
    disguised.write_text(json.dumps(MARKOV))
    asked = ("--query", "count", "--states", "active", "--epsilon", "1", "--plot", str(disguised))
    assert "is an input" in refused(capsys, "compare", str(disguised), *asked)
    assert json.loads(disguised.read_text()) == MARKOV


def test_other_queries(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = str(models / "groups.json")
    mean = ("--query", "mean", "--bounds", "-5", "5", "--size", "100", "--epsilon", "3", "--json")
    assert json.loads(answered(capsys, "calibrate", groups, *mean))["scale"] == 0.1
    cells = ("--query", "histogram", "--states", "a,b,c", "--epsilon", "3", "--json")
    assert json.loads(answered(capsys, "calibrate", groups, *cells))["scale"] == 2
    filtered = ("--query", "sum", "--bounds", "40", "100", "--where", "x > 70", "--epsilon", "3", "--json")
    assert json.loads(answered(capsys, "calibrate", groups, *filtered))["scale"] == 100
    public = (*filtered, "--public-filter", "--column", "x")
    assert json.loads(answered(capsys, "calibrate", groups, *public))["scale"] == 60


@pytest.mark.parametrize(
    ("model", "states"),
    [
        ("numbered", "1"),
        ("texts", "1"),
        ("truth", "true"),
        ("truth", "True"),
        ("both", '"1"'),
        ("both", "1"),
        ("unsure", "active"),
    ],
)
def test_states_are_found_whatever_their_type(
    models: Path, capsys: pytest.CaptureFixture[str], model: str, states: str
) -> None:
    query = ("--query", "count", f"--states={states}", "--tau", "1", "--json")
    assert json.loads(answered(capsys, "leakage", str(models / f"{model}.json"), *query))["epsilon"] > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("leakage", "Missing argument 'MODEL.json'"),
        ("nonsense", "No such command 'nonsense'"),
        ("leakage nowhere.json --query count --states 1 --tau 1", "cannot read nowhere.json: No such file"),
        ("leakage {empty} --query count --states 1 --tau 1", "empty.json is empty; expected a JSON object"),
        ("leakage {binary} --query count --states 1 --tau 1", "binary.json is not UTF-8 text"),
        ("leakage {folder} --query count --states 1 --tau 1", "cannot read"),
        ("leakage {markov} --query count --states active", "say how private the release is: --tau"),
        (
            "leakage {markov} --query count --tau 1",
            'a count needs --states, the values to count: some of "idle", "acti',
        ),
        ("leakage {numbered} --query count --tau 1", "a count needs --states, the values to count: some of 0, 1"),
        ("leakage {groups} --query histogram --tau 1", "a histogram needs --states, the values to count, such as"),
        (
            "leakage {zeros} --query count --tau 1",
            "/dev/zero is larger than 64 MiB; expected a JSON document that bayesdp wrote",
        ),
        ("statement {zeros}", "/dev/zero is larger than 64 MiB"),
        (
            "fit {zeros} --model markov --state s --order-by t",
            "cannot read '/dev/zero': not a known kind of table; expected",
        ),
        ("fit {nothing} --model markov --state s --order-by t", "nothing.csv: it is empty; expected a first line with"),
        ("fit {bytes} --model markov --state s --order-by t", "bytes.csv is not UTF-8; save it in that encoding"),
        (
            "fit {folder} --model markov --state s --order-by t",
            "is a folder without .parquet files; name the files in it",
        ),
        ("fit nowhere.csv --model markov --state s --order-by t", "cannot read nowhere.csv: there is no such file"),
        ("leakage {markov} --query mode --tau 1", f"--query must be one of {', '.join(Query.kinds())}, not 'mode'"),
        ("leakage {markov} --query count --states run --tau 1", "'run' is not a state of the chain"),
        ("leakage {markov} --query count --states active,,idle --tau 1", "without empty entries"),
        ("leakage {markov} --query count --states active --tau one", "--tau must be a number, not 'one'"),
        ("leakage {markov} --query count --states active --tau nan", "tau must be a finite number"),
        ("leakage {markov} --query count --states active --tau 0", "tau must be greater than 0"),
        (
            "leakage {markov} --query count --states active --tau 1 --bounds 0 1",
            "--bounds goes with sum, mean and varia",
        ),
        ("leakage {markov} --query count --states active --tau 1 --size 3", "--size goes with mean"),
        ("leakage {markov} --query count --states active --tau 1 --known 3", "--known requires --target"),
        ("leakage {markov} --query count --states active --tau 1 --target x", "--target must be a whole number"),
        ("leakage {markov} --query count --states active --tau 1 --target -1", "--target must be at least 0"),
        ("leakage {markov} --query count --states active --tau 1 --target 2 --known 1,,3", "without empty entries"),
        ("leakage {markov} --query count --states active --tau 1 --target 2 --known 2", "both the target and known"),
        ("calibrate {gaussian} --query sum --epsilon 1", "a sum needs --bounds LOW HIGH"),
        ("calibrate {gaussian} --query sum --bounds 1 0 --epsilon 1", "low < high"),
        ("calibrate {gaussian} --query sum --bounds 0 x --epsilon 1", "--bounds must be a number, not 'x'"),
        ("calibrate {gaussian} --query sum --bounds 0 1 --states a --epsilon 1", "--states goes with count"),
        ("calibrate {gaussian} --query sum --bounds 0 1", "give either --epsilon or --alpha"),
        ("calibrate {gaussian} --query sum --bounds 0 1 --epsilon 1 --alpha 2", "give either --epsilon or --alpha"),
        ("calibrate {gaussian} --query sum --bounds 0 1 --epsilon -1", "epsilon must be greater than 0"),
        ("calibrate {gaussian} --query sum --bounds 0 --epsilon 1", "--bounds needs two numbers, LOW HIGH"),
        ("calibrate {gaussian} --query sum --bounds --epsilon 1", "--bounds needs two numbers, LOW HIGH"),
        ("calibrate {gaussian} --query sum --epsilon 1 --bounds 0", "'--bounds' requires 2 arguments"),
        ("calibrate {gaussian} --query mean --bounds 0 1 --size 1.5 --epsilon 1", "--size must be a whole number"),
        ("calibrate {gaussian} --query mean --bounds 0 1 --epsilon 1", "records: give it as --size N"),
        ("compare {markov} --query count --states active --epsilon 1,two", "--epsilon must be a number, not 'two'"),
        ("compare {markov} --query count --states active --epsilon 1 --plot x.doc", ".png, .svg or .pdf"),
        ("compare {markov} --query count --states active --epsilon ,", "comma-separated"),
        ("compare {markov} --query count --states active --epsilon 1 --plot /nonexistent/x.png", "cannot write"),
    ],
)
def test_mistakes_get_one_clear_line_and_status_two(
    models: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    paths = {path.stem: str(path) for path in models.iterdir()} | {"folder": str(models), "zeros": "/dev/zero"}
    assert message in refused(capsys, *arguments.format(**paths).split())


@pytest.mark.parametrize("states", ["a\nb", "a\rb", "[" * 100_000, '"', '{"a": 1}'])
def test_hostile_states_get_one_line(models: Path, capsys: pytest.CaptureFixture[str], states: str) -> None:
    model = str(models / "markov.json")
    assert len(refused(capsys, "leakage", model, "--query", "count", f"--states={states}", "--tau", "1")) < 500


def test_states_are_known_to_the_model(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A histogram has all states for cells, and of a chain of false and true the true ones are counted."""

    def leaked(model: str, *query: str) -> dict[str, Any]:
        asked = ("leakage", str(models / f"{model}.json"), "--query", *query, "--tau", "1", "--json")
        document: dict[str, Any] = json.loads(answered(capsys, *asked))
        return document

    for model, states in (("markov", "idle,active"), ("numbered", "0,1"), ("unsure", "idle,active")):
        assert leaked(model, "histogram") == leaked(model, "histogram", "--states", states)
    assert leaked("truth", "count") == leaked("truth", "count", "--states", "true")
    assert leaked("truth", "histogram") == leaked("truth", "histogram", "--states", "false,true")


def test_a_model_may_come_through_a_pipe(models: Path) -> None:
    """As by <(...) in a shell, which names a pipe that does not say how much it holds."""
    asked = ["leakage", "/dev/stdin", "--query", "count", "--states", "active", "--tau", "1", "--json"]
    for content, status in ((json.dumps(MARKOV), 0), ("", 2), (" " * (64 * 2**20 + 1), 2)):
        done = subprocess.run(
            [sys.executable, "-m", "bayesdp", *asked], input=content, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        assert done.stderr.count("\n") == (1 if status else 0)


@pytest.mark.slow
def test_a_table_of_a_million_rows_is_fitted_and_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = str(tmp_path / "t.csv.gz"), str(tmp_path / "m.json")
    rows = "".join(f"{2 * i};{i % 3 // 2}\n{2 * i + 1};{i % 5 // 3}\n" for i in range(500_000))
    Path(table).write_bytes(gzip.compress(f"t;s\n{rows}".encode(), compresslevel=1))
    fitted = answered(capsys, "fit", table, "--model", "markov", "--state", "s == 1", "--order-by", "t", "-o", model)
    assert "at most 1000000 records long" in fitted
    assert f"The model is in {model}." in fitted
    answered(capsys, "leakage", model, "--query", "count", "--tau", "0.1")


def test_states_written_as_text_match_a_column_of_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = [0, 1, 0, 0, 1, 1, 0, 1] * 10
    for name, column, states in (
        ("numbers", pl.Series("s", values), ["0", "1"]),
        ("texts", pl.Series("s", map(str, values)), [0, 1]),
    ):
        table, model = str(tmp_path / f"{name}.parquet"), str(tmp_path / f"{name}.json")
        pl.DataFrame([column, pl.Series("t", range(80))]).write_parquet(table)
        layout = {"order_by": ["t"]}
        Path(model).write_text(json.dumps(MARKOV | {"states": states, "column": "s", "layout": layout}))
        assert json.loads(answered(capsys, "diagnose", model, table, "--json"))["records"] == 80
        asked = ("--model", model, "--query", "count", "--states", "1", "--epsilon", "40", "--budget", "50", "--json")
        ledger = ("--ledger", str(tmp_path / f"{name}.db"), "--dataset", name, "--accept-violated", "a test")
        assert run(["release", table, *asked, *ledger]) == 0
        assert abs(json.loads(capsys.readouterr().out)["value"] - 40) < 40


def test_an_output_that_cannot_be_written_is_said(models: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bayesdp", "--help"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(capsys, "--version").strip() == __version__
    assert answered(capsys) == answered(capsys, "--help")
    assert "Compute what a τ-DP release leaks." in answered(capsys, "--help")
    for command in ("leakage", "calibrate", "compare"):
        assert "--query" in answered(capsys, command, "--help")


@pytest.mark.parametrize("name", [(), ("budget",), ("fit",), ("budget", "show")])
def test_a_mistyped_option_names_the_help_of_the_command(
    name: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *name, "--nonsense")
    assert said.endswith(f"; see {' '.join(['bayesdp', *name])} --help\n")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("leakage --state a", "No such option: --state (did you mean --states?); see"),
        ("calibrate --epsilom 1", "No such option: --epsilom (did you mean --epsilon?); see"),
        ("release --eps 1", "No such option: --eps (did you mean --epsilon?); see"),
        ("leek", "No such command 'leek'; see"),
        ("leak", "No such command 'leak' (did you mean leakage?); see"),
        ("budget shwo", "No such command 'shwo' (did you mean show?); see"),
        ("leakage --seed 3", "No such option: --seed; see"),
        ("fit --epsilon 1", "No such option: --epsilon; see"),
        ("reproduce --states a", "No such option: --states; see"),
        ("xyzzy", "No such command 'xyzzy'; see"),
    ],
)
def test_only_a_close_word_is_suggested(line: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert meant in refused(capsys, *line.split())


def commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


EVERY = dict(commands(typer.main.get_command(app)))


def test_there_are_all_commands() -> None:
    assert {("release",), ("statement",), ("reproduce",), ("budget", "export"), ("budget", "raise")} <= set(EVERY)


ANSWERS_NOTHING = {("explore",)}
"""Commands that answer in a page of the browser, and print an address only."""


@pytest.mark.parametrize("name", sorted(EVERY.keys() - ANSWERS_NOTHING))
def test_every_command_takes_json(name: tuple[str, ...]) -> None:
    assert any("--json" in parameter.opts for parameter in EVERY[name].params)


@pytest.mark.parametrize("name", [(), ("budget",), *EVERY])
def test_every_command_has_help(name: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    said = answered(capsys, *name, "--help")
    assert said == answered(capsys, *name, "-h")
    assert "-h, --help" in said
    assert "..." not in said.replace("]...", "]").replace("}...", "}"), "a sentence was cut"


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(capsys, "budget") == answered(capsys, "budget", "--help")


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from bayesdp.cli import run; run(['--help']); "
        "print(sorted({'numpy', 'scipy', 'matplotlib', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines()[-1] == "[]"


def test_the_installed_command_runs_as_a_module(models: Path) -> None:
    model = str(models / "markov.json")
    command = [
        sys.executable,
        "-m",
        "bayesdp",
        "leakage",
        model,
        "--query",
        "count",
        "--states",
        "active",
        "--tau",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii"})
    assert b"leaks at most" in done.stdout
    wrong = subprocess.run([*command[:-1], "-1"], capture_output=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stdout == b""


COUNTED = ("--query", "count", "--states", "active")


def test_leakage_in_epsilon_and_delta(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(models / "markov.json")
    reported = json.loads(answered(capsys, "leakage", model, *COUNTED, "--tau", "0.2441", "--delta", "1e-7", "--json"))
    assert reported["epsilon"] == pytest.approx(0.98, abs=0.02)
    assert 1e-7 < reported["delta"] < 1e-6
    assert (reported["tau"], reported["rho"], reported["noise"]) == (0.2441, None, None)
    by_rho = json.loads(answered(capsys, "leakage", model, *COUNTED, "--rho", "0.0014", "--delta", "1e-6", "--json"))
    assert (by_rho["delta"], by_rho["rho"], by_rho["noise"]) == (1e-6, 0.0014, "gaussian")
    foreign = ("--tau", "0.1", "--delta", "1e-6", "--neighbours", "add-remove", "--json")
    doubled = json.loads(answered(capsys, "leakage", model, "--query", "any-mechanism", *foreign))
    assert doubled["tau"] == 0.2
    for neighbours, noted in (((), True), (("--neighbours", "replace"), False)):
        assert run(["leakage", model, "--query", "any-mechanism", "--tau", "0.1", *neighbours]) == 0
        assert ("note: --tau is taken to be about replacing" in capsys.readouterr().err) == noted
    assert "δ is not the probability" in answered(
        capsys, "leakage", model, *COUNTED, "--rho", "0.001", "--delta", "1e-6"
    )
    one = answered(capsys, "leakage", model, *COUNTED, "--tau", "0.1", "--theorem", "markov-quilt", "--json")
    assert [each["theorem"] for each in json.loads(one)["theorems"]] == ["markov-quilt"]


def test_calibrate_in_epsilon_and_delta(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    promise = ("calibrate", str(models / "markov.json"), *COUNTED, "--epsilon", "1", "--delta", "1e-6")
    one, many = (json.loads(answered(capsys, *promise, *count, "--json")) for count in ((), ("--count", "100")))
    assert (one["noise"], many["noise"]) == ("laplace", "gaussian")
    assert one["tau"] == pytest.approx(0.2498, abs=1e-3)
    assert many["scale"] == pytest.approx((2 * many["rho"]) ** -0.5)
    insisted = json.loads(answered(capsys, *promise, "--noise", "gaussian", "--json"))
    assert insisted["rho"] == pytest.approx(100 * many["rho"])
    assert insisted["alpha"] > one["alpha"]
    assert "Gaussian noise of scale" in answered(capsys, *promise, "--count", "100")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("leakage M --rho 0.1", "--rho"),
        ("leakage M --tau 1 --rho 0.1 --delta 1e-6", "--tau and --rho are each the whole loss"),
        ("leakage M", "say how private the release is: --tau"),
        ("leakage M --tau 1 --delta 2", "--delta"),
        ("leakage M --tau x", "--tau must be a number, not 'x'"),
        ("leakage M --tau 1 --neighbours both", "--neighbours"),
        ("calibrate M --epsilon 1 --noise gaussian", "--delta"),
        ("calibrate M --epsilon 1 --delta 1e-6 --noise normal", "--noise"),
        ("calibrate M --epsilon 1 --delta 1e-6 --count 0", "--count must be at least 1"),
        ("calibrate M --epsilon 1 --theorem none", "there is no theorem 'none'"),
    ],
)
def test_mistakes_with_delta_get_one_clear_line(
    models: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    given = [str(models / "markov.json") if word == "M" else word for word in arguments.split()]
    said = refused(capsys, *given, *COUNTED)
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_compare_in_epsilon_and_delta(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    promises = ("compare", str(models / "markov.json"), *COUNTED, "--epsilon", "0.5,1", "--delta", "1e-6")
    rows = json.loads(answered(capsys, *promises, "--count", "50", "--theorem", "markov-mixing", "--json"))["rows"]
    assert [(row["epsilon"], row["noise"]) for row in rows] == [
        (epsilon, noise) for epsilon in (0.5, 1.0) for noise in ("laplace", "gaussian")
    ]
    assert "gaussian" in answered(capsys, *promises)


def test_effects_that_add_up_have_their_own_price(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--query", "count", "--states", "1", "--json")
    leaked = json.loads(answered(capsys, "leakage", str(models / "series.json"), *asked, "--tau", "0.2306"))
    assert leaked["theorem"] == "odds-ising"
    assert leaked["epsilon"] == pytest.approx(1.0, abs=1e-3)
    chosen = json.loads(answered(capsys, "calibrate", str(models / "series.json"), *asked, "--epsilon", "1"))
    assert chosen["theorem"] == "odds-ising"
    assert 1 / chosen["tau"] == pytest.approx(4.34, abs=0.005)
    around = json.loads(answered(capsys, "leakage", str(models / "network.json"), *asked, "--tau", "1"))
    assert around["theorem"] == "odds-ising"
    assert around["epsilon"] == pytest.approx(1.747139, abs=1e-6)
    lifted = answered(capsys, "leakage", str(models / "series.json"), *asked, "--tau", "0.2", "--delta", "1e-7")
    assert json.loads(lifted)["theorem"] == "odds-ising"
    assert "two values" in refused(capsys, "leakage", str(models / "unnamed.json"), *asked, "--tau", "1")
