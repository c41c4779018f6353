"""Pictures show every link, labels inside, equal as PNG and SVG."""

from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree

import pytest
import torch
from PIL import Image

from app.drawing.bars import PALE, WHOLE
from app.drawing.explanations import SVG, DrawnLink, draw_grounding, draw_png, draw_svg
from app.drawing.layout import HUES, lay_out
from app.drawing.lettering import Rect, Shape, TextLine, text_width
from app.engine.groundings import GroundedPhrase
from models.types import Box, Span

SENTENCE = "a red dog on a log"
DOG, LOG = Box(0.1, 0.1, 0.5, 0.9), Box(0.4, 0.6, 0.9, 0.95)
LINKS = (
    DrawnLink(Span(0, 1), "a", None, 0.1),
    DrawnLink(Span(2, 5), "red", DOG, 1.5),
    DrawnLink(Span(6, 9), "dog", DOG, 2.0),
    DrawnLink(Span(15, 18), "log", LOG, -0.25),
    DrawnLink(Span(0, 18), "whole sentence", None, 0.65),
)
SCORE = 4.0


def photo(width: int = 120, height: int = 90) -> torch.Tensor:
    return torch.full((3, height, width), 200, dtype=torch.uint8)


def texts(shapes: tuple[Shape, ...]) -> list[str]:
    return [shape.text for shape in shapes if isinstance(shape, TextLine)]


def svg_of(
    sentence: str, links: tuple[DrawnLink, ...], score: float = SCORE
) -> ElementTree.Element:
    return ElementTree.fromstring(draw_svg(photo(), sentence, links, score))  # noqa: S314 - ours


def labels_on_the_photo(links: tuple[DrawnLink, ...], size: tuple[int, int]) -> list[Rect]:
    layout = lay_out(size, SENTENCE, links, SCORE)
    filled = [shape for shape in layout.shapes if isinstance(shape, Rect) and shape.fill]
    return [shape for shape in filled if shape.top < layout.photo.bottom]


def test_png_and_svg_have_the_same_size():
    png = Image.open(BytesIO(draw_png(photo(), SENTENCE, LINKS, SCORE))).convert("RGB")
    svg = svg_of(SENTENCE, LINKS)
    assert png.size == (int(svg.attrib["width"]), int(svg.attrib["height"]))


def test_a_box_is_painted_where_the_link_says():
    layout = lay_out((120, 90), SENTENCE, LINKS, SCORE)
    png = Image.open(BytesIO(draw_png(photo(), SENTENCE, LINKS, SCORE))).convert("RGB")
    left = round(layout.photo.left + LOG.left * layout.photo.width)
    middle = round(layout.photo.top + 0.8 * layout.photo.height)
    second_hue = tuple(bytes.fromhex(HUES[1][1:]))
    assert png.getpixel((left + 1, middle)) == second_hue
    assert png.getpixel((left + 20, middle)) == (200, 200, 200)


def test_what_the_whole_photo_answers_is_listed_above_it_without_a_box():
    layout = lay_out((120, 90), SENTENCE, LINKS, SCORE)
    assert texts(layout.shapes)[0] == "the whole photo: a, whole sentence"
    outlines = [s for s in layout.shapes if isinstance(s, Rect) and s.stroke and s.thickness > 2]
    assert len(outlines) == 4  # a rim and a colour for each of the two boxes
    assert max(outline.width for outline in outlines) < layout.photo.width


def test_a_phrase_that_speaks_against_the_photo_is_not_listed_above_it():
    links = (DrawnLink(Span(6, 9), "dog", None, 1.0), DrawnLink(Span(15, 18), "log", None, -1.0))
    assert texts(lay_out((120, 90), SENTENCE, links, 0.0).shapes)[0] == "the whole photo: dog"
    against = lay_out((120, 90), SENTENCE, links[1:], -1.0)
    assert not any(text.startswith("the whole photo") for text in texts(against.shapes))


def test_a_bar_shows_what_the_whole_photo_gave_below_what_the_box_added():
    links = (
        DrawnLink(Span(6, 9), "dog", DOG, 2.0, whole=1.5),
        DrawnLink(Span(15, 18), "log", None, 1.0, whole=0.5),
    )
    layout = lay_out((120, 90), SENTENCE, links, 3.0)
    bars = [s for s in layout.shapes if isinstance(s, Rect) and s.width == 22]
    assert [(bar.fill, bar.height) for bar in bars] == [
        (HUES[0], 11),
        (WHOLE, 33),
        (PALE, 11),
        (WHOLE, 11),
    ]
    assert bars[0].bottom == bars[1].top
    assert texts(layout.shapes)[-1].endswith("dark grey: what the whole photo gave")


def test_words_of_one_box_share_a_label_and_a_colour():
    layout = lay_out((120, 90), SENTENCE, LINKS, SCORE)
    assert "red dog" in texts(layout.shapes)
    chips = [shape for shape in layout.shapes if isinstance(shape, Rect) and shape.height == 30]
    assert [chip.fill for chip in chips][1:3] == [HUES[0], HUES[0]]


