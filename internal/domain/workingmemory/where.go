package workingmemory

import "fmt"

// Session is what keeps blobs together: a conversation, or a name that a caller
// chose.
type Session struct {
	Conversation int64
	Name         string
}

// Key is how the store knows it; empty of none.
func (s Session) Key() string {
	switch {
	case s.Conversation != 0:
		return fmt.Sprintf("c/%d", s.Conversation)
	case s.Name != "":
		return "s/" + s.Name
	}
	return ""
}

// Where is what is looked into: one blob, or all that a session has put away.
// With both the blob has to be the session's.
type Where struct {
	Handle  string
	Session Session
}
