"""One thread per test process: the models are tiny, and threads would only fight over the machine."""

import torch

torch.set_num_threads(1)
