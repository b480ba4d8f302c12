"""bayesdp beside its peers, in one run: other libraries on the same data, other mechanisms on the same chains.

python benchmarks/peers.py [--rows N] [--large N] [--out DIR] [--short] [--part PART] [--write-docs [JSON …]]

Every library runs in an environment of its own, made here with pip and kept in --environments. One that cannot be
installed is a row of the table that says so. --short takes a few chains and no library, in less than a minute.
--out writes peers.md and peers.json; --write-docs puts both into docs/performance.md, of this run or of JSON files.
Ends with 1 if a mechanism with the same or a weaker promise needs less noise than our bound for that promise.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import bayesdp as bdp
from bayesdp.audit.lower_bounds import lower_bound
from bayesdp.experiments.data import activity_chain
from bayesdp.experiments.twins import ACTIVITY_COUNTS, ELECTRICITY_COUNTS
from bayesdp.models import MarkovChain
from peer_mechanisms.comparison import KNOWS_ANY, PEERS, Compared, compared, exceeded, two_state_chains
from shared.activities import activities
from shared.environments import environment
from shared.reporting import heading, report

EPSILONS = (0.2, 1.0, 5.0)
EPSILON = 1.0
REPEATS, SECONDS = 25, 10.0
MANY_STATES = (5, 17, 26, 51)
RECORDS = 10_000
ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- benchmarks/peers.py writes from here -->", "<!-- benchmarks/peers.py writes to here -->"
ANSWERS = ("count", "sum", "mean")
NEIGHBOURS = {"replace": "a replaced record", "add-remove": "a record more or less"}


@dataclass(frozen=True)
class Library:
    """A library, or a way of using it.

    worker:       the program that uses it, in `libraries`.
    requirements: what to install for it; None for the environment that runs this.
    audited:      whether its count is quick enough to be run some ten thousand times.
    row_by_row:   whether it goes through rows in Python; it is then not run on the large table.
    """

    name: str
    worker: str
    requirements: tuple[str, ...] | None
    audited: bool = True
    row_by_row: bool = False


PROMISED = "bayesdp, records a chain"
"""The one whose ε is a promise to every record; the others' is the τ of a mechanism."""

LIBRARIES = (
    Library(PROMISED, "with_bayesdp.py", None),
    Library("bayesdp, records independent", "with_bayesdp_independent.py", None),
    Library("OpenDP, vectors", "with_opendp.py", ("opendp[polars]",)),
    Library("OpenDP, Polars context", "with_opendp_polars.py", ("opendp[polars]",), audited=False),
    Library("diffprivlib", "with_diffprivlib.py", ("diffprivlib", "scikit-learn<1.7", "polars")),
    Library("PipelineDP, local", "with_pipelinedp.py", ("pipeline-dp", "polars"), row_by_row=True),
)


def interpreter(library: Library, environments: Path) -> str:
    """Return the Python of a library's environment, made if it is not there; RuntimeError says why it cannot be."""
    if library.requirements is None:
        return sys.executable
    return environment(library.requirements, environments)


def command(library: Library, python: str, *arguments: str) -> list[str]:
    return [python, str(Path(__file__).parent / "libraries" / library.worker), *arguments]


