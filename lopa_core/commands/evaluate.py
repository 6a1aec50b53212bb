"""`evaluate`: the benchmarks of the paper, with one decoder of one model."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

from ..decode.decoders import DECODERS
from ..evaluation.benchmarks import BENCHMARKS
from ..evaluation.documents import read_documents
from ..evaluation.errors import EvaluationError
from ..evaluation.journal import Journal
from ..evaluation.run import check, companion, report, save, save_solutions
from ..evaluation.run import run as evaluate
from ..evaluation.sandbox import check as check_sandbox
from ..evaluation.writer import Writer
from ..io.writing import check_writable
from ..model.tokenizer import PROMPTS
from . import options
from .output import deliver


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", choices=BENCHMARKS, required=True)
    parser.add_argument("--decoder", choices=(*DECODERS, "d2f"), default="lopa")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N questions (default: all)")
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="the questions, as JSON lines in the dataset's format, instead of the Hub's"
    )
    parser.add_argument("--shots", type=int, metavar="N", help="solved examples before a question (default: as published for the task)")
    parser.add_argument("--template", choices=PROMPTS, help="how a prompt is given to the model (default: the model's own)")
    parser.add_argument("--paper", action="store_true", help="hyperparameters of LoPA's Table 5 for the task, which are for D2F-Dream")
    parser.add_argument(
        "--in-flight", type=int, default=1, metavar="N", help="prompts under way that take turns, which is no faster (default 1)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE.json",
        help="the report; beside it the answers (.samples.jsonl) as they come, and the programs",
    )
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted evaluation of the same --out")
    parser.add_argument(
        "--allow-code-execution",
        action="store_true",
        help="run the programs that the model writes, in a container (bwrap); without it they are only saved",
    )
    parser.add_argument(
        "--trust-programs",
        action="store_true",
        help="with --allow-code-execution: where there is no container, run them without one; they can then do all that you can",
    )
    options.add_model(parser)
    options.add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    benchmark = BENCHMARKS[args.task]
    shots = benchmark.shots if args.shots is None else args.shots
    check(benchmark, shots, args.allow_code_execution)
    if args.limit is not None and args.limit < 1:
        raise EvaluationError(f"--limit must be 1 or more, not {args.limit}.")
    if args.allow_code_execution:
        check_sandbox(args.trust_programs)
    elif args.trust_programs:
        raise EvaluationError("--trust-programs says how programs are run: give --allow-code-execution as well, or leave it out.")
    samples, solutions = companion(args.out, ".samples.jsonl"), companion(args.out, ".solutions.jsonl")
    check_writable(args.out, samples, solutions)
    source = options.read_model_name(args)
    source = replace(source, prompt=args.template or source.prompt)
    suiting = replace(source, settings={**source.settings, **benchmark.paper}) if args.paper else source
    settings = options.read_settings(args, suiting).decoder(args.decoder)
    left_out: list[str] = []
    documents = read_documents(benchmark, args.data, left_out=left_out)
    model = options.read_model(args, source)
    told = {"task": args.task, "model": model.name, "commit": model.commit, "decoder": args.decoder, "settings": asdict(settings)}
    told |= {"shots": shots, "template": source.prompt}
    journal = Journal(samples, told, resume=args.resume)
    writer = Writer(model, args.decoder, settings, journal, in_flight=args.in_flight)
    execution = {"execute": args.allow_code_execution, "trusted": args.trust_programs}
    scores = evaluate(benchmark, documents, writer, shots=shots, limit=args.limit, **execution)
    told = report(benchmark, scores, writer, shots=shots, left_out=left_out)
    deliver(
        lambda: print(json.dumps(told)) if args.json else show(benchmark.title, told),
        (samples, lambda _: journal.flush()),
        (solutions, lambda file: save_solutions(scores, file)),
        (args.out, lambda file: save(told, scores, file)),
    )
    return 0


def show(title: str, told: dict) -> None:
    """A Markdown table; counts per question."""
    count = told["questions"]
    print(f"\n{title}, {count} questions, {told['shots']} examples, {told['model']}, {told['hardware']}\n")
    heads = ["decoder", "accuracy % (95 %)", "TPF", "rounds", "branch-forwards", "seconds", "tokens/s"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    counts = f"{told['rounds'] / count:.1f} | {told['branch_forwards'] / count:.1f} | {told['seconds'] / count:.3f}"
    print(f"| {told['decoder']} | {accuracy(told)} | {told['tpf']:.2f} | {counts} | {told['tokens_per_second']:.0f} |")
    for way, score in told["scores"].items():
        print(f"\n{way}: {accuracy(score)}")
    for note in told["notes"]:
        print(f"\n{note}")


def accuracy(told: dict) -> str:
    if told["accuracy"] is None:
        return "not judged"
    return f"{told['accuracy']:.1f} ({told['accuracy_low']:.1f}-{told['accuracy_high']:.1f})"
