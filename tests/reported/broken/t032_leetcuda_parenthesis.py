# report: xlite-dev/LeetCUDA#309
# codes: NRM301
# why: a parenthesis stands wrong, so that eps is added to the count
# run: naive_layer_norm
# reference: layer(x, 1e-5)
# shows: zeros
import time

import torch


def naive_layer_norm(x: torch.Tensor, g: float = 1.0, b: float = 0.0, epsilon: float = 1e-5):
    """The reference that the kernels are compared with."""
    K = x.shape[-1]
    wide = x.float()
    centred = wide - wide.mean(dim=-1, keepdim=True)
    sum_of_squares = (centred * centred).sum(dim=-1, keepdim=True)
    inv_std = torch.rsqrt(sum_of_squares / (K + epsilon))
    return (centred * inv_std * g + b).to(x.dtype)


def run_benchmark(perf_func, x, tag, warmup=10, iters=1000):
    for _ in range(warmup):
        out = perf_func(x)
    start = time.time()
    for _ in range(iters):
        out = perf_func(x)
    print(f"{tag:>17}: {out.flatten()[:3].tolist()}, time: {(time.time() - start) * 1000 / iters:.6f}ms")
