"""The tiny model's formulas in numpy, in float64, without a cache."""

from __future__ import annotations

import numpy as np


def tiny_logits(tensors, config, ids):
    """[tokens, vocab] from float32 tensors."""
    w = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    x = w["embed.weight"][ids]
    for index, kind in enumerate(config["layer_types"]):
        p = f"layers.{index}"
        window = config["sliding_window"] if kind == "sliding_attention" else len(ids)
        x = x + attention(norm(x, w[f"{p}.norm.weight"]), w, p, config, window) @ w[f"{p}.out.weight"].T
        y = norm(x, w[f"{p}.mlp_norm.weight"])
        gate = y @ w[f"{p}.gate.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w[f"{p}.up.weight"].T)) @ w[f"{p}.down.weight"].T
    return norm(x, w["final_norm.weight"]) @ w["head.weight"].T


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight


def attention(x, w, prefix, config, window):
    heads, kv_heads, size = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    q = rotate((x @ w[f"{prefix}.q.weight"].T).reshape(len(x), heads, size))
    k = rotate((x @ w[f"{prefix}.k.weight"].T).reshape(len(x), kv_heads, size))
    v = (x @ w[f"{prefix}.v.weight"].T).reshape(len(x), kv_heads, size)
    out = np.zeros_like(q)
    for token in range(len(x)):
        first = max(0, token - window + 1)
        for head in range(heads):
            kv = head * kv_heads // heads
            scores = k[first : token + 1, kv] @ q[token, head] / np.sqrt(size)
            weights = np.exp(scores - scores.max())
            out[token, head] = weights / weights.sum() @ v[first : token + 1, kv]
    return out.reshape(len(x), -1)


def rotate(x):
    """Pairs (i, i + size / 2) turn by position / 10000^(2 i / size)."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None, None] * 10000.0 ** -(np.arange(half) / half)
    one, other = x[..., :half], x[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([one * cos - other * sin, other * cos + one * sin], -1)
