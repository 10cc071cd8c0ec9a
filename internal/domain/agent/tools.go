package agent

// NoteAppend is the tool of reflections and of reviews before a compaction.
const NoteAppend = "note_append"
