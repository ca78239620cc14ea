# expect: wrong  codes: NRM401
# why: the power is +1/2


def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * (h.square().mean(-1, keepdim=True) + eps).pow(0.5)).to(x.dtype) * weight
