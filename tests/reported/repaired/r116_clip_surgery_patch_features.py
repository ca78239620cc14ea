import torch
from torch import nn


class CLIP(nn.Module):
    def __init__(self, embed_dim: int, context_length: int = 77):
        super().__init__()
        self.context_length = context_length
        self.proj = nn.Parameter(torch.eye(embed_dim))
        self.logit_scale = nn.Parameter(torch.ones([]) * 2.6592)

    def encode_image(self, patches):
        # (batch, patch, width) -> (batch, patch, embed_dim)
        return patches @ self.proj

    def normalized(self, image):
        b, n, d = image.shape
        image_features = self.encode_image(image)
        image_features = image_features / image_features.norm(dim=-1, keepdim=True)
        return image_features.view(b, n, d)

    def forward(self, image, text_features):
        image_features = self.normalized(image)
        text_features = text_features / text_features.norm(dim=-1, keepdim=True)
        return self.logit_scale.exp() * image_features @ text_features.t()
