"""The command line as a user types it: results as JSON, and one sentence with exit code 2 for bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from lopa_core.__main__ import COMMANDS, main
from lopa_core.decode.decoders import DECODERS
from lopa_core.page.gallery import REPLAYS
from lopa_core.trace.files import read

from ..helpers.models import CONFORMANCE, MODELS

DREAM = ["--model", str(MODELS / "dream-a")]
IDS = ["--prompt-ids", "165,485,77,202,333,24,37"]
SHORT = ["--max-new-tokens", "32", "--block-size", "16"]


def call(capsys, *argv: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of one command."""
    try:
        code = main([str(each) for each in argv])
    except SystemExit as stop:
        code = stop.code
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def call_json(capsys, *argv: str) -> dict:
    code, out, _ = call(capsys, *argv, "--json")
    assert code == 0
    return json.loads(out)


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_explains_itself(capsys, name):
    code, out, _ = call(capsys, *([name] if name else []), "--help")
    assert code == 0 and "usage: python -m lopa_core" in out


def test_every_setting_of_the_conformance_table_is_a_flag(capsys):
    case = json.loads((CONFORMANCE / "lopa.json").read_text())["cases"][0]
    _, out, _ = call(capsys, "decode", "--help")
    for name in case["settings"]:
        assert f"--{name.replace('_', '-')}" in out


def test_decode_with_the_official_choices_gives_the_official_ids(capsys):
    cases = json.loads((CONFORMANCE / "lopa.json").read_text())["cases"]
    case = next(each for each in cases if each["settings"]["decoder"] == "lopa" and each["settings"]["eos_token_id"] is None)
    flags = [
        part for name, value in case["settings"].items() if name != "eos_token_id" for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    prompt = ",".join(map(str, case["prompt"]))
    got = call_json(capsys, "decode", "--model", MODELS / case["model"], "--prompt-ids", prompt, *flags, "--reference")
    assert (got["ids"], got["rounds"], got["branch_forwards"]) == (case["ids"], case["rounds"], case["branch_forwards"])


def test_compare_prints_both_decoders_and_saves_their_traces(capsys, tmp_path):
    path = tmp_path / "trace.json"
    got = call_json(capsys, "compare", "--prompt", "Mia has 3 pens. She buys 4 more pens.", "--trace", path)
    assert [row["decoder"] for row in got["results"]] == ["confidence", "lopa"]
    for row in got["results"]:
        assert {"text", "tokens", "rounds", "branch_forwards", "tpf", "seconds", "tokens_per_second"} <= row.keys()
        assert row["tpf"] == pytest.approx(row["tokens"] / row["rounds"])
    told = call_json(capsys, "trace", path)
    assert [each["rounds"] for each in told["traces"]] == [row["rounds"] for row in got["results"]]
    code, out, _ = call(capsys, "trace", path, "--rounds")
    assert code == 0 and "rows, anchor" in out


def test_bench_reports_every_decoder(capsys):
    got = call_json(capsys, "bench", "--task", "word-problems", "--limit", "2", "--decoders", "vanilla,confidence,lopa", "--lookahead", "3")
    assert [row["decoder"] for row in got["results"]] == ["vanilla", "confidence", "lopa"]
    for row in got["results"]:
        assert {"accuracy", "tpf", "rounds", "branch_forwards", "tokens", "seconds"} <= row.keys()
        assert 0 <= row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"] <= 100
    vanilla, confidence, lopa = got["results"]
    assert vanilla["rounds"] > confidence["rounds"] >= lopa["rounds"]


def test_bench_rounds_compares_to_the_first(capsys):
    got = call_json(capsys, "bench-rounds", *DREAM, *SHORT, "--lookaheads", "0,2", "--repeats", "1")
    assert got["results"][0]["ratio"] == 1
    for row in got["results"]:
        assert row["milliseconds"] == pytest.approx(row["network"] + row["observation"] + row["host"])


def test_bench_speed_compares_lanes_in_one_run(capsys):
    got = call_json(capsys, "bench-speed", "--limit", "2", "--repeats", "2", "--threads", "1")
    assert {"model", "hardware", "threads", "dtype", "k0", "k1", "k3", "k7", "adaptive", "k7_window", "plain_loop"} <= got.keys()
    for name in ("tokens", "rounds", "branch_forwards", "accuracy"):
        assert got["k7_window"][name] == got["plain_loop"][name]
    assert got["k0"]["branch_forwards"] == got["k0"]["rounds"] > got["k7"]["rounds"]
    for lane in (got[name] for name in ("k0", "k7", "plain_loop")):
        assert lane["tokens_per_second"] == pytest.approx(lane["tokens"] / lane["seconds"])
        assert 0 < lane["share_in_network"] < 1 and lane["rounds_per_second"] == pytest.approx(lane["rounds"] / lane["seconds"])
    ratios = got["ratios"]
    assert ratios["k7_to_plain_loop"] == pytest.approx(got["k7"]["tokens_per_second"] / got["plain_loop"]["tokens_per_second"])
    best = got[ratios["best_lopa"]]
    assert ratios["best_lopa_to_baseline"] == pytest.approx(best["tokens_per_second"] / got["k0"]["tokens_per_second"])


def test_verify_counts_and_explains_failures(capsys, tmp_path):
    cases = json.loads((CONFORMANCE / "d2f_llada.json").read_text())["cases"][:2]
    cases[1]["ids"][3] ^= 1
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"cases": cases}))
    code, out, _ = call(capsys, "verify", path, "--models", MODELS, "--json")
    got = json.loads(out)
    assert code == 1 and (got["passed"], got["failed"]) == (1, 1)
    assert "slot 3" in got["failures"][0]["difference"]


