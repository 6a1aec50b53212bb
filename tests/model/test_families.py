"""A checkpoint of every family, as transformers' own save_pretrained writes it, from the folder to decoded tokens."""

import json

import pytest
import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.checkpoint import load
from lopa_core.model.errors import ModelError
from lopa_core.runtime.local import LocalEngine

from ..decode.reference import decode_slowly
from ..helpers import theirs
from ..helpers.decoding import run
from ..helpers.models import dream_config, llada_config, llama_config, qwen2_config, qwen3_config

MASK, PROMPT = 60, [5, 17, 3, 44, 8]
TOKENIZER = {"added_tokens_decoder": {"60": {"content": "<|mask|>", "special": True}, "57": {"content": "<|im_end|>", "special": True}}}

# how each family's config.json differs from the one that transformers saves for its body
SAVED = {
    "qwen2": (qwen2_config(), {"mask_token_id": MASK}),
    "qwen3": (qwen3_config(), {"mask_token_id": MASK}),
    "llama": (llama_config(), {"mask_token_id": MASK}),
    "sdar": (qwen3_config(), {"model_type": "sdar", "mask_token_id": MASK, "block_size": 8}),
    "dream": (dream_config(), {"model_type": "Dream", "mask_token_id": MASK}),
    # the mask is in the tokenizer only
    "a2d-qwen3": (qwen3_config(), {"model_type": "a2d-qwen3"}),
    "a2d-qwen2": (qwen2_config(tie_word_embeddings=True), {"model_type": "a2d-qwen2"}),
}


def saved(folder, name, **how):
    """The folder, and the model that was saved there."""
    raw, changes = SAVED[name]
    model = theirs.theirs(raw)
    model.save_pretrained(folder, **how)
    rewrite(folder, **changes | {"eos_token_id": 59})
    if "mask_token_id" not in changes:
        (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
    return folder, model


def rewrite(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def llada(folder):
    """LLaDA's layout made from Llama's."""
    raw = llada_config()
    model = theirs.theirs(raw)
    return theirs.write(folder, model, raw), model


def settings(attention, **changes):
    common = {"max_new_tokens": 24, "block_size": 8, "attention": attention, "tau_conf": 0.3, "lookahead": 3}
    return DecodeSettings(**common | {"confidence": "probability", "stop_at_eos": False} | changes)


class Theirs:
    """Their model as the slow reference loop asks for it: hidden rows are logits already."""

    def __init__(self, model, config):
        self.model, self.config = model, config

    def __call__(self, tokens, *, mask):
        return theirs.logits(self.model, tokens, mask)

    def head(self, logits):
        return logits


@pytest.mark.parametrize("name", [*SAVED, "llada"])
def test_decoding_is_that_of_a_slow_loop_over_transformers_own_model(name, tmp_path):
    """Load, cache, batch of branches and blocks against a loop that runs their class on everything in every round."""
    folder, model = llada(tmp_path) if name == "llada" else saved(tmp_path, name)
    network = load(folder, dtype=torch.float64)
    assert network.config.family == name and network.config.mask_id == MASK
    chosen = settings("block_causal")
    rounds, outcome = run(PROMPT, LocalEngine(network), chosen)
    answer, slow, _ = decode_slowly(Theirs(model, network.config), PROMPT, chosen)
    assert list(outcome.tokens) == answer and MASK not in answer
    assert [each.winner for each in rounds] == [each["winner"] for each in slow]
    assert any(each.winner < len(each.branches) - 1 for each in rounds)  # a lookahead branch has won


@pytest.mark.parametrize("name", SAVED)
def test_full_attention_decodes_to_the_end(name, tmp_path):
    network = load(saved(tmp_path, name)[0])
    # transformers writes a token of its own choice into generation_config.json as one more that ends a text
    rounds, outcome = run(PROMPT, LocalEngine(network), settings("full", tau_add=0.5, stop_at_end_of_turn=False))
    assert len(outcome.tokens) == 24 and MASK not in outcome.tokens and len(rounds) <= 24


def test_end_tokens_are_those_of_all_files(tmp_path):
    folder, _ = saved(tmp_path, "a2d-qwen3")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [58, 59]}))
    assert load(folder).config.end_ids == (59, 58, 57)


def test_shards_that_transformers_wrote_are_read(tmp_path):
    folder, model = saved(tmp_path, "qwen3", max_shard_size="100kB")
    assert len(list(folder.glob("model-*.safetensors"))) >= 3
    network, tokens = load(folder, dtype=torch.float64), torch.tensor([PROMPT])
    torch.testing.assert_close(network.head(network(tokens)), theirs.logits(model, tokens), rtol=0, atol=1e-12)


def test_a_checkpoint_of_one_body_under_the_name_of_another_is_refused(tmp_path):
    folder, _ = saved(tmp_path, "qwen3")
    rewrite(folder, model_type="llama")
    with pytest.raises(ModelError, match="holds 6 keys this network does not know, model.layers.0.self_attn.k_norm.weight among them"):
        load(folder)
    other, _ = saved(tmp_path / "other", "llama")
    rewrite(other, model_type="Dream")
    with pytest.raises(ModelError, match="lacks model.layers.0.self_attn.q_proj.bias"):
        load(other)


def test_modernbert_decodes_with_the_whole_sequence_in_every_round(tmp_path):
    """What is told of the winner in each round is what their class says of its canvas, blocks that are long done included."""
    model = theirs.their_encoder()
    model.save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER | {"mask_token": "<|mask|>"}))
    network = load(tmp_path, dtype=torch.float64)
    chosen = settings("full", tau_add=1.0)
    rounds, outcome = run(PROMPT, LocalEngine(network), chosen)
    tokens = torch.full((1, 29), MASK)
    tokens[0, :5] = torch.tensor(PROMPT)
    for each in rounds:
        if each.brought:
            tokens[0, each.brought.slot] = each.brought.token
        with torch.no_grad():
            said = model(input_ids=tokens[:, : each.end]).logits[0, each.slots]
        said[:, MASK] = float("-inf")
        assert said.argmax(-1).tolist() == each.seen.tokens.tolist()
        tokens[0, each.slots[each.filled]] = torch.from_numpy(each.seen.tokens[each.filled]).long()
    assert tokens[0, 5:].tolist() == list(outcome.tokens) and MASK not in outcome.tokens
    assert any(each.brought for each in rounds)


def test_modernbert_refuses_blocks(tmp_path):
    theirs.their_encoder().save_pretrained(tmp_path)
    rewrite(tmp_path, mask_token_id=MASK)
    with pytest.raises(ModelError, match="encoder"):
        run(PROMPT, LocalEngine(load(tmp_path)), settings("block_causal"))
