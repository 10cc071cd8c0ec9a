package nudge

import "slices"

// seenLimit is the number of message IDs that a conversation remembers. They are a cache that saves
// a database query; the database enforces that IDs are unique.
const seenLimit = 128

// RecentIDs are the IDs of the latest messages, oldest first.
type RecentIDs []string

// Has reports whether the message is known.
func (s RecentIDs) Has(id string) bool { return slices.Contains(s, id) }

// Add stores the ID of a message and reports whether it is new.
func (s *RecentIDs) Add(id string) bool {
	if s.Has(id) {
		return false
	}
	if len(*s) >= seenLimit {
		*s = slices.Delete(*s, 0, len(*s)-seenLimit+1)
	}
	*s = append(*s, id)
	return true
}