def quiet() -> dict[str, str]:
    """Return the environment of a worker: no bytecode beside its source, and no wall of warnings."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}


def records(chain: MarkovChain, rows: int) -> NDArray[np.int64]:
    """Return records of a chain of two states, run by run."""
    generator = np.random.default_rng(1)
    parts, drawn, state = [], 0, 0
    while drawn < rows:
        lengths = generator.geometric(1 - np.diag(chain.matrix)[[state, 1 - state] * 4096])
        parts.append(np.repeat([state, 1 - state] * 4096, lengths))
        drawn += int(lengths.sum())
    return np.concatenate(parts)[:rows].astype(np.int64)


def used(library: Library, environments: Path, chain: MarkovChain, file: Path, runs: int) -> dict[str, Any]:
    """Return what a library does with the data: time, memory, error, and what its answers leak.

    runs: how many outputs the audit looks at; with none there is no audit.
    """
    try:
        python = interpreter(library, environments)
        costs = measured(library, python, file)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        return {"library": library.name, "reason": str(error)}
    values = pl.read_parquet(file)["active"].to_numpy()
    truth = {"count": float(values.sum()), "sum": float(values.sum()), "mean": float(values.mean())}
    for name, answer in costs["answers"].items():
        answer["error"] = median(abs(value - truth[name]) for value in answer.pop("values"))
    tau = EPSILON * (2 if costs["neighbours"] == "add-remove" else 1)
    proven = (
        EPSILON
        if library.name == PROMISED
        else bdp.leakage(chain, bdp.AnyMechanism(), tau=tau, neighbours="replace").epsilon
    )
    leaks = {"proven": proven, "audited": audited(library, python, chain, runs) if library.audited and runs else None}
    return {"library": library.name, **costs, **leaks}


def measured(library: Library, python: str, file: Path) -> dict[str, Any]:
    """Return what the worker of a library measured; RuntimeError says why it failed."""
    given = command(library, python, "measure", str(file), str(EPSILON), str(REPEATS), str(SECONDS))
    done = subprocess.run(given, capture_output=True, text=True, check=False, env=quiet())
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def audited(library: Library, python: str, chain: MarkovChain, runs: int) -> float:
    """Return what the library's count leaks at least, from its outputs alone (95 % confidence)."""
    given = command(library, python, "audit", str(EPSILON))
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=quiet()) as worker,
    ):
        data, answers = Path(folder) / "in.npy", Path(folder) / "out.npy"

        def mechanism(table: NDArray[np.int64]) -> NDArray[np.float64]:
            assert worker.stdin is not None
            assert worker.stdout is not None
            np.save(data, np.asarray(table, dtype=np.int64))
            worker.stdin.write(f"{data} {answers}\n")
            worker.stdin.flush()
            if worker.stdout.readline().strip() != "done":
                raise RuntimeError(f"the worker of {library.name} stopped")
            return np.asarray(np.load(answers))

        bound = lower_bound(mechanism, chain, bdp.Count("active", equals=1), runs=runs, vectorised=True, seed=1)
        assert worker.stdin is not None
        worker.stdin.close()
    return bound.epsilon


def libraries(chosen: Sequence[Library], rows: int, runs: int, environments: Path) -> list[dict[str, Any]]:
    """Return libraries on the same records of the Activity chain."""
    chain = MarkovChain.from_counts(ACTIVITY_COUNTS, states=(0, 1), length=rows, state="active")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.parquet"
        pl.DataFrame({"active": records(chain, rows)}).write_parquet(file)
        for library in chosen:
            lines.append(used(library, environments, chain, file, runs))
            print(json.dumps(lines[-1]), file=sys.stderr, flush=True)
    return lines


def from_file(line: dict[str, Any], answer: str) -> float:
    """Return the processor time from a Parquet file to an answer: reading it, and answering."""
    return float(line["reading"]["processor_seconds"] + line["answers"][answer]["processor_seconds"])


def report_libraries(lines: Sequence[dict[str, Any]], rows: int, *, row_by_row: bool, at_most: float) -> None:
    """Report our time from a file to an answer beside that of others: of those that go row by row, or of the rest."""
    ran = {line["library"]: line for line in lines if "reason" not in line}
    for library in LIBRARIES:
        if library.requirements is None or library.row_by_row != row_by_row or not {library.name, PROMISED} <= set(ran):
            continue
        for answer in ("count", "sum"):
            report(
                f"{answer} of {rows:,} records, from a Parquet file",
                from_file(ran[PROMISED], answer),
                baseline=from_file(ran[library.name], answer),
                beside=library.name,
                ratio_at_most=at_most,
            )


