"""A Hugging Face Trainer on a small GPT-2 with random weights. Needs neither a network nor gpuprof.

Prints the losses. Writes PyTorch's own memory figures as JSON to the file that PEAKS_OUT names.
"""
import json
import os
import tempfile

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        line = torch.randint(0, 1000, (128,), generator=g)
        return {"input_ids": line, "labels": line}


class Say(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **rest):
        if logs and "loss" in logs:
            print(f"step {state.global_step} loss {logs['loss']:.3f}", flush=True)


def main():
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=256, n_layer=4, n_head=4,
                                       attn_implementation="eager"))
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(folder, per_device_train_batch_size=4, max_steps=8, logging_steps=1,
                                 report_to=[], save_strategy="no", disable_tqdm=True, seed=1,
                                 dataloader_num_workers=2)
        trainer = Trainer(model=model, args=args, train_dataset=Sentences(), callbacks=[Say()])
        trainer.remove_callback(PrinterCallback)  # this line would print the run's duration
        trainer.train()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats(0)
    if os.environ.get("PEAKS_OUT"):
        with open(os.environ["PEAKS_OUT"], "w") as f:
            json.dump({"torch": torch.__version__, "pid": os.getpid(), "profiler_events": None, "devices": [{
                "device": 0,
                "allocated_peak_bytes": torch.cuda.max_memory_allocated(0),
                "reserved_peak_bytes": torch.cuda.max_memory_reserved(0),
                "ooms": stats["num_ooms"],
                "block_allocs": stats["allocation.all.allocated"],
                "block_frees": stats["allocation.all.freed"],
            }]}, f)


if __name__ == "__main__":
    main()
