"""Every measurement that a document shows. `python -m lopa_core measure` lists them, runs them and renders the documents."""

from __future__ import annotations

from . import costs, decoders
from .decoders import compared, gain, losses, published
from .measurement import ROOT, Measurement

DOCUMENTS = (ROOT / "README.md", ROOT / "lopa_core" / "bench" / "README.md", ROOT / "assets" / "lopa-tiny" / "README.md")
TABLE, HEADLINE = "table", "headline"
# the smallest runs; one thread, since two that wait for each other take minutes on a busy machine
SHORT = {"--max-new-tokens": "32", "--threads": "1"}
ONE_PROBLEM = SHORT | {"--limit": "1"}
SHORT_SWEEP = ONE_PROBLEM | {"--lookaheads": "0,2"}
SHORT_SPEED = ONE_PROBLEM | {"--repeats": "1"}
SHORT_ROUNDS = SHORT | {"--lookaheads": "0,2", "--repeats": "1"}
ROUNDS = "lopa_core bench-rounds --model tests/conformance/models/dream-a --lookaheads 0,8 --block-size 32 --max-new-tokens 256 --threads 1"
VERIFY = "lopa_core verify tests/conformance/{}.json --models tests/conformance/models"

MEASUREMENTS = {
    each.name: each
    for each in (
        Measurement(
            name="word-problems",
            command="lopa_core bench --task word-problems --limit 500 --threads 1 --decoders vanilla,confidence,lopa",
            parts={TABLE: compared(gain), HEADLINE: decoders.headline},
            trial=ONE_PROBLEM,
        ),
        Measurement(
            name="mixed",
            command="lopa_core bench --limit 500 --threads 1",
            parts={TABLE: compared(gain, published)},
            trial=ONE_PROBLEM,
        ),
        Measurement(
            name="mixed-14",
            command="lopa_core bench --limit 500 --threads 1 --lookahead 14 --decoders confidence,lopa",
            parts={TABLE: compared(gain)},
            trial=ONE_PROBLEM,
        ),
        Measurement(
            name="word-lists",
            command="lopa_core bench --task word-lists --limit 500 --threads 1 --decoders vanilla,confidence,lopa",
            parts={TABLE: compared(losses)},
            trial=ONE_PROBLEM,
        ),
        Measurement(
            name="scaling",
            command="lopa_core bench --sweep --limit 50 --threads 1",
            parts={TABLE: decoders.curves},
            trial=SHORT_SWEEP | {"--taus": "0.9"},
            file="scaling.json",  # the page's Scaling tab
        ),
        Measurement(
            name="speed",
            command="lopa_core bench-speed --threads 2",
            parts={TABLE: costs.speed, HEADLINE: costs.speed_headline},
            trial=SHORT_SPEED,
        ),
        Measurement(
            name="masks",
            command="lopa_core bench --sweep --over k --lookaheads 0,2,3,7 --reach masks --limit 500 --threads 1",
            parts={TABLE: decoders.over_lookaheads},
            trial=SHORT_SWEEP,
        ),
        Measurement(
            name="speed-bf16",
            command="lopa_core bench-speed --threads 2 --dtype bfloat16",
            parts={TABLE: costs.narrow_speed},
            trial=SHORT_SPEED,
        ),
        Measurement(
            name="decoders",
            command="lopa_core bench --decoders all --limit 100 --threads 1",
            parts={TABLE: decoders.shelf},
            trial=ONE_PROBLEM,
            file="decoders.json",  # the page's Decoders tab
        ),
        Measurement(name="rounds", command=ROUNDS, parts={TABLE: costs.rounds}, trial=SHORT_ROUNDS),
        Measurement(name="rounds-pipelined", command=f"{ROUNDS} --tau-add 0.1", parts={TABLE: costs.rounds}, trial=SHORT_ROUNDS),
        Measurement(
            name="step",
            command="lopa_core bench-step --threads 1",
            parts={TABLE: costs.steps},
            trial={"--layers": "1", "--rows": "1,2", "--window": "32", "--repeats": "1"},
        ),
        Measurement(
            name="pool",
            command="tests.runtime.bench_pool",
            parts={TABLE: costs.pool},
            trial={"--requests": "12", "--rounds": "5"},  # one worker is killed half-way: fewer end before it is there again
        ),
        Measurement(name="loading", command="tests.model.bench_loading", parts={TABLE: costs.loading}, trial={"--megabytes": "3"}),
        Measurement(name="page", command="tests.page.bench", parts={TABLE: costs.page}, trial={"--repeats": "1"}),
        Measurement(name="agreement", command=VERIFY.format("lopa"), parts=dict.fromkeys((TABLE, HEADLINE), costs.agreement)),
        Measurement(name="agreement-d2f-llada", command=VERIFY.format("d2f_llada"), parts={TABLE: costs.agreement}),
    )
}
