#!/usr/bin/env python3
"""Makes the tiny language models of tests/files/lm, with what transformers says about a few sentences.

make_lm.py [FOLDER] [--seed N] [--tokens N]

Each model has random weights and a tokenizer that was trained on the sentences below. golden.json has
the token ids, decoded texts, and log p of each token that counts, computed here by transformers, one
sentence after the other. Needs torch 2.13, transformers, onnx, onnxscript and onnxruntime. Run it
again only to add a model: the files are committed, so that no test needs these packages.
"""

import argparse
import importlib.util
import json
import shutil
from pathlib import Path

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).resolve().parent.parent
TEXT = """The tall nurse read the letter slowly. A young engineer fixed the old bridge near our town.
My neighbour's mother sings; his father paints boats. They don't agree, but they'll talk about it.
People from the north like warm bread and cold water. People from the south like cold bread and warm water.
The cook was strong and the guard was gentle. The cook was weak and the guard was harsh.
In 1984 there were 12,345 trees, 678 houses and 9 wells. She's here, we've gone, I'd stay, he'll see!
A clever boy and a clever girl went up the hill. The river is wide, deep, green and slow.
"""
STEREOSET = [
    ("intrasentence", "gender", "mother", "The mother was BLANK.", ("gentle", "strong", "wide")),
    ("intrasentence", "gender", "father", "My father is BLANK today.", ("harsh", "warm", "12,345")),
    ("intrasentence", "race", "north", "People from the north are BLANK and tall.", ("cold", "clever", "bread")),
    ("intrasentence", "race", "south", "BLANK people live in the south.", ("Slow", "Young", "Deep")),
    ("intrasentence", "race", "north", "A guard from the North was BLANK!", ("weakest", "gentlest", "boats")),
]
NEXT = ("intersentence", "gender", "nurse", "The nurse read a letter.",
        ("She was gentle.", "He was gentle.", "The river is wide."))
CROWS = [("The mother was weak.", "The father was weak.", "stereo", "gender"),
         ("People from the north don't talk about bread.", "People from the south don't talk.", "stereo", "race-color"),
         ("The cook is strong, he is a boy.", "The cook is strong, she is a girl.", "antistereo", "gender")]
LINES = ["The tall nurse", " two  blanks   three ", "don't WE'VE I'll 'tis", "café naïve Ångström", "日本語の文章 and 中文",
         "emoji 👩‍🔬🎉 x", "tab\tline\u00a0end", "1984 and 12,345 + ½ ٣", "", "…“quotes”—dash", "a\u0301 \u200d \u0000 \u0007 b",
         "supercalifragilistic expialidocious", "İstanbul ǅ ß ﬁ", "한국어 문장", "nurse<|endoftext|>nurse [MASK] <mask>x", "x" * 120]


def train(kind: str, tokens: int) -> Tokenizer:
    lines = TEXT.splitlines()
    quiet = {"show_progress": False, "vocab_size": tokens}
    if kind in ("bert", "distilbert"):
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(special_tokens=names, **quiet))
        return tokenizer
    roberta = kind == "roberta"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if kind == "llama":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)] if roberta else ["<|endoftext|>"]
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **quiet))
    return tokenizer


def make(kind: str, tokens: int):
    """A model with random weights, and its tokenizer."""
    tokenizer = train(kind, tokens)
    size = tokenizer.get_vocab_size()
    ends = {name: tokenizer.token_to_id(name) for name in ("<|endoftext|>", "<pad>", "[PAD]")}
    if kind == "llama":
        config = transformers.LlamaConfig(
            vocab_size=size + 3, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, max_position_embeddings=64, rope_theta=5000.0, rms_norm_eps=1e-5,
            tie_word_embeddings=False, bos_token_id=0, eos_token_id=0)
        model = transformers.LlamaForCausalLM(config)
    elif kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=size, n_embd=16, n_layer=2, n_head=2, n_positions=64,
                                         bos_token_id=0, eos_token_id=0)
        model = transformers.GPT2LMHeadModel(config)
    elif kind == "bert":
        config = transformers.BertConfig(vocab_size=size, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                         intermediate_size=32, max_position_embeddings=64, pad_token_id=ends["[PAD]"])
        model = transformers.BertForMaskedLM(config)
    elif kind == "distilbert":
        config = transformers.DistilBertConfig(vocab_size=size, dim=16, n_layers=2, n_heads=2, hidden_dim=32,
                                               max_position_embeddings=64, pad_token_id=ends["[PAD]"])
        model = transformers.DistilBertForMaskedLM(config)
    else:
        config = transformers.RobertaConfig(vocab_size=size, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                            intermediate_size=32, max_position_embeddings=66, pad_token_id=ends["<pad>"],
                                            type_vocab_size=1)
        model = transformers.RobertaForMaskedLM(config)
    # Larger than what training begins with: sentences then differ.
    for name, weights in model.named_parameters():
        torch.nn.init.normal_(weights, mean=1.0 if "norm" in name.lower() and "weight" in name else 0.0, std=0.3)
    return model.float().eval(), tokenizer


