package channel

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/transcript"
)

// ApprovalRequest returns the message that asks whether to approve a change, with its lines. Its buttons are the
// commands /approve and /reject.
func ApprovalRequest(change, reason string, lines ...string) DeliveryBody {
	const most = 2000 // runes
	shown := transcript.Clip(strings.Join(lines, "\n"), most)
	return DeliveryBody{
		Text: fmt.Sprintf(
			"A change waits for approval (%s):\n\n%s\n\nSend /approve %s or /reject %s.",
			reason,
			shown,
			change,
			change,
		),
		Buttons: []Choice{{Label: "Approve", Data: "approve " + change},
			{Label: "Reject", Data: "reject " + change}},
	}
}

// LanguageOf returns the language of notices.
func (p Profile) LanguageOf(said []StoredEvent) string {
	var ms []transcript.Message
	for _, e := range said {
		ms = append(ms, transcript.Message{Role: transcript.User, Content: e.Text})
	}
	return cmp.Or(p.Language, lang.OfMessages(ms))
}

// Profile configures how messages of an account are answered.
type Profile struct {
	Channel  string        `json:"channel"`  // that sets the budget; empty means chat
	Language string        `json:"language"` // of the replies; empty means that of the message
	Budget   int           `json:"budget"`   // model responses of a turn; 0 means that of the channel
	Coalesce time.Duration `json:"coalesce"` // within which messages of a user become one turn
	// Redirect makes a message in a private chat cancel the reply in progress. The reply to it answers both.
	Redirect bool     `json:"redirect"`
	Deny     []string `json:"deny"` // tools that turns do not have, sorted
	// Allow are the groups that are served, or *. Another one is served after an administrator has mentioned the bot.
	Allow   []string `json:"allow"`
	Unasked bool     `json:"unasked"` // answers messages of groups that do not mention the bot
	Partial bool     `json:"partial"` // shows replies while a model writes them; the adapter is a Streamer
}

// Identity is a user of a platform who may write, or a group that is served. Both can be blocked.
type Identity struct {
	Account   string    `json:"account"`
	Kind      string    `json:"kind"` // user or group
	User      string    `json:"user"` // of a group: the ID of its chat
	Name      string    `json:"name"`
	Role      string    `json:"role"` // admin, user or blocked
	Workspace string    `json:"workspace"`
	CreatedAt time.Time `json:"created_at"`
}

// RoleBlocked is the role of an identity that is not served.
const RoleBlocked = "blocked"

// Pairing is the request of a user to write.
type Pairing struct {
	Account   string    `json:"account"`
	User      string    `json:"user"`
	Name      string    `json:"name"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"`
}

// EventRef identifies an event.
type EventRef struct{ Workspace, ID int64 }

// Divide selects the first events of a list that are handled together. With a time to wait, it selects none.
type Divide func(open []StoredEvent) (together []StoredEvent, wait time.Duration)

// StoredEvent is an event that is not handled.
type StoredEvent struct {
	Event
	ID    int64
	First int64         // the first event of its burst; 0 if none is selected
	Age   time.Duration // since it was stored
	// FilesOpen reports that a process reads its files, or will.
	FilesOpen bool
}

// Burst are events that are handled together. It has none if there are none, or if Wait is set.
type Burst struct {
	Route        int64
	Conversation string // of the place
	Events       []StoredEvent
	Wait         time.Duration
}

// Outcome is what follows from a burst besides a turn.
type Outcome struct {
	Reply    string // a delivery, unless it is empty
	Buttons  []Choice
	Renew    bool             // the place begins another conversation
	Home     bool             // the place becomes the home chat
	Run      string           // a run whose result is sent when it ends
	Withdraw []string         // platform's IDs of messages whose text is withdrawn from the conversation
	Messages map[int64]string // IDs of messages in the conversation, by their events
}

// Partial is the state of a partial reply.
type Partial struct {
	First bool    // nothing of the reply was shown
	ID    *string // of its message; empty if a process ended while it sent it, nil without a message
}

// Delivery is a text to send to a place.
type Delivery struct {
	ID    int64
	Route int64
	Run   string // of the turn that it replies to; empty for others
	State string
	Place Place
	Body  DeliveryBody

	Partial *string       // ID of the message with the partial reply; see Partial
	Busy    time.Duration // for which a process may be changing the partial reply
}

// DeliveryBody is the stored content of a delivery.
type DeliveryBody struct {
	Text    string   `json:"text"`
	Buttons []Choice `json:"buttons,omitempty"`
}

// StoredPart is a message of a delivery.
type StoredPart struct {
	Number, Parts int
	Text          string
	Attempts      int // this one included
}

// DeliveryView is a delivery in a list.
type DeliveryView struct {
	ID        int64      `json:"id"`
	Source    string     `json:"source"`
	State     string     `json:"state"`
	Reason    string     `json:"reason,omitempty"`
	Place     Place      `json:"place"`
	Attempts  int        `json:"attempts"` // most of one message
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}