def test_words_that_are_no_neighbours_are_set_apart():
    apart = (DrawnLink(Span(2, 5), "red", DOG, 1.0), DrawnLink(Span(15, 18), "log", DOG, 1.0))
    assert "red, log" in texts(lay_out((120, 90), SENTENCE, apart, 2.0).shapes)


def test_every_number_is_written_and_so_is_their_sum():
    written = texts(lay_out((120, 90), SENTENCE, LINKS, SCORE).shapes)
    assert {"0.10", "1.50", "2.00", "-0.25", "0.65"} <= set(written)
    assert written[-1].startswith("score 4.00")


def test_bars_are_as_long_as_what_the_words_gave():
    layout = lay_out((120, 90), SENTENCE, LINKS, SCORE)
    bars = [s.height for s in layout.shapes if isinstance(s, Rect) and s.width == 22]
    assert bars == [round(44 * part / 2.0) for part in (0.1, 1.5, 2.0, 0.25, 0.65)]


def test_a_negative_bar_hangs_hollow_below_its_word():
    layout = lay_out((120, 90), SENTENCE, LINKS, SCORE)
    hollow = [s for s in layout.shapes if isinstance(s, Rect) and s.stroke and s.width == 22]
    chips = [s for s in layout.shapes if isinstance(s, Rect) and s.height == 30]
    assert [bar.top > chips[3].bottom for bar in hollow] == [True]


def test_labels_of_one_place_do_not_cover_each_other():
    crowd = tuple(
        DrawnLink(Span(n, n + 1), f"word{n}", Box(0.1 + n / 1000, 0.1, 0.8, 0.8), 1.0)
        for n in range(12)
    )
    labels = labels_on_the_photo(crowd, (640, 480))
    assert len(labels) == 12
    assert all(one.overlap(other) == 0 for one, other in combinations(labels, 2))


@pytest.mark.parametrize("size", [(640, 480), (40, 400), (3000, 20)])
def test_labels_stay_inside_the_picture(size: tuple[int, int]):
    edges = tuple(
        DrawnLink(Span(n, n + 1), "a very long label indeed " * 9, box, 1.0)
        for n, box in enumerate([Box(0.95, 0.95, 1, 1), Box(0, 0, 0.05, 0.05), None])
    )
    layout = lay_out(size, SENTENCE, edges, 3.0)
    for shape in layout.shapes:
        right = (
            shape.right
            if isinstance(shape, Rect)
            else shape.left + text_width(shape.text, shape.size)
        )
        assert shape.left >= 0
        assert right <= layout.width


def test_a_long_sentence_wraps_inside_the_picture():
    sentence = "word " * 200
    links = tuple(DrawnLink(Span(5 * n, 5 * n + 4), "word", DOG, 0.5) for n in range(200))
    layout = lay_out((120, 90), sentence, links, 100.0)
    chips = [shape for shape in layout.shapes if isinstance(shape, Rect) and shape.height == 30]
    assert len(chips) == 200
    assert max(chip.right for chip in chips) <= layout.width - 28


def test_words_that_no_link_covers_are_still_there():
    assert texts(lay_out((120, 90), SENTENCE, LINKS, SCORE).shapes).count("on") == 1


def test_markup_and_control_characters_stay_text():
    sentence = 'a <b>"&"\x00</b> dog'
    svg = svg_of(sentence, (DrawnLink(Span(2, 12), "<script>", DOG, 1.0),), 1.0)
    found = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>" in found
    assert '<b>"&" </b' in found


def test_all_boxes_of_a_grounded_phrase_are_drawn_with_their_ranks():
    grounded = [
        GroundedPhrase(Span(2, 9), ((DOG, 0.5), (LOG, 0.25))),
        GroundedPhrase(Span(13, 18), ((LOG, 0.75),)),
        GroundedPhrase(Span(10, 12), ()),
    ]
    svg = ElementTree.fromstring(draw_grounding(photo(), SENTENCE, grounded, SVG))  # noqa: S314 - ours
    written = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"red dog", "red dog (2)", "a log", "on", "0.50", "0.25", "0.75"} <= set(written)
    assert "a log, red dog (2)" in written  # the label of their box
    outlines = [e for e in svg.iter("{http://www.w3.org/2000/svg}rect") if "stroke" in e.attrib]
    assert len(outlines) == 4  # a rim and a colour for each of the two boxes


def test_svg_refers_to_nothing_outside_itself():
    addresses = [e.attrib["href"] for e in svg_of(SENTENCE, LINKS).iter() if "href" in e.attrib]
    assert [address[:23] for address in addresses] == ["data:image/jpeg;base64,"]


@pytest.mark.parametrize("size", [(1, 1), (5000, 1), (1, 5000)])
def test_odd_photos_and_no_links_are_drawn(size: tuple[int, int]):
    png = draw_png(photo(*size), "dog", [], 0.0)
    assert Image.open(BytesIO(png)).format == "PNG"


def test_more_boxes_than_colours_are_drawn():
    many = tuple(DrawnLink(Span(0, 1), "a", Box(0, 0, 0.1 + n / 100, 1), 0.0) for n in range(45))
    assert len(texts(lay_out((120, 90), SENTENCE, many, 0.0).shapes)) > 45
