from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet_quant_gptq.rounding import find_grid
from kernelet_quant_gptq.solve import Options, solve


def draw(seed, rows=12, columns=160):
    """A weight and the second moment of inputs that hang together."""
    generator = torch.Generator().manual_seed(seed)
    mixed = torch.randn(columns, columns, generator=generator) / columns**0.5
    inputs = torch.randn(300, columns, generator=generator) @ mixed + 0.1 * torch.randn(
        300, columns, generator=generator
    )
    inputs[:, ::7] *= 8
    weight = torch.randn(rows, columns, generator=generator)
    return weight, inputs, inputs.T @ inputs / 300


def by_hand(weight, moment, options):
    """Column by column, as "Optimal Brain Surgeon" has it: the inverse is updated, and there are no blocks."""
    columns = weight.shape[1]
    size = columns if options.group_size == -1 else options.group_size
    wide = moment.double()
    order = list(range(columns))
    if options.act_order:
        order.sort(key=lambda column: -float(moment[column, column]))
    inverse = torch.linalg.inv(
        wide + torch.eye(columns, dtype=torch.float64) * (options.damping * wide.diagonal().mean())
    )
    left, found = weight.double().clone(), torch.empty(weight.shape, dtype=torch.float64)
    grid = None
    for step, column in enumerate(order):
        if options.static_groups:
            first = column // size * size
            grid = find_grid(weight[:, first : first + size], options.bits, symmetric=options.symmetric)
        elif step % size == 0:
            group = left[:, order[step : step + size]].float()
            grid = find_grid(group, options.bits, symmetric=options.symmetric)
        now = left[:, column].clone()
        found[:, column] = grid.weight(grid.nearest(now[:, None].float()))[:, 0].double()
        error = (now - found[:, column]) / inverse[column, column]
        rest = order[step + 1 :]
        left[:, rest] -= error[:, None] * inverse[column, rest]
        inverse = inverse - torch.outer(inverse[:, column], inverse[column]) / inverse[column, column]
    return found


EVERY = [
    Options(),
    Options(bits=3, group_size=32, symmetric=False),
    Options(bits=4, group_size=48, symmetric=False),
    Options(bits=2, group_size=-1),
    Options(group_size=32, act_order=True),
    Options(group_size=48, act_order=True, symmetric=False),
    Options(group_size=32, act_order=True, static_groups=True),
    Options(bits=8, group_size=-1, act_order=True, damping=0.01),
]


@pytest.mark.parametrize("options", EVERY)
def test_it_is_the_surgeon_column_by_column(options):
    weight, _, moment = draw(1)
    found = solve(weight, moment, options).weight().double()
    wanted = by_hand(weight, moment, options)
    same = (found - wanted).abs().amax(1) < 1e-4
    assert int(same.sum()) >= len(same) - 2, (
        "a value between two may be rounded to the other, and its row goes on from it"
    )


@pytest.mark.parametrize("options", EVERY)
@given(seed=st.integers(2, 999))
@settings(max_examples=2, deadline=None)
def test_outputs_are_nearer_than_with_the_nearest(options, seed):
    weight, inputs, moment = draw(seed)
    columns = weight.shape[1]
    parts = weight.split(columns if options.group_size == -1 else options.group_size, 1)
    grids = [find_grid(part, options.bits, symmetric=options.symmetric) for part in parts]
    nearest = torch.cat([grid.weight(grid.nearest(part)) for grid, part in zip(grids, parts, strict=True)], 1)
    found = solve(weight, moment, options)
    ours, theirs = (float((inputs @ (one - weight).T).square().mean()) for one in (found.weight(), nearest))
    assert ours < 0.9 * theirs
    assert sorted(found.groups.tolist()) == [column // len(parts[0][0]) for column in range(columns)]


def test_groups_follow_the_order_and_static_ones_do_not():
    weight, _, moment = draw(1)
    in_order = (torch.arange(160) // 32).int()
    groups = solve(weight, moment, Options(group_size=32, act_order=True)).groups
    assert not torch.equal(groups, in_order)
    assert set(groups[::7].tolist()) == {0}, "the largest inputs come first"
    assert torch.equal(
        solve(weight, moment, Options(group_size=32, act_order=True, static_groups=True)).groups, in_order
    )


def test_inputs_that_were_never_there_are_rounded_to_the_nearest():
    weight, _, moment = draw(1)
    moment[5], moment[:, 5] = 0, 0
    for given_moment, columns in ((moment, [5]), (torch.zeros_like(moment), list(range(160)))):
        found = solve(weight, given_moment, Options(bits=8, group_size=-1)).weight()
        step = weight.abs().amax(1) * 2 / 255
        assert ((found - weight).abs()[:, columns] <= 0.6 * step[:, None]).all()


def test_a_moment_that_is_no_number():
    weight, _, moment = draw(1)
    with pytest.raises(ValueError, match="no Cholesky factor"):
        solve(weight, moment * torch.nan, Options())
