"""Whether programs can be held in a container here: bwrap (Debian's bubblewrap) has to be there and allowed."""

import pytest

from lopa_core.evaluation import container

NEEDED = pytest.mark.skipif(bool(container.missing()), reason=f"no container: {container.missing()}")
