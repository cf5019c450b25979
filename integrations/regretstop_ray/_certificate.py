"""A certificate that names Tune's trial."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regretstop import Certificate

if TYPE_CHECKING:
    from typing import Self  # the standard library's own is of Python 3.11


@dataclass(frozen=True, kw_only=True)
class TrialCertificate(Certificate):
    """A certificate about a trial of a Tune experiment.

    Attributes:
        trial_id: Tune's id of the certified trial, `incumbent` being its place in the order in which trials became
            known; None if nothing is certified.
        config: The tunable part of its configuration.
    """

    trial_id: str | None
    config: Mapping[str, Any] | None = field(hash=False)

    @classmethod
    def about(cls, certificate: Certificate, trial_id: str | None, config: Mapping[str, Any] | None) -> "Self":
        """Return the certificate with the trial's id and configuration."""
        values = {f.name: getattr(certificate, f.name) for f in dataclasses.fields(certificate)}
        return cls(**values, trial_id=trial_id, config=config)

    def summary(self) -> str:
        """Return in one line what was decided, for a log; the bound must be finite."""
        return f"{super().summary()} {self._identity()}"

    def __str__(self) -> str:
        return super().__str__() if self.trial_id is None else f"{super().__str__()}\n{self._identity()}"

    def _identity(self) -> str:
        return f"Trial {self.incumbent} is {self.trial_id} with {self.config}."
