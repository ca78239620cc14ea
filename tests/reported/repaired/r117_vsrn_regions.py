import numpy as np
import torch
import torch.nn as nn


def l2norm(X):
    """X with rows of length 1
    """
    norm = torch.pow(X.float(), 2).sum(dim=-1, keepdim=True).add(1e-12).sqrt()
    return torch.div(X, norm.to(X.dtype))


class EncoderImagePrecomp(nn.Module):
    def __init__(self, img_dim, embed_size, use_abs=False, no_imgnorm=False):
        super(EncoderImagePrecomp, self).__init__()
        self.embed_size = embed_size
        self.no_imgnorm = no_imgnorm
        self.use_abs = use_abs
        self.fc = nn.Linear(img_dim, embed_size)
        self.init_weights()

    def init_weights(self):
        """The identity if it fits, else Xavier's first values
        """
        if self.fc.in_features == self.fc.out_features:
            nn.init.eye_(self.fc.weight)
        else:
            r = np.sqrt(6.) / np.sqrt(self.fc.in_features + self.fc.out_features)
            self.fc.weight.data.uniform_(-r, r)
        self.fc.bias.data.fill_(0)

    def forward(self, images):
        """images: the regions of each image, batch x 36 x 2048"""
        features = self.fc(images)
        if not self.no_imgnorm:
            features = l2norm(features)
        if self.use_abs:
            features = torch.abs(features)
        return features
