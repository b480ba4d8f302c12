"""What the holder of the data writes: read exactly, or refused by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from served import CONFIGURATION  # type: ignore[import-not-found]

from bayesdp.errors import InvalidInputError
from bayesdp.models import Independent, OddsChain
from bayesdp.server.configuration import read_configuration
from bayesdp.server.datasets import check_datasets


def written(folder: Path, text: str) -> Path:
    place = folder / "config.toml"
    place.write_text(text)
    return place


def test_a_configuration_is_read(folder: Path) -> None:
    read = read_configuration(folder / "config.toml")
    assert read.ledger == str(folder / "budget.db")
    assert read.tokens == folder / "tokens.json"
    steps = read.datasets["steps"]
    assert (steps.data, steps.epsilon, steps.delta) == (str(folder / "steps.csv"), 5.0, None)
    assert steps.model == OddsChain(3.0, states=[0, 1], column="s")
    assert steps.public == {"d": ("n", "s"), "t": None}
    assert read.analysts["ada"].datasets["other"].total == 1.5
    assert (read.analysts["bob"].may_ask("count"), read.analysts["bob"].may_ask("sum")) == (True, False)
    assert (read.listening.host, read.listening.port, read.openid) == ("127.0.0.1", 8470, None)


CHANGES = [
    ("epsilon = 5.0", "epsilonn = 5.0", 6, '"epsilonn" is unknown here; known are accept, checks'),
    ("epsilon = 5.0", "epsilon = -1", 6, "epsilon must be greater than 0"),
    ("epsilon = 5.0", "epsilon = 1\ndelta = 2", 7, "delta must lie strictly between 0 and 1"),
    ("epsilon = 5.0", 'epsilon = 1\nengine = "duck"', 7, '"engine" must be polars or spark'),
    ("epsilon = 5.0", 'epsilon = 1\nmaster = "local"', 7, '"master" requires "engine" = "spark"'),
    ("epsilon = 5.0", 'epsilon = 1\nengine = "spark"\nmissing = "perhaps"', 8, "missing"),
    ("epsilon = 5.0", "epsilon = 1\ngrowing = 1", 7, '"growing" must be true or false, not 1'),
    ('data = "steps.csv"', "data = []", 4, '"data" is empty'),
    ('data = "steps.csv"', "", 3, '[datasets.steps] needs "data"'),
    ('data = "steps.csv"', 'data = "postgresql://ada:secret@db/x#t"', 4, '"data" holds a password; take it out'),
    ('{ type = "odds-chain", odds = 3.0, states = [0, 1], column = "s" }', '{ type = "dependent" }', 5, '"type"'),
    ('{ type = "odds-chain", odds = 3.0, states = [0, 1], column = "s" }', '"nowhere.json"', 5, "cannot read"),
    ('public = { d = ["n", "s"], t = true }', "public = { d = 1 }", 7, '"d" must be a list'),
    ('datasets = ["steps"]', 'datasets = ["step"]', 20, "there is no data set 'step'"),
    ("epsilon_per_day = 1.0", 'epsilon_per_day = "1"', 16, "epsilon_per_day must be a number"),
    ('"histogram"]', '"histograms"]', 21, '"queries" may name count'),
    ('ledger = "budget.db"', "", 1, 'this file needs "ledger"'),
    ('ledger = "budget.db"', 'ledger = "postgresql://ada:secret@db/x"', 1, '"ledger_password" = { env'),
    ('ledger = "budget.db"', 'ledger = "a.db"\nledger_password = { env = "X" }', 2, "X is empty or not set"),
    ('ledger = "budget.db"', 'ledger = "a.db"\nledger_password = "secret"', 2, "must be { env"),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\nhost = "0.0.0.0"', 3, "can be reached from other machines"),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\nhost = "example"', 3, "can be reached from other machines"),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\nport = 70000', 3, '"port" must be at most 65535'),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\ntls_key = "steps.csv"', 2, "give both or neither"),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\ntls_key = "no.pem"', 3, "there is no file 'no.pem'"),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\ncors = ["*"]', 3, '"cors" must list origins'),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[server]\nmonitoring = ["x"]', 3, '"monitoring" must list networks'),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[limits]\nwait = 0', 3, "wait must be greater than 0"),
    ('ledger = "budget.db"', 'ledger = "a.db"\n[openid]\nissuer = "i"', 2, '[openid] needs "audience"'),
    ("[analysts.bob]", "[[analysts.bob]]", 19, '"bob" must be a table'),
]
OPENID = 'ledger = "a.db"\n[openid]\nissuer = "i"\naudience = "a"\n'
CHANGES += [
    ('ledger = "budget.db"', OPENID + 'keys = "http://keys"', 5, '"keys" must be a file or begin with https://'),
    ('ledger = "budget.db"', OPENID + 'keys = "https://k"\nalgorithms = ["HS256"]', 6, '"algorithms" must be some of'),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), CHANGES)
def test_what_is_wrong_is_named_by_file_and_line(folder: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in CONFIGURATION
    place = written(folder, CONFIGURATION.replace(old, new, 1))
    with pytest.raises(InvalidInputError) as refused:
        read_configuration(place)
    assert str(refused.value).startswith(f"{place}:{line}: ")
    assert message in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = ", "this is not TOML"), (b"\xff", "is not UTF-8"), (b"#" * 2_000_000, "is larger than 1 MiB")],
    ids=["no TOML", "no text", "large"],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    place = tmp_path / "config.toml"
    place.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_configuration(place)
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_configuration(tmp_path / "nothing.toml")


def test_a_configuration_without_data_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no data set to serve"):
        read_configuration(written(tmp_path, 'ledger = "budget.db"\n'))


def test_passwords_come_from_the_environment_or_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_PASSWORD", "sesame&#")
    (folder / "secret").write_text("open\n")
    text = CONFIGURATION.replace(
        'ledger = "budget.db"',
        'ledger = "postgresql://carla@db/budget"\nledger_password = { env = "LEDGER_PASSWORD" }',
    ).replace('data = "steps.csv"', 'data = "postgresql://carla@db/x#t"\npassword = { file = "secret" }')
    read = read_configuration(written(folder, text))
    assert read.ledger == "postgresql://carla:sesame%26%23@db/budget"
    assert read.datasets["steps"].data == "postgresql://carla:open@db/x#t"
    assert "sesame" not in repr(read)
    assert ":open@" not in repr(read)


def test_a_public_address_needs_encryption_or_a_proxy(folder: Path) -> None:
    (folder / "cert.pem").touch()
    for more in ("behind_proxy = true", 'tls_certificate = "cert.pem"\ntls_key = "cert.pem"'):
        place = written(folder, CONFIGURATION + f'\n[server]\nhost = "0.0.0.0"\n{more}\n')
        assert read_configuration(place).listening.host == "0.0.0.0"


def test_an_analyst_may_have_limits_for_each_data_set(folder: Path) -> None:
    more = "\n[analysts.eve]\nepsilon_total = 2\n[analysts.eve.datasets.steps]\nepsilon_total = 1\n"
    eve = read_configuration(written(folder, CONFIGURATION + more + "[analysts.eve.datasets.other]")).analysts["eve"]
    assert {name: permission.total for name, permission in eve.datasets.items()} == {"steps": 1.0, "other": 2.0}


def test_a_model_is_a_table_a_text_or_a_file(folder: Path) -> None:
    Independent(column="s").save(folder / "model.json")
    for model in ('\'{"type": "independent", "column": "s"}\'', '"model.json"'):
        text = CONFIGURATION.replace('{ type = "independent", column = "s" }', model)
        assert read_configuration(written(folder, text)).datasets["other"].model == Independent(column="s")


def test_a_check_reads_the_tables_and_leaves_the_ledger_alone(folder: Path) -> None:
    check_datasets(read_configuration(folder / "config.toml"))
    wrong = CONFIGURATION.replace('column = "s"', 'column = "steps"', 1)
    with pytest.raises(InvalidInputError, match=r"config.toml:3: .* has no column 'steps'; it has 's', 'd', 't'"):
        check_datasets(read_configuration(written(folder, wrong)))
    assert not (folder / "budget.db").exists()
