"""Function words of languages, by code: articles, prepositions, pronouns, conjunctions.

They are closed classes as those of English in models.text.lexicon; a language without a row has
content words alone. Words are in lower case, with "ss" for "ß".
"""

from __future__ import annotations

from collections.abc import Mapping

FUNCTION_WORDS: Mapping[str, str] = {
    "ca": "el la els les un una uns unes de del dels a al als en amb per pels sense i o que es no",
    "cs": "a i o u v ve z ze k ke s se na do od pro pod před při bez nad po za nebo ani že ten ta",
    "da": "en et den det de der som og eller i på til af for med uden fra ved om over under mellem "
    "er var har at ikke ingen sin sit sine min din",
    "de": "der die das den dem des ein eine einer eines einem einen und oder aber in im ins an am "
    "ans auf aus bei beim bis durch für gegen mit nach ohne über um unter von vom vor zu zum zur "
    "zwischen ist sind war waren wird werden hat haben nicht kein keine keinen keinem keiner sich "
    "ich du er sie es wir ihr mein dein sein unser euer dieser diese dieses als wie auch nur",
    "es": "el la los las un una unos unas lo de del a al en con por para sin sobre entre hasta "
    "desde y e o u ni que como más muy se su sus mi tu este esta estos estas ese esa es son no",
    "et": "ja või ning ei on see ka kui koos ilma",
    "fi": "ja tai sekä on ei se joka kanssa ilman että kuin",
    "fr": "le la les l un une des du de d au aux à en dans sur sous avec sans pour par chez entre "
    "vers et ou ni mais que qui dont où ce cet cette ces son sa ses mon ma mes ton ta tes notre "
    "votre leur leurs se ne pas est sont plus très aucun aucune",
    "hu": "a az egy és vagy nem is de hogy meg",
    "it": "il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai "
    "agli alle da dal dalla dai in nel nella nei nelle con su sul sulla per tra fra senza e ed o "
    "che come più non si suo sua questo questa è sono nessun nessuna",
    "nl": "de het een en of in op aan van voor met zonder door bij naar uit over onder tussen tot "
    "te om is zijn was niet geen die dat deze dit zijn haar als ook er",
    "no": "en ei et den det de som og eller i på til av for med uten fra ved om over under mellom "
    "er var har å at ikke ingen sin sitt sine min din",
    "pl": "i a o u w we z ze na do od dla bez pod nad przed przy po za lub albo oraz nie się jest "
    "są to ten ta te jak że",
    "pt": "o a os as um uma uns umas de do da dos das em no na nos nas ao aos à às com por pelo "
    "pela para sem sobre entre até e ou nem que como mais se seu sua este esta é são não",
    "ro": "un o unei unui al a ai ale de la în din pe cu fără pentru prin și sau că care este nu",
    "ru": "и в во на с со к ко у о об от до из за для без по под над при про через между или не ни "
    "но а же то это этот эта эти что как который её его их он она они мы вы я",
    "sv": "en ett den det de som och eller i på till av för med utan från vid om över under mellan "
    "är var har att inte ingen inget inga sin sitt sina min din",
    "tr": "ve veya ile için bir bu şu o da de ki mi mı mu mü gibi kadar olan",
}
# Words that name the next one as lacking: "ohne Zucker".
WITHOUT: Mapping[str, str] = {
    "ca": "sense",
    "cs": "bez",
    "da": "uden",
    "de": "ohne kein keine keinen",
    "es": "sin",
    "et": "ilma",
    "fi": "ilman",
    "fr": "sans",
    "it": "senza",
    "nl": "zonder geen",
    "no": "uten",
    "pl": "bez",
    "pt": "sem",
    "ro": "fără",
    "ru": "без",
    "sv": "utan",
}
