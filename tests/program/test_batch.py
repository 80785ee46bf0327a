"""What if the batch were another: the recording at 4, rewritten for 8, is the recording at 8."""

from functools import cache

import pytest
import torch

from roofline import ops, runfile
from roofline.call import Tensor
from roofline.cli import main
from roofline.errors import BadInput
from roofline.program.batch import NOT_REWRITTEN, Batch, by_size, rebatched
from roofline.program.batch.carried import Unclear, carried, rewritten, steps_of
from roofline.program.whatif import parse_batch, what_if
from roofline.report import whatif
from tests.program import batch_models as models
from tests.runs import Script, call, tensor

recorded = cache(models.recorded)


def ledgers(run):
    """Of every event in order, as today's rules count it; views as nothing."""
    found = []
    for row in run.rows():
        signature = run.signatures[row["signature"]]
        if signature.call is None:
            found.append((signature.name, signature.ledger, None))
        else:
            found.append((
                signature.name, ops.account(signature.call), ops.executed(signature.call)
            ))  # fmt: skip
    return found


@pytest.mark.parametrize("train", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("make", models.MODELS, ids=lambda make: make.__name__)
def test_rewritten_for_eight_it_is_the_recording_at_eight(make, train):
    """Call by call: every line, every convention, every footprint."""
    made = rebatched(recorded(make, 4, train=train), 8)

    assert made.batch == Batch(4, 8)
    assert ledgers(made.after) == ledgers(recorded(make, 8, train=train))
    assert ledgers(made.before) == ledgers(recorded(make, 4, train=train))


def test_an_optimizer_with_state_and_a_smaller_batch():
    made = rebatched(recorded(models.transformer, 8, optimizer=torch.optim.AdamW), 4)

    assert ledgers(made.after) == ledgers(
        recorded(models.transformer, 4, optimizer=torch.optim.AdamW)
    )


def test_positions_before_samples_have_to_be_told_apart():
    """Inputs begin with 7 positions and with 4 labels."""
    run = recorded(models.lstm_by_position, 4)

    with pytest.raises(BadInput, match="inputs of the recording begin with 4 and 7: state which"):
        rebatched(run, 8)
    stated = rebatched(run, 8, 4)
    assert ledgers(stated.after) == ledgers(recorded(models.lstm_by_position, 8))


def test_what_the_sizes_leave_open_is_named_and_nothing_else_suffers():
    """The first product of each step reads a state of zeros, 4 x 4, and is combined with nothing."""
    made = rebatched(recorded(models.gru_of_four, 4), 8, 4)
    pairs = zip(ledgers(made.after), ledgers(recorded(models.gru_of_four, 8)), strict=True)
    different = [mine for mine, theirs in pairs if mine != theirs]

    assert len(different) == 3
    assert {name for name, _, _ in different} == {"aten::addmm"}
    assert all(NOT_REWRITTEN in ledger.unaccounted[0] for _, ledger, _ in different)


# A block of 4 samples of 7 x 24 elements: one sample begins 168 after the other.
@pytest.mark.parametrize(
    ("shape", "strides", "dims"),
    [
        ((4, 7, 24), (168, 24, 1), {0: 1}),
        ((28, 24), (24, 1), {0: 7}),  # flattened: 7 rows a sample
        ((24, 28), (1, 24), {1: 7}),  # and transposed
        ((4, 6, 24), (168, 24, 1), {0: 1}),  # without the last position
        ((7, 24), (24, 1), {}),  # one sample
        ((4, 7, 3, 8), (168, 8, 56, 1), {0: 1}),
    ],
)
def test_views_show_the_batch_by_their_strides(shape, strides, dims):
    assert carried(Tensor(shape, strides=strides), (168,), 4) == dims


def test_half_a_batch_is_not_rewritten():
    with pytest.raises(Unclear):
        carried(Tensor((2, 7, 24), strides=(168, 24, 1)), (168,), 4)


def test_what_lies_outside_of_the_batch_moves_apart():
    """Positions first: 7 x 4 x 12 with strides 48, 12, 1 becomes 7 x 8 x 12 with 96, 12, 1."""
    x = Tensor((7, 4, 12), strides=(48, 12, 1), offset=96)
    steps = steps_of(x, {1: 1})

    assert steps == (12,)
    made = rewritten(x, carried(x, steps, 4), steps, Batch(4, 8))
    assert (made.shape, made.strides, made.offset) == ((7, 8, 12), (96, 12, 1), 192)


X, W, Y = tensor(4, 100), tensor(100, 50), tensor(4, 50)
MM = call("aten::mm", X, W, out=Y)
OWN = call("my::kernel", Y, out=Y)


def by_hand():
    script = Script()
    for step in range(2):
        script.add(MM, 100, reads=(1, 2), writes=(10 + step,))
        script.add(OWN, 50, reads=(10 + step,), writes=(20 + step,)).end_step()
    return script.run()


def test_what_nobody_can_account_for_stays_so():
    """2 x 8 x 100 x 50 flop instead of 2 x 4 x 100 x 50; the other kernel is in no time."""
    made = what_if(by_hand(), batch=8)
    product, own = sorted(made.by(), key=lambda change: change.before.name)

    assert made.words == "batch 4 -> 8"
    # two steps: 22.4 kB from DRAM, 2.24 us, then 40,000 flop on data that is held, 0.4 us;
    # with 8 samples 24.8 kB, 2.48 us, and 0.8 us
    said = whatif.document(made)["batch"]
    assert (said["before"], said["after"]) == (4, 8)
    assert said["before_roof_s"] == pytest.approx((2.24e-6 + 0.4e-6) / 2 / 4)
    assert said["after_roof_s"] == pytest.approx((2.48e-6 + 0.8e-6) / 2 / 8)
    assert product.after.ledger.flop == 2 * product.before.ledger.flop == 2 * 80_000
    assert own.roof_s is None
    assert made.not_rewritten == ("my::kernel (4x50 fp32)",)


def test_one_call_that_carries_the_batch_in_two_ways_is_two():
    """x and w are 4 x 4: x w has the batch in its rows, w w nowhere."""
    square = tensor(4, 4)
    product = call("aten::mm", square, square, out=square)
    script = Script()
    script.add(product, 10, reads=(1, 2), writes=(10,), phase="forward")
    script.add(product, 10, reads=(2, 2), writes=(11,), phase="forward")
    run = script.end_step().run()

    shapes = [s.call.outputs[0].shape for s in rebatched(run, 8).after.signatures]
    assert shapes == [(8, 4), (4, 4)]


def test_the_command_names_what_it_leaves_out(tmp_path, capsys):
    path = tmp_path / "x.roof"
    run = recorded(models.mlp, 4)
    runfile.save(run, path)

    assert main(["show", str(path), "--what-if", "batch=8"]) == 0
    assert "what if batch 4 -> 8: bounds, not measurements" in capsys.readouterr().out
    assert main(["show", str(path), "--what-if", "batch=4:x"]) == 2
    assert "a batch is written 64, or 32:64" in capsys.readouterr().err


def test_a_stated_batch_that_is_none_is_refused():
    """A perceptron with 8 samples: 7 is no size of an input, 2 divides one and scales nothing."""
    run = recorded(models.mlp, 8)
    with pytest.raises(BadInput, match="comes in batches of 7: they begin with 8"):
        rebatched(run, 64, 7)
    with pytest.raises(BadInput, match="comes in batches of 2: they begin with 8"):
        rebatched(run, 64, 2)
    assert rebatched(run, 64, 8).batch == Batch(8, 64)


def test_where_nothing_scales_no_sample_gets_cheaper():
    """All is made within the step, and none of it is 8 long."""
    square = call("aten::zeros", (3, 3), out=tensor(3, 3))
    run = Script().add(square, 10, writes=(1,)).end_step().run()
    with pytest.raises(BadInput, match="nothing in the recording scales with a batch of 8"):
        rebatched(run, 64, 8)


def test_a_batch_of_one_is_refused_however_it_is_asked_about():
    """Nobody is sent from one refusal to a statement that is false."""
    run = recorded(models.mlp, 1)
    for stated in (None, 8):
        with pytest.raises(BadInput, match="a batch of 1 leaves no mark on its sizes; record the"):
            rebatched(run, 64, stated)
    with pytest.raises(BadInput, match="a batch of 1 leaves no mark on its sizes; record the"):
        parse_batch("1:8")


@pytest.mark.parametrize("text", ["0", "a", "1:2:3", "4:", "1:64"])
def test_mistakes(text):
    with pytest.raises(BadInput):
        parse_batch(text)


# A trace: shapes alone.  8 samples of 16 positions, 64 wide, through a layer of 256.
TRACE = (
    call("aten::embedding", tensor(100, 64), tensor(8, 16, dtype="int64"), -1, False, False),
    call("aten::addmm", tensor(256), tensor(128, 64), tensor(64, 256), 1, 1),
    call("aten::gelu", tensor(8, 16, 256), "none"),
    call("aten::mm", tensor(64, 128), tensor(128, 256)),
)


def trace(*calls):
    script = Script()
    for each in calls:
        script.add(each, 100)
    return script.end_step().run()


def test_a_trace_tells_sizes_apart_by_value():
    after = [s.call for s in rebatched(trace(*TRACE), 32).after.signatures]

    assert by_size.samples(TRACE) == [8]
    assert [t.shape for t in after[1].tensors] == [(256,), (512, 64), (64, 256)]
    assert after[2].tensors[0].shape == (32, 16, 256)
    assert [t.shape for t in after[3].tensors] == [(64, 512), (512, 256)]


def test_a_trace_whose_rows_are_as_many_as_its_weights_are_wide_is_refused():
    square = call("aten::addmm", tensor(128), tensor(128, 64), tensor(64, 128), 1, 1)

    with pytest.raises(BadInput, match="128 is the rows of activations and a size of weights"):
        rebatched(trace(*TRACE, square), 32)
    with pytest.raises(BadInput, match="no input of the recording begins with a batch"):
        rebatched(trace(TRACE[2]), 32)


def test_groups_meet_although_their_parts_stand_in_another_order():
    """With other sizes parts move between levels, and are met in another order."""
    run = recorded(models.transformer, 4)
    made = what_if(run, batch=256)

    for by in ("call", "operator", "module", "phase"):
        assert {c.before.name for c in made.by(by)} == {i.name for i in made.before.by(by)}


def test_a_trace_refuses_a_batch_that_is_none():
    """Embeddings begin with 8 samples; 16 positions are in the sizes too, and are no batch."""
    with pytest.raises(BadInput, match="comes in batches of 16: they begin with 8"):
        rebatched(trace(*TRACE), 32, 16)
    one = call("aten::embedding", tensor(100, 64), tensor(1, 16, dtype="int64"), -1, False, False)
    with pytest.raises(BadInput, match="made with a batch of 1, not of 16"):
        rebatched(trace(one, *TRACE[1:]), 32, 16)
    with pytest.raises(BadInput, match="nothing in the recording comes in batches of 3"):
        rebatched(trace(TRACE[1]), 32, 3)  # nothing there begins with samples alone
