"""Names of the cells of pictures: in data attributes, in legends and in descriptions for screen readers."""

from __future__ import annotations

from cts.findings.pictures.grid import Mark, Texture

#: Texts of textures and marks by their names.
MEANINGS = {
    "hue": "colour: the row of the matrix",
    "clipped": "outside the clip",
    "outside": "out of bounds",
    "moved": "out of bounds, and moved into the tensor",
    "padding": "memory between elements of the tensor",
    "unknown": "not reached",
    "wrong": "wrong",
    "instead": "read by mistake",
    "missed": "should have been read",
    "focus": "used by the chosen element",
    "untouched": "wrong: holds its old value",
}

TEXTURE_NAMES = {
    Texture.CLIPPED: "clipped",
    Texture.OUTSIDE: "outside",
    Texture.MOVED: "moved",
    Texture.PADDING: "padding",
    Texture.UNKNOWN: "unknown",
}

MARK_NAMES = {
    Mark.WRONG: "wrong",
    Mark.READ_INSTEAD: "instead",
    Mark.MISSED: "missed",
    Mark.FOCUS: "focus",
    Mark.UNTOUCHED: "untouched",
}
