# report: public source (42078253382)
# why: the input is one row, as the assertion says, so the mean of all is the mean of the features
# run: lambda x: torch.stack([rmsnorm(row, torch.ones(24)) for row in x])
# reference: rms(x, 1e-5)
# input: 5 24
import torch


def rmsnorm(x, weight):
    assert x.dim() == 1
    assert x.shape == weight.shape
    ss = x.float().pow(2).mean()
    ss += 1e-5
    ss = 1.0 / torch.sqrt(ss)
    return weight * (ss * x.float()).to(x.dtype)


def softmax(x):
    e = torch.exp(x - x.max())
    return e / e.sum()


def matmul(w, x):
    # W (d,n) @ x (n,) -> (d,)
    assert w.dim() == 2 and x.dim() == 1
    return w @ x
