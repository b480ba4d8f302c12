"""The example of a server in containers: its parts fit together, and the configuration is accepted."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import bayesdp as bdp
from bayesdp.cli import run
from bayesdp.experiments.data import load
from bayesdp.server.configuration import read_configuration
from tools.docs.navigation import ROOT

EXAMPLE = ROOT / "examples" / "serve"
COMPOSE: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]


def variables() -> set[str]:
    """Return the variables that the compose file wants to be set."""
    return set(re.findall(r"\$\{(\w+):\?", (EXAMPLE / "compose.yaml").read_text("utf-8")))


def test_what_services_name_is_there() -> None:
    for name, service in SERVICES.items():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            assert source == "./data" or source in COMPOSE["volumes"] or (EXAMPLE / source).is_file(), (name, source)
        assert set(service["networks"]) <= COMPOSE["networks"].keys()
        assert set(service.get("depends_on", ())) <= SERVICES.keys()


def test_only_the_door_is_reached_from_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    reached = {name for name, options in COMPOSE["networks"].items() if not options.get("internal")}
    assert [name for name, service in SERVICES.items() if set(service["networks"]) & reached] == ["proxy"]
    assert set(SERVICES["ledger"]["networks"]) & set(SERVICES["proxy"]["networks"]) == set()


def test_the_image_is_a_stage_of_the_dockerfile() -> None:
    build = SERVICES["serve"]["build"]
    assert (EXAMPLE / build["context"]).resolve() == ROOT
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    stages = re.findall(r"^FROM \S+ AS (\w+)$", dockerfile, re.MULTILINE)
    assert build["target"] in stages
    assert stages[-1] == "demo", "what `docker build .` makes by default"
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extras in re.findall(r"/bayesdp\[([\w,]+)\]", dockerfile):
        assert set(extras.split(",")) <= known.keys()


def test_containers_and_the_proxy_name_one_port() -> None:
    port = tomllib.loads((EXAMPLE / "serve.toml").read_text("utf-8"))["server"]["port"]
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    assert f"reverse_proxy serve:{port}" in (EXAMPLE / "Caddyfile").read_text("utf-8")
    assert f"EXPOSE {port}" in dockerfile
    assert f"http://127.0.0.1:{port}/health/ready" in dockerfile


def test_the_steps_at_the_top_set_all_variables() -> None:
    steps = (EXAMPLE / "compose.yaml").read_text("utf-8").partition("name:")[0]
    assert variables() == set(re.findall(r"\b([A-Z_]{3,})=", steps))


def test_its_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    places = (EXAMPLE / "compose.yaml", ROOT / "Dockerfile", ROOT / "docs" / "serve.md")
    text = "".join(place.read_text("utf-8") for place in places)
    asked = [shlex.split(line)[1:] for line in re.findall(r"bayesdp serve[ \w.-]*", text)]
    assert ["serve", "fit"] in [words[:2] for words in asked]
    for words in asked:
        commands = [word for word in words if word in ("serve", "token", "add", "list", "revoke", "fit")]
        assert run([*(commands if len(commands) > 1 else ["serve", "run"]), "--help"]) == 0, words
        shown = capsys.readouterr().out
        assert all(word in shown for word in words if word.startswith("--")), words


@pytest.fixture
def holder(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that sets up what the holder has, with a ledger, and returns the configuration."""

    def prepare(ledger: str) -> Path:
        data = tmp_path / "data"
        data.mkdir()
        load("activity").frame.write_csv(data / "steps.csv")
        model = bdp.OddsChain(17).located(state="steps > 0", order_by=["date", "interval"], missing="drop")
        model.save(data / "steps.json")
        text = (EXAMPLE / "serve.toml").read_text("utf-8")
        for written, here in (
            ("postgresql://bayesdp@ledger/ledger", ledger),
            ("/var/lib/bayesdp/", f"{tmp_path}/"),
        ):
            assert text.count(written) == 1
            text = text.replace(written, here)
        place = tmp_path / "serve.toml"
        place.write_text(text)
        return place

    return prepare


@pytest.mark.slow
def test_the_configuration_is_accepted(
    holder: Callable[[str], Path], new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGER_PASSWORD", "secret")
    assert run(["serve", "--check", str(holder(new_database()))]) == 0


def test_the_page_shows_a_provider_that_is_accepted(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "serve.md").read_text("utf-8")
    [provider] = re.findall(r"^```toml\n(\[openid\].*?)^```$", page, re.MULTILINE | re.DOTALL)
    bdp.Independent().save(tmp_path / "model.json")
    place = tmp_path / "serve.toml"
    place.write_text(f'ledger = "ledger.db"\n{provider}[datasets.d]\ndata = "d.csv"\nmodel = "model.json"\n')
    read = read_configuration(place).openid
    assert read is not None
    assert (read.audience, read.claim) == ("bayesdp", "preferred_username")


@pytest.mark.slow
def test_compose_accepts_the_file(tmp_path: Path) -> None:
    known = shutil.which("docker") and subprocess.run(["docker", "compose", "version"], capture_output=True)
    if not known or known.returncode:
        pytest.skip("docker compose is not installed")
    settings = dict.fromkeys(variables(), "x")
    command = ["docker", "compose", "--file", str(EXAMPLE / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin", **settings}
    )
    assert done.returncode == 0, done.stderr
