"""Labels that may be wrong: descent on the ramp loss, and bounds on its optimum."""
