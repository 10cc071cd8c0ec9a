// Package conversation has the rows of conversations: their turns, prompt sessions, attachments, streamed replies,
// requests over model protocols, and imports.
package conversation
