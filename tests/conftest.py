"""One thread per test process: the models are tiny, and threads would only fight over the machine."""

import torch

pytest_plugins = ["tests.helpers.skips"]
torch.set_num_threads(1)
