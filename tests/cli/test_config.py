"""`[tool.cts]` of a pyproject.toml: which file, what goes before what, and what is said of mistakes."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from cts.base.config import Table, find
from cts.base.errors import BadInput
from cts.faces.cli.configured import parameter
from cts.faces.cli.run import run
from tests.cli.command_line import Cts

CASE = "tensor_addressing.clamp.edge_low_load"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in a folder below one that may have a file."""
    folder = tmp_path / "below"
    folder.mkdir()
    return Cts(monkeypatch, capsys, folder)


def config(cts: Cts, text: str, folder: str = "..") -> None:
    (cts.folder / folder / "pyproject.toml").write_text(text)


def test_options_have_defaults_and_what_is_typed_goes_before_them(cts: Cts, fakes: ModuleType) -> None:
    config(cts, '[tool.cts]\ndrivers = ["fake:right", "fake:remarks"]\nseed = 11\nsave-dir = "kept"\n')
    ran = cts("run", CASE)
    assert ran.status == 0
    head, kept = ran.out.splitlines()[:2]
    what = "profile default, seed 11, settings of ../pyproject.toml: 1 corpus case on fake:right, fake:remarks"
    assert head.partition(", ")[2] == what
    assert kept == "run kept in ../kept/001"
    typed = cts("run", CASE, "-d", "fake:right", "--seed", "12", "--save-dir", "here")
    assert "seed 12, settings of ../pyproject.toml: 1 corpus case on fake:right\n" in typed.out
    assert "run kept in here/001" in typed.out
    header = json.loads((cts.folder / "here" / "001" / "results.jsonl").read_text().partition("\n")[0])
    assert header["config"] == "../pyproject.toml"


def test_without_config(cts: Cts, fakes: ModuleType) -> None:
    config(cts, '[tool.cts]\ndrivers = ["fake:right"]\nno-such-key = 1\n')
    ran = cts("run", CASE, "--no-config")
    assert ran.status == 2 and "error[no-driver]" in ran.err and "no-such-key" not in ran.err
    assert "settings of" not in cts("run", CASE, "--no-config", "-d", "fake:right").out


def test_what_is_said_of_all_cases_is_not_meant_for_named_ones(cts: Cts, fakes: ModuleType) -> None:
    config(cts, '[tool.cts]\nareas = ["fake_area"]\nseed = 1\nmax-examples = 3\nshard = "1/2"\ncorpus = false\n')
    ran = cts("run", CASE, "-d", "fake:right")
    assert ran.status == 0 and "1 corpus case on fake:right" in ran.out
    ran = cts("run", "-d", "fake:right")
    assert ran.status == 0 and ": 3 examples of fake_area on fake:right" in ran.out


def test_the_nearest_file_with_the_table_counts(cts: Cts) -> None:
    config(cts, "[tool.cts]\nseed = 1\n")
    config(cts, "[tool.other]\nseed = 2\n", ".")
    found = find(cts.folder)
    assert found is not None and found.settings == {"seed": 1} and str(found.path) == "../pyproject.toml"
    config(cts, "[tool.cts]\n", ".")
    found = find(cts.folder)
    assert found is not None and found.settings == {} and str(found.path) == "pyproject.toml"


def test_paths_are_relative_to_the_file(cts: Cts) -> None:
    config(cts, '[tool.cts]\nbaseline = "known.yaml"\njson = "-"\nhtml = "/srv/page.html"\n')
    found = find(cts.folder)
    assert found is not None
    assert found.settings["baseline"] == "../known.yaml" and found.settings["json"] == "-"
    assert (cts.folder / found.settings["html"]).resolve() == Path("/srv/page.html")


def test_every_mistake_is_named_with_its_place(cts: Cts) -> None:
    config(
        cts,
        '[tool.cts]\ndriver = ["emulator"]\nseed = "one"\nreruns = -1\nprofile = "smok"\nareas = ["reduction"]\n'
        'shard = "4/3"\nbaseline = "nowhere.yaml"\njunit = "no/such/out.xml"\n',
    )
    assert cts.snapshot("config_mistakes", "run", "--driver", "interpreter").status == 2
    assert not (cts.folder / "cts-run").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.cts\n", "pyproject.toml:1"),
        ("[tool]\ncts = 5\n", "tool.cts is not a table"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_files_that_are_no_settings(cts: Cts, text: str, words: str) -> None:
    (cts.folder.parent / "pyproject.toml").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadInput, match=re.escape(words)) as caught:
        find(cts.folder)
    assert "pyproject.toml" in caught.value.where
    ran = cts("run", "-d", "interpreter")
    assert ran.status == 2 and words in ran.err and "Traceback" not in ran.err
    assert cts("run", "--help").status == 0


def test_no_validation_goes_before_the_file(cts: Cts, fakes: ModuleType) -> None:
    config(cts, '[tool.cts]\nvalidation = true\ndrivers = ["fake:right"]\n')
    assert "on fake:right,validation=yes\n" in cts("run", CASE).out
    assert "on fake:right\n" in cts("run", CASE, "--no-validation").out


def test_a_resumed_run_keeps_its_settings(cts: Cts, fakes: ModuleType) -> None:
    cts("run", CASE, "-d", "fake:right", "--max-time", "0")
    config(cts, '[tool.cts]\ndrivers = ["fake:wrong"]\nseed = 4\nareas = ["fake_area"]\njunit = "out.xml"\n')
    ran = cts("run", "--resume", "cts-run/001")
    assert ran.status == 0 and "1 corpus case on fake:right\n" in ran.out
    assert (cts.folder.parent / "out.xml").is_file()


def test_every_setting_is_an_option() -> None:
    options = set(inspect.signature(run).parameters)
    for key in Table.__struct_encode_fields__:
        assert parameter(key) in options


def test_the_schema_has_every_setting(cts: Cts) -> None:
    document = json.loads(cts("schema", "config").out)
    settings = document["$defs"]["Settings"]
    assert set(settings["properties"]) == set(Table.__struct_encode_fields__)
    assert settings["additionalProperties"] is False
