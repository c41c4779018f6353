"""Plurals have the stems of their singulars, and other words keep theirs."""

from __future__ import annotations

import pytest

from index.documents.languages.snowball import find_language

PLURALS = {
    "ca": "camisa camises, jaqueta jaquetes, jardí jardins, metge metges, pantaló pantalons, "
    "taronja taronges, telèfon telèfons, vaca vaques",
    "de": "Auto Autos, Baby Babys, Bikini Bikinis, Foto Fotos, Kamera Kameras, Kiwi Kiwis, "
    "Sofa Sofas, Video Videos",
    "es": "altavoz altavoces, café cafés, champú champús, collar collares, jersey jerséis, "
    "lápiz lápices, luz luces, móvil móviles, pared paredes, sartén sartenes, sofá sofás, té tés",
    "fr": "bleu bleus, caméra caméras, cheveu cheveux, jeu jeux, menu menus, photo photos, "
    "pneu pneus, taxi taxis, travail travaux, tuyau tuyaux, vélo vélos, vidéo vidéos",
    "hu": "lámpa lámpák, ruha ruhák, táska táskák",
    "nl": "deken dekens, fiets fietsen, kaars kaarsen, kussen kussens, laars laarzen, muts mutsen",
    "pt": "anel anéis, animal animais, azul azuis, botão botões, bebé bebés, chapéu chapéus, "
    "colchão colchões, fácil fáceis, homem homens, infantil infantis, irmã irmãs, "
    "lençol lençóis, móvel móveis, pão pães, portátil portáteis, sofá sofás, táxi táxis",
}
# Forms of one word that no rule may part.
KEPT_TOGETHER = {
    "ca": "conflicte conflictes, conspirador conspiradores",
    "de": "Glas Gläser, Kreis Kreise, kabellos kabellose, Los Lose, präzis präzise, rigoros "
    "rigorose, Topas Topase, Zeugnis Zeugnisse",
    "es": "amable amables, andaluz andaluza, flor flores, inglés inglesa, padre padres",
    "fr": "clos close, confus confuse, français française, gris grise, petit petits, ras rase, "
    "royal royaux",
    "hu": "szék székek, új újak, boríték borítékra",
    "nl": "ui uien, os ossen, bed bedden",
    "pt": "português portugueses, gás gases, país países, herói heróis, mês meses",
}


def stems_of(code: str, words: str) -> set[str]:
    language = find_language(code)
    return {language.stem(language.fold(word)) for word in words.split()}


@pytest.mark.parametrize("code", PLURALS)
def test_plurals_have_the_stems_of_their_singulars(code: str) -> None:
    pairs = [pair for group in (PLURALS, KEPT_TOGETHER) for pair in group.get(code, "").split(",")]
    assert {pair: stems for pair in pairs if len(stems := stems_of(code, pair)) > 1} == {}


def test_rules_do_not_make_different_words_equal() -> None:
    words = {
        "hu": "torta torna tört bor borda",
        "nl": "kussen kust laken lak",
        "de": "Auto Autor Glas Gas Bus Busch",
        "es": "taza taco pez pecho luz lucha",
        "pt": "mais mal pais paisagem dois dolo seis",
    }
    for code, listed in words.items():
        assert len(stems_of(code, listed)) == len(listed.split()), code


@pytest.mark.parametrize(
    ("code", "plain"), [("es", "sofas"), ("pt", "colchoes"), ("pt", "moveis"), ("fr", "velos")]
)
def test_plurals_without_accents_have_the_stem(code: str, plain: str) -> None:
    singular = {"sofas": "sofá", "colchoes": "colchão", "moveis": "móvel", "velos": "vélo"}[plain]
    assert len(stems_of(code, f"{singular} {plain}")) == 1