BAD = {
    "empty prompt": (["decode", "--prompt", " "], "empty"),
    "prompt that is no text": (["decode", "--prompt", "caf\udce9"], "UTF-8"),
    "no such file": (["decode", "--prompt-file", "/nowhere.txt"], "/nowhere.txt"),
    "ids that are no numbers": (["decode", *DREAM, "--prompt-ids", "1,x"], "whole numbers"),
    "id outside the vocabulary": (["decode", *DREAM, "--prompt-ids", "1,9999"], "9999"),
    "text without a tokenizer": (["decode", *DREAM, "--prompt", "hi"], "--prompt-ids"),
    "prompt too long": (["decode", "--prompt", "pen " * 600], "shorten the prompt"),
    "length 0": (["decode", *DREAM, *IDS, "--max-new-tokens", "0"], "max_new_tokens"),
    "block does not divide": (["decode", *DREAM, *IDS, "--max-new-tokens", "50", "--block-size", "16"], "take 48 or 64"),
    "block longer than the text": (["decode", *DREAM, *IDS, "--max-new-tokens", "8", "--block-size", "16"], "longer"),
    "threshold above 1": (["decode", *DREAM, *IDS, "--tau-conf", "1.5"], "tau_conf"),
    "threshold not a number": (["decode", *DREAM, *IDS, "--tau-add", "nan"], "tau_add"),
    "negative lookahead": (["decode", *DREAM, *IDS, "--lookahead", "-1"], "lookahead"),
    "unknown decoder": (["compare", *DREAM, *IDS, "--decoders", "lopa,magic"], "magic"),
    "no decoder": (["compare", *DREAM, *IDS, "--decoders", ","], "--decoders"),
    "unknown flag": (["decode", *DREAM, *IDS, "--bogus"], "--bogus"),
    "unknown command": (["dance"], "dance"),
    "no command": ([], "COMMAND"),
    "no model": (["decode", "--model", "/nowhere", *IDS], "/nowhere"),
    "no such device": (["decode", *DREAM, *IDS, "--device", "abacus"], "abacus"),
    "limit 0": (["bench", "--limit", "0"], "--limit"),
    "bench without a tokenizer": (["bench", *DREAM, "--limit", "1"], "tokenizer"),
    "no problems": (["bench-speed", "--limit", "0"], "--limit"),
    "no repeats": (["bench-speed", "--repeats", "-1"], "--repeats"),
    "what the plain loop does not know": (["bench-speed", "--attention", "full"], "plain loop"),
    "bench-speed without a tokenizer": (["bench-speed", *DREAM, "--attention", "block_causal"], "tokenizer"),
    "lookaheads no numbers": (["bench-rounds", *DREAM, "--lookaheads", "a"], "--lookaheads"),
    "trace that is none": (["trace", str(CONFORMANCE / "lopa.json")], "not a trace"),
    "model that is a file": (["decode", "--model", __file__, *IDS], "is a file: give the folder"),
    "cases that are none": (["verify", str(MODELS / "dream-a" / "config.json"), "--models", "."], "cases"),
    "trace into no folder": (["decode", *DREAM, *IDS, *SHORT, "--trace", "/nowhere/trace.json"], "/nowhere"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, name):
    argv, words = BAD[name]
    code, out, err = call(capsys, *argv)
    assert code == 2
    assert len(err.strip().splitlines()) == 1 and words in err
    assert "Traceback" not in err and out == ""


def test_a_file_that_is_not_utf8(capsys, tmp_path):
    (tmp_path / "prompt.txt").write_bytes(b"caf\xe9")
    code, _, err = call(capsys, "decode", "--prompt-file", tmp_path / "prompt.txt")
    assert code == 2 and "UTF-8" in err


@pytest.mark.parametrize(("change", "words"), [({"prompt": 5}, "cases.0.prompt"), ({"settings": {"speed": 1}}, "speed")])
def test_damaged_cases_are_named(capsys, tmp_path, change, words):
    case = json.loads((CONFORMANCE / "lopa.json").read_text())["cases"][0] | change
    (tmp_path / "cases.json").write_text(json.dumps({"cases": [case]}))
    code, _, err = call(capsys, "verify", tmp_path / "cases.json", "--models", MODELS)
    assert code == 2 and words in err


def test_blanks_around_a_prompt_change_nothing(capsys, tmp_path):
    (tmp_path / "prompt.txt").write_text("Mia has 3 pens.\n", encoding="utf-8")
    flags = ["--max-new-tokens", "16"]
    from_file = call_json(capsys, "decode", "--prompt-file", tmp_path / "prompt.txt", *flags)
    assert from_file["ids"] == call_json(capsys, "decode", "--prompt", "Mia has 3 pens.", *flags)["ids"]


def test_d2f_is_confidence_decoding(capsys):
    one, other = (call_json(capsys, "decode", *DREAM, *IDS, *SHORT, "--decoder", name) for name in ("d2f", "confidence"))
    assert one["ids"] == other["ids"]


def test_more_lookahead_branches_than_masks_is_fine(capsys):
    got = call_json(capsys, "decode", *DREAM, *IDS, "--max-new-tokens", "4", "--block-size", "4", "--lookahead", "64")
    assert got["slots_written"] == 4


def test_other_scripts_decode_without_a_crash(capsys):
    assert call_json(capsys, "decode", "--prompt", "日本語 🦜 שלום", "--max-new-tokens", "16")["rounds"] > 0


def test_it_runs_as_a_module():
    got = subprocess.run([sys.executable, "-m", "lopa_core", "--help"], capture_output=True, text=True, timeout=60)
    assert got.returncode == 0 and "compare" in got.stdout


def test_compare_and_trace_write_a_replay_that_needs_nothing_else(capsys, tmp_path):
    page, again, trace = (tmp_path / name for name in ("a.html", "b.html", "trace.json"))
    call(capsys, "compare", "--prompt", "Mia has 3 pens. <b>&", "--trace", trace, "--html", page)
    call(capsys, "trace", trace, "--html", again)
    text = page.read_text(encoding="utf-8")
    assert text == again.read_text(encoding="utf-8") and text.startswith("<!doctype html>")
    assert not re.search(r'(src|href)="(?!data:|#)', text) and "{{" not in text.partition("<script")[0]
    assert "<title>LoPA Side by Side: Mia has 3 pens. &lt;b&gt;&amp;</title>" in text


def test_the_gallery_can_be_recorded_anew(capsys, tmp_path):
    code, _, _ = call(capsys, "record", "--out", tmp_path / "new", "--only", "fifteen-branches")
    (made,) = (tmp_path / "new").iterdir()
    shipped = read(REPLAYS / made.name)
    assert code == 0 and made.name == "fifteen-branches.json"
    assert [trace.tokens for trace in read(made)] == [trace.tokens for trace in shipped]


def test_bench_step_stands_beside_the_roofline(capsys):
    sizes = ["--shape", "small", "--layers", "1", "--rows", "1,2", "--window", "16", "--prefix", "32", "--repeats", "2"]
    got = call_json(capsys, "bench-step", *sizes)
    assert [(each["rows"], each["window"]) for each in got["results"]] == [(1, 16), (2, 16)]
    for each in got["results"]:
        assert each["ratio"] == pytest.approx(each["milliseconds"] / each["floor"]) and 0 <= each["host_share"] < 1
    code, _, err = call(capsys, "bench-step", "--rows", "0")
    assert code == 2 and "--rows takes whole numbers" in err


def test_bench_of_all_decoders_leaves_a_report(capsys, tmp_path):
    path = tmp_path / "bench.json"
    flags = ["--limit", "1", "--max-new-tokens", "32", "--lookahead", "2"]
    got = call_json(capsys, "bench", "--decoders", "all", *flags, "--out", path)
    assert json.loads(path.read_text()) == got
    rows = {row["decoder"]: row for row in got["results"]}
    assert rows.keys() == DECODERS.keys()
    assert rows["leap"]["extra_tokens"] > 0 == rows["confidence"]["extra_tokens"]
    assert rows["vanilla"]["changes"] == {"selection": "one", "lookahead": 0, "tau_add": 1.0, "tau_act": 1.0}
    assert call(capsys, "compare", "--prompt", "hi", "--decoders", "all")[0] == 2  # eight lanes can be shown