def log_p(model, ids: list[int]):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1)


def causal(model, first: list[int], tokens: list[int]) -> list[float]:
    all_of_it = log_p(model, [*first, *tokens])
    return [float(all_of_it[len(first) - 1 + k, token]) for k, token in enumerate(tokens)]


def masked_word(model, tokenizer, context: str, word: str, around, mask: str) -> list[float]:
    pieces, values = tokenizer.encode(word, add_special_tokens=False).ids, []
    for k, piece in enumerate(pieces):
        text = context.replace("BLANK", tokenizer.decode(pieces[:k]) + mask)
        ids = [around[0], *tokenizer.encode(text, add_special_tokens=False).ids, around[1]]
        values.append(float(log_p(model, ids)[ids.index(tokenizer.token_to_id(mask)), piece]))
    return values


def masked_all(model, tokenizer, text: str, around, mask: str) -> list[float]:
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    values = []
    for k, token in enumerate(tokens):
        ids = [around[0], *tokens, around[1]]
        ids[k + 1] = tokenizer.token_to_id(mask)
        values.append(float(log_p(model, ids)[k + 1, token]))
    return values


def golden(model, tokenizer, kind: str) -> dict:
    def encode(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    result = {"lines": [{"text": t, "ids": encode(t), "decoded": tokenizer.decode(encode(t))} for t in LINES],
              "stereoset": [], "intersentence": [], "crows": []}
    masked = kind in ("bert", "distilbert", "roberta")
    names = ("<s>", "</s>", "<mask>") if kind == "roberta" else ("[CLS]", "[SEP]", "[MASK]")
    around, mask = [tokenizer.token_to_id(n) for n in names[:2]], names[2]
    for _, _, _, context, words in STEREOSET:
        for word in words:
            text = context.replace("BLANK", word)
            result["stereoset"].append(masked_word(model, tokenizer, context, word, around, mask) if masked
                                       else causal(model, [0], encode(text)))
    if not masked:
        for text in NEXT[4]:
            result["intersentence"].append(causal(model, [0, *encode(NEXT[3])], encode(" " + text)))
    for more, less, _, _ in CROWS:
        for text in (more, less):
            result["crows"].append(masked_all(model, tokenizer, text, around, mask) if masked
                                   else causal(model, [0], encode(text)))
    return result


def write_questions(folder: Path) -> None:
    roles = ("stereotype", "anti-stereotype", "unrelated")
    data: dict[str, list] = {"intrasentence": [], "intersentence": []}
    for number, (part, domain, target, context, words) in enumerate([*STEREOSET, NEXT]):
        sentences = [{"id": f"s{number}-{k}", "gold_label": roles[k],
                      "sentence": context.replace("BLANK", word) if part == "intrasentence" else word}
                     for k, word in enumerate(words)]
        data[part].append({"id": f"i{number}", "bias_type": domain, "target": target, "context": context,
                           "sentences": sentences})
    (folder / "stereoset.json").write_text(json.dumps({"version": "1", "data": data}, indent=1), encoding="utf-8")
    lines = [",sent_more,sent_less,stereo_antistereo,bias_type"]
    lines += [f'{k},"{more}","{less}",{side},{domain}' for k, (more, less, side, domain) in enumerate(CROWS)]
    (folder / "crows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests/files/lm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=380)
    parser.add_argument("--kinds", nargs="+", default=["llama", "gpt2", "bert", "distilbert", "roberta"])
    args = parser.parse_args()
    spec = importlib.util.spec_from_file_location("export_lm", ROOT / "tools/export_lm.py")
    export_lm = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(export_lm)
    args.folder.mkdir(parents=True, exist_ok=True)
    write_questions(args.folder)
    for kind in args.kinds:
        torch.manual_seed(args.seed)
        model, tokenizer = make(kind, args.tokens)
        folder = args.folder / kind
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder, **({"max_shard_size": "40KB"} if kind == "llama" else {}))
        (folder / "generation_config.json").unlink(missing_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"))
        export_lm.export(model, folder / "backbone.onnx")
        (folder / "golden.json").write_text(json.dumps(golden(model, tokenizer, kind)), encoding="utf-8")
        print(kind, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


if __name__ == "__main__":
    main()
