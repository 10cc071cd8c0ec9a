package nudge

import "slices"

// seenLimit is how many message ids a conversation remembers. It is a cache that
// saves a look into the database; there the ids are unique for good.
const seenLimit = 128

// RecentIDs is the ids of the last messages, oldest first.
type RecentIDs []string

// Has tells whether the message was seen.
func (s RecentIDs) Has(id string) bool { return slices.Contains(s, id) }

// Add remembers a message and tells whether it is new.
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
