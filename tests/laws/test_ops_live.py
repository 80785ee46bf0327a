"""Real programs on the CPU: every operator they dispatch is accounted for."""

import math
from dataclasses import replace

import pytest

from roofline.call import Call, Tensor
from roofline.ops import RULES, account, free

torch = pytest.importorskip("torch")
from roofline.capture.calls import layouts  # noqa: E402

checkpoint = pytest.importorskip("torch.utils.checkpoint")
nn, functional = torch.nn, torch.nn.functional

DTYPES = {
    torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8",
    torch.uint8: "uint8", torch.bool: "bool", torch.complex64: "complex64",
    torch.complex128: "complex128", torch.float8_e4m3fn: "fp8_e4m3",
}  # fmt: skip


def argument(value):
    """A live argument in the form a Call holds."""
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, (list, tuple)):
        return tuple(argument(v) for v in value)
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def tensor(t):
    """What a rule may know of a live tensor."""
    if t.layout is not torch.strided:
        held = layouts.held(t)
        return Tensor(tuple(t.shape), DTYPES[t.dtype], layout=held.layout, stored=held.stored,
                      places=held.places, index_nbytes=held.index_nbytes)  # fmt: skip
    return Tensor(tuple(t.shape), DTYPES[t.dtype], tuple(t.stride()),
                  t.untyped_storage()._cdata, t.storage_offset())  # fmt: skip


def described(func, args, kwargs, out):
    """The Call of one dispatched operator: schema order, defaults filled in."""
    values = []
    for place, formal in enumerate(func._schema.arguments):
        if place < len(args):
            values.append(args[place])
        else:
            values.append(kwargs.get(formal.name, formal.default_value))
    outs = out if isinstance(out, (list, tuple)) else [out]
    outputs = tuple(tensor(o) for o in outs if isinstance(o, torch.Tensor))
    return Call(func._schema.name, tuple(argument(v) for v in values), outputs)


class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
    """Every operator dispatched, as a Call."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.calls.append(described(func, args, kwargs or {}, out))
        return out


def gaps(calls):
    """Names and reasons of what is not accounted for."""
    found = {}
    for call in calls:
        ledger = account(call)
        if ledger.unaccounted:
            found[call.op] = ledger.conventions
    return found


def test_every_rule_is_for_an_operator_that_exists():
    """A slip in a name would be a rule that is never asked."""
    known = {schema.name for schema in torch._C._jit_get_all_schemas()}
    ours = {rule.op for rule in RULES if rule.op.startswith("aten::")}

    assert ours - known == set()


def schemas(name):
    """Every overload of an operator that is not an out= variant."""
    found = [s for s in torch._C._jit_get_all_schemas() if s.name == f"aten::{name}"]
    return [s for s in found if not any(a.is_out for a in s.arguments)]


@pytest.mark.parametrize("name", free.VIEWS)
def test_what_is_called_a_view_returns_its_input(name):
    """PyTorch's own schema says that the result shares memory; some views do not say it."""
    unmarked = {
        "_unsafe_view",
        "unsafe_split",
        "unsafe_split_with_sizes",
        "unsafe_chunk",
        "broadcast_tensors",
    }

    assert name in unmarked or any(r.alias_info for s in schemas(name) for r in s.returns)


@pytest.mark.parametrize("name", free.BOOKKEEPING)
def test_what_is_called_bookkeeping_makes_no_tensor(name):
    """It returns numbers, or parts that a tensor already has, or wraps tensors without a copy."""
    wraps = {"_sparse_coo_tensor_with_dims_and_tensors", "_sparse_coo_tensor_unsafe",
             "_sparse_compressed_tensor_unsafe", "_nested_get_offsets", "_nested_get_lengths",
             "_nested_get_jagged_dummy", "_nested_tensor_size", "_nested_tensor_strides",
             "_nested_tensor_storage_offsets"}  # fmt: skip
    returned = [r for s in schemas(name) for r in s.returns if "Tensor" in str(r.type)]

    assert name in wraps or all(r.alias_info for r in returned)


