"""Results and the documents they stand in: what is stored, what is skipped, what is shown, and what is refused with a sentence."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from lopa_core.bench.files import ReportError
from lopa_core.bench.measured import document, stored
from lopa_core.bench.measured.measurement import ASSETS, MEASURED, Measurement
from lopa_core.bench.measured.registry import MEASUREMENTS
from lopa_core.commands import measure

from ..commands.test_cli import call

TRIAL = ["measure", "rounds", "--limit", "1"]
VERSIONS = {"python": "3.12.1", "torch": "2.9.0", "commit": "abc1234"}
ABOUT = {"date": "2026-12-03T10:00:00+00:00", "hardware": "2 cores (a processor)", "versions": VERSIONS}
PAGE = {
    "replay": {
        "megabytes": 2.71,
        "scrub": {".lv-lane": {"frames_per_second": 34.4}, "[data-figure^=tree]": {"frames_per_second": 38.1}},
    },
    "streaming": {"decode_ratio": {"alone": 1.0, "read": 1.042, "drawn here": 1.166}},
}
POOL = {
    "round": {
        "bytes sent by a rank": 3104, "bytes of a commit": 393216,
        "milliseconds": {
            "one process, 1 threads": 99.2, "one process, 2 threads": 74.8, "two ranks, 1 thread each": 67.1,
            "of which the slower rank's forward": 65.3, "commit of 64 slots": 1.04,
        },
    },
    "requests": {
        "ended": {"finished": 159, "left": 40, "broken off": 1}, "workers left after close": 0,
        "held": {f"after request {index}": {"app": {"megabytes": 400 + index / 100, "files": 31}} for index in (26, 100, 126, 200)},
    },
}  # fmt: skip
DECODER = {"problems": 10, "accuracy_low": 40.0, "accuracy_high": 90.0, "tokens_per_second": 5.0, "seconds": 4.0, "branch_forwards": 90}


def lengths(told: dict) -> str:
    return f"- {told['tokens'] / told['rounds']:.2f} tokens per round"


TINY = {"tiny": Measurement(name="tiny", command="lopa_core bench --limit 5", parts={"table": lengths, "headline": lengths})}


@pytest.fixture
def folder(tmp_path):
    """Of results, with one of TINY."""
    (tmp_path / MEASURED).mkdir()
    keep(tmp_path, {MEASURED: {"command": "python -m lopa_core bench --limit 5"} | ABOUT, "tokens": 30, "rounds": 4})
    return tmp_path


def keep(folder, told) -> None:
    (folder / TINY["tiny"].path).write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")


def rendered(text: str, folder) -> str:
    return document.render(text, TINY, folder)


def marked(part: str, inside: str = "") -> str:
    return f"Before\n<!-- measured: tiny {part} -->\n{inside}<!-- /measured -->\nAfter\n"


def test_a_block_is_made_of_the_result_and_the_rest_of_the_text_stays(folder):
    made = rendered(marked("headline", "- 9.99 tokens per round, typed by hand\n"), folder)
    assert made == marked("headline", "\n- 7.50 tokens per round\n\n")
    assert rendered(made, folder) == made
    table = rendered(marked("table"), folder)
    assert (
        "`python -m lopa_core bench --limit 5`\n(2026-12-03, 2 cores (a processor), Python 3.12.1, torch 2.9.0, code of abc1234)" in table
    )


def test_what_is_not_measured_is_said_and_nothing_is_invented(folder):
    for other in (
        {"tokens": 30, "rounds": 4},
        {MEASURED: {"command": "python -m lopa_core bench --limit 1"} | ABOUT, "tokens": 3, "rounds": 1},
    ):
        keep(folder, other)  # a file that does not say how it was made, and a trial's
        made = rendered(marked("table"), folder)
        assert "Not measured yet: `python -m lopa_core measure tiny`" in made and "tokens per round" not in made
    (folder / TINY["tiny"].path).unlink()
    assert rendered(marked("table"), folder) == made


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<!-- measured: tinny table -->\n<!-- /measured -->", "Line 1 asks for tinny table, which is not measured"),
        ("\n<!-- measured: tiny tables -->\n<!-- /measured -->", "Line 2 asks for tiny tables"),
        ("<!-- measured: tiny -->\n<!-- /measured -->", "Line 1 does not say which result it wants"),
        ("Here <!-- measured: tiny table -->", "Line 1 does not say which result it wants"),
        ("<!-- measured: tiny table -->\nto the end", "begins in line 1 lacks its end"),
        ("<!-- measured: tiny table -->\n<!-- measured: tiny table -->\n<!-- /measured -->", "begins in line 1 lacks its end"),
        ("text\n<!-- /measured -->", "Line 2 ends a block"),
    ],
)
def test_a_mark_that_is_not_understood_is_refused(folder, text, sentence):
    with pytest.raises(ReportError, match=sentence):
        rendered(text, folder)


@pytest.mark.parametrize(
    "damage",
    ["{", "[]", '{"measured": 3}', json.dumps({MEASURED: {"command": "python -m lopa_core bench --limit 5"} | ABOUT, "tokens": 3})],
)
def test_a_damaged_result_is_refused(folder, damage):
    keep(folder, damage)
    with pytest.raises(ReportError, match="tiny anew|tiny cannot be shown.*measure it anew"):
        rendered(marked("table"), folder)


def test_a_trial_is_stored_whole_and_resume_skips_it(capsys, tmp_path):
    code, out, err = call(capsys, *TRIAL, "--out", tmp_path)
    file = tmp_path / MEASURED / "rounds.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    assert code == 0 and str(file) in out and "[1/1] rounds: python -m lopa_core bench-rounds" in err
    assert told[MEASURED]["command"] == MEASUREMENTS["rounds"].typed(1) != MEASUREMENTS["rounds"].typed()
    assert told[MEASURED]["versions"].keys() == VERSIONS.keys() and told["results"][0]["milliseconds"] > 0
    before = file.stat().st_mtime_ns
    _, out, err = call(capsys, *TRIAL, "--out", tmp_path, "--resume")
    assert "measured already" in err and not out and file.stat().st_mtime_ns == before
    told[MEASURED]["versions"]["commit"] = "another"
    file.write_text(json.dumps(told), encoding="utf-8")
    assert not stored.up_to_date(MEASUREMENTS["rounds"], tmp_path, 1)


def test_an_interrupted_run_keeps_what_it_has_and_goes_on(capsys, monkeypatch, tmp_path):
    """Every command is a stand-in here; the second one is interrupted, the third one fails."""
    names, asked = ["mixed", "speed", "masks"], []

    def run(argv, **_):
        asked.append(argv[3])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(argv, int(len(asked) == 4), stdout='{"results": []}')

    monkeypatch.setattr(stored, "commit", lambda: "abc1234")
    monkeypatch.setattr(stored.subprocess, "run", run)
    assert call(capsys, "measure", *names, "--limit", "1", "--out", tmp_path)[0] == 130
    assert [path.name for path in (tmp_path / MEASURED).iterdir()] == ["mixed.json"]
    code, _, err = call(capsys, "measure", *names, "--limit", "1", "--out", tmp_path, "--resume")
    assert code == 1 and "mixed: measured already" in err and "masks is not measured: its command ended with exit code 1" in err
    assert sorted(path.name for path in (tmp_path / MEASURED).iterdir()) == ["mixed.json", "speed.json"]


def test_a_command_that_fails_leaves_the_result_of_before(folder, monkeypatch):
    before = (folder / TINY["tiny"].path).read_text(encoding="utf-8")
    for code, printed, sentence in ((3, "", "exit code 3"), (0, "no JSON", "printed no JSON object"), (0, "[1]", "printed no JSON object")):
        ended = subprocess.CompletedProcess([], code, stdout=printed)
        with monkeypatch.context() as patched, pytest.raises(ReportError, match=sentence):
            patched.setattr(stored, "versions", dict)
            patched.setattr(stored.subprocess, "run", lambda *_, ended=ended, **__: ended)
            stored.measure(TINY["tiny"], folder)
        assert (folder / TINY["tiny"].path).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["tinny"], "There is no measurement 'tinny': take some of word-problems,"),
        (["mixed", "--all"], "--all measures everything"),
        (["mixed", "--limit", "1"], "give --out DIR"),
        (["mixed", "--limit", "0", "--out", "elsewhere"], "1 problem or more"),
        (["--document", "README.md"], "give --render as well"),
        (["--render", "--document", "missing.md"], "missing.md: No such file"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(capsys, flags, sentence):
    code, out, err = call(capsys, "measure", *flags)
    assert code == 2 and sentence in err and not out


def test_alone_it_lists_what_there_is(capsys, tmp_path):
    code, out, _ = call(capsys, "measure", "--out", tmp_path)
    assert code == 0 and out.count("not measured yet") == len(MEASUREMENTS)


def test_a_damaged_result_leaves_every_document_as_it_is(capsys, monkeypatch, folder):
    monkeypatch.setattr(measure, "MEASUREMENTS", TINY)
    first, second = folder / "first.md", folder / "second.md"
    first.write_text(marked("table"), encoding="utf-8")
    second.write_text(marked("other"), encoding="utf-8")
    documents = ["--document", first, "--document", second]
    code, _, err = call(capsys, "measure", "--render", "--out", folder, *documents)
    assert code == 2 and "asks for tiny other" in err and first.read_text(encoding="utf-8") == marked("table")
    second.write_text(marked("headline"), encoding="utf-8")
    code, out, _ = call(capsys, "measure", "--render", "--out", folder, *documents)
    assert code == 0 and "Not measured" not in out and "7.50 tokens per round" in second.read_text(encoding="utf-8")


def test_the_page_reads_a_result_that_says_how_it_was_made(tmp_path):
    """The Decoders and the Scaling tab are drawn from results."""
    from lopa_core.bench import report, sweep_file

    for name, read in (("decoders", report.read), ("scaling", sweep_file.read)):
        told = json.loads((ASSETS / MEASUREMENTS[name].path).read_text(encoding="utf-8"))
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({MEASURED: ABOUT} | told), encoding="utf-8")
        assert read(path)["hardware"] == told["hardware"]


@pytest.mark.skipif(not shutil.which("git"), reason="git tells the commit")
def test_the_commit_is_that_of_the_code_and_not_of_its_texts(monkeypatch, tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]

    def commit(file: str, text: str) -> None:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", text], check=True)

    monkeypatch.setattr(stored, "ROOT", tmp_path)
    assert stored.commit() == ""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert stored.commit() == ""
    commit("lopa_core/code.py", "1")
    first = stored.commit()
    commit("lopa_core/bench/README.md", "figures")
    commit("assets/measured/mixed.json", "{}")
    assert stored.commit() == first and len(first) >= 7
    (tmp_path / "lopa_core" / "code.py").write_text("2")
    assert stored.commit() == f"{first} with changes"
    commit("lopa_core/code.py", "2")
    assert first not in stored.commit()


def test_results_of_minutes_can_be_shown():
    page = MEASUREMENTS["page"].parts["table"](PAGE)
    assert "| HTML replay | 2.7 MB |" in page and "| 34 / 38 frames per second |" in page and "| × 1.04 |" in page and "× 1.17" in page
    pool = MEASUREMENTS["pool"].parts["table"](POOL)
    assert "| 99 / 75 ms |" in pool and "| 384 KiB, 1.0 ms |" in pool and "159 finished, 40 left, 1 broken off" in pool
    assert "the app's 400 MB and 31 files after request 26 are 402 MB and 31 files after request 200" in pool
    for name in ("agreement", "agreement-d2f-llada"):
        assert "**155 of 156** recorded cases" in MEASUREMENTS[name].parts["table"]({"passed": 155, "failed": 1})


def test_decoders_that_stand_out_are_found_in_the_numbers():
    def row(name: str, **changes) -> dict:
        return DECODER | {"decoder": name, "accuracy": 60.0, "rounds": 50, "tpf": 4.0, "extra_tokens": 0, "same_text": 3} | changes

    rows = [
        row("vanilla", rounds=400, accuracy=95.0, accuracy_low=80.0), row("confidence"), row("lopa", rounds=30),
        row("adaptive-lopa", rounds=35), row("freedave", same_text=9), row("wino", accuracy=93.0, accuracy_low=61.0, rounds=45),
    ]  # fmt: skip
    told = MEASUREMENTS["decoders"].parts["table"]({"results": rows})
    assert "The fewest passes: lopa, 60 % right in 3.0 passes; the baseline: confidence, 60 % right in 5.0 passes." in told
    assert "lies above its accuracy: wino, 93 % right in 4.5 passes." in told and "on 9 of 10 problems" in told
    none = MEASUREMENTS["decoders"].parts["table"]({"results": rows[:-1]})
    assert "lies above its accuracy: none but one token per pass." in none


def test_a_speed_without_a_lopa_at_the_accuracy_says_so():
    ratios = {"best_lopa": None, "best_lopa_to_baseline": None, "k7_to_plain_loop": 4.0, "k7_window_to_plain_loop": 2.5}
    assert MEASUREMENTS["speed"].parts["headline"]({"ratios": ratios}) == "- No LoPA lies within a point of k0's accuracy."
