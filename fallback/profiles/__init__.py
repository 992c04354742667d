"""Profiles: the way that was measured to be best for a model, with the evidence for it.

``fallback calibrate`` writes them, mode ``auto`` goes by them, ``fallback doctor`` explains them.
:mod:`~fallback.profiles.record` says what one holds, :mod:`~fallback.profiles.reading` and
:mod:`~fallback.profiles.writing` are its form as TOML, :mod:`~fallback.profiles.places` is where
they lie, and :mod:`~fallback.profiles.lookup` finds the one for a model.
"""

from fallback.profiles.lookup import Found, Profiles
from fallback.profiles.places import profile_dir, save
from fallback.profiles.reading import read_profile
from fallback.profiles.record import (
    Evidence,
    Profile,
    ProfileError,
    Versions,
    WayEvidence,
    advice_of,
    templates_hash,
)
from fallback.profiles.writing import to_toml

__all__ = [
    "Evidence",
    "Found",
    "Profile",
    "ProfileError",
    "Profiles",
    "Versions",
    "WayEvidence",
    "advice_of",
    "profile_dir",
    "read_profile",
    "save",
    "templates_hash",
    "to_toml",
]