def cases(short: bool) -> dict[str, list[MarkovChain]]:
    """Return the chains by what they are called."""
    pairs = two_state_chains()
    step = 10 if short else 1
    by_name = {
        f"{len(pairs[::step])} chains of 2 states, 100 records": pairs[::step],
        f"{len(pairs[::step])} chains of 2 states, 2 records": [replace(chain, length=2) for chain in pairs[::step]],
    }
    for states in MANY_STATES[:1] if short else MANY_STATES:
        by_name[f"activities of {states} states, {RECORDS:,} records"] = [
            replace(activities(states, 0), length=RECORDS)
        ]
    activity = replace(activity_chain(), gaps=False)
    by_name[f"Activity, {activity.length:,} records"] = [activity]
    for threshold, counts in ({} if short else ELECTRICITY_COUNTS).items():
        length = 1 + sum(map(sum, counts))
        by_name[f"Electricity {threshold} kWh, {length} records"] = [MarkovChain.from_counts(counts, length=length)]
    return by_name


def noise(name: str, chains: Sequence[MarkovChain]) -> dict[str, Any]:
    """Return what every mechanism needs on some chains: means over those it covers, and who needs less than we do."""
    rows = [compared(chain, EPSILONS) for chain in chains]
    mechanisms = []
    for peer in PEERS:
        own = [[row for row in of_chain if row.peer == peer] for of_chain in rows]
        covered = [of_chain for of_chain in own if all(row.scale is not None for row in of_chain)]
        refused = next((of_chain[0].reason for of_chain in own if of_chain[0].reason is not None), None)
        mechanisms.append(
            {
                "mechanism": peer.name,
                "source": peer.source,
                "against": peer.against,
                "answers": peer.answers,
                "ours": peer.ours,
                "scales": [fmean(row.scale or 0.0 for row in column) for column in zip(*covered, strict=True)],
                "covered": len(covered),
                "reason": refused,
                "seconds": sum(of_chain[0].seconds for of_chain in own),
            }
        )
    stronger = [row for of_chain in rows for row in exceeded(of_chain, "markov-mixing")]
    weaker = [row for of_chain in rows for row in exceeded(of_chain, "uninformed-mixing", tolerance=1e-3)]
    counted = [
        row for of_chain in rows if _covers(of_chain, "markov-count") for row in exceeded(of_chain, "markov-count")
    ]
    return {
        "case": name,
        "chains": len(chains),
        "mechanisms": mechanisms,
        "less_than_every_adversary": less(row for row in stronger if row.peer.against != KNOWS_ANY),
        "less_than_the_count": less(row for row in counted if row.peer.against != KNOWS_ANY),
        "less_for_the_same_promise": less([row for row in stronger if row.peer.against == KNOWS_ANY] + weaker),
    }


def _covers(rows: Sequence[Compared], name: str) -> bool:
    return any(row.peer.name == name and row.reason is None for row in rows)


def less(rows: Iterable[Compared]) -> list[dict[str, Any]]:
    """Return in how many chains each mechanism needs less, at each ε."""
    tally: dict[tuple[str, float], int] = {}
    for row in rows:
        key = row.peer.name, row.epsilon
        tally[key] = tally.get(key, 0) + 1
    return [{"mechanism": name, "epsilon": epsilon, "chains": times} for (name, epsilon), times in tally.items()]


