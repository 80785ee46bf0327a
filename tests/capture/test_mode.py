"""What one operator call becomes: its key, its noun, its storages."""

import math
import weakref

import pytest
import torch
from torch import library, nn
from torch.nn import functional

from roofline.call import Tensor
from roofline.capture import profile
from roofline.program import read


def record(work, **options):
    with profile(**options) as run:
        work()
    return run.result


def names(run):
    return [run.signatures[row["signature"]].name for row in run.rows()]


def calls(run):
    return [run.signatures[row["signature"]].call for row in run.rows()]


def only(run, name):
    found = [c for c in calls(run) if c is not None and c.op == name]
    assert len(found) == 1
    return found[0]


def test_equal_calls_fold_into_one_signature():
    x, y = torch.ones(4, 8), torch.ones(8, 3)
    run = record(lambda: [torch.mm(x, y) for _ in range(5)])
    assert len(run.signatures) == 1
    assert run.events.num_rows == 5
    assert run.events["signature"].to_pylist() == [0] * 5


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda: torch.ones(4, 4), lambda: torch.ones(4, 5)),  # shape
        (lambda: torch.ones(4, 4), lambda: torch.ones(4, 4).t()),  # strides
        (lambda: torch.ones(4, 4), lambda: torch.ones(4, 4, dtype=torch.float64)),  # type
        (lambda: torch.ones(4, 1), lambda: torch.ones(1, 1).expand(4, 1)),  # stride 0
    ],
)
def test_what_changes_the_work_does_not_fold(first, second):
    a, b = first(), second()
    run = record(lambda: (torch.exp(a), torch.exp(b)))
    assert len(run.signatures) == 2


def test_numbers_that_are_data_fold_unless_they_change_the_work():
    x = torch.ones(4)

    def work():
        for factor in (0.1, 0.2, 0.3):  # any number: one signature
            x * factor
        x * 1.0  # 1 may be skipped by a kernel: its own
        x * 2  # an int is another type than a float
        x.pow(2.0), x.pow(0.5), x.pow(1.7)  # three kinds of work

    run = record(work)
    products = [s.call.args[1] for s in run.signatures if s.name == "aten::mul"]
    assert products == [0.1, 1.0, 2]
    assert [s.call.args[1] for s in run.signatures if s.name == "aten::pow"] == [2.0, 0.5, 1.7]


def test_one_and_one_point_zero_are_different_arguments():
    x = torch.ones(3, dtype=torch.int64)
    run = record(lambda: (x + 1, x + 1.0))
    assert [(type(c.args[1]), c.outputs[0].dtype) for c in calls(run)] == [
        (int, "int64"),
        (float, "fp32"),
    ]


def test_arguments_stand_in_schema_order_with_defaults_and_keywords_placed():
    # aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)
    bias, a, b = torch.ones(3), torch.ones(2, 4), torch.ones(4, 3)
    plain = only(record(lambda: torch.addmm(bias, a, b)), "aten::addmm")
    assert [t.shape for t in plain.args[:3]] == [(3,), (2, 4), (4, 3)]
    assert plain.args[3:] == (1, 1)
    scaled = only(record(lambda: torch.addmm(bias, a, b, alpha=3)), "aten::addmm")
    assert scaled.args[3:] == (1, 3)
    # aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)
    total = only(record(lambda: a.sum(1, dtype=torch.float64)), "aten::sum")
    assert total.args[1:] == ((1,), False, "fp64")


def test_lists_of_tensors_devices_and_infinities_are_plain_data():
    x = torch.ones(2, 3)
    joined = only(record(lambda: torch.cat([x, x, torch.ones(1, 3)])), "aten::cat")
    assert [t.shape for t in joined.args[0]] == [(2, 3), (2, 3), (1, 3)]
    assert [t.storage for t in joined.args[0]] == [0, 0, 1]
    filled = only(record(lambda: x.masked_fill(x > 0, -math.inf)), "aten::masked_fill")
    assert filled.args[2] == "-inf"
    made = only(record(lambda: torch.empty(2, device="cpu", dtype=torch.bfloat16)), "aten::empty")
    assert made.args == ((2,), "bf16", None, "cpu", False, None)


