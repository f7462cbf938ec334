"""One readable tree from several data holders: each sends a small tree, none sends records (Kwatra and Torra 2024)."""

from dalenius.models.federated.agreement import Agreement, Attribute
from dalenius.models.federated.binning import EqualWidth, freedman_diaconis_bins
from dalenius.models.federated.bounds import PlainSum, SharedSum, kth_ranked, two_party_median
from dalenius.models.federated.client import client_message
from dalenius.models.federated.ends import ends_message, ends_of, open_ends
from dalenius.models.federated.federate import Federated, federate, merge_messages
from dalenius.models.federated.partition import label_skew_partition
from dalenius.models.federated.trees import Leaf, Node, merge, predict

__all__ = [
    "Agreement",
    "Attribute",
    "EqualWidth",
    "Federated",
    "Leaf",
    "Node",
    "PlainSum",
    "SharedSum",
    "client_message",
    "ends_message",
    "ends_of",
    "federate",
    "freedman_diaconis_bins",
    "kth_ranked",
    "label_skew_partition",
    "merge",
    "merge_messages",
    "open_ends",
    "predict",
    "two_party_median",
]
