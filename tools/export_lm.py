#!/usr/bin/env python3
"""Makes a folder that `fmd lm` opens from a language model of Hugging Face or a GGUF file.

  tools/export_lm.py MODEL                 writes backbone.onnx into the folder MODEL
  tools/export_lm.py MODEL -o FOLDER       a new folder: config.json, model.safetensors,
                                           tokenizer.json and backbone.onnx
  tools/export_lm.py FILE.gguf -o FOLDER   the same; quantised weights become float32

backbone.onnx maps input_ids and attention_mask to `hidden`, the input of the vocabulary
head. The script runs the file again on padded sentences of other lengths and compares with
transformers: where a state differs by more than 1e-4 of the largest one, it ends with an
error and no file is written. --no-onnx leaves the file out: fmd computes the states of the
Llama kind by itself.

Needs transformers, torch, onnx, onnxscript, onnxruntime; gguf and accelerate for GGUF files.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

CAUSAL = ("llama", "gpt2")
MASKED = ("bert", "distilbert", "roberta")
TOLERANCE = 1e-4


def fail(text: str) -> None:
    print(f"export_lm.py: {text}", file=sys.stderr)
    raise SystemExit(1)


def load(path: Path):
    """The model in float32, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    gguf = {"gguf_file": path.name} if path.is_file() else {}
    folder = path.parent if gguf else path
    try:
        kind = AutoConfig.from_pretrained(folder, **gguf).model_type
        if kind not in CAUSAL + MASKED:
            fail(f"{path}: models of the type {kind} are not known; known are {', '.join(CAUSAL + MASKED)}")
        auto = AutoModelForMaskedLM if kind in MASKED else AutoModelForCausalLM
        model = auto.from_pretrained(folder, dtype=torch.float32, **gguf)
        tokenizer = AutoTokenizer.from_pretrained(folder, **gguf)
    except (OSError, ValueError, KeyError) as error:
        fail(f"{path}: {error}")
    if gguf:
        model = rebuilt(model)
    return model.eval(), tokenizer


def rebuilt(model):
    """A model without the memory that it was quantised, which save_pretrained refuses."""
    config = type(model.config).from_dict(
        {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"})
    plain = type(model)(config)
    plain.load_state_dict(model.state_dict())
    return plain


def below_head(model):
    """A module from input_ids and attention_mask to what the vocabulary head multiplies."""
    import torch

    class Below(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            base = self.model.base_model
            kind = self.model.config.model_type
            more = {"use_cache": False} if kind in CAUSAL else {}
            x = base(input_ids=input_ids, attention_mask=attention_mask, **more).last_hidden_state
            if kind == "bert":
                x = self.model.cls.predictions.transform(x)
            elif kind == "distilbert":
                x = self.model.vocab_layer_norm(self.model.activation(self.model.vocab_transform(x)))
            elif kind == "roberta":
                head = self.model.lm_head
                x = head.layer_norm(torch.nn.functional.gelu(head.dense(x)))
            return x

    return Below().eval()


def sentences(model, rows: int, cols: int, seed: int):
    """Random tokens; every row but the first has another length, the rest is padding."""
    import torch

    torch.manual_seed(seed)
    config = model.config
    pad = config.pad_token_id if isinstance(config.pad_token_id, int) and config.pad_token_id >= 0 else 0
    ids = torch.randint(5, config.vocab_size, (rows, cols))
    mask = torch.ones_like(ids)
    for row in range(1, rows):
        end = max(1, cols - 2 * row)
        ids[row, end:] = pad
        mask[row, end:] = 0
    return ids, mask


def export(model, target: Path) -> None:
    """Writes the ONNX file and compares its states with those of transformers."""
    import torch

    below = below_head(model)
    ids, mask = sentences(model, 2, 7, seed=1)
    batch, length = torch.export.Dim.DYNAMIC, torch.export.Dim.DYNAMIC
    with torch.no_grad():
        program = torch.onnx.export(
            below, (ids, mask), input_names=["input_ids", "attention_mask"], output_names=["hidden"],
            dynamic_shapes={"input_ids": {0: batch, 1: length}, "attention_mask": {0: batch, 1: length}},
            dynamo=True, verbose=False)
        program.save(str(target), external_data=False)
        without_notes(target)
        check(model, below, target)


def without_notes(target: Path) -> None:
    """Takes out what the exporter notes for its own developers: code, and paths of this machine."""
    import onnx

    proto = onnx.load(str(target))
    del proto.metadata_props[:]
    graphs = [proto.graph, *proto.functions]
    for graph in graphs:
        graph.doc_string = ""
        del graph.metadata_props[:]
        for node in graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
        for value in [*graph.value_info, *getattr(graph, "input", []), *getattr(graph, "output", [])]:
            if hasattr(value, "metadata_props"):
                del value.metadata_props[:]
    onnx.save(proto, str(target))


def check(model, below, target: Path) -> None:
    import numpy
    import onnxruntime

    session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    longest = getattr(model.config, "max_position_embeddings", 512)
    for rows, cols in ((1, 1), (1, 5), (4, min(23, longest - 4)), (3, min(61, longest - 4))):
        ids, mask = sentences(model, rows, cols, seed=cols)
        want = below(ids, mask).numpy()
        (have,) = session.run(["hidden"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})
        if have.shape != want.shape:
            fail(f"the exported file gives states of shape {have.shape} in place of {want.shape}")
        seen = mask.numpy().astype(bool)
        largest = numpy.abs(have - want)[seen].max() / numpy.abs(want[seen]).max()
        print(f"checked {rows} x {cols} tokens with padding: largest difference {largest:.1e} of the largest state")
        if not largest <= TOLERANCE:
            fail(f"the exported file gives other states than transformers (by {largest:.1e}): not written")
    head = model.get_output_embeddings()
    ids, mask = sentences(model, 2, 9, seed=9)
    logits = model(input_ids=ids, attention_mask=mask).logits
    mine = head(below(ids, mask))
    if not torch_close(logits, mine):
        fail("the head times these states is not what the model predicts: not written")


def torch_close(a, b) -> bool:
    return bool((a - b).abs().max() <= TOLERANCE * a.abs().max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a folder as Hugging Face writes it, or a GGUF file")
    parser.add_argument("-o", "--out", type=Path, help="a new folder for everything")
    parser.add_argument("--no-onnx", action="store_true", help="leave out backbone.onnx (the Llama kind needs none)")
    args = parser.parse_args()
    if not args.model.exists():
        fail(f"{args.model}: no such file or folder")
    if args.model.is_file() and args.out is None:
        fail("a GGUF file needs -o FOLDER")
    if args.out is not None and args.out.exists():
        fail(f"{args.out} exists already")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # what is not on this machine is an error, not a download

    import transformers

    transformers.logging.set_verbosity_error()
    model, tokenizer = load(args.model)
    if args.no_onnx and model.config.model_type != "llama":
        fail(f"--no-onnx: the type {model.config.model_type} needs backbone.onnx")
    where = args.out.parent if args.out else args.model
    with tempfile.TemporaryDirectory(prefix=".export-lm-", dir=where) as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        if not args.no_onnx:
            export(model, folder / "backbone.onnx")
        if args.out is None:
            if not args.no_onnx:
                os.replace(folder / "backbone.onnx", args.model / "backbone.onnx")
        else:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            if not (folder / "tokenizer.json").is_file():
                fail("the tokenizer has no tokenizer.json: a fast one is needed")
            shutil.move(folder, args.out)
    print(f"wrote {args.out if args.out else args.model / 'backbone.onnx'}")


if __name__ == "__main__":
    main()