def test_storages_are_numbered_within_the_call():
    x = torch.ones(4, 8)
    left, right = x[:, :4], x[:, 4:]
    call = only(record(lambda: torch.add(left, right)), "aten::add")
    assert call.args[:2] == (
        Tensor((4, 4), "fp32", (8, 1), storage=0, offset=0),
        Tensor((4, 4), "fp32", (8, 1), storage=0, offset=4),
    )
    assert call.outputs == (Tensor((4, 4), "fp32", (4, 1), storage=1, offset=0),)


def test_offsets_count_from_the_first_element_named_so_that_slices_fold():
    x = torch.ones(10, 4)
    run = record(lambda: [torch.exp(row) for row in x])
    rows = [s for s in run.signatures if s.name == "aten::exp"]
    assert len(rows) == 1
    assert rows[0].call.args[0].offset == 0


def test_sharing_and_not_sharing_are_different_signatures():
    x, y = torch.ones(4), torch.ones(4)
    run = record(lambda: (x * x, x * y, y * y))
    assert [[t.storage for t in s.call.tensors] for s in run.signatures] == [[0, 0], [0, 1]]
    assert run.events["signature"].to_pylist() == [0, 1, 0]


def test_in_place_output_is_the_argument():
    x, y = torch.ones(4), torch.ones(4)
    run = record(lambda: x.add_(y))
    call = only(run, "aten::add_")
    assert call.outputs[0].storage == call.args[0].storage == 0
    row = run.rows()[0]
    assert row["writes"] == row["reads"][:1]


def test_in_place_change_of_shape_keeps_the_shape_before():
    x = torch.ones(2, 3)
    call = only(record(x.t_), "aten::t_")
    assert call.args[0].shape == (2, 3)
    assert call.outputs[0].shape == (3, 2)


def test_out_is_an_argument_and_the_output():
    x, out = torch.ones(4), torch.empty(4)
    run = record(lambda: torch.exp(x, out=out))
    call = only(run, "aten::exp")
    assert [t.storage for t in call.args] == [0, 1]
    assert call.outputs[0].storage == 1
    assert run.rows()[0]["writes"] == run.rows()[0]["reads"][1:]


def test_views_are_recorded_and_need_nothing():
    x = torch.ones(6, 4)
    run = record(lambda: x.view(4, 6).t()[1:3].unsqueeze(0))
    assert names(run) == ["aten::view", "aten::t", "aten::slice", "aten::unsqueeze"]
    assert all(s.ledger.entries == () and not s.ledger.unaccounted for s in run.signatures)
    storage = run.rows()[0]["reads"]
    assert all(row["reads"] == row["writes"] == storage for row in run.rows())


def test_views_fold_whatever_they_pick():
    x = torch.ones(50, 4)
    run = record(lambda: [x[i] for i in range(50)])
    assert names(run) == ["aten::select"] * 50
    assert len(run.signatures) == 1


def test_data_can_be_followed_from_one_event_to_the_next():
    x = torch.ones(3)

    def work():
        y = x.exp()
        z = y + x
        del y
        return [z.relu() for _ in range(100)]  # each frees the last one's memory

    rows = record(work).rows()
    (x_read,), (y,) = rows[0]["reads"], rows[0]["writes"]
    assert rows[1]["reads"] == [y, x_read]
    relus = [row["writes"][0] for row in rows[2:]]
    assert len(set(relus)) == 100  # numbers are not used again though addresses are
    assert all(row["reads"] == rows[1]["writes"] for row in rows[2:])


