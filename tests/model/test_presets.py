"""The catalogue: every entry can be used, says what was not checked, and is found by the names people type."""

import re

import pytest
from huggingface_hub.utils import validate_repo_id

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model import presets
from lopa_core.model.catalogue import NOT_RUN
from lopa_core.model.family import FAMILIES, parse_config, read_config
from lopa_core.model.presets import CATALOGUE, DEFAULT, PRESETS, PUBLISHED, find
from lopa_core.model.size import parameters
from lopa_core.model.tokenizer import PROMPTS, Tokenizer

from ..helpers.vocabularies import CHATML, merges_folder, whole_folder


@pytest.fixture(params=CATALOGUE)
def preset(request):
    return CATALOGUE[request.param]


def test_every_entry_can_be_used(preset):
    assert CATALOGUE[preset.key] is preset and re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", preset.key)
    assert DecodeSettings(**preset.settings)
    assert preset.family in FAMILIES and preset.prompt in PROMPTS
    assert (preset.folder is None) != (preset.hub is None)
    for name in (preset.hub, preset.adapter):
        assert name is None or "/" in name and validate_repo_id(name) is None
    for text in (preset.title, preset.note, preset.source, *preset.unverified):
        assert text and "\n" not in text and "|" not in text


def test_what_was_not_checked_is_said(preset):
    assert (NOT_RUN in preset.unverified) == (preset.hub is not None)
    assert (preset.licence is None) == any(mark.startswith("licence:") for mark in preset.unverified)
    assert (preset.adapter is None) == (not any(mark.startswith("the adapter") for mark in preset.unverified))


def test_settings_fit_the_model(preset):
    settings = DecodeSettings(**preset.settings)
    trained = "block_causal" if preset.family == "sdar" else "full" if preset.family == "modernbert" else settings.attention
    assert settings.attention == trained  # an encoder cannot do the other, SDAR was never trained for it
    if preset.adapter:
        assert settings.tau_add < 1  # D2F is what makes pipelined blocks possible


def test_the_catalogue_has_what_it_promises():
    dream = {"dream-instruct", "dream-instruct-d2f", "dream-base", "dream-base-d2f", "dream-coder", "diffucoder", "diffucoder-d2f"}
    llada = {"llada", "llada-d2f", "llada-1-5", "dparallel-dream", "dparallel-llada", "d3llm-dream", "d3llm-llada"}
    small = {"lopa-tiny", "sdar-1-7b", "sdar-8b", "qwen3-mdlm", "qwen-coder-mdlm", "modernbert-base", "modernbert-large"}
    assert dream | llada | small <= CATALOGUE.keys()
    assert len({(preset.hub, preset.adapter) for preset in CATALOGUE.values()}) == len(CATALOGUE)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("lopa-tiny", "lopa-tiny"),
        ("Dream-Instruct", "dream-instruct"),
        ("dream-org/dream-v0-instruct-7b", "dream-instruct"),
        (" Dream-org/Dream-v0-Base-7B ", "dream-base"),
        ("dream-base-d2f", "dream-base-d2f"),
        ("GSAI-ML/LLaDA-1.5", "llada-1-5"),
    ],
)
def test_a_model_is_found_by_key_or_hub_id(name, key):
    assert find(name) is CATALOGUE[key]


@pytest.mark.parametrize("name", ["", " ", "dream", "Dream-v0-Instruct-7B", "Dream-org/", "SJTU-DENG-Lab/D2F_Dream_Base_7B_Lora", "/tmp"])
def test_other_names_are_not_found(name):
    assert find(name) is None


def test_each_hub_id_finds_the_plain_model(preset, monkeypatch):
    monkeypatch.setattr(presets, "CATALOGUE", dict(reversed(CATALOGUE.items())))  # in whatever order they stand
    assert find(preset.key) is preset
    assert preset.hub is None or find(preset.hub.upper()).hub == preset.hub and find(preset.hub).adapter is None


def test_presets_need_no_download():
    assert DEFAULT in PRESETS and all(preset.folder.is_dir() and preset is CATALOGUE[key] for key, preset in PRESETS.items())


def test_the_tables_of_the_paper_are_its_own():
    """LoPA, Table 5: block, tau_add, tau_act, tau_conf, branches."""
    names = ("block_size", "tau_add", "tau_act", "tau_conf", "lookahead")
    table = {task: tuple(values[name] for name in names) for task, values in PUBLISHED.items()}
    assert table == {
        "LoPA paper, GSM8K": (32, 0.1, 0.95, 0.9, 14),
        "LoPA paper, MATH": (16, 0.1, 0.95, 0.9, 7),
        "LoPA paper, HumanEval": (32, 0.3, 0.95, 0.95, 7),
        "LoPA paper, MBPP": (32, 0.3, 0.95, 0.95, 7),
    }
    assert CATALOGUE["dream-base-d2f"].settings.items() > PUBLISHED["LoPA paper, GSM8K"].items()


DREAM = {
    "model_type": "Dream", "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "rope_theta": 1e6, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
    "max_position_embeddings": 131072, "mask_token_id": 151666, "eos_token_id": 151643,
}  # fmt: skip
LLADA = {
    "model_type": "llada", "vocab_size": 126464, "embedding_size": 126464, "d_model": 4096, "mlp_hidden_size": 12288, "n_layers": 32,
    "n_heads": 32, "n_kv_heads": 32, "rope_theta": 5e5, "rms_norm_eps": 1e-5, "weight_tying": False, "max_sequence_length": 4096,
    "mask_token_id": 126336, "eos_token_id": 126081,
}  # fmt: skip


def test_exact_counts_are_those_of_the_shapes():
    """Entries without a mark at their number of parameters have it exactly."""
    exact = {"lopa-tiny": read_config(PRESETS[DEFAULT].folder), "dream": parse_config(DREAM), "llada": parse_config(LLADA)}
    for preset in CATALOGUE.values():
        if not any(mark.startswith("number of parameters") for mark in preset.unverified):
            assert preset.parameters == parameters(exact.get(preset.key) or exact[preset.family]), preset.key


def test_prompts_of_the_catalogue_are_what_the_tokenizer_makes(tmp_path):
    base = CATALOGUE["dream-base"]
    tokenizer = Tokenizer(merges_folder(tmp_path / "base"), prompt=base.prompt, arguments=base.template_arguments)
    assert tokenizer.backend.id_to_token(tokenizer.encode_prompt("hi")[0]) == "<|beginoftext|>"
    qwen, template = CATALOGUE["qwen3-mdlm"], "{{ prompt }}{% if enable_thinking is false %}, now{% endif %}"
    folder = whole_folder(tmp_path / "qwen", CHATML, chat_template=template)
    assert Tokenizer(folder, prompt=qwen.prompt, arguments=qwen.template_arguments).render("answer") == "answer, now"
    assert Tokenizer(folder).render("answer") == "answer"
