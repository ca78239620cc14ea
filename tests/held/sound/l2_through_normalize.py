# expect: match
# why: F.normalize over the last axis in fp32
import torch.nn.functional as F


def cosine_ready(embeddings):
    return F.normalize(embeddings.float(), p=2.0, dim=-1, eps=1e-8).type_as(embeddings)
