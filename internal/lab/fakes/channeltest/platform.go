// Package channeltest defines what the fakes of all chat platforms can do, and the tests that each adapter passes
// with its fake.
package channeltest

import (
	"time"

	"cairn/internal/domain/channel"
)

// Platform is a fake of a chat platform on loopback, with one bot.
type Platform interface {
	Users
	Faults
	// Sent returns the messages of the bot in their order, except those that it has deleted.
	Sent() []Message
	Close()
}

// Users are the users of a platform.
type Users interface {
	// Say makes a user write, and returns the platform's ID of the message.
	Say(UserMessage) (messageID string)
	// Press makes a user press a button of a message of the bot.
	Press(user, chat, data string)
	// Edit makes a user change a message, and Delete makes a user delete one. They report whether the platform
	// notifies bots of it.
	Edit(chat, messageID, text string) bool
	Delete(chat, messageID string) bool
	// Private returns the ID of the private chat of a user, and Group the ID of the group with a number.
	Private(user string) (chat string)
	Group(number int) (chat string)
}

// Faults are the faults of a platform.
type Faults interface {
	// Repeat delivers the latest event once more.
	Repeat()
	// Drop breaks all connections on which events are delivered.
	Drop()
	// Fail makes the next requests to send a message fail, one after another.
	Fail(...Fault)
}

// UserMessage is a message of a user.
type UserMessage struct {
	User    string // digits
	Name    string
	Chat    string // empty means the private chat of the user
	Thread  string // empty means none
	Text    string
	Mention bool // of the bot, before the text and in the platform's form
	Bot     bool // the user is a bot
}

// Message is a message of the bot.
type Message struct {
	ID      string
	Chat    string
	Thread  string
	Text    string // as the platform got it
	Preview bool   // the platform may fetch the links of the text
	Buttons []channel.Choice
	At      time.Time
}

// Fault is how a request fails. The platform answers in its own form.
type Fault struct {
	Kind       FaultKind
	RetryAfter time.Duration // of Busy, in whole seconds
}

// FaultKind is a kind of fault.
type FaultKind int

// Kinds of faults.
const (
	Busy    FaultKind = iota + 1 // too many requests; the platform states RetryAfter
	Broken                       // status 500, and the message is not sent
	Unknown                      // the message is sent, but the connection breaks before the response
	Gone                         // the chat does not exist any more, or the bot was removed from it
	Refused                      // the platform never accepts this message
)
