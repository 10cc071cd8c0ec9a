package channel

import (
	"context"
	"io"
	"log/slog"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/replystream"
	"cairn/internal/service/throttle"
	"cairn/internal/store"
)

// Adapter connects an account of a platform.
type Adapter interface {
	// Receive reads events after a cursor until ctx is done, and passes them to accept. It acknowledges an event to
	// the platform only after accept has returned no error. An account that gets events by webhooks waits for ctx.
	Receive(ctx context.Context, cursor string, accept Accept) error
	// Send sends a message and returns the platform's ID of it. Errors are SendErrors, or may pass.
	Send(ctx context.Context, to channel.Place, p channel.Part) (id string, err error)
	// Check returns an error that names what is missing or not allowed.
	Check(ctx context.Context) error
	Limits() channel.Limits
}

// Editor is an Adapter that can replace the text of a message that it has sent.
type Editor interface {
	Edit(ctx context.Context, to channel.Place, messageID, text string) error
}

// Streamer is an Adapter that can show a reply while a model writes it: it sends a message and changes it.
type Streamer interface {
	Editor
	Pace(to channel.Place) channel.Pace
	// Delete deletes a message that the adapter has sent. It is no error if there is none.
	Delete(ctx context.Context, to channel.Place, messageID string) error
}

// Previewer is a Streamer that shows text without a message in places whose pace has Preview. Texts with the same key
// replace each other.
type Previewer interface {
	Preview(ctx context.Context, to channel.Place, key, text string) error
}

// Typer is an Adapter that can show that a reply is being written. The sign disappears by itself.
type Typer interface {
	Typing(ctx context.Context, to channel.Place) error
}

// Menu is an Adapter whose platform shows users a list of commands.
type Menu interface {
	SetMenu(ctx context.Context, commands []channel.Command) error
}

// Fetcher is an Adapter whose platform has attachments. The caller closes the file and limits its size.
type Fetcher interface {
	Fetch(ctx context.Context, a channel.Attachment) (io.ReadCloser, error)
}

// Accept stores events. The cursor is the place after them; an account without cursors passes "".
type Accept func(ctx context.Context, events []channel.Event, cursor string) error

// SendError is how a platform refused a message. Other errors leave the outcome unknown.
type SendError struct {
	Reason     string
	Permanent  bool          // the platform will never accept this message
	Gone       bool          // and no other one: the chat is gone, or the bot may not write to it
	RetryAfter time.Duration // 0 means that the platform states none
}

func (e *SendError) Error() string { return "the platform refused the message: " + e.Reason }

// Replies is the text of replies that models write.
type Replies interface {
	Follow(ref run.Ref, seen domainconversation.ReplyPosition) *replystream.Follower
	// News returns channels that receive when a run has new text, and when it may have ended. Call stop to end the
	// subscriptions.
	News(ref run.Ref) (text, ended <-chan struct{}, stop func())
}

// States of deliveries.
const (
	DeliveryReady   = "ready"
	DeliverySent    = "sent"
	DeliveryDead    = "dead"
	DeliveryDropped = "dropped"
)

// Settings reads the settings of a workspace.
type Settings func(ctx context.Context, ws int64) (settings.Settings, error)

// Commands runs the commands of chats.
type Commands interface {
	// Known reports whether there is a command with a name, and List returns all.
	Known(name string) bool
	List() []channel.Command
	Run(ctx context.Context, in CommandInput) (CommandReply, error)
	// Report returns what a run that a command has started has done. Done is false until it has ended.
	Report(ctx context.Context, ref run.Ref) (text string, done bool, err error)
}

// CommandInput is a command of a user. A repetition has the same Key.
type CommandInput struct {
	Workspace    access.Workspace
	Name, Rest   string // as /name rest
	Key          string
	Conversation string
	Sender       channel.Sender
	Place        channel.Place
	Admin        bool // of the account
	Group        bool
	Chinese      bool
}

// CommandReply is the reply to a command.
type CommandReply struct {
	Text    string
	Buttons []channel.Choice
	Renew   bool
	Home    bool
	Ask     string // a message to answer instead of a reply
	Run     string // a run whose result is sent when it ends
}

// Driver starts turns and the workflow that delivers.
type Driver interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	// CancelEarlier cancels the turns of the conversation of a turn before it that have not ended.
	CancelEarlier(ctx context.Context, workspaceKey string, r run.Run) error
	Deliver(ctx context.Context, workspaceKey string, ws, route int64, account string) error
}

// Ports are the dependencies of the service.
type Ports struct {
	Store      store.Channels
	Replies    Replies // nil shows replies only when they are complete
	Workspaces *store.Store
	Inbox      *conversation.Service
	Settings   Settings
	// FileText returns the text of a file. It is called once for each file: a file can be made to fail a parser.
	FileText func(ctx context.Context, raw []byte) (string, error)
	Images   bool // the model of turns takes images
	Voice    bool // recordings are transcribed
	Commands Commands
	Driver   Driver // nil without Temporal
	TurnSpec func() agentrun.Spec
	Log      *slog.Logger
}

// Service connects the accounts that it is given to conversations.
type Service struct {
	Ports
	streams  streams
	attempts *throttle.Throttle // of codes, by the user who sends them
	soon     chan struct{}      // has an element for each route that is handled without the relay
	reading  chan struct{}      // has an element for each event whose files are being read
}

// handledAtOnce limits the routes that a process handles without the relay.
const handledAtOnce = 200

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p, attempts: throttle.New(), soon: make(chan struct{}, handledAtOnce),
		reading: make(chan struct{}, readAtOnce)}
}
