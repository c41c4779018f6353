"""The shipped list of known English words: WordNet's, the tokenizer's, newer ones."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from models.text import lexicon
from models.text.words import minilm_tokenizer

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
WORD = re.compile(r"[a-z]{2,}")

# Words of everyday photos that WordNet 3.0, of 2006, and the tokenizer's vocabulary lack.
NEWER = """
adirondack airbnb asics barista bbq bento bff bmx boba bokeh bromance bruschetta budweiser bugatti
burkini caprese cardio chanel cheetos churro citroen cockapoo coworker crayola creme croc darth
dhl didgeridoo dji doritos dslr ebike edamame elmo emoji emt fedex floatie foosball frappuccino
frenchie fro froyo furby gameboy gelateria gelato gopro gorp groomsmen hackathon heineken hoodie
hsbc hyatt ikea imac instagram isuzu jacuzzi janitorial jeggings jenga jumbotron kart kefir keto
kimchi kombucha komodo lamborghini lebron lexus linkedin lycra macchiato mankini mardi gras mojito
monokini motocross nerf nesquik nikon noob nypd onesie panettone pashmina pitaya pogo prius
prosecco quinoa ramen retweet roomba scooby scrunchie seitan selfie shiba shrek skype smurf speedo
sriracha subaru tankini taqueria taser temaki terracotta tigger tiki tiktok toblerone tonka
triathlon tshirt tuktuk tupperware tween twerking ugg upcycle usain vader vape verizon vlog
vuitton vuvuzela vw walkie whatsapp wheelie yorkie yuzu zara zelda zumba
"""


def write(wordnet: Path, out: Path) -> int:
    """Write the words for `models.text.lexicon`, and count them."""
    words: set[str] = set()
    for word in sorted(set(collect_words(wordnet)), key=lambda word: (len(word), word)):
        # A word that a rule finds from a shorter one need not be listed.
        if WORD.fullmatch(word) and not lexicon.is_inflected(word, words):
            words.add(word)
    with gzip.GzipFile(out, "wb", mtime=0) as file:  # the same bytes whenever it is written
        file.write("\n".join(sorted(words)).encode())
    return len(words)


def collect_words(wordnet: Path) -> Iterator[str]:
    """Give WordNet's lemmas and irregular forms, MiniLM's words, newer words."""
    for part in PARTS_OF_SPEECH:
        for file in (wordnet / f"index.{part}", wordnet / f"{part}.exc"):
            if not file.is_file():
                raise LookupError(f"no {file}; on Debian: apt install wordnet-base")
            for line in file.read_text("utf-8").splitlines():
                if not line.startswith(" "):  # the licence stands above the words
                    yield line.split()[0]
    yield from minilm_tokenizer().get_vocab()
    yield from NEWER.split()
