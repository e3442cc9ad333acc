"""The answer of ``hostagent topology``: what this host is made of, and what its kubelet makes of some pods. Pure: facts and a report in, a document out."""