def shown(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def libraries_table(figures: Sequence[dict[str, Any]]) -> str:
    header = ["library", "its ε is for", "reading, s", *(f"{name}, s" for name in ANSWERS), "MB"]
    header += [*(f"error of the {name}" for name in ANSWERS), "leaks, proven", "leaks, seen"]
    rows = []
    for library in figures:
        if "reason" in library:
            rows.append([library["library"], f"not measured: {library['reason']}", *["–"] * (len(header) - 2)])
            continue
        answers = [library["answers"][name] for name in ANSWERS]
        proven = f"ε ≤ {shown(library['proven'], 4)}"
        seen = "–" if library["audited"] is None else f"ε ≥ {shown(library['audited'])}"
        meaning = "a promise to every record" if library["library"] == PROMISED else NEIGHBOURS[library["neighbours"]]
        rows.append(
            [
                f"{library['library']} {library['version']}",
                meaning,
                *(shown(timed["processor_seconds"], 2) for timed in (library["reading"], *answers)),
                shown(library["peak_mb"]),
                *(shown(answer["error"]) for answer in answers),
                proven,
                seen,
            ]
        )
    return table(header, rows)


def large_table(lines: Sequence[dict[str, Any]]) -> str:
    rows = [
        [line["library"], f"not measured: {line['reason']}", "–", "–", "–"]
        if "reason" in line
        else [
            f"{line['library']} {line['version']}",
            *(shown(from_file(line, name), 3) for name in ANSWERS),
            shown(line["peak_mb"]),
        ]
        for line in lines
    ]
    return table(["library", *(f"{name}, s" for name in ANSWERS), "MB"], rows)


def chains_table(case: dict[str, Any]) -> str:
    header = ["mechanism", "its adversary", "answers", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "s"]
    rows, reasons = [], []
    for mechanism in case["mechanisms"]:
        scales = [shown(scale) for scale in mechanism["scales"]] or ["–"] * len(EPSILONS)
        name = f"**{mechanism['mechanism']}**" if mechanism["ours"] else mechanism["mechanism"]
        if 0 < mechanism["covered"] < case["chains"]:
            name += f" ({mechanism['covered']} of {case['chains']})"
        if mechanism["reason"] is not None and not mechanism["covered"]:
            reasons.append(f"{mechanism['mechanism']}: {mechanism['reason']}")
            continue
        rows.append([name, mechanism["against"], mechanism["answers"], *scales, shown(mechanism["seconds"], 2)])
    parts = [f"**{case['case'][:1].upper()}{case['case'][1:]}**", table(header, rows)]
    if reasons:
        parts.append(f"Not covered: {'; '.join(reasons)}.")
    return "\n\n".join([*parts, verdict(case)])


def verdict(case: dict[str, Any]) -> str:
    """Return in words who needs less noise than we do."""

    def named(peers: Sequence[dict[str, Any]]) -> str:
        on = f" of {case['chains']} chains"
        return ", ".join(
            f"{peer['mechanism']} at ε = {peer['epsilon']:g}" + (f" on {peer['chains']}{on}" * (case["chains"] > 1))
            for peer in peers
        )

    sentences = []
    if case["less_for_the_same_promise"]:
        sentences.append(f"Less noise than ours for the same promise: {named(case['less_for_the_same_promise'])}.")
    if case["less_than_every_adversary"]:
        sentences.append(
            "**Weaker promise, smaller noise** than `markov-mixing`, which holds against every adversary: "
            f"{named(case['less_than_every_adversary'])}."
        )
        if any(mechanism["mechanism"] == "markov-count" and mechanism["covered"] for mechanism in case["mechanisms"]):
            counted = named(case["less_than_the_count"]) or "nobody"
            sentences.append(f"For one count, smaller noise than `markov-count`, against every adversary: {counted}.")
    return " ".join(sentences) or "No other needs less noise than `markov-mixing`, whose promise is the stronger one."


def markdown(results: dict[str, Any]) -> str:
    """Return the whole report."""
    about = results["about"]
    parts = [
        f"Measured on {about['date']} by `python benchmarks/peers.py` with bayesdp {about['bayesdp']}, Python "
        f"{about['python']}, NumPy {about['numpy']}, Polars {about['polars']}; {about['machine']}, {about['cores']} "
        f"cores, load {about['load']:.1f}."
    ]
    if results["libraries"]:
        parts += [
            f"Other libraries: {results['rows']:,} records of the Activity chain, ε = {EPSILON:g} asked of each, "
            'medians. "Proven" is what our theorems say that any mechanism with that τ leaks about a record of this '
            'chain, τ being doubled where ε is for a record that is there or not. "Seen" is what our audit proves of '
            f"its count, from {results['runs']:,} outputs, with 95 % confidence. Times are processor times. All begin "
            "with the same Parquet file; bayesdp and the Polars context read it for every answer, and bayesdp checks "
            "it against its model and commits each answer to a ledger on disk.",
            libraries_table(results["libraries"]),
        ]
    if results.get("large"):
        parts += [
            f"From a Parquet file of {results['large_rows']:,} records to one answer: processor seconds of reading and "
            "answering, and the memory at the peak. What goes through the rows in Python is not run here.",
            large_table(results["large"]),
        ]
    parts += [
        "Other mechanisms: the Laplace scale that each needs for a query that a record changes by at most 1, and the "
        "processor time for all three. Means over the chains that a mechanism covers. Ours are bold; "
        "`uninformed-mixing` is for comparison and offered by no session.",
        *(chains_table(case) for case in results["chains"]),
    ]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Return Markdown's tables with their columns aligned, for a terminal."""
    lines, block = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if block:
            widths = [max(map(len, column)) for column in zip(*block, strict=True)]
            lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in block if row[0] != "---"]
            block = []
        lines.append(line)
    return "\n".join(lines)


