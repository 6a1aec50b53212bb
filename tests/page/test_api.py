"""The endpoints for programs, used as a program would: gradio_client against a running app."""

import json

import httpx
import pytest
from gradio_client import Client

from lopa_core.page.api import Allowance
from lopa_core.page.shelf import PageError
from lopa_core.trace.files import loads
from lopa_core.trace.metrics import measure

QUESTION = "Mia has 12 shells. She finds 5 more and gives 3 to Leo. How many shells does Mia have now?"


@pytest.fixture(scope="module")
def client(address):
    return Client(address, verbose=False)


def test_the_api_page_shows_these_endpoints_with_their_words(client):
    told = client.view_api(return_format="dict")["named_endpoints"]
    assert set(told) == {"/compare", "/decode", "/status"}
    assert "streaming" in told["/compare"]["description"] and "one decoder" in told["/decode"]["description"]
    assert [each["parameter_name"] for each in told["/compare"]["parameters"]] == ["prompt", "decoders", "model", "settings"]
    assert [each["parameter_has_default"] for each in told["/compare"]["parameters"]] == [False, True, True, True]


def test_compare_streams_every_round_and_ends_with_the_trace(client):
    messages = list(client.submit(QUESTION, settings={"lookahead": 3}, api_name="/compare"))
    *rounds, last = messages
    traces = loads(last["trace"])
    assert [trace.decoder for trace in traces] == ["confidence", "lopa"] and traces[1].settings["lookahead"] == 3
    assert len(rounds) == sum(len(trace.rounds) for trace in traces) > 4
    assert {each["decoder"] for each in rounds} == {"confidence", "lopa"}
    mine = [each for each in rounds if each["decoder"] == "lopa"]
    assert [each["index"] for each in mine] == list(range(len(traces[1].rounds)))
    assert [json.loads(each["round"])["winner"] for each in mine] == [each.winner for each in traces[1].rounds]
    assert last["results"][0]["rounds"] == measure(traces[0]).rounds and last["results"][1]["text"].strip()


def test_decode_answers_with_text_and_numbers(client):
    got = client.predict(QUESTION, decoder="vanilla", api_name="/decode")
    assert got["decoder"] == "vanilla" and got["text"].strip() and got["tokens"] == len(got["ids"]) <= got["rounds"] + 1
    assert got == got | {"reason": "eos", "branch_forwards": got["rounds"]}


def test_a_byte_order_mark_is_no_part_of_a_prompt(client):
    marked = client.predict(f"\ufeff{QUESTION}", api_name="/decode")
    assert marked["ids"] == client.predict(QUESTION, api_name="/decode")["ids"]


def test_status_tells_what_runs(client):
    told = client.predict(api_name="/status")
    assert told["state"] == "ready" and told["model"] == "lopa-tiny" and "lopa" in told["decoders"] and "CPU" in told["hardware"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"prompt": " "}, "The prompt is empty"),
        ({"prompt": "x" * 10_000}, "takes up to"),
        ({"prompt": "2", "decoders": "fastest"}, "There is no decoder 'fastest'"),
        ({"prompt": "2", "decoders": ""}, "names none"),
        ({"prompt": "2", "model": "elsewhere"}, "no model 'elsewhere'"),
        ({"prompt": "2", "settings": {"lookahead": 999}}, "lookahead must be a whole number"),
        ({"prompt": "2", "settings": {"look": 1}}, "There is no setting 'look'"),
        ({"prompt": "2", "settings": [1]}, "settings is an object"),
        ({"prompt": 7}, "are texts"),
        ({"prompt": "2", "settings": {"max_new_tokens": 320, "lookahead": 64}}, "may take [0-9,]{6} branch forwards .* 20,000 are"),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(client, given, words):
    with pytest.raises(Exception, match=words) as told:
        client.predict(**given, api_name="/compare")
    assert "Traceback" not in str(told.value)


def test_a_call_that_takes_too_long_is_ended_after_the_rounds_it_has_had():
    left = []

    class Endless:
        def run(self):
            try:
                while True:
                    yield "lopa", None
            finally:
                left.append(True)

    rounds = Allowance(seconds=0.05).spend(Endless())
    assert next(rounds) == ("lopa", None)
    with pytest.raises(PageError, match="used up the 0.05 seconds .* --api-seconds"):
        for _ in rounds:
            pass
    assert left == [True]


def test_the_health_endpoint_asks_and_answers(address):
    told = httpx.get(address + "healthz")
    assert told.status_code == 200 and told.json()["state"] == "ready" and told.json()["workers"][0]["answers"] is True
