# report: gabeur/mmt#1
# codes: NRM106
# why: F.normalize of (batch, token, feature) reduces the tokens
# run: lambda x: VideoEmbedding(24)(x)
# reference: l2(x)
# shows: values
import torch
import torch.nn as nn
import torch.nn.functional as F


class ReduceDim(nn.Module):
    """Projects the features of each expert to the common size and puts them on the unit sphere."""

    def __init__(self, input_dimension, output_dimension):
        super(ReduceDim, self).__init__()
        self.fc = nn.Linear(input_dimension, output_dimension)
        if input_dimension == output_dimension:
            nn.init.eye_(self.fc.weight)
            nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        x = self.fc(x)
        x = F.normalize(x)
        return x


class VideoEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.reduce = ReduceDim(dim, dim)

    def forward(self, features):
        bs, nb_tokens, dim = features.shape
        return self.reduce(features)
