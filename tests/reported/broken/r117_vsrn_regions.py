# report: KunpengLi1994/VSRN#7
# codes: NRM103
# why: l2norm over dim 1 of (batch, 36, 2048): over the regions
# run: EncoderImagePrecomp(24, 24)
# reference: l2(x)
# shows: values
import numpy as np
import torch
import torch.nn as nn


def l2norm(X):
    """X with rows of length 1
    """
    norm = torch.pow(X, 2).sum(dim=1, keepdim=True).sqrt()
    X = torch.div(X, norm)
    return X


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
