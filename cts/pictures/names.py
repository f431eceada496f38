"""What cells of pictures are called: in data attributes, in legends and for those who do not see them."""

from __future__ import annotations

from cts.pictures.grid import Mark, Texture

#: Texts of textures and marks by their names.
MEANINGS = {
    "hue": "colour: the row of the matrix",
    "clipped": "outside the clip",
    "outside": "out of bounds",
    "moved": "out of bounds, and moved into the tensor",
    "padding": "memory between elements of the tensor",
    "unknown": "not reached",
    "wrong": "wrong",
    "instead": "the driver took it for another element",
    "missed": "not taken where it belongs",
    "focus": "takes part in the element that is looked at",
    "untouched": "wrong: it holds what was there before",
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