def write_docs(results: dict[str, Any]) -> None:
    """Put the report between its marks in docs/performance.md."""
    page = ROOT / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{page.name} has no marks to write between")
    page.write_text(f"{before}{BEGIN}\n\n{markdown(results)}\n{END}{after}", encoding="utf-8")


def together(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return parts that were run one after the other as one; of what was measured twice, the later."""
    whole = {**parts[0]}
    for name, key in (("libraries", "library"), ("large", "library"), ("chains", "case")):
        whole[name] = list({row[key]: row for part in parts for row in part.get(name, ())}.values())
    return whole


def parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--large", type=int, default=100_000_000, help="rows for what does not go row by row")
    parser.add_argument("--runs", type=int, default=20_000, help="outputs of each library that the audit looks at")
    parser.add_argument("--part", choices=["libraries", "chains"], help="only one part")
    parser.add_argument("--case", default="", help="only the chains whose name has this in it")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "bayesdp-peers")
    parser.add_argument("--write-docs", nargs="*", metavar="JSON", help="of this run, or of parts that were run before")
    return parser.parse_args()


def main() -> int:
    options = parsed_options()
    if options.write_docs:
        write_docs(together([json.loads(Path(path).read_text(encoding="utf-8")) for path in options.write_docs]))
        return 0
    begun = time.perf_counter()
    about = {
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: version(name) for name in ("bayesdp", "numpy", "polars")},
    }
    with_libraries = options.part != "chains" and not options.short
    results: dict[str, Any] = {
        "about": about,
        "rows": options.rows,
        "runs": options.runs,
        "large_rows": options.large,
        "libraries": [],
        "large": [],
        "chains": [],
    }
    if with_libraries:
        quick = [library for library in LIBRARIES if not library.row_by_row]
        results["libraries"] = libraries(LIBRARIES, options.rows, options.runs, options.environments)
        results["large"] = libraries(quick, options.large, 0, options.environments)
    for name, chains in (cases(options.short) if options.part != "libraries" else {}).items():
        if options.case not in name:
            continue
        results["chains"].append(noise(name, chains))
        print(f"{name}: {time.perf_counter() - begun:.0f} s so far", file=sys.stderr, flush=True)
    results["met"] = not any(case["less_for_the_same_promise"] for case in results["chains"])
    print(plain(markdown(results)))
    print(heading())
    report_libraries(results["large"], options.large, row_by_row=False, at_most=1)
    report_libraries(results["libraries"], options.rows, row_by_row=True, at_most=0.2)
    for case in results["chains"]:
        fewer = len(case["less_for_the_same_promise"])
        report(f"{case['case']}: less noise for our promise", fewer, "peers", at_most=0)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "peers.md").write_text(markdown(results), encoding="utf-8")
        (options.out / "peers.json").write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    if options.write_docs is not None:
        write_docs(results)
    return 0 if results["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
