package workingmemory

import "fmt"

// Session groups blobs: a conversation, or a name chosen by a caller.
type Session struct {
	Conversation int64
	Name         string
}

// Key returns the key of the session in the store, empty for no session.
func (s Session) Key() string {
	switch {
	case s.Conversation != 0:
		return fmt.Sprintf("c/%d", s.Conversation)
	case s.Name != "":
		return "s/" + s.Name
	}
	return ""
}

// Where selects the blobs to search: one blob, or all blobs of a session. If both are set, the blob
// must belong to the session.
type Where struct {
	Handle  string
	Session Session
}
