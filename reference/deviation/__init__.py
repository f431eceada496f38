"""What deviations make of elements, places and numbers (`cts.case.oracle.deviation`)."""