def test_an_unknown_operator_is_named_unaccounted_and_its_parts_are_not_counted_again():
    @library.custom_op("roofline_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x.exp() + x

    run = record(lambda: twice(torch.ones(5)))
    assert names(run) == ["aten::ones", "roofline_test::twice"]
    assert run.signatures[1].ledger.unaccounted == ("roofline_test::twice",)


def test_a_broken_rule_does_not_end_the_program(monkeypatch):
    from roofline import ops

    def broken(call):
        raise ZeroDivisionError("no such shape")

    monkeypatch.setattr(ops, "account", broken)
    run = record(lambda: torch.exp(torch.ones(3)))
    assert {s.name: s.ledger.unaccounted for s in run.signatures}["aten::exp"] == ("aten::exp",)
    assert "the rule of aten::exp failed: ZeroDivisionError: no such shape" in run.recorder.warnings


def test_shapes_that_depend_on_data_do_not_fold():
    few, many = torch.tensor([1.0, 0, 0]), torch.tensor([1.0, 1, 1])
    run = record(lambda: (few.nonzero(), many.nonzero(), few.nonzero()))
    assert [c.outputs[0].shape for c in calls(run)] == [(1, 1), (3, 1), (1, 1)]
    assert len(run.signatures) == 2


def test_a_sparse_tensor_is_counted_by_what_it_holds():
    sparse, dense = torch.eye(4).to_sparse(), torch.ones(4, 4)
    run = record(lambda: torch.sparse.mm(sparse, dense))
    (product,) = [s for s in run.signatures if "mm" in s.name]
    held = next(t for t in product.call.tensors if t.layout == "coo")
    assert (held.stored, held.places, held.index_nbytes) == (4, 4, 2 * 4 * 8)
    assert product.ledger.flop == 2 * 4 * 4
    # The same values are one block of memory, however often they are used.
    (row,) = [r for r in run.rows() if run.signatures[r["signature"]] == product]
    assert len(row["reads"]) == len(product.call.tensors)


def test_how_much_a_sparse_result_holds_does_not_fold():
    few, many = torch.tensor([[1.0, 0], [0, 0]]), torch.tensor([[1.0, 1], [0, 0]])
    run = record(lambda: (few.to_sparse(), many.to_sparse(), few.to_sparse_csr()))
    assert [c.outputs[0].stored for c in calls(run)] == [1, 2, 1]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_the_fast_path_of_a_transformer_with_nested_tensors_goes_through():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).eval()
    mask = torch.tensor([[False, False, False], [False, False, True]])

    def work():
        with torch.no_grad():
            return encoder(torch.ones(2, 3, 16), src_key_padding_mask=mask)

    run = record(work)
    nested = [s for s in run.signatures if s.name.endswith("(nested)")]
    assert nested
    assert not any(s.ledger.unaccounted for s in nested)


def test_tensors_without_data_are_not_recorded():
    from torch._subclasses.fake_tensor import FakeTensorMode

    def work():
        torch.ones(4, device="meta") + 1
        with FakeTensorMode():
            torch.mm(torch.empty(4, 4), torch.empty(4, 4))

    assert record(work).events.num_rows == 0


def test_a_tensor_subclass_is_recorded_as_its_parts():
    from torch.testing._internal.two_tensor import TwoTensor

    pair = TwoTensor(torch.ones(4), torch.ones(4))
    assert names(record(lambda: torch.exp(pair))).count("aten::exp") == 2


def test_the_same_calls_with_and_without_inference_mode():
    layer = nn.Linear(8, 4)
    q = torch.ones(1, 2, 16, 8)
    x = torch.ones(3, 8)

    def work():
        layer(x)
        functional.scaled_dot_product_attention(q, q, q)

    with torch.no_grad():
        expected = record(work)
    with torch.inference_mode():
        got = record(work)
    assert names(got) == names(expected)
    assert "aten::addmm" in names(got)
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in names(got)


def test_autocast_shows_the_casts_and_the_narrow_product():
    layer = nn.Linear(8, 4)
    x = torch.ones(3, 8)

    def work():
        with torch.autocast("cpu", torch.bfloat16):
            layer(x)

    run = record(work)
    assert only(run, "aten::addmm").args[1].dtype == "bf16"
    assert names(run).count("aten::_to_copy") == 3  # input, weight, bias


def test_checkpointed_forward_is_recorded_twice():
    from torch.utils.checkpoint import checkpoint

    first, second = nn.Linear(8, 8), nn.Linear(8, 8)
    x = torch.ones(4, 8, requires_grad=True)

    def loss(again):
        y = checkpoint(first, x, use_reentrant=True) if again else first(x)
        return second(y).sum().backward()

    assert names(record(lambda: loss(False))).count("aten::addmm") == 2
    assert names(record(lambda: loss(True))).count("aten::addmm") == 3


