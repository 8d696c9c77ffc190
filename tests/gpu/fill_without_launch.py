"""Allocates GPU memory up to a limit until PyTorch fails, and never launches a kernel."""
import torch

torch.cuda.set_per_process_memory_fraction(0.05)
kept = []
try:
    while True:
        kept.append(torch.empty((64 << 20) - 1000, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError:
    print(len(kept) > 1)
