"""Run folders and their journals: where they are, what they hold, and how one is written.

For plug-ins that pack, merge, import or check runs. To read a run, take `harness.runs`.
"""

from harness.journal.final_state import FinalState, final_state, read_final_state
from harness.journal.index import INDEX_NAME, EpisodeResult, IndexEntry, read_entry, read_index, scan
from harness.journal.lock import RunLock
from harness.journal.log import Journal, read
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.journal.merge import SHARDS_FOLDER, merge, merge_shards, shards_of
from harness.journal.names import JOURNAL_SUFFIX, is_run_folder, journals_in, name_of
from harness.journal.prompt_store import picture_in, read_message
from harness.journal.store import STORES, ArtifactStore, RunFolder, held_to_read, journal_name, named_digests, stored

__all__ = [
    "INDEX_NAME",
    "JOURNAL_SUFFIX",
    "SHARDS_FOLDER",
    "STORES",
    "ArtifactStore",
    "EpisodeResult",
    "FinalState",
    "IndexEntry",
    "Journal",
    "MemoryArtifacts",
    "RunFolder",
    "RunLock",
    "final_state",
    "held_to_read",
    "is_run_folder",
    "journal_name",
    "journals_in",
    "merge",
    "merge_shards",
    "name_of",
    "named_digests",
    "picture_in",
    "read",
    "read_entry",
    "read_final_state",
    "read_index",
    "read_message",
    "scan",
    "shards_of",
    "stored",
]
