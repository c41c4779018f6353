"""Plurals that Snowball leaves apart from their singulars.

The rules are those of light stemmers: for French of Savoy (1999), for Portuguese the first step of
RSLP (Orengo and Huyck, 2001). Most need no accents, as queries often have none. Both numbers of a
word get one form; it need not be a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import regex

# Endings behind two letters or more, and what stands instead; the first that fits counts.
RULES: Mapping[str, Sequence[tuple[str, str]]] = {
    "de": (  # Autos, Pizzas, Kiwis; not kabellos, Glas
        ("(?<=[^aeiouäöü]o|eo)(?<!lo|famo|goro|iko)s", ""),
        ("(?<=[^aeiouäöü]a)(?<!gla|gra|ga|tla|topa|da|wa|na)s", ""),
        ("(?<=[^aeiouäöün]i|bikini|[^aeiouäöü]y)(?<!präzi)s", ""),
    ),
    "ca": (  # vaques, taronges, pantalons, jaquetes
        ("ques", "ca"),
        ("gues", "ga"),
        ("(?<!t)ges", "ja"),
        ("(?<=^[a-zç]+)ons", "ó"),
        ("(?<=^[a-zç]+)ins", "í"),
        ("(?<=[ae]n)ces", "ça"),
        ("(?<=[^aeiouqgm])(?<!id|dor|ct)es", "a"),
    ),
    "es": (  # lápiz has the form of lápices; paredes, sofás, cafés; not compás, inglés
        ("(?<!andalu|aprendi|rapa|capata)z", "c"),
        ("(?<=[aeiou][ljy]|[aeou]r|[eú]d)es", ""),
        ("(?<=champ|men|bamb)[úu]s", "u"),
        ("(?<!comp|jam|tr|adem)ás", "á"),
        ("(?<=bebé|café|chalé|puré|^té|^pie)s", ""),
        ("(?<=jers)[ée]is", "ey"),
    ),
    "fr": (  # camions, tuyaux, travaux, jeux, vélos, caméras; not confus, gris
        ("its", "it"),
        ("(?<=[ir])ons", "on"),
        ("(?<=tuy|noy|joy|boy)aux", "au"),
        ("(?<=trav|vitr|cor|[ée]m)aux", "ail"),
        ("(?<=^je|^fe|^lie|^v[oœ]e|cheve|neve|adie|milie|enje)ux", "u"),
        ("(?<=[^aeiouy]o|[éei]o)(?<!clo)s", ""),
        ("(?<=u)(?<!^plu|^ju|[nfr]fu|clu|obtu|ntru|abstru|camu)s", ""),
        ("(?<=[^aeiou]a)(?<!^ra)s", ""),
        ("(?<=tax|kiw|sk|bikin|sush|spaghett|raviol|confett|étu|etu|am|brocol)is", "i"),
    ),
    "hu": (("ák", "a"),),  # lámpák
    "pt": (  # colchões, pães, animais, portáteis, papéis, lençóis, azuis, infantis, jardins
        ("[õo]es", "ão"),
        ("(?<!m)[ãa]es", "ão"),
        ("(?<!^m|dem|jam|adem|^c|bons|samur)ais", "al"),
        ("(?<=f[áa]c|f[íi]c|[úu]t|[êe]xt|[ée]pt|[óoíi]ss|r[áa]g|d[óo]c|h[áa]b|[áa]t)eis", "il"),
        ("[ée]is", "el"),
        ("(?<!dep|her)[óo]is", "ol"),
        ("uis", "ul"),
        ("(?<=[dftvz])(?<!espaguet)is", "il"),
        ("ns", "m"),
        ("(?<=[ãóé]|éu)(?<!apó|convé|invé|vié|atravé|retró)s", ""),
        ("(?<=[áã])(?<!gá|trá|aliá|ananá|lilá)s", ""),
    ),
}  # fmt: skip
COMPILED = {
    code: [(regex.compile(rf"(?<=\w\w)(?:{ending})$"), instead) for ending, instead in rules]
    for code, rules in RULES.items()
}


def take_singular(code: str, folded: str) -> str:
    """Return a form that both numbers of a word have, for Snowball.

    >>> [take_singular("pt", word) for word in ("colchões", "colchoes", "portáteis", "mais")]
    ['colchão', 'colchão', 'portátil', 'mais']
    """
    for ending, instead in COMPILED.get(code, ()):
        changed, count = ending.subn(instead, folded)
        if count:
            return str(changed)
    return folded
