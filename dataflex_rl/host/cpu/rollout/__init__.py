"""The rollout server in verl's terms: the server actor, its replica and the adapter in the training worker.

server.py   a Ray actor around the decoding engine (one per replica)
replica.py  launches the servers of a replica; verl's `RolloutReplica`
adapter.py  pushes weights from the training worker to its server; verl's `BaseRollout`
"""

ROLLOUT_NAME = "dataflex"


def server_name(replica_rank: int, suffix: str = "") -> str:
    """Return the Ray actor name under which the adapter finds the server of a replica."""
    return f"{ROLLOUT_NAME}_server_{replica_rank}{suffix}"
