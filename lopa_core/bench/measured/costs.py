"""What decoding costs, in Markdown: seconds, rounds, steps, workers, loading and the page."""

from __future__ import annotations

from ..speed import BASELINE, PLAIN, WHOLE, in_words
from ..tables import LANES, NARROW, ROUNDS, STEPS, lanes, some, table
from .decoders import bullets
from .measurement import Result


def speed(told: Result) -> str:
    base, whole = told[BASELINE], told[WHOLE]
    rounds, each = whole["rounds"] / base["rounds"], base["rounds_per_second"] / whole["rounds_per_second"]
    tokens = whole["tokens_per_second"] / base["tokens_per_second"]
    shares = [lane["share_in_network"] for lane in lanes(told)]
    said = [
        *in_words(told["ratios"]),
        f"{WHOLE} takes {rounds:.2f} times the rounds of {BASELINE}; each of them lasts {each:.1f} times as long, so that it writes "
        f"{tokens:.2f} times the tokens per second.",
        f"{min(shares):.0%} to {max(shares):.0%} of a round is the network.",
        f"{told['threads']} threads, {told['problems']} problems, the median of {told['repeats']} runs, all lanes in turn.",
    ]
    return f"{table(LANES, lanes(told))}\n\n{bullets(said)}"


def speed_headline(told: Result) -> str:
    ratios = told["ratios"]
    if ratios["best_lopa"] is None:
        return bullets(in_words(ratios)[:1])
    best, base = told[ratios["best_lopa"]], told[BASELINE]
    return bullets([
        f"In seconds, on a CPU: LoPA ({ratios['best_lopa']}) writes **{best['tokens_per_second']:.0f} tokens per second**, "
        f"{ratios['best_lopa_to_baseline']:.2f} times the baseline's {base['tokens_per_second']:.0f}, and "
        f"{best['tokens_per_second'] / told[PLAIN]['tokens_per_second']:.1f} times those of the loop that LoPA is usually written as."
    ])  # fmt: skip


def narrow_speed(told: Result) -> str:
    """The same in a dtype narrower than fp32."""
    rows = lanes(told)
    best = max(rows, key=lambda row: row["tokens_per_second"])
    other = [100 - row["same_ids_as_fp32"] for row in rows]
    said = [
        f"The fastest is {best['lane']} with {best['tokens_per_second']:.0f} tokens per second.",
        f"Other ids than in fp32 are written on {min(other):.0f} to {max(other):.0f} % of the problems.",
    ]
    return f"{table(NARROW, rows)}\n\n{bullets(said)}"


def rounds(told: Result) -> str:
    return table(some(ROUNDS, "k", "ms/round", "ratio", "network", "observation", "host", "outside the network"), told["results"])


def steps(told: Result) -> str:
    limits = told["limits"]
    reached = f"{limits['bytes_per_second'] / 1e9:.0f} GB/s and {limits['flops'] / 1e12:.2f} TFLOP/s"
    return f"{table(STEPS, told['results'])}\n\n- Reached in the same run: {reached}."


def agreement(told: Result) -> str:
    count = told["passed"] + told["failed"]
    return bullets([f"On **{told['passed']} of {count}** recorded cases we decode as the official code does: tokens, rounds and scores."])


def pool(told: Result) -> str:
    cost, asked = told["round"], told["requests"]
    took = cost["milliseconds"]
    one = f"{took['one process, 1 threads']:.0f} / {took['one process, 2 threads']:.0f} ms"
    slower = took["of which the slower rank's forward"]
    ended = ", ".join(f"{count} {how}" for how, count in asked["ended"].items())
    return pairs({
        "sent by a rank, per round": f"{cost['bytes sent by a rank']} bytes",
        "one process, 1 thread / 2 threads": one,
        "two ranks of 1 thread each": f"{took['two ranks, 1 thread each']:.0f} ms, of which the slower rank's forward {slower:.0f} ms",
        "commit of a block of 64 slots (full attention), per finished block":
            f"{cost['bytes of a commit'] / 1024:.0f} KiB, {took['commit of 64 slots']:.1f} ms",
        f"{sum(asked['ended'].values())} requests, one worker killed half-way": f"{ended}; workers left after close: "
            f"{asked['workers left after close']}",
        "memory and open files": growth(asked["held"]),
    })  # fmt: skip


def growth(held: Result) -> str:
    """What the app has gained from its first look to its last one."""
    first, *_, last = held
    before, after = held[first]["app"], held[last]["app"]
    return (
        f"the app's {before['megabytes']:.0f} MB and {before['files']} files {first} are {after['megabytes']:.0f} MB and "
        f"{after['files']} files {last}"
    )


def page(told: Result) -> str:
    replay, ratio = told["replay"], told["streaming"]["decode_ratio"]
    rates = " / ".join(f"{each['frames_per_second']:.0f}" for each in replay["scrub"].values())
    return pairs({
        "HTML replay": f"{replay['megabytes']:.1f} MB",
        "scrubbing, lanes in view / tree in view": f"{rates} frames per second",
        "decode time while a visitor elsewhere watches, against nobody watching": f"× {ratio['read']:.2f}",
        "the same with the browser drawing on the same cores": f"× {ratio['drawn here']:.2f}",
    })  # fmt: skip


def loading(told: Result) -> str:
    size = f"{told['megabytes']:.0f} MB in {told['shards']} shards"
    return bullets([f"{size}: memory peaks at {told['ratio']:.2f} times their size ({told['peak_megabytes']:.0f} MB above the start)."])


def pairs(rows: dict[str, str]) -> str:
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows.items())])
