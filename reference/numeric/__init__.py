"""Numbers with the freedom that the specifications leave: values, their arithmetic, and callbacks over them."""
