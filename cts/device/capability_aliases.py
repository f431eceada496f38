"""SPIR-V capabilities that newer headers call by another name, of the same number (CM-002).

CooperativeMatrixConversionsEXT (5429) is not one of them: CooperativeMatrixConversionsNV (5431) has transposes as well.
"""

from __future__ import annotations

#: The name of SPV_NV_cooperative_matrix2, and that of SPV_EXT_cooperative_matrix_maintenance1.
CAPABILITY_ALIASES = (
    ("CooperativeMatrixReductionsNV", "CooperativeMatrixReductionsEXT"),
    ("CooperativeMatrixPerElementOperationsNV", "CooperativeMatrixPerElementOperationsEXT"),
)
