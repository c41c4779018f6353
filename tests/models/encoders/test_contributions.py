"""Contributions of words equal one linear map by autograd."""

import pytest
import torch

from models.encoders.blocks import block_of
from models.encoders.contributions import contributions, through_all
from tests import encoders


@pytest.fixture(scope="module")
def texts():
    """CLIP's text encoder in double precision, of few layers."""
    from models.encoders import clip

    return clip.Texts(encoders.folder("clip"), "float64")


def split(texts, ids, groups, run=contributions):
    model = texts.network.text_model
    states = model.embeddings(input_ids=ids)
    bias = states.new_full((ids.shape[1],) * 2, -torch.inf).triu(1)[None, None]
    return run(
        [block_of(layer) for layer in model.encoder.layers],
        states,
        bias,
        texts.ends(ids),
        groups.to(states),
        lambda at_end: texts.network.text_projection(model.final_layer_norm(at_end)),
        model.final_layer_norm,
        texts.network.text_projection,
    )


def each_token(ids):
    """Every token a group, except the last, pooled one."""
    L, T = ids.shape
    return torch.eye(T).expand(L, T, T)


@torch.inference_mode()
def test_contributions_add_up_to_the_official_vector(texts):
    read = texts.spelling.tokenizer(list(encoders.TEXTS), padding=True, return_tensors="pt")
    ids = read["input_ids"][:, :16]
    official = texts.network(input_ids=ids).text_embeds
    parts = split(texts, ids, each_token(ids))
    torch.testing.assert_close(parts.sum(1), official)


@torch.inference_mode()
def test_groups_have_the_sum_of_their_tokens(texts):
    ids = texts.spelling.tokenizer(["dog dog tree"], return_tensors="pt")["input_ids"]
    alone = split(texts, ids, each_token(ids))[0]
    pairs = torch.zeros(1, 2, ids.shape[1])
    pairs[0, 0, 1:3] = 1
    pairs[0, 1] = 1 - pairs[0, 0]
    both = split(texts, ids, pairs)[0]
    torch.testing.assert_close(both[0], alone[1:3].sum(0))


@torch.inference_mode()
def test_one_layers_contribution_is_what_attention_brings_through_the_held_network():
    """By hand, for one block and one head: c_j = P N(α_j W_o W_v x_j + its share of the MLP)."""
    torch.manual_seed(0)
    from transformers import CLIPTextConfig
    from transformers.models.clip.modeling_clip import CLIPEncoderLayer

    layer = CLIPEncoderLayer(
        CLIPTextConfig(hidden_size=6, intermediate_size=8, num_attention_heads=1)
    ).double()
    last, project = torch.nn.LayerNorm(6).double(), torch.nn.Linear(6, 5, bias=False).double()
    for weight in [*layer.parameters(), *last.parameters(), *project.parameters()]:
        torch.nn.init.normal_(weight, std=0.5)
    h = torch.randn(1, 3, 6, dtype=torch.float64)
    bias, ends = torch.zeros(1, 1, 3, 3, dtype=torch.float64), torch.tensor([2])
    parts = contributions(
        [block_of(layer)], h, bias, ends, torch.eye(3).double()[None],
        lambda at_end: project(last(at_end)), last, project,
    )[0]  # fmt: skip

    def norm(module, state, part):
        return (part - part.mean()) / (state.var(correction=0) + module.eps).sqrt() * module.weight

    attention = layer.self_attn
    x = layer.layer_norm1(h)[0]
    seen = (attention.q_proj(x[2]) @ attention.k_proj(x).T / 6**0.5).softmax(0)
    middle = h[0, 2] + attention.out_proj(seen @ attention.v_proj(x))
    inner = layer.mlp.fc1(layer.layer_norm2(middle))
    gates = layer.mlp.activation_fn(inner) / inner
    final = middle + layer.mlp.fc2(gates * inner)
    for j in (0, 1):
        brought = seen[j] * (attention.out_proj.weight @ attention.v_proj.weight @ x[j])
        risen = gates * (layer.mlp.fc1.weight @ norm(layer.layer_norm2, middle, brought))
        after = brought + layer.mlp.fc2.weight @ risen
        torch.testing.assert_close(parts[j], project.weight @ norm(last, final, after))
    torch.testing.assert_close(parts.sum(0), project(last(final)))


@torch.inference_mode()
def test_along_all_paths_they_add_up_too(texts):
    read = texts.spelling.tokenizer(list(encoders.TEXTS), padding=True, return_tensors="pt")
    ids = read["input_ids"][:, :16]
    parts = split(texts, ids, each_token(ids), through_all)
    torch.testing.assert_close(parts.sum(1), texts.network(input_ids=ids).text_embeds)


def test_along_all_paths_a_word_is_the_held_networks_answer_to_its_embedding(texts):
    """Parts equal the Jacobian times the embedding, by autograd."""
    ids = texts.spelling.tokenizer(["dog tree"], return_tensors="pt")["input_ids"]
    model = texts.network.text_model
    base = model.embeddings(input_ids=ids).detach()
    T = base.shape[1]
    bias = base.new_full((T, T), -torch.inf).triu(1)
    end = int(texts.ends(ids))

    def norm(module, h):
        spread = (h.var(-1, correction=0, keepdim=True) + module.eps).rsqrt().detach()
        return (h - h.mean(-1, keepdim=True)) * spread * module.weight + module.bias

    def answer(states):
        h = states
        for layer in model.encoder.layers:
            attention, x = layer.self_attn, norm(layer.layer_norm1, h)
            heads = [
                one.view(T, attention.num_heads, -1).transpose(0, 1)
                for one in (attention.q_proj(x), attention.k_proj(x), attention.v_proj(x))
            ]
            seen = (heads[0] @ heads[1].mT * attention.scale + bias).softmax(-1).detach()
            h = h + attention.out_proj((seen @ heads[2]).transpose(0, 1).flatten(1))
            inner = layer.mlp.fc1(norm(layer.layer_norm2, h))
            gates = (layer.mlp.activation_fn(inner) / inner).detach()
            h = h + layer.mlp.fc2(gates * inner)
        return texts.network.text_projection(norm(model.final_layer_norm, h)[end])

    jacobian = torch.autograd.functional.jacobian(answer, base[0])  # (D, T, H)
    expected = torch.einsum("dth,th->td", jacobian, base[0])
    with torch.inference_mode():
        parts = split(texts, ids, each_token(ids), through_all)[0]
    torch.testing.assert_close(parts[:-1], expected[:-1])


@pytest.mark.parametrize("run", [contributions, through_all])
@torch.inference_mode()
def test_a_text_without_words_is_all_rest(texts, run):
    ids = texts.spelling.tokenizer(["dog"], return_tensors="pt")["input_ids"]
    parts = split(texts, ids, torch.ones(1, 1, ids.shape[1]), run)
    torch.testing.assert_close(parts[:, 0], texts.network(input_ids=ids).text_embeds)


@pytest.mark.parametrize("run", [contributions, through_all])
@torch.inference_mode()
def test_texts_of_a_batch_end_where_they_end(texts, run):
    """Each has its own pooled position."""
    read = texts.spelling.tokenizer(["dog", "a red dog"], padding=True, return_tensors="pt")
    ids = read["input_ids"]
    together = split(texts, ids, each_token(ids), run)
    for n, length in enumerate(read["attention_mask"].sum(1).tolist()):
        alone = ids[n : n + 1, :length]
        parts = split(texts, alone, each_token(alone), run)[0]
        torch.testing.assert_close(together[n, : length - 1], parts[:-1])
