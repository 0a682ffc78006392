#!/usr/bin/env python3
"""Records what Hugging Face's library `tokenizers` makes of texts, as fixtures.

    scripts/make_tokenizer_fixtures.py [NAME ...]

Needs the Python package tokenizers (0.23.3 made those here), which trains some of them otherwise at each run: with
names these alone are written. Writes to tests/fixtures/tokenizers, for each of some small tokenizers that it trains:

    NAME.json          the tokenizer
    NAME.texts.json    texts with their numbers, and numbers with their texts: with special tokens
                       (`decoded`) and without (`plain`)

and components.json: what single normalizers, pre-tokenizers and decoders do.
"""

import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors, trainers

FOLDER = pathlib.Path(__file__).parent.parent / "tests" / "fixtures" / "tokenizers"

# What the tokenizers are trained on.
CORPUS = """The mesh has a name for each of its axes, and every tensor has a layout.
A layout says, for each dimension of a tensor, over which axes it is split; what no axis splits is replicated.
We'll train the model on two devices, then on four, and it's the same model: they've got the same bits.
Don't count on luck! Count the collectives, the bytes that they send (1,234,567 of them), and the seconds.
Can you read this? I'm sure you can; you're reading it now. He'd say the same, she'd say more.
Größere Netze brauchen größere Rechner: fünf, zehn, zwölf Geräte, je nachdem, wie groß sie sind.
Où est le café? Là-bas, près de la gare; les élèves y étudient déjà le français à 8 h 30.
El niño comió piñas en la montaña mientras llovía; mañana será otro día.
Мы учим сеть на двух устройствах, потом на четырёх, и числа те же самые.
神经网络在两个设备上训练, 结果相同. 日本語の文章も読めます。
for i in range(10):\n    if x[i] > 0.5:\n        total += x[i] ** 2\n\n    return total
https://example.org/data/train.txt 2024-01-31 12:45:07 #hash @name $5.00 50% C++ a_b_c ©®™
""".split("\n")

TEXTS = [
    "", " ", "  ", "\n", "a", " a", "a ", "The mesh has a name.", "The  mesh   has    runs.",
    "We'll see; it's theirs, they've said. WE'LL SEE, IT'S", "don't I'm you're he'd she'll",
    "  two blanks before and behind  ", "tab\tand\nline\n\nends\r\nof \r all\n\n\nkinds ",
    "größere Größen, Straße, ÄÖÜ", "café café nai\u0308ve \u00c5 \u212b", "Où est-ce? Là-bas…",
    "神经网络 and 日本語の文章。", "한국어 문장", "Привет, мир! Ёлка", "שלום עולם", "مرحبا بالعالم", "ไทยไม่มีช่องว่าง",
    "😀 👩‍👩‍👧‍👦 🇩🇪 👍🏽 e\u0301", "1234567890 12 3 4.5e-6 ½ ² Ⅷ ٣٤٥", "x = a[i] + b_c ** 2; // 50% $5 #1 @me",
    "nul\x00 bell\x07 escape\x1b delete\x7f", "no-break\u00a0space, thin\u2009space, nel\u0085line, zero\u200bwidth, bom\ufeff",
    "mongolian\u180eseparator . \u180e.", "line\u2028separator\u2029paragraph", "replacement \ufffd character",
    "private \ue000 use, soft\u00adhyphen, \U0001f9ff \U00020bb7 \U0002b820", "İstanbul ıI ſ ẞ ǅ ΑΣ Σ", "ﬁne ①② Ｗｉｄｅ",
    "…‘quoted’ “quoted” «quoted» — dash_under‿tie", "https://example.org/a?b=c&d=%20#e",
    "antidisestablishmentarianism", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "▁already ▁marked ▁▁twice", "Ġletters Ċ of bytes", "##prefix and <0x41> and </w>",
    "<s>text</s>", "a <s> b </s> c", "<|endoftext|>one<|endoftext|>two<|endoftext|><|endoftext|>", "<|begin_of_text|>x<|end_of_text|>",
    "[CLS] a [SEP] b [MASK] c [UNK] d [PAD]", " <mask> a <mask>b", "x<mask>  y", "<|endof", "keep whole_word whole_words",
    "Whole_Word, WHOLE_WORD whole_word", "right<r>   stripped left   <l>stripped both  <b>  sides",
    "ninety-nine percent of   these\tare (in) [brackets] {of} <all> kinds!?", "do not, can not, it is n't 's 've 're 'm . , ! ?",
    "a\u0301\u0302b\u0327 \u0903\u20dd", "ab\nab\n\nab", "x\n y\n  z\n", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟏𝟐𝟑", "a" * 300, "\u0301 mark first",
]

