"""Files of a run folder, opened, read and written safely: regular ones only, whole or not at all, bounded."""
