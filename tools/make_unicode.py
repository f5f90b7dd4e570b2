#!/usr/bin/env python3
"""Writes src/language/tokens/unicode_tables.cpp: what tokenizers need to know about characters.

make_unicode.py

The classes are asked from the PyPI package `tokenizers` (0.23.3), character by character:
letters, numbers and blanks of its regular expressions, and what its BERT normaliser drops,
separates, strips of accents and lower-cases. Run it again only for another version.
"""

from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

TARGET = Path(__file__).resolve().parent.parent / "src/language/tokens/unicode_tables.cpp"
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(codes: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in codes:
        # The surrogates are no characters: a range may run over them.
        if found and code in (found[-1][1] + 1, 0xE000 if found[-1][1] == 0xD7FF else -1):
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def matching(pattern: str) -> list[int]:
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    return [c for c in CODES if not split.pre_tokenize_str(chr(c))]


def digits() -> list[int]:
    split = pre_tokenizers.Digits(individual_digits=True)
    return [c for c in CODES if len(split.pre_tokenize_str("a" + chr(c) + "a")) == 3]


def punctuation() -> list[int]:
    split = pre_tokenizers.BertPreTokenizer()
    return [c for c in CODES if len(split.pre_tokenize_str("a" + chr(c) + "a")) == 3]


def blanks() -> list[int]:
    split = pre_tokenizers.BertPreTokenizer()
    return [c for c in CODES if not split.pre_tokenize_str(chr(c))]


def cleaned(to: str) -> list[int]:
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False,
                                       lowercase=False)
    return [c for c in CODES if clean.normalize_str(chr(c)) == to and chr(c) != to]


def chinese() -> list[int]:
    apart = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False,
                                       lowercase=False)
    return [c for c in CODES if apart.normalize_str(chr(c)) == f" {chr(c)} "]


def changed(strip: bool, lower: bool) -> list[tuple[int, str]]:
    change = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=strip,
                                        lowercase=lower)
    hangul = range(0xAC00, 0xD7A4) if strip else ()  # by arithmetic
    return [(c, change.normalize_str(chr(c))) for c in CODES
            if c not in hangul and change.normalize_str(chr(c)) != chr(c)]


def table(name: str, codes: list[int]) -> str:
    body = "".join(f"{{0x{a:X}, 0x{b:X}}}, " for a, b in ranges(codes))
    return f"const CodeRange k{name}[] = {{{body}}};\n"


def mapping(name: str, pairs: list[tuple[int, str]]) -> str:
    body = "".join(f'{{0x{c:X}, "{"".join(f"{chr(92)}{b:03o}" for b in text.encode())}"}}, ' for c, text in pairs)
    return f"const CodeChange k{name}[] = {{{body}}};\n"


def main() -> None:
    parts = {"Letters": matching(r"\p{L}"), "Numbers": matching(r"\p{N}"), "Spaces": matching(r"\s"),
             "Digits": digits(), "Punctuation": punctuation(), "Blanks": blanks(), "Dropped": cleaned(""),
             "Blanked": cleaned(" "), "Chinese": chinese()}
    maps = {"Stripped": changed(True, False), "Lowered": changed(False, True)}
    text = "// Made by tools/make_unicode.py: see there.\n// clang-format off\n"
    text += '#include "language/tokens/unicode_tables.h"\n\nnamespace fmd::internal {\nnamespace {\n\n'
    text += "".join(table(name, codes) for name, codes in parts.items())
    text += "".join(mapping(name, pairs) for name, pairs in maps.items())
    text += "\n}  // namespace\n\n"
    for name in parts:
        text += f"std::span<const CodeRange> {name.lower()}_ranges() {{ return k{name}; }}\n"
    for name in maps:
        text += f"std::span<const CodeChange> {name.lower()}_changes() {{ return k{name}; }}\n"
    text += "\n}  // namespace fmd::internal\n"
    TARGET.write_text(text, encoding="utf-8")
    print({name: (len(codes), len(ranges(codes))) for name, codes in parts.items()},
          {name: len(pairs) for name, pairs in maps.items()})


if __name__ == "__main__":
    main()
