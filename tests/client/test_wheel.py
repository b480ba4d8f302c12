"""The small package as people install it: alone in a fresh environment, asking a server over a socket."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from holding import Holder  # type: ignore[import-not-found]

import bayesdp as bdp

PROJECT = Path(__file__).parents[2]
TRANSPORT = ("anyio", "certifi", "h11", "httpcore", "httpx", "idna", "typing_extensions")
"""httpx with what it needs."""

ASKING = """
import json, sys
import bayesdp as bdp
with bdp.connect(sys.argv[1], "secret") as remote:
    switch = remote["my/switch"]
    first = switch.release(bdp.Count("on", equals=1), epsilon=0.5)
    switch.release(bdp.Count("on", equals=1), epsilon=0.7)
    print(json.dumps({
        "answer": first.to_dict(),
        "statement": first.statement().splitlines()[0],
        "printed": [len(str(switch.preview(bdp.Count("on", equals=0), epsilon=0.1))) > 50, "my/switch" in str(switch)],
        "loaded": sorted({name.partition(".")[0] for name in sys.modules} & {"numpy", "rich", "typer", "polars"}),
        "modules": sum(name.startswith("bayesdp") for name in sys.modules),
        "version": bdp.__version__,
    }))
for ask in (lambda: bdp.Session, lambda: bdp.leakage, lambda: bdp.models,
            lambda: switch.running(bdp.Count("on", equals=1), every="day", epsilon=0.1)):
    try:
        ask()
    except bdp.errors.MissingDependencyError as error:
        print(error)
"""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("distribution")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    subprocess.run([*command, str(PROJECT / "packaging/client")], check=True, capture_output=True, env=environment)
    return next(folder.glob("*.whl"))


@pytest.fixture
def address(holder: Holder) -> Iterator[str]:
    """Serve the holder over a socket of this machine."""

    class Desk(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = f"http://{self.headers['Host']}{self.path}"
            answer = holder(httpx.Request(self.command, url, headers=list(self.headers.items()), content=body))
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *message: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Desk) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_it_is_small_and_has_only_what_it_needs(wheel: Path) -> None:
    assert wheel.stat().st_size < 1_000_000
    assert wheel.name == f"bayesdp_client-{bdp.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        metadata = packed.read(next(name for name in names if name.endswith("METADATA"))).decode()
        assert not any(str(PROJECT).encode() in packed.read(name) for name in names)
        for name in names:
            if name.endswith(".py"):
                assert packed.read(name) == (PROJECT / "src" / name).read_bytes()
    assert {"bayesdp/py.typed", "bayesdp/client/remote.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert needed == ["Requires-Dist: httpx<1,>=0.27"]


def test_it_has_no_source_archive(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(tmp_path)]
    done = subprocess.run([*command, str(PROJECT / "packaging/client")], capture_output=True, text=True)
    assert done.returncode
    assert "has no source archive of its own; add --wheel" in done.stdout + done.stderr


def test_it_asks_a_server_from_a_fresh_environment(wheel: Path, address: str, holder: Holder, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    quiet = {**os.environ, "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, env=quiet)
    (tmp_path / "transport").mkdir()
    for name in TRANSPORT:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        place = origin.parent if origin.name == "__init__.py" else origin
        (tmp_path / "transport" / place.name).symlink_to(place)
    (tmp_path / "ask.py").write_text(ASKING)
    done = subprocess.run(
        [python, "-W", "error", "ask.py", address],
        cwd=tmp_path,
        env={**quiet, "PYTHONPATH": str(tmp_path / "transport")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, *refused = done.stdout.splitlines()
    said = json.loads(first)
    assert bdp.Answer.from_dict(said["answer"]) == holder.session.history[0]
    assert said["version"] == bdp.__version__
    assert said["statement"] == "# Statement on a privacy-protected release"
    assert (said["printed"], said["loaded"]) == ([True, True], [])
    assert said["modules"] <= 70
    whole = "needs the whole bayesdp, and only bayesdp-client is installed: pip install bayesdp"
    assert refused[:3] == [f"Session {whole}", f"leakage {whole}", f"bayesdp.models {whole}"]
    assert refused[3:] == ["the accuracy of running totals needs one more package; try: pip install numpy"]