def test_an_operator_that_raises_is_not_recorded_and_the_recording_goes_on():
    def work():
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        torch.exp(torch.ones(2))

    assert "aten::mm" not in names(record(work))


def test_results_are_those_of_the_plain_program():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def work():
        torch.manual_seed(1)
        layer.zero_grad()
        y = layer(torch.randn(2, 5, 16))
        y.sum().backward()
        return [y.detach(), *(p.grad.clone() for p in layer.parameters())]

    plain = work()
    with profile():
        recorded = work()
    assert all(torch.equal(a, b) for a, b in zip(plain, recorded, strict=True))


def test_the_recorder_says_what_it_costs_and_what_is_too_short():
    recorder = record(lambda: torch.ones(1)).recorder
    assert recorder.overhead_s >= 0
    # Ten times its own share, and never below 10 us.
    assert recorder.shortest_s == pytest.approx(max(10 * recorder.overhead_s, 10e-6))
    assert recorder.threads == torch.get_num_threads()
    assert recorder.versions["torch"] == str(torch.__version__)


def test_page_faults_of_fresh_memory_are_counted():
    # 64 MiB of fresh memory in pages of 4 KiB is 16384 faults; huge pages need fewer.
    x = torch.ones(1 << 24)
    faults = {
        n: r["page_faults"]
        for n, r in zip(*_named(record(lambda: (x.exp(), x.exp_()))), strict=True)
    }
    assert faults["aten::exp"] >= (1 << 26) // (2 << 20)
    assert faults["aten::exp_"] < faults["aten::exp"]


def _named(run):
    return names(run), run.rows()


def test_a_storage_given_to_an_operator_is_neither_kept_nor_written_out():
    # Batches of a DataLoader's workers arrive by aten::set_ on storages: the user's data.
    source = torch.full((1000,), 1.25)
    alive = weakref.ref(source.untyped_storage())
    with profile() as run:
        for _ in range(3):
            torch.empty(0).set_(source.clone().untyped_storage())
        torch.empty(0).set_(source.untyped_storage())
        del source
        gone = alive() is None
    assert gone
    calls = [s.call for s in run.result.signatures if s.name == "aten::set_"]
    assert len(calls) == 1  # no two calls differ but in whose memory it is
    assert calls[0].args[1] == "untypedstorage"


@pytest.mark.filterwarnings("ignore")
def test_tensors_of_every_element_type_can_be_followed():
    """Quantised, sub-byte and packed ones as well: an operator may be unknown, a run is not broken."""
    types = [t for t in vars(torch).values() if isinstance(t, torch.dtype)]
    quantised = torch.quantize_per_tensor(torch.ones(4, 4), 0.1, 10, torch.quint8)

    def work():
        made = [
            torch.empty(4, dtype=t) for t in dict.fromkeys(types) if not str(t)[6:].startswith("q")
        ]
        return [t.view(2, 2) for t in made], torch.relu(quantised).reshape(16)

    run = record(work)
    sizes = {
        t.dtype: t.nbytes for c in calls(run) for t in (*c.tensors, *c.outputs) if t.shape == (4,)
    }
    assert sizes["fp8_e4m3"] == sizes["fp4x2"] == 4
    assert sizes["complex128"] == 64
    assert read(run).parts
    relu = next(s for s in run.signatures if s.name == "aten::relu")
    assert relu.call.tensors[0].dtype == "quint8"
    assert [e.amount for e in relu.ledger.entries if e.access == "read"] == [16]


@pytest.mark.filterwarnings("ignore")
def test_flexible_attention_is_recorded_as_it_is_accounted_for():
    """4*H*D a pair of the causal blocks that are kept; one block of 128, all of it in part."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    import roofline as rl

    q = torch.ones(1, 2, 128, 16)
    blocks = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cpu")

    def work():
        return flex_attention(q, q, q, block_mask=blocks)

    run = record(work)
    (seen,) = [s for s in run.signatures if s.name == "higher_order::flex_attention"]
    (counted,) = [s for s in rl.account(work).account.signatures if s.name == seen.name]
    assert seen.call == counted.call
    line = next(e for e in seen.ledger.entries if e.resource.is_pipe)
    assert line.high == 4 * 2 * 16 * 128 * 128
