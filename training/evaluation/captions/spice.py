"""SPICE of captions, by its Java program and CoreNLP.

The program is in the installed package pycocoevalcap.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models import extras, packaged

PROGRAM = "spice-1.0.jar"
CORENLP = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
MEMORY = "-Xmx8G"  # as pycocoevalcap gives it: the models alone take some 4 GB
F_SCORE = re.compile(r"f-score:\s*([\d.]+|NaN)")  # of all tuples first
COMPLAINT = re.compile(r".*(?:Exception|Error).*")  # of Java, before where it happened


@dataclass(frozen=True, slots=True)
class Program:
    """Java and SPICE's folder, with CoreNLP in lib."""

    java: str
    folder: Path

    def score(
        self, captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
    ) -> float:
        """SPICE in percent    (Anderson et al. 2016, section 3.3), of words of the Penn Treebank.

        The mean over photos of the F-score of a caption's objects, attributes and relations against
        those of all its references, with the program's three decimals. The program's cache and
        score file are not used: they do not work from Java 15 on. ChildProcessError, with Java's
        message, if it fails.
        """
        rows = [
            {
                "image_id": at,
                "test": " ".join(caption),
                "refs": [" ".join(sentence) for sentence in sentences],
            }
            for at, (caption, sentences) in enumerate(zip(captions, references, strict=True))
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(rows, file)
            file.flush()
            options = ["-Duser.language=en", MEMORY, "-jar", str(self.folder / PROGRAM)]
            process = subprocess.run(  # noqa: S603 - a file that we wrote, and a program that is installed
                [self.java, *options, file.name], capture_output=True, text=True, check=False
            )
        f_score = F_SCORE.search(process.stdout)
        if process.returncode or not f_score:
            complaint = COMPLAINT.search(process.stderr)
            why = complaint[0].strip() if complaint else f"exit status {process.returncode}"
            raise ChildProcessError(f"the program of SPICE failed: {why}")
        return 100 * float(f_score[1])


def find_program() -> Program:
    """Find SPICE's program; LookupError names the missing part and its source."""
    try:
        folder = packaged.folder("pycocoevalcap.spice.spice")
    except (LookupError, ModuleNotFoundError):
        raise LookupError(f"SPICE needs pycocoevalcap: {extras.install('captions')}") from None
    java = shutil.which("java")
    if java is None:
        raise LookupError("SPICE needs Java 8 or later: apt install default-jre-headless")
    missing = [name for name in CORENLP if not (folder / "lib" / name).is_file()]
    if missing:
        raise LookupError(
            f"SPICE needs Stanford CoreNLP 3.6.0, and {folder / 'lib'} has no "
            f"{' and no '.join(missing)}: `python -m pycocoevalcap.spice.get_stanford_models` "
            "fetches both"
        )
    return Program(java, folder)
