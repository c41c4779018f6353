"""The papers: their claims, and differences here."""

from __future__ import annotations

from dataclasses import dataclass

from training.report.claims import RANKS, SIMILARITY, Claim

DEFRAG, DTRNN = "Karpathy et al. 2014", "Socher et al. 2014"
DVSA, TWO_BRANCH = "Karpathy & Fei-Fei 2015", "Wang et al. 2016"
OURS = "Tessera"

NO_CONSTITUENTS = "binarised dependency trees stand for constituency trees"
STILL_FALLING = "the squared loss was still falling after its three rounds"
UNEQUAL = "SDT-RNN learns 500 pairs a batch for 12 epochs, DeFrag 100 for 6"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its name in claims, idea, and differences here."""

    name: str
    title: str
    idea: str = ""
    differences: tuple[str, ...] = ()


PAPERS = (
    Paper(
        DTRNN,
        "Socher et al. 2014: dependency trees (DT-RNN, SDT-RNN)",
        "A sentence becomes one vector, composed along its grammatical tree, and should beat "
        "vectors that forget the order of words.",
        (
            "The paper learns 800 photos of Pascal1K and ranks 100 photos and 500 sentences, so "
            "its ranks are smaller by nature.",
            "AdamW instead of AdaGrad, which was measured to be worse here; vectors have length "
            "one; the identity instead of tanh (with tanh recalls were lower on 750 photos).",
            "No parser of constituents: CT-RNN composes binarised dependency trees, so its row is "
            "not the paper's model.",
            "The paper's kCCA has linear kernels: here `cca`. `kcca`, with radial kernels, is "
            "not in the paper.",
        ),
    ),
    Paper(
        DEFRAG,
        "Karpathy, Joulin & Fei-Fei 2014: deep fragment embeddings (DeFrag)",
        "Parts of photos are matched with parts of sentences, and should beat one vector for each.",
        (
            "A region's feature is a mean over its box in a CNN's map of the whole photo, instead "
            "of a CNN's look at the cropped box: boxes see what is around them.",
            "The CNN is not tuned, and 19 learned proposals stand for R-CNN's detections.",
            "AdamW for 6 epochs instead of momentum for 20; it was measured to favour DeFrag.",
            "The weight β of the global objective is not published. A fragment objective above "
            "2.0, its value for zero scores, was not minimised: such runs compare the global "
            "objective with itself, and their claims are not judged.",
        ),
    ),
    Paper(
        DVSA,
        "Karpathy & Fei-Fei 2015: deep visual-semantic alignments (DVSA)",
        "Each word in its context looks for its best region, with a simpler objective.",
        (
            "256 numbers a vector instead of 1,000 to 1,600; boxes as in DeFrag's rows.",
            "No dropout, where the paper has it in all layers but the recurrent ones; AdamW, and "
            "gradients clipped by their norm instead of elementwise. Both were measured to be "
            "worse as published.",
            "Captions of regions come from an LSTM, where the paper has an RNN, and from one seed; "
            "beams are of five and of seven. So the paper's claims on captions are not judged.",
        ),
    ),
    Paper(
        TWO_BRANCH,
        "Wang, Li & Lazebnik 2016: structure-preserving embeddings (two-branch)",
        "Two networks map photos and sentences to one space in which sentences of one photo stay "
        "neighbours.",
        (
            "The paper measures Flickr30K and MSCOCO; headings here name the data of each table.",
            "1,000 numbers of a Fisher vector instead of 6,000; AdamW instead of momentum.",
            "Phrases: right boxes by IoU ≥ 0.5, 20 learned proposals instead of 100 EdgeBoxes, "
            "means of words' vectors instead of Fisher vectors, the 10 hardest of a batch, hard "
            "negatives with a weight of 20, at most one to three seeds.",
        ),
    ),
    Paper(OURS, "Tessera's own matchers"),
)

FRAGMENTS = "fragments"  # the objective that must have fallen for a claim on DeFrag

CLAIMS = (
    *(
        Claim(says, DEFRAG, better, worse, needs=FRAGMENTS, condition=condition)
        for says, better, worse, condition in (
            ("fragment + global beats fragment alone", "defrag-dense", "defrag-fragments", ""),
            ("fragment + global beats global alone", "defrag-dense", "defrag-global", ""),
            ("MIL helps", "defrag", "defrag-dense", ""),
            ("fragments beat the full frame", "defrag-dense", "defrag-frame", "pooled boxes"),
            ("dependency edges beat words", "defrag-dense", "defrag-words", ""),
            ("dependency edges beat bigrams", "defrag-dense", "defrag-bigrams", ""),
            ("DeFrag beats SDT-RNN", "defrag", "sdtrnn-regions", UNEQUAL),
            ("DeFrag beats SDT-RNN, equal batches", "defrag", "sdtrnn-regions-100", ""),
            ("DeFrag beats SDT-RNN, boxes cut out", "defrag-crops", "sdtrnn-regions-crops", ""),
            ("fragments beat the full frame, boxes cut out", "defrag-dense-crops", "defrag-frame",
             "the frame at 224 and 448 pixels"),
            ("DeFrag beats DeViSE", "defrag", "devise", ""),
        )
    ),
    *(
        Claim(f"SDT-RNN beats {name}", DTRNN, "sdtrnn", preset, RANKS, unlike=unlike)
        for preset, name, unlike in (
            ("bow", "BoW", ""),
            ("rnn", "the recurrent network", ""),
            ("ctrnn", "CT-RNN", NO_CONSTITUENTS),
            ("dtrnn", "DT-RNN", ""),
            ("cca", "CCA with linear kernels", ""),
        )
    ),
    Claim("SDT-RNN beats CCA with radial kernels", DTRNN, "sdtrnn", "kcca", RANKS,
          condition="stronger than the paper's linear kernels"),
    *(
        Claim(f"DT-RNN beats {name}", DTRNN, "dtrnn", preset, RANKS, unlike=unlike)
        for preset, name, unlike in (
            ("bow", "BoW", ""),
            ("rnn", "the recurrent network", ""),
            ("ctrnn", "CT-RNN", NO_CONSTITUENTS),
            ("cca", "CCA with linear kernels", ""),
        )
    ),
    *(
        Claim(f"sentences of one photo: SDT-RNN beats {name}", DTRNN, "sdtrnn", preset,
              SIMILARITY, unlike=unlike)
        for preset, name, unlike in (
            ("bow", "BoW", ""),
            ("rnn", "the recurrent network", ""),
            ("ctrnn", "CT-RNN", NO_CONSTITUENTS),
            ("dtrnn", "DT-RNN", ""),
            ("cca", "CCA with linear kernels", ""),
        )
    ),
    *(
        Claim(f"the ranking loss beats the squared loss, {name}", DTRNN, preset,
              f"{preset}-squared", RANKS, condition=STILL_FALLING,
              unlike=NO_CONSTITUENTS if preset == "ctrnn" else "")
        for preset, name in (("sdtrnn", "SDT-RNN"), ("dtrnn", "DT-RNN"), ("ctrnn", "CT-RNN"),
                             ("rnn", "recurrent network"), ("bow", "BoW"))
    ),
    *(
        Claim(says, TWO_BRANCH, better, worse)
        for says, better, worse in (
            ("bi-directional beats one-directional", "two-branch-both-ways",
             "two-branch-one-way"),
            ("bi-directional beats one-directional, linear", "two-branch-linear-both-ways",
             "two-branch-linear-one-way"),
            ("structure helps", "two-branch", "two-branch-both-ways"),
            ("structure helps, linear", "two-branch-linear", "two-branch-linear-both-ways"),
            ("structure helps, mean vectors", "two-branch-mean", "two-branch-mean-both-ways"),
            ("structure helps, tf-idf", "two-branch-tfidf", "two-branch-tfidf-both-ways"),
            ("non-linear beats linear", "two-branch", "two-branch-linear"),
            ("non-linear beats linear CCA", "two-branch", "cca-hglmm"),
            ("linear CCA is not beaten by linear with structure", "cca-hglmm",
             "two-branch-linear"),
            ("Fisher vectors beat mean vectors", "two-branch", "two-branch-mean"),
            ("Fisher vectors beat tf-idf", "two-branch", "two-branch-tfidf"),
        )
    ),
    *(
        Claim(f"structure helps beyond a second sentence{linear}", TWO_BRANCH, better, worse,
              condition="the paper does not ask this")
        for linear, better, worse in (
            ("", "two-branch", "two-branch-two-sentences"),
            (", linear", "two-branch-linear", "two-branch-linear-two-sentences"),
        )
    ),
    Claim("BRNN beats dependency edges", DVSA, "dvsa", "dvsa-edges",
          condition="no dropout on either side"),
    Claim("the simpler objective beats DeFrag's", DVSA, "dvsa-edges", "defrag",
          needs=FRAGMENTS),
    Claim("two teachers are worth their time", OURS, "tessera-taught", "tessera"),
)  # fmt: skip
