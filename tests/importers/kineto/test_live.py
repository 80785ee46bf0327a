"""The same program recorded live and by the profiler: equal calls, equal ledgers."""

from collections import Counter

import pytest

from roofline import capture
from roofline.importers import load
from roofline.program import read

torch = pytest.importorskip("torch")


class Block(torch.nn.Module):
    """A transformer block, without a mask."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.before = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.after = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time, width = x.shape
        shape = (batch, time, self.heads, width // self.heads)
        q, k, v = (
            part.view(shape).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1)
        )
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, time, width)) * 0.5
        return x + self.down(torch.nn.functional.gelu(self.up(self.after(x))))


class Net(torch.nn.Module):
    """Embedding, two blocks, dropout, head."""

    def __init__(self, width=64):
        super().__init__()
        self.embedding = torch.nn.Embedding(100, width)
        self.blocks = torch.nn.ModuleList([Block(width), Block(width)])
        self.drop = torch.nn.Dropout(0.1)
        self.head = torch.nn.Linear(width, 100, bias=False)

    def forward(self, tokens):
        x = self.drop(self.embedding(tokens))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The live recording and the imported trace of two training steps."""
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    net, tokens = Net(), torch.randint(0, 100, (2, 16))
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)

    def step():
        optimizer.zero_grad(set_to_none=False)
        logits = net(tokens).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, tokens.flatten()).backward()
        optimizer.step()

    step()
    with capture.profile(warmup=0) as recorder:
        step()
        step()
    path = tmp_path_factory.mktemp("trace") / "cpu.json"
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True
    ) as recorded:
        step()
        step()
    recorded.export_chrome_trace(str(path))
    return recorder.result, load([path])


def ledgers(run) -> Counter:
    """How often each operator needs what: its name, and every line of its ledger."""
    found: Counter = Counter()
    for part in read(run).parts:
        lines = tuple(
            sorted((e.resource.name, e.access or "", e.amount) for e in part.once.ledger.entries)
        )
        if lines or part.once.ledger.unaccounted:  # how often a view is looked at is not work
            found[part.name, lines, part.once.ledger.unaccounted] += part.calls
    return found


def test_the_trace_has_the_ledgers_of_the_live_recording_to_the_last_byte(runs):
    """The recorder keeps gradients referred to, so that autograd adds out of place where the plain
    program adds in place: the same bytes and flop under another name.
    """
    live, trace = ({key: n for key, n in ledgers(run).items()} for run in runs)
    additions = [key for key in {*live, *trace} if live.get(key) != trace.get(key)]

    assert {name for name, *_ in additions} <= {"aten::add", "aten::add_"}
    assert sum(live.get(key, 0) for key in additions) == sum(trace.get(key, 0) for key in additions)
    assert sum(live.values()) == sum(trace.values())
    assert len(live) > 60


def test_flop_and_bytes_of_a_step_are_equal(runs):
    live, trace = (
        sum((entry.amount * part.calls for part in read(run).parts
             for entry in part.once.ledger.entries if entry.resource.unit == "flop"), 0)
        for run in runs
    )  # fmt: skip
    assert live == trace > 1e6


def test_phases_modules_and_steps(runs):
    live, trace = runs
    assert len(trace.steps) == len(live.steps) == 2
    backward = [Counter(trace_or_live.signatures[row["signature"]].name
                        for row in trace_or_live.rows() if row["phase"] == "backward")
                for trace_or_live in runs]  # fmt: skip
    assert (
        backward[0]["aten::mm"] == backward[1]["aten::mm"] == 2 * 2 * 9
    )  # 9 linears, 2 products each
    of = {row["module"] for row in trace.rows() if row["phase"] == "backward"}
    assert {"Net_0.Block_0.Linear_0", "Net_0.Block_1.Linear_4", "Net_0.Linear_8"} <= of


def test_the_list_of_composites_is_the_dispatcher_s():
    """Written down, because importing needs no torch; of the version that the file names."""
    from roofline.capture.calls.operator import describe
    from roofline.importers.kineto.join.names import composites

    splits: dict[str, set[bool]] = {}
    for full in torch._C._dispatch_get_all_op_names():
        name, _, overload = full.partition(".")
        if not name.startswith("aten::"):
            continue
        try:
            func = getattr(getattr(torch.ops.aten, name[6:]), overload or "default")
        except AttributeError:
            continue
        splits.setdefault(name, set()).add(describe(func).split)
    always = {name for name, found in splits.items() if found == {True}}
    never = {name for name, found in splits.items() if found == {False}}
    if torch.__version__.startswith("2.13."):
        assert always <= composites()
    assert len(always - composites()) < 20
    assert not never & composites()
