import torch

from training.data import entities, synthetic
from training.data import readers as folders
from training.data.synthetic import COLOURS, Scene, Shape, cover, draw, make_scene, relate
from training.evaluation.embedding import read_pixels


def test_a_seed_makes_one_scene():
    assert make_scene(3) == make_scene(3)
    assert make_scene(3) != make_scene(4)
    assert torch.equal(draw(make_scene(3)), draw(make_scene(3)))


def test_shapes_are_unlike_and_in_different_cells():
    for seed in range(50):
        one, other = make_scene(seed).first, make_scene(seed).second
        assert (one.colour, one.kind) != (other.colour, other.kind)
        assert (one.x, one.y) != (other.x, other.y)


def test_a_shape_fills_its_box_and_nothing_outside():
    for kind in synthetic.KINDS:
        inside = cover(Shape("red", kind, 48, 16, 12))
        rows, columns = inside.any(dim=1).nonzero(), inside.any(dim=0).nonzero()
        assert (columns.min(), columns.max() + 1) == (36, 60)
        assert (rows.min(), rows.max() + 1) == (4, 28)


def test_a_shape_has_its_colour_and_the_ground_has_texture():
    picture = draw(
        Scene(0, Shape("red", "square", 16, 16, 12), Shape("blue", "square", 80, 80, 12))
    )
    assert tuple(picture[:, 16, 16].tolist()) == COLOURS["red"]
    assert tuple(picture[:, 80, 80].tolist()) == COLOURS["blue"]
    assert picture[:, 40:60, 40:60].float().std() > 1


def test_relations_speak_of_where_shapes_are():
    def at(x, y):
        return Shape("red", "circle", x, y, 12)

    assert relate(Scene(0, at(16, 80), at(80, 16))) == ("left of", "right of")
    assert relate(Scene(0, at(80, 16), at(16, 16))) == ("right of", "left of")
    assert relate(Scene(0, at(16, 16), at(16, 80))) == ("above", "below")
    assert relate(Scene(0, at(16, 80), at(16, 16))) == ("below", "above")


def test_written_scenes_are_a_corpus_with_true_boxes(tmp_path):
    synthetic.write(tmp_path, {"train": 3, "val": 2}, seed=5)
    corpus = folders.read(tmp_path)
    assert [len(corpus.split(split)) for split in ("train", "val")] == [3, 2]
    truth = entities.read(entities.find(tmp_path))
    for example in corpus.split("train"):
        grounded = truth[example.image.name]
        assert tuple(sentence.text for sentence in grounded) == example.sentences
        picture = read_pixels(example.image)
        for phrase in grounded[0].phrases:
            _, colour, kind = phrase.text.split()
            (box,) = phrase.boxes
            x, y = (
                round(96 * (a + b) / 2) for a, b in ((box.left, box.right), (box.top, box.bottom))
            )
            seen = picture[:, y, x].float()
            assert (seen - torch.tensor(COLOURS[colour])).abs().max() < 30, kind  # JPEG's loss
