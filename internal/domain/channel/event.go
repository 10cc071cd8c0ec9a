package channel

import (
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/media"
)

// Kind is the kind of an event.
type Kind string

// Kinds of events.
const (
	Message Kind = "message"
	Button  Kind = "button"  // a person pressed a button; Text is its data
	Edited  Kind = "edited"  // the message MessageID now reads Text
	Deleted Kind = "deleted" // the message MessageID was deleted
)

// Event is a message or an action of a person on a platform.
type Event struct {
	Key       string    `json:"key"` // the platform's ID of the event, unique in its account
	Kind      Kind      `json:"kind"`
	Place     Place     `json:"place"`
	Group     bool      `json:"group,omitempty"`      // several people read the chat
	Mentioned bool      `json:"mentioned,omitempty"`  // names the bot, or replies to it
	Sender    Sender    `json:"sender"`               // of a deletion in a group, it can be empty
	MessageID string    `json:"message_id,omitempty"` // the platform's ID of the message
	Text      string    `json:"text"`                 // without the mention of the bot
	At        time.Time `json:"at"`

	Attachments []Attachment `json:"attachments,omitempty"`
}

// Attachment is a file of a message. Its name and type are what the sender states.
type Attachment struct {
	Ref  string `json:"ref"` // the platform's reference, with which the adapter reads the file
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // MIME type
	Size int64  `json:"size,omitempty"` // in bytes; 0 if it is not known

	// What was found when the file was fetched. An image or a recording without a problem is stored with the event, and
	// its type is that of its content.
	Kind    media.Kind    `json:"kind,omitempty"`
	Problem media.Problem `json:"problem,omitempty"`
	SHA256  string        `json:"sha256,omitempty"` // of what is stored, in hexadecimal digits
	Content []byte        `json:"-"`                // to store; events that are read do not have it
	Parsed  bool          `json:"parsed,omitempty"` // the one attempt to parse it has begun
	Done    bool          `json:"done,omitempty"`   // all of the above is known
	Runes   int           `json:"runes,omitempty"`  // of its text in that of the event
}

// Open reports whether a file of the event is to be read.
func (e Event) Open() bool {
	return e.Kind == Message && slices.ContainsFunc(e.Attachments, func(a Attachment) bool { return !a.Done })
}

// Stored reports whether the content is stored with the event.
func (a Attachment) Stored() bool { return a.Kind != "" && a.Problem == "" }

// Place is where messages are read: a chat of an account, or a thread in it.
type Place struct {
	Account string `json:"account"` // name of the account in the configuration
	Chat    string `json:"chat"`
	Thread  string `json:"thread,omitempty"`
}

// Sender is a user of a platform.
type Sender struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Bot  bool   `json:"bot,omitempty"` // its messages are ignored
}

// String returns the name of a place for people, such as ada/12345.
func (p Place) String() string {
	name := p.Account + "/" + p.Chat
	if p.Thread != "" {
		name += "/" + p.Thread
	}
	return name
}

// escapes are the characters of the ID of a conversation that have a meaning.
var escapes = strings.NewReplacer("%", "%25", "/", "%2F", "#", "%23")

// Conversation returns the caller's ID of the first conversation of a place. Different places have different IDs. A
// later one has the same ID with # and its number.
func (p Place) Conversation() string {
	p.Chat, p.Thread = escapes.Replace(p.Chat), escapes.Replace(p.Thread)
	return p.String()
}

// Part is one message to a platform.
type Part struct {
	Key     string   `json:"key"` // unique for each part, the same at each attempt
	Text    string   `json:"text"`
	Buttons []Choice `json:"buttons,omitempty"` // on the last part
	// Repeated reports that the outcome of an earlier attempt is unknown. An adapter whose platform does not
	// recognize keys looks for the message before it sends another one.
	Repeated bool `json:"repeated,omitempty"`
}

// Choice is a button.
type Choice struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

// Command returns what a user can write instead of pressing a button.
func (c Choice) Command() string { return "/" + strings.TrimPrefix(c.Data, "/") }

// Limits are the limits of a platform for messages.
type Limits struct {
	Units     int           // of one message, in UTF-16 units
	Parts     int           // messages of one reply; a longer one is cut
	Spacing   time.Duration // between two messages to a chat
	PerSecond float64       // messages of an account; 0 means no limit
	Changes   int           // of partial replies of an account in a minute; 0 means no limit
	// Decides reports that a platform recognizes a message that is sent again by its key, so that an unknown
	// outcome never doubles it.
	Decides bool
}

// Command is what a user sends as /name, with what it does.
type Command struct{ Name, English, Chinese string }

// Pace states how a reply is shown while a model writes it.
type Pace struct {
	Every time.Duration // at least, between two changes
	// Preview is how long the platform shows a text that is no message. 0 means that the text is a message, which is
	// changed.
	Preview time.Duration
}
