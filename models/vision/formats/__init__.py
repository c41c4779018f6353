"""Files of cameras besides pictures: raw files and videos."""
