"""A model folder for faster-whisper that always hears the same two English words.

Its weights are zero except for the positions of the decoder: each position leads to one token. So
the real library loads it and decodes with it, and a test knows the result.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from ctranslate2.specs import WhisperSpec  # type: ignore[import-untyped] # it has no types
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

WIDTH: Final = 64
WORDS: Final = 50_257  # tokens before the special ones, as in the published models
TIMES: Final = 1501  # tokens of times
HEARD: Final = (  # by position
    "<|0.00|>", "Ġhello", "Ġriver", "<|1.00|>", "<|endoftext|>",
)  # fmt: skip


def make_whisper_model(folder: Path) -> Path:
    """Create the folder of a model; it hears "hello river" in each utterance."""
    tokens = _tokens()
    folder.mkdir()
    spec = WhisperSpec(1, 1, 1, 1)
    shapes: dict[str, tuple[int, ...]] = {
        "encoder/conv1/weight": (WIDTH, 80, 3),
        "encoder/conv2/weight": (WIDTH, WIDTH, 3),
        "encoder/position_encodings/encodings": (1500, WIDTH),
        "decoder/position_encodings/encodings": (448, WIDTH),
        "decoder/embeddings/weight": (len(tokens), WIDTH),
        "decoder/projection/weight": (len(tokens), WIDTH),
    }

    def fill(part: Any, name: str, value: Any, path: str) -> None:
        if value is None or path in shapes:
            array = np.zeros(shapes.get(path) or _shape(path), np.float32)
            if name == "gamma":
                array += 1
            setattr(part, name, array)

    _visit(spec, "", fill)
    for position, token in enumerate(HEARD):
        spec.decoder.position_encodings.encodings[position, position] = 1
        spec.decoder.projection.weight[tokens.index(token), position] = 4
    # A position beyond them ends the text.
    last = len(HEARD) - 1
    spec.decoder.position_encodings.encodings[last:, last] = 1
    _attend_in_order(spec)
    spec.register_vocabulary(tokens)
    spec.config.suppress_ids = []
    spec.config.suppress_ids_begin = []
    spec.config.lang_ids = [tokens.index("<|en|>")]
    spec.config.alignment_heads = [(0, 0)]
    spec.validate()
    spec.save(str(folder))
    _save_tokenizer(tokens, folder / "tokenizer.json")
    return folder


def _attend_in_order(spec: Any) -> None:
    """Let each position of the decoder attend to its own frames, for the times of words."""
    frames = np.arange(1500)
    spec.encoder.position_encodings.encodings[frames, np.minimum(frames // 12, WIDTH - 1)] = 1
    queries, keys_and_values, _ = spec.decoder.layer[0].attention.linear
    queries.weight[:] = np.eye(WIDTH)
    keys_and_values.weight[:WIDTH] = np.eye(WIDTH) * 4


def _tokens() -> list[str]:
    words = ["Ġhello", "Ġriver", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    words += [f"Ġw{number}" for number in range(WORDS - len(words))]
    special = ["endoftext", "startoftranscript", "en", "translate", "transcribe", "startoflm"]
    special += ["startofprev", "nospeech", "notimestamps"]
    times = [f"{number * 0.02:.2f}" for number in range(TIMES)]
    return words + [f"<|{name}|>" for name in special + times]


def _save_tokenizer(tokens: list[str], path: Path) -> None:
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(one, special=True) for one in tokens[WORDS:-TIMES]])
    tokenizer.save(str(path))


def _shape(path: str) -> tuple[int, ...]:
    if path.endswith(("gamma", "beta", "bias")):
        return (WIDTH,)
    if "self_attention/linear_0" in path:
        return (3 * WIDTH, WIDTH)
    if "attention/linear_1" in path and "self" not in path:
        return (2 * WIDTH, WIDTH)
    return (WIDTH, WIDTH)


def _visit(part: Any, scope: str, fill: Any) -> None:
    for name, value in list(vars(part).items()):
        if name.startswith("_"):
            continue
        path = f"{scope}/{name}" if scope else name
        if isinstance(value, list):
            for number, one in enumerate(value):
                if hasattr(one, "__dict__"):
                    _visit(one, f"{path}_{number}", fill)
        elif hasattr(value, "variables") and hasattr(value, "__dict__"):
            _visit(value, path, fill)
        else:
            fill(part, name, value, path)
