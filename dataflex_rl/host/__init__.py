"""The only code that knows verl, ray and transfer_queue."""
