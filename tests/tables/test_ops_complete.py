"""A rule that nobody counted by hand does not ship."""

import pytest

from roofline import ops
from roofline.call import Call
from roofline.ops.rule import index
from tests.tables import test_ops_matmul, test_ops_movement, test_ops_pointwise, test_ops_reduce

TABLES = (test_ops_matmul, test_ops_movement, test_ops_pointwise, test_ops_reduce)


def test_every_rule_has_a_golden_row():
    """Add the row beside its family's; it shows the arithmetic."""
    counted = {row.call.op for table in TABLES for row in table.ROWS}

    assert {rule.op for rule in ops.RULES} - counted == set()


def test_an_operator_without_a_rule_is_named():
    """Never zero."""
    ledger = ops.account(Call("mylib::fused"))

    assert (ledger.unaccounted, ledger.entries) == (("mylib::fused",), ())
    assert ops.executed(Call("mylib::fused")) is None


def test_two_rules_for_one_operator_is_an_error():
    """The second would silently win."""
    with pytest.raises(ValueError, match="two accounting rules for 'aten::mm'"):
        index([ops.BY_OP["aten::mm"]] * 2)