class Block(nn.Module):
    """A transformer block as people write it."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Embedding, two blocks, a head."""

    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(50, 32), nn.Sequential(Block(), Block())
        self.head = nn.Linear(32, 50)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


def cnn():
    """Convolution, norms, pooling, transposed convolution, and a head."""
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=8, dilation=2), nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool2d(2),
        nn.ConvTranspose2d(8, 4, 2, stride=2), nn.InstanceNorm2d(4), nn.LeakyReLU(), nn.PReLU(),
        nn.Dropout2d(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    functional.cross_entropy(layers(torch.randn(2, 3, 16, 16)), torch.tensor([1, 2])).backward()


def recurrent():
    """LSTM, GRU and plain layers, whole and by cell."""
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        out, _ = kind(4, 8, 2, bidirectional=True, batch_first=True)(torch.randn(2, 5, 4))
        out.sum().backward()
    hidden, _ = nn.LSTMCell(4, 8)(torch.randn(2, 4))
    (hidden.sum() + nn.GRUCell(4, 8)(torch.randn(2, 4)).sum()).backward()


def diffusion():
    """A step of a small denoiser: time embedding, skip connection, resampling, attention."""
    x, noise, steps = torch.randn(2, 4, 8, 8), torch.randn(2, 4, 8, 8), torch.tensor([3, 7])
    frequencies = torch.exp(-torch.arange(8) / 8.0)
    angles = steps[:, None] * frequencies[None]
    time = nn.Linear(16, 8)(torch.cat([angles.sin(), angles.cos()], -1))
    down = nn.Conv2d(4, 8, 3, 2, 1)(x + 0.1 * noise) + time[:, :, None, None]
    rows = nn.GroupNorm(2, 8)(down).flatten(2).transpose(1, 2)
    mixed, _ = nn.MultiheadAttention(8, 2, batch_first=True)(rows, rows, rows)
    mixed = mixed.transpose(1, 2).reshape(2, 8, 4, 4)
    up = functional.interpolate(functional.silu(mixed), scale_factor=2, mode="nearest")
    out = nn.Conv2d(12, 4, 3, padding=1)(torch.cat([up, x], 1))
    functional.mse_loss(out, noise).backward()


def recommender():
    """Bags of embeddings, pairwise interactions, a click loss, a sparse table."""
    bags, table = nn.EmbeddingBag(100, 8, mode="sum"), nn.Embedding(100, 8)
    users, items = bags(torch.randint(0, 100, (4, 3))), table(torch.randint(0, 100, (4, 5)))
    scores = torch.bmm(items, users[:, :, None]).squeeze(-1)
    functional.binary_cross_entropy_with_logits(scores, torch.rand(4, 5)).backward()


def experts():
    """A mixture of experts: routing, gathering, scattering."""
    x, weights = torch.randn(6, 8, requires_grad=True), torch.randn(4, 8, 8, requires_grad=True)
    gates, chosen = nn.Linear(8, 4)(x).softmax(-1).topk(2)
    out = torch.zeros_like(x)
    for expert in range(4):
        token, place = torch.where(chosen == expert)
        out = out.index_add(0, token, (x[token] @ weights[expert]) * gates[token, place, None])
    out.sum().backward()


def spectra():
    """Fourier transforms and complex arithmetic."""
    x = torch.randn(4, 16, requires_grad=True)
    spectrum = torch.fft.rfft(x)
    (spectrum * spectrum.conj()).real.sqrt().sum().backward()
    torch.stft(x, 8, window=torch.hann_window(8), return_complex=True).abs().sum().backward()


def sparse():
    """Products and conversions of COO and CSR tensors, and a sparse table's gradient."""
    coo, dense = torch.randn(6, 6).relu().to_sparse(), torch.randn(6, 4)
    csr = coo.to_sparse_csr()
    (coo @ dense, csr @ dense, torch.sparse.mm(coo, dense), coo.coalesce(), coo.to_dense())
    torch.sparse.softmax(coo, 1)
    torch.addmm(torch.zeros(6, 4), coo, dense)
    torch.sparse.sampled_addmm(csr, torch.randn(6, 6), torch.randn(6, 6))


PROGRAMS = (sparse, cnn, recurrent, diffusion, recommender, experts, spectra)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_of_every_kind_have_no_gap(program):
    """Forward and backward; and what a trace lacks, the results, changes no ledger."""
    with Recorder() as recorder:
        program()

    assert len(recorder.calls) > 10
    assert gaps(recorder.calls) == {}
    # How many elements a dense tensor has that are not zero, only the result tells.
    told = {"aten::_to_sparse", "aten::_to_sparse_csr"}
    for call in recorder.calls:
        assert account(call) == account(replace(call, outputs=())) or call.op in told


def test_checkpointing_runs_one_product_more():
    """Linear, ReLU, Linear on (32,64): base 2*32*64*64 = 262,144; 6 of them, 7 with recomputation."""
    layers = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False))
    counted = []
    for checkpointed in (False, True):
        x = torch.randn(32, 64, requires_grad=True)
        with Recorder() as recorder:
            y = checkpoint.checkpoint(layers, x, use_reentrant=False) if checkpointed else layers(x)
            y.sum().backward()
        counted.append(sum(account(c).flop for c in recorder.calls if c.op == "aten::mm"))

    assert counted == [6 * 262_144, 7 * 262_144]


