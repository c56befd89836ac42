"""What every method is made of: the batch it sees, the pool it acts on, and the registry that finds it by name.

- batch: one training batch as jagged tensors; segments: sums and means over it; ordering: exact ties
- pool: what an actuator gets, and what a selector gives back
- registry: scorers, actuators and mixers by name, ours and third parties'
- options: kinds and ranges of their parameters
"""
