# report: public source (entry 4): a tutorial
# codes: NRM401
# also: NRM201
# why: a tutorial divides by rsqrt, and squares in the dtype of the input
# run: lambda x: rms_norm(x, torch.ones(x.shape[-1]))
# reference: rms(x, 1e-6)
# shows: values
"""Lesson 4: from LayerNorm to RMSNorm, step by step."""
import torch


def layer_norm_example():
    torch.manual_seed(0)
    batch, seq_len, d_model = 2, 4, 8
    x = torch.randn(batch, seq_len, d_model)
    print("before:", x.mean(-1)[0], x.std(-1, unbiased=False)[0])
    y = torch.nn.functional.layer_norm(x, (d_model,))
    print("after:", y.mean(-1)[0], y.std(-1, unbiased=False)[0])


def rms_norm(x, gamma):
    """RMSNorm(x) = x / sqrt(mean(x^2)) * gamma.

    There is no mean to subtract, so it's cheaper than LayerNorm.
    """
    # step 1: mean of the squares
    mean_squared = torch.mean(torch.square(x), dim=-1, keepdim=True)
    # step 2: normalise
    x_norm = x / torch.rsqrt(mean_squared + 1e-6)
    # step 3: scale
    return x_norm * gamma


if __name__ == "__main__":
    layer_norm_example()
    x = torch.randn(2, 4, 8)
    print(rms_norm(x, torch.ones(8)).pow(2).mean(-1))
