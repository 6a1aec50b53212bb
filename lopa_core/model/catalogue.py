"""The catalogue of models, as data: where each comes from, how large it is, how it is asked, and which settings suit it.

What could not be checked is said in `unverified` and shown with the model.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .family import FAMILIES
from .preset import Preset
from .published import D2F_LLADA, PUBLISHED, RERUN

ASSETS = Path(__file__).resolve().parents[2] / "assets"

TINY = Preset(
    key="lopa-tiny",
    title="LoPA tiny (5M, embedded)",
    note="Grade-school word problems with numbers up to 100, and lists of words. Other prompts give grammatical nonsense.",
    family="dream",
    parameters=4_823_296,
    licence="Apache-2.0",
    folder=ASSETS / "lopa-tiny",
    settings={
        "max_new_tokens": 160,
        "block_size": 16,
        "attention": "block_causal",
        "tau_add": 0.1,
        "tau_conf": 0.9,
        "lookahead": 7,
        # chosen on 150 held-out problems of another seed than the ones reported
        "confidence_floor": 0.3,
        "anchor_floor": 0.4,
    },
    source="ours, chosen on held-out problems",
)

NOT_RUN = "this project has never downloaded and run it"
NO_LICENCE = "licence: none was seen"
ROUNDED = "number of parameters: rounded, as its page or its name gives it"
SAME_SHAPE = "number of parameters: that of Dream or LLaDA, whose shape it is said to have"
ADAPTER = "the adapter: no licence was seen, and its owner is spelled SJTU-DENG-Lab and SJTU-Deng-Lab"
TAKEN_OVER = "settings: taken over from a model of the same shape"
RPD_VARIANT = "settings and scores: which variant of the model RPD ran"
LOPA_VARIANT = "settings and scores: which variant of Dream, Base or Instruct, LoPA's tables hold for"
DREAM_SIZE, LLADA_SIZE = 7_615_616_512, 8_015_581_184
RERUN_SOURCE = "RPD's runs of LoPA (arXiv 2609.36452)"
TABLE_5 = PUBLISHED["LoPA paper, GSM8K"] | {"max_new_tokens": 256}
TABLE_5_SOURCE = "LoPA's Table 5, GSM8K; length of D2F's table"
OUR_BLOCKS: dict[str, object] = {"max_new_tokens": 256, "block_size": 32}

DREAM = Preset(
    key="dream-instruct",
    title="Dream 7B Instruct",
    note="General instructions: 81 % on GSM8K, 57 % on HumanEval at one token per pass (RPD's runs).",
    family="dream",
    parameters=DREAM_SIZE,
    licence="Apache-2.0",
    hub="Dream-org/Dream-v0-Instruct-7B",
    settings=RERUN,
    source=RERUN_SOURCE,
    unverified=(NOT_RUN, RPD_VARIANT),
)
DREAM_BASE = replace(
    DREAM,
    key="dream-base",
    title="Dream 7B Base",
    note="Continues a text, such as worked examples: 75 % on GSM8K at one token per pass (D2F's runs).",
    hub="Dream-org/Dream-v0-Base-7B",
    prompt="plain+bos",
    unverified=(NOT_RUN, TAKEN_OVER),
)
DREAM_BASE_D2F = replace(
    DREAM_BASE,
    key="dream-base-d2f",
    title="Dream 7B Base + D2F",
    note="Pipelined blocks, the model of LoPA's best figure: 10.1 tokens per pass on GSM8K at 73.8 %.",
    adapter="SJTU-DENG-Lab/D2F_Dream_Base_7B_Lora",
    settings=TABLE_5,
    source=TABLE_5_SOURCE,
    unverified=(NOT_RUN, ADAPTER, LOPA_VARIANT),
)
DREAM_D2F = replace(
    DREAM,
    key="dream-instruct-d2f",
    title="Dream 7B Instruct + D2F",
    note="General instructions, trained for pipelined blocks.",
    adapter="SJTU-DENG-Lab/D2F_Dream_Instruct_7B_Lora",
    settings=TABLE_5,
    source=TABLE_5_SOURCE,
    unverified=(NOT_RUN, ADAPTER, LOPA_VARIANT),
)
DREAM_CODER = replace(
    DREAM,
    key="dream-coder",
    title="Dream-Coder 7B Instruct",
    note="Program code.",
    licence=None,
    hub="Dream-org/Dream-Coder-v0-Instruct-7B",
    unverified=(NOT_RUN, NO_LICENCE, TAKEN_OVER, SAME_SHAPE),
)
DIFFUCODER = replace(
    DREAM,
    key="diffucoder",
    title="DiffuCoder 7B Instruct",
    note="Program code; for research only.",
    licence="apple-amlr, research only",
    hub="apple/DiffuCoder-7B-Instruct",
    settings=OUR_BLOCKS | {"confidence": "probability"},
    source="ours; the confidence is LoPA's for DiffuCoder",
    unverified=(NOT_RUN, SAME_SHAPE),
)
DIFFUCODER_D2F = replace(
    DIFFUCODER,
    key="diffucoder-d2f",
    title="DiffuCoder 7B Instruct + D2F",
    note="Program code in pipelined blocks; for research only.",
    adapter="SJTU-DENG-Lab/D2F_DiffuCoder_Instruct_7B_Lora",
    settings=PUBLISHED["LoPA paper, HumanEval"] | {"max_new_tokens": 256, "confidence": "probability"},
    source="LoPA's Table 5, HumanEval, with its confidence for DiffuCoder; length ours",
    unverified=(NOT_RUN, ADAPTER, SAME_SHAPE, TAKEN_OVER),
)
DPARALLEL_DREAM = replace(
    DREAM,
    key="dparallel-dream",
    title="dParallel Dream 7B",
    note="Trained for parallel decoding: 3.0 tokens per pass on GSM8K at 82.1 %.",
    licence=None,
    hub="Zigeng/dParallel_Dream_7B_Instruct",
    settings=OUR_BLOCKS,
    source="block of dParallel; ours beside it (its entropy threshold is no setting here)",
    unverified=(NOT_RUN, "licence: only that of its code was seen, MIT-0", SAME_SHAPE),
)
D3LLM_DREAM = replace(
    DREAM,
    key="d3llm-dream",
    title="d3LLM Dream 7B",
    note="Trained for parallel decoding: 4.9 tokens per pass on GSM8K at 81.4 %.",
    licence=None,
    hub="d3LLM/d3LLM_Dream",
    settings=OUR_BLOCKS | {"tau_add": 0.1, "tau_act": 0.95},
    source="blocks of d3LLM; ours beside them (its entropy threshold is no setting here)",
    unverified=(NOT_RUN, NO_LICENCE, SAME_SHAPE),
)
LLADA = Preset(
    key="llada",
    title="LLaDA 8B Instruct",
    note="General instructions: 76.5 % on GSM8K, 43 % on HumanEval at one token per pass (RPD's runs).",
    family="llada",
    parameters=LLADA_SIZE,
    licence="MIT",
    hub="GSAI-ML/LLaDA-8B-Instruct",
    settings=RERUN,
    source=RERUN_SOURCE,
    unverified=(NOT_RUN, RPD_VARIANT),
)
LLADA_D2F = replace(
    LLADA,
    key="llada-d2f",
    title="LLaDA 8B Instruct + D2F",
    note="Pipelined blocks: 77.3 % on GSM8K (D2F's runs).",
    adapter="SJTU-DENG-Lab/D2F_LLaDA_Instruct_8B_Lora",
    settings=D2F_LLADA,
    source="D2F's table for LLaDA, GSM8K; the number of branches is ours",
    unverified=(NOT_RUN, ADAPTER),
)
LLADA_1_5 = replace(
    LLADA,
    key="llada-1-5",
    title="LLaDA 1.5",
    note="General instructions, in LLaDA 8B's shape.",
    hub="GSAI-ML/LLaDA-1.5",
    unverified=(NOT_RUN, TAKEN_OVER),
)
DPARALLEL_LLADA = replace(
    LLADA,
    key="dparallel-llada",
    title="dParallel LLaDA 8B",
    note="Trained for parallel decoding: 5.1 tokens per pass on GSM8K at 72.6 %.",
    licence=None,
    hub="Zigeng/dParallel-LLaDA-8B-instruct",
    settings=DPARALLEL_DREAM.settings,
    source=DPARALLEL_DREAM.source,
    unverified=DPARALLEL_DREAM.unverified,
)
D3LLM_LLADA = replace(
    LLADA,
    key="d3llm-llada",
    title="d3LLM LLaDA 8B",
    note="Trained for parallel decoding: 9.1 tokens per pass on GSM8K at 73.1 %.",
    licence=None,
    hub="d3LLM/d3LLM_LLaDA",
    settings=D3LLM_DREAM.settings,
    source=D3LLM_DREAM.source,
    unverified=D3LLM_DREAM.unverified,
)
SDAR_SMALL = Preset(
    key="sdar-1-7b",
    title="SDAR 1.7B Chat, blocks of 32",
    note="Small, block by block: 4 GB; a laptop's CPU writes about 6 slots a second (ollada's figure).",
    family="sdar",
    parameters=2_030_000_000,
    licence="Apache-2.0",
    hub="JetLM/SDAR-1.7B-Chat-b32",
    settings=OUR_BLOCKS | {"attention": "block_causal"},
    source="block and attention of its training; ours beside them",
    unverified=(NOT_RUN, "number of parameters: from the size of its weights, 4.06 GB"),
)
SDAR = replace(
    SDAR_SMALL,
    key="sdar-8b",
    title="SDAR 8B Chat, blocks of 32",
    note="General instructions, block by block.",
    parameters=8_000_000_000,
    hub="JetLM/SDAR-8B-Chat-b32",
    unverified=(NOT_RUN, ROUNDED, "name on the Hub: put together from those of its sisters"),
)
QWEN3 = Preset(
    key="qwen3-mdlm",
    title="Qwen3 0.6B, diffusion",
    note="Small enough for a laptop.",
    family="a2d-qwen3",
    parameters=750_000_000,
    licence=None,
    hub="dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1",
    template_arguments=FAMILIES["a2d-qwen3"].template_arguments,
    settings={"attention": "full"},
    unverified=(NOT_RUN, "licence: none was seen; Qwen3's own is Apache-2.0", ROUNDED),
)
QWEN_CODER = replace(
    QWEN3,
    key="qwen-coder-mdlm",
    title="Qwen2.5-Coder 0.5B Instruct, diffusion",
    note="Small enough for a laptop; program code.",
    family="a2d-qwen2",
    parameters=630_000_000,
    hub="dllm-hub/Qwen2.5-Coder-0.5B-Instruct-diffusion-mdlm-v0.1",
    template_arguments=FAMILIES["a2d-qwen2"].template_arguments,
    unverified=(NOT_RUN, NO_LICENCE, ROUNDED),
)
BERT = Preset(
    key="modernbert-base",
    title="ModernBERT base (150M), chat",
    note="Real words on any CPU: an encoder that answers, up to 1024 tokens with the prompt.",
    family="modernbert",
    parameters=150_000_000,
    licence=None,
    hub="dllm-hub/ModernBERT-base-chat-v0.1",
    # it reads the whole sequence in every pass anyway, so all of the answer may be in view
    settings={"max_new_tokens": 128, "block_size": 128},
    unverified=(NOT_RUN, NO_LICENCE, ROUNDED),
)
BERT_LARGE = replace(
    BERT,
    key="modernbert-large",
    title="ModernBERT large (400M), chat",
    parameters=400_000_000,
    hub="dllm-hub/ModernBERT-large-chat-v0.1",
)

CATALOGUE = {
    preset.key: preset
    for preset in (
        TINY, BERT, BERT_LARGE, QWEN_CODER, QWEN3, SDAR_SMALL, DREAM, DREAM_D2F, DREAM_BASE, DREAM_BASE_D2F, DREAM_CODER, DIFFUCODER,
        DIFFUCODER_D2F, DPARALLEL_DREAM, D3LLM_DREAM, LLADA, LLADA_D2F, LLADA_1_5, DPARALLEL_LLADA, D3LLM_LLADA, SDAR,
    )
}  # fmt: skip