GPT2_SPECIAL = "<|endoftext|>"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


def train_bpe(tokenizer, size, special=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False, **options)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def byte_level():
    return pre_tokenizers.ByteLevel.alphabet()


def gpt2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return train_bpe(tokenizer, 480, [GPT2_SPECIAL], initial_alphabet=byte_level())


def roberta():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    train_bpe(tokenizer, 420, ["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=byte_level())
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def split_by(*patterns):
    parts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence(parts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def llama3():
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = split_by(LLAMA3)
    tokenizer.decoder = decoders.ByteLevel()
    train_bpe(tokenizer, 460, initial_alphabet=byte_level())
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    start = ("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      special_tokens=[start])])
    return tokenizer


def o200k():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = split_by(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", O200K)
    tokenizer.decoder = decoders.ByteLevel()
    train_bpe(tokenizer, 460, initial_alphabet=byte_level())
    tokenizer.add_special_tokens([GPT2_SPECIAL])
    return tokenizer


def bytes_and(tokenizer, special):
    """A tokenizer of the same merges behind special tokens and all bytes, as Llama 2's."""
    trained = json.loads(tokenizer.to_str())["model"]
    tokens = special + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += [token for token in sorted(trained["vocab"], key=trained["vocab"].get) if token not in tokens]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = [tuple(merge) for merge in trained["merges"]]
    return Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))


def trained_with_metaspace(size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return train_bpe(tokenizer, size, limit_alphabet=80)


def begin_with_s(tokenizer):
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])


def llama2():
    tokenizer = bytes_and(trained_with_metaspace(260), ["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    begin_with_s(tokenizer)
    return tokenizer


def mistral():
    tokenizer = bytes_and(trained_with_metaspace(240), ["<unk>", "<s>", "</s>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first", split=False)])
    begin_with_s(tokenizer)
    return tokenizer


def bert(**normalizer):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=420, special_tokens=special, limit_alphabet=110, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def cased_bert():
    tokenizer = bert(lowercase=False, handle_chinese_chars=False)
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return tokenizer


def words():
    """Prefixes and suffixes of words, added tokens of every kind."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip(), normalizers.Lowercase(),
        normalizers.Replace(Regex(r"\s{2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("merged_with_previous")])
    tokenizer.decoder = decoders.BPEDecoder()
    train_bpe(tokenizer, 380, ["[UNK]"], limit_alphabet=60, continuing_subword_prefix="##", end_of_word_suffix="</w>")
    tokenizer.add_tokens([
        AddedToken("Whole_Word", single_word=True, normalized=True), AddedToken("<r>", rstrip=True, normalized=False),
        AddedToken("<l>", lstrip=True, normalized=False), AddedToken("<b>", lstrip=True, rstrip=True, normalized=True)])
    return tokenizer


def word_level():
    """As Keras's TextVectorization: small letters, no punctuation, words that are tokens, empty or unknown ones beside."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Lowercase(), normalizers.Replace(Regex(r"""[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~']"""), "")])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(vocab_size=100, special_tokens=["", "[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def as_in_2020(tokenizer):
    """The same file as older versions of the library wrote it."""
    model = tokenizer["model"]
    model["merges"] = [" ".join(merge) for merge in model["merges"]]
    for key in ("type", "byte_fallback", "ignore_merges"):
        del model[key]
    return tokenizer


def record(name, tokenizer, change=lambda file: file):
    file = change(json.loads(tokenizer.to_str()))
    text = json.dumps(file, ensure_ascii=False, separators=(",", ":"))
    (FOLDER / f"{name}.json").write_text(text + "\n")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    draw = random.Random(1)
    size = tokenizer.get_vocab_size()
    numbers = [[draw.randrange(size) for _ in range(draw.randrange(1, 9))] for _ in range(40)]
    numbers += [tokenizer.encode("日本 é 😀").ids[:end] for end in range(1, 9)]
    texts = [{"text": text, "numbers": tokenizer.encode(text).ids} for text in TEXTS]
    decoded = [{"numbers": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False),
                "plain": tokenizer.decode(ids)} for ids in numbers + [case["numbers"] for case in texts]]
    cases = {"vocabulary": size, "texts": texts, "decoded": decoded}
    write(f"{name}.texts.json", cases)


def write(name, value):
    # A line for each case.
    lines = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("},{", "},\n{")
    (FOLDER / name).write_text(lines + "\n")


def description_of(part, kind):
    tokenizer = Tokenizer(models.BPE())
    setattr(tokenizer, kind, part)
    return json.loads(tokenizer.to_str())[kind]


def cases_of(part, kind, run, inputs):
    return {"part": description_of(part, kind), "cases": [[value, run(value)] for value in inputs]}


def components():
    fates = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
    few = ["  a  b c ", "axxbc", "xaabyy", "a-b--c-", "", "1a22b", "ab\nab", "a\u180eb \u0085c"]
    patterns = [" ", "-", Regex("x*"), Regex("[ab]"), Regex(r"\s+"), Regex(r"\w+|[^\w\s]+"), Regex("^a|b$"),
                Regex(r"[^\S\n]"), Regex(r"\d{1,3}(?=(?:\d{3})*(?!\d))"), Regex("(?i)A++|B")]
    splits = [pre_tokenizers.Split(pattern, fate, invert) for pattern in patterns for fate in fates
              for invert in (False, True)]
    others = [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(),
              pre_tokenizers.Digits(True), pre_tokenizers.Digits(False), pre_tokenizers.CharDelimiterSplit("-"),
              pre_tokenizers.ByteLevel(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    others += [pre_tokenizers.Punctuation(fate) for fate in fates]
    others += [pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split) for scheme in ("always", "first", "never")
               for split in (True, False)]
    others += [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    normal = [normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(),
              normalizers.Strip(), normalizers.Strip(left=False), normalizers.Strip(right=False), normalizers.StripAccents(),
              normalizers.Prepend("▁"), normalizers.Replace("a", "bb"), normalizers.Replace(Regex("x*"), "-"),
              normalizers.ByteLevel(), normalizers.Sequence([])]
    normal += [normalizers.BertNormalizer(clean, chinese, strip, lower) for clean, chinese in ((True, True), (False, True), (True, False))
               for strip, lower in ((None, True), (None, False), (True, False), (False, True))]
    back = [decoders.ByteLevel(), decoders.WordPiece(), decoders.WordPiece("@@", False), decoders.Metaspace(),
            decoders.Metaspace(prepend_scheme="never"), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0), decoders.Strip(" ", 0, 1),
            decoders.Replace("▁", "--"), decoders.Replace(Regex("[ab]+"), ""), decoders.BPEDecoder()]
    tokens = [["▁▁a▁b", "▁c"], ["##a", "##b##", "c", ".", "'", "s", "do not", " ,"], ["a</w>", "b", "c</w>"], [],
              ["<0xE4>", "<0xBD>", "a", "<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>", "<0x4>", "<0xzz>", "<0x0a>"],
              ["  a   ", " ", "    b"], ["Ġa", "日", "é", "å", "ðŁ", "ĺĢ", "íłĢ", "âĤ", "ô", "Ĥ"]]
    def pieces_of(part):
        return lambda text: [piece for piece, _ in part.pre_tokenize_str(text)]

    value = {
        "pre_tokenizers": [cases_of(part, "pre_tokenizer", pieces_of(part), texts)
                           for parts, texts in ((splits, few), (others, TEXTS)) for part in parts],
        "normalizers": [cases_of(part, "normalizer", part.normalize_str, TEXTS) for part in normal],
        "decoders": [cases_of(part, "decoder", part.decode, tokens) for part in back],
    }
    write("components.json", value)


TOKENIZERS = {
    "gpt2": gpt2, "roberta": roberta, "llama3": llama3, "o200k": o200k, "llama2": llama2, "mistral": mistral,
    "bert": lambda: bert(lowercase=True), "cased_bert": cased_bert, "words": words, "word_level": word_level,
}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or TOKENIZERS
    for name in names:
        record(name, TOKENIZERS[name](), as_in_2020 if name == "gpt2" else lambda file: file)
    if names is TOKENIZERS:
        components()


if __name__ == "__main__":
    main()
