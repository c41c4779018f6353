"""Paths of the shipped models; imports little, so commands start quickly."""

from __future__ import annotations

from pathlib import Path

PRETRAINED = Path(__file__).parent / "pretrained"
MATCHER = PRETRAINED / "matcher.safetensors"
CAPTIONER = PRETRAINED / "captioner.safetensors"
REGION_CAPTIONER = PRETRAINED / "captioner-regions.safetensors"
GROUNDER = PRETRAINED / "grounder.safetensors"
PROPOSALS = PRETRAINED / "proposals.safetensors"
PARSER = PRETRAINED / "parser"
CLASS_NAMES = PRETRAINED / "words" / "classes.txt"  # written by `tessera class-names`
LEXICON = PRETRAINED / "words" / "lexicon.txt.gz"  # written by `tessera lexicon`
BACKBONES = {"lite2-sentences": PRETRAINED / "lite2-sentences.safetensors"}
