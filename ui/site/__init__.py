"""The lab as plain files for any web host: the course, lessons, the papers' figures and the benchmark."""