def test_both_ways_of_running_give_the_same_products():
    """inference_mode shows whole operators, no_grad their parts; the matrix flop is the same."""
    model, tokens = Model().eval(), torch.randint(0, 50, (1, 4))
    products = []
    for mode in (torch.inference_mode, torch.no_grad):
        with Recorder() as recorder, mode():
            model(tokens)
        lines = [e for c in recorder.calls for e in account(c).entries]
        products.append(sum(e.amount for e in lines if "multiply-add" in e.why or "Q K^T" in e.why))

    # 2 blocks: qkv 3, out 1, up and down 8 times 2*4*32*32; 10 of 16 scores of 4 heads; head 2*4*32*50
    assert products == [2 * (12 * 8192 + 4 * 4 * 8 * 10) + 12_800] * 2


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}, {"amsgrad": True}],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize("optimizer", ["AdamW", "Adam", "SGD"])
def test_a_training_step_has_no_gap(optimizer, options):
    """Forward, backward, clipping and the optimizer's step: every operator has a ledger."""
    model, tokens = Model(), torch.randint(0, 50, (2, 8))
    extra = options | ({"momentum": 0.9} if optimizer == "SGD" else {})
    if optimizer == "SGD":
        extra.pop("amsgrad", None)
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3, weight_decay=0.1, **extra)
    with Recorder() as recorder:
        for _ in range(2):
            loss = functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            step.step()
            step.zero_grad()

    assert len(recorder.calls) > 300
    assert gaps(recorder.calls) == {}
    for call in recorder.calls:
        assert account(call) == account(replace(call, outputs=())), call.op


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_decode_step_has_no_gap(mode, dtype):
    """One token against a KV cache, grouped heads, greedy and sampled."""
    cache = torch.randn(2, 1, 2, 16, 8, dtype=dtype)
    with Recorder() as recorder, mode():
        model = Model().eval().to(dtype)
        logits = model(torch.randint(0, 50, (1, 4)))[:, -1]
        logits.argmax(-1)
        torch.multinomial(torch.softmax(logits.float(), -1), 1)
        cache[0, :, :, 3:4] = torch.randn(1, 2, 1, 8, dtype=dtype)
        q = torch.randn(1, 4, 1, 8, dtype=dtype)
        functional.scaled_dot_product_attention(q, cache[0], cache[1], enable_gqa=True)
        mask = torch.ones(1, 1, 1, 16, dtype=torch.bool)
        functional.scaled_dot_product_attention(q, cache[0], cache[1], mask, enable_gqa=True)
        functional.scaled_dot_product_attention(q, cache[0].repeat_interleave(2, 1),
                                                cache[1].repeat_interleave(2, 1))  # fmt: skip

    assert gaps(recorder.calls) == {}
