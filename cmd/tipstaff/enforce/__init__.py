"""The policy enforcement point: what a verdict on a change obliges to, carried out and nothing else."""
