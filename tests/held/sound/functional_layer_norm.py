# expect: match
# why: a function with optional gain and shift


def layer_norm(x, weight=None, bias=None, eps=1e-5):
    h = x.float()
    mean = h.mean(dim=-1, keepdim=True)
    diff = h - mean
    out = diff / ((diff * diff).mean(dim=-1, keepdim=True) + eps).sqrt()
    if weight is not None:
        out = out * weight.float()
    if bias is not None:
        out = out + bias.float()
    return out.to(x.dtype)
