"""Tables that benchmarks print: how each number of a report's row is written. Counts, rows and seconds are per problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
Columns = Mapping[str, Callable[[Row], str]]

ACCURACY = "accuracy % (95 %)"
# a row is a decoder of `bench`, or a point of `sweep`
DECODERS: Columns = {
    "decoder": lambda row: row["decoder"],
    ACCURACY: lambda row: f"{row['accuracy']:.1f} ({row['accuracy_low']:.1f}-{row['accuracy_high']:.1f})",
    "TPF": lambda row: f"{row['tpf']:.2f}",
    "rounds": lambda row: f"{row['rounds'] / row['problems']:.1f}",
    "branch-forwards": lambda row: f"{row['branch_forwards'] / row['problems']:.1f}",
    "extra tokens": lambda row: f"{row['extra_tokens'] / row['problems']:.0f}",
    "seconds": lambda row: f"{row['seconds'] / row['problems']:.3f}",
    "tokens/s": lambda row: f"{row['tokens_per_second']:.0f}",
}
# a row is a lane of `bench-speed`, with its name as "lane" and the number of "problems"
LANES: Columns = {
    "decoder": lambda row: row["lane"],
    "tokens/s": lambda row: f"{row['tokens_per_second']:.0f}",
    "accuracy %": lambda row: f"{row['accuracy']:.1f}",
    "rounds": lambda row: f"{row['rounds'] / row['problems']:.1f}",
    "branch-forwards": lambda row: f"{row['branch_forwards'] / row['problems']:.1f}",
    "ms per problem": lambda row: f"{1000 * row['seconds'] / row['problems']:.1f}",
    "ms per round": lambda row: f"{1000 / row['rounds_per_second']:.2f}",
    "in the network": lambda row: f"{row['share_in_network']:.0%}",
}
NARROW: Columns = LANES | {"same ids as in fp32": lambda row: f"{row['same_ids_as_fp32']:.0f} %"}  # in another dtype
# a row is a number k of `bench-rounds`
ROUNDS: Columns = {
    "k": lambda row: str(row["lookahead"]),
    "rounds": lambda row: str(row["rounds"]),
    "ms/round": lambda row: f"{row['milliseconds']:.2f}",
    "ratio": lambda row: f"{row['ratio']:.2f}",
    "network": lambda row: f"{row['network']:.2f}",
    "observation": lambda row: f"{row['observation']:.2f}",
    "host": lambda row: f"{row['host']:.2f}",
    "outside the network": lambda row: f"{100 * row['outside_network_share']:.0f} %",
}
# a row is a step of `bench-step`
STEPS: Columns = {
    "rows": lambda row: str(row["rows"]),
    "window": lambda row: str(row["window"]),
    "ms per step": lambda row: f"{row['milliseconds']:.2f}",
    "roofline ms": lambda row: f"{row['floor']:.2f}",
    "ratio": lambda row: f"{row['ratio']:.2f}",
    "GB/s": lambda row: f"{row['bytes_per_second'] / 1e9:.0f}",
    "TFLOP/s": lambda row: f"{row['flops'] / 1e12:.2f}",
    "outside the network": lambda row: f"{row['host_share']:.0%}",
}


def some(columns: Columns, *heads: str) -> Columns:
    return {head: columns[head] for head in heads}


def table(columns: Columns, rows: Iterable[Row]) -> str:
    """A Markdown table, a line per row."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return "\n".join(lines + ["| " + " | ".join(write(row) for write in columns.values()) + " |" for row in rows])


def lanes(report: Row) -> list[Row]:
    """The rows of a report of `bench-speed`, which has a lane under each name."""
    named = ((name, lane) for name, lane in report.items() if isinstance(lane, dict) and "tokens_per_second" in lane)
    return [{"lane": name, "problems": report["problems"]} | lane for name, lane in named]
