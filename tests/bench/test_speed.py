"""What bench-speed makes of what it measured."""

from lopa_core.bench.speed import Lane, ratios
from lopa_core.decode.settings import DecodeSettings
from lopa_core.trace.metrics import Metrics


def test_seconds_are_the_sum_of_each_problem_s_median():
    times = [[1.0, 9.0, 2.0], [5.0, 4.0, 30.0]]
    lane = Lane(DecodeSettings(), right=1, runs=[[Metrics(3, 6, 20, 20, each, each / 2) for each in of] for of in times])
    told = lane.as_dict()
    assert (told["seconds"], told["seconds_in_network"], told["share_in_network"]) == (7.0, 3.5, 0.5)
    assert (told["rounds"], told["branch_forwards"], told["tokens"], told["accuracy"]) == (6, 12, 40, 50.0)


def test_the_best_lopa_is_one_that_is_as_accurate_as_the_baseline():
    told = {
        name: {"tokens_per_second": speed, "accuracy": accuracy}
        for name, speed, accuracy in (("k0", 100, 90), ("k1", 120, 89), ("k3", 300, 88.9), ("k7", 80, 95), ("plain_loop", 20, 95))
    }
    told["k7_window"] = {"tokens_per_second": 50, "accuracy": 95}
    assert ratios(told) == {"k7_to_plain_loop": 4.0, "k7_window_to_plain_loop": 2.5, "best_lopa": "k1", "best_lopa_to_baseline": 1.2}
    told["k1"]["accuracy"] = told["k7"]["accuracy"] = told["k7_window"]["accuracy"] = 0
    assert ratios(told)["best_lopa"] is ratios(told)["best_lopa_to_baseline"] is None
