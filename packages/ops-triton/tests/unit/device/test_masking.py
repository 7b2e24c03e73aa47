from __future__ import annotations

import torch

from kernelet_ops_triton.device.masking import mask_tokens


def test_bits_of_words_also_the_sign_bit():
    vocab, rows = 70, torch.tensor([2, 0])
    logits = torch.randn(3, vocab)
    allowed = torch.rand(2, 96) < 0.5
    allowed[:, 31] = torch.tensor([True, False])
    bits = (allowed.view(2, 3, 32).long() << torch.arange(32)).sum(-1)
    masks = torch.where(bits >= 1 << 31, bits - (1 << 32), bits).to(torch.int32)
    wanted = logits.clone()
    for index, row in enumerate(rows.tolist()):
        wanted[row, ~allowed[index, :vocab]] = -torch.inf
    mask_tokens[2, 3](logits, masks, rows, vocab, 3, vocab=vocab, block_n=32)
    assert torch.equal(logits, wanted)
