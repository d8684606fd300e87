"""Labels that may be wrong: descent on the ramp loss."""
