"""One thread per test process: the models are tiny, and threads would only fight over the machine. No proxy either."""

import os

import torch

pytest_plugins = ["tests.helpers.skips"]
for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]  # the tests talk to this machine alone
torch.set_num_threads(1)
