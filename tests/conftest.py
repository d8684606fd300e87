from hypothesis import HealthCheck, settings

settings.register_profile(
    "shared machine",
    deadline=None,
    derandomize=True,  # the same cases every time; --hypothesis-seed explores others
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared machine")
