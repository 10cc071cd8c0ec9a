// Package audit describes who does what. Gateways and commands put the actor into the context:
//
//	ctx = audit.With(ctx, audit.Actor{Kind: audit.Key, KeyID: 7, Address: "192.0.2.1"})
//
// Services record an act in its own transaction: an act that rolls back leaves no event.
package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Action is the kind of an act.
type Action string

const (
	BankFreeze          Action = "bank.freeze"
	BankImport          Action = "bank.import"
	BankPromote         Action = "bank.promote"
	BankPrompt          Action = "bank.prompt" // set, or the built-in one restored
	BankReject          Action = "bank.reject" // of an update of a policy
	BankRollback        Action = "bank.rollback"
	BankUnfreeze        Action = "bank.unfreeze"
	CanaryStop          Action = "canary.stop"    // its outcomes were too bad to go on
	ChangeApprove       Action = "change.approve" // of a pending change of a skill
	ChangeReject        Action = "change.reject"
	CodecDecode         Action = "codec.decode"
	ConsoleSignIn       Action = "console.sign_in"
	ConsoleSignOut      Action = "console.sign_out"     // also a session that was ended by someone else
	ConversationOutcome Action = "conversation.outcome" // a person states how it ended
	EraseConversation   Action = "erase.conversation"
	EraseTarget         Action = "erase.target"
	EraseWorkspace      Action = "erase.workspace"
	IdentityRollback    Action = "identity.rollback"
	KeyCreate           Action = "key.create"
	KeyRevoke           Action = "key.revoke"
	KeyRotate           Action = "key.rotate"
	MemoriesCopy        Action = "memories.copy" // in the source and in the destination
	MemoriesDump        Action = "memories.dump"
	MemoriesLoad        Action = "memories.load"
	MemoryApprove       Action = "memory.approve"
	MemoryDelete        Action = "memory.delete" // in the web console
	MemoryEdit          Action = "memory.edit"   // in the web console
	MemoryReject        Action = "memory.reject"
	MemoryRestore       Action = "memory.restore"
	MemoryUndo          Action = "memory.undo"
	PromptUnmask        Action = "prompt.unmask" // a model call was shown with its secrets
	RestoreAccept       Action = "restore.accept"
	SchemaMigrate       Action = "schema.migrate"
	SessionsImport      Action = "sessions.import"
	SettingsChange      Action = "settings.change"
	SkillApprove        Action = "skill.approve"
	SkillChange         Action = "skill.change" // in the web console: pinned, archived, or its agents
	SkillImport         Action = "skill.import"
	SkillReject         Action = "skill.reject"
	SkillRestore        Action = "skill.restore"
	SkillRollback       Action = "skill.rollback"
	SkillTrust          Action = "skill.trust"
	SkillWithdraw       Action = "skill.withdraw" // it failed too often
	SoulRollback        Action = "soul.rollback"
)

// Actions are all actions, sorted.
var Actions = []Action{
	BankFreeze,
	BankImport,
	BankPromote,
	BankPrompt,
	BankReject,
	BankRollback,
	BankUnfreeze,
	CanaryStop,
	ChangeApprove,
	ChangeReject,
	CodecDecode,
	ConsoleSignIn,
	ConsoleSignOut,
	ConversationOutcome,
	EraseConversation,
	EraseTarget,
	EraseWorkspace,
	IdentityRollback,
	KeyCreate,
	KeyRevoke,
	KeyRotate,
	MemoriesCopy,
	MemoriesDump,
	MemoriesLoad,
	MemoryApprove,
	MemoryDelete,
	MemoryEdit,
	MemoryReject,
	MemoryRestore,
	MemoryUndo,
	PromptUnmask,
	RestoreAccept,
	SchemaMigrate,
	SessionsImport,
	SettingsChange,
	SkillApprove,
	SkillChange,
	SkillImport,
	SkillReject,
	SkillRestore,
	SkillRollback,
	SkillTrust,
	SkillWithdraw,
	SoulRollback,
}

// Kind is the kind of an actor.
type Kind string

const (
	Key      Kind = "key"      // the holder of a workspace's key
	Operator Kind = "operator" // the holder of an operator key
	CLI      Kind = "cli"      // the user of the command line
	System   Kind = "system"   // Cairn itself
)

// Event is one act.
type Event struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at" doc:"Begin of the transaction of the act"`
	Action  Action    `json:"action" doc:"What was done, such as key.create"`
	Object  string    `json:"object" doc:"What the act was about: IDs, numbers, or names of settings"`
	Actor   Author    `json:"actor"`
	Request string    `json:"request_id,omitempty" doc:"X-Request-Id of the response"`
	Address string    `json:"address,omitempty" doc:"Address of the client"`
}

// Author is the actor of an event.
type Author struct {
	Kind  Kind   `json:"kind" enum:"key,operator,cli,system" doc:"key: holder of a key; operator: holder of an operator key; cli: user of the command line; system: Cairn itself"`
	KeyID int64  `json:"key_id,omitempty" doc:"Number of the key"`
	Name  string `json:"name,omitempty" doc:"Name of the key, account of the operating system for cli, or account and user of a gateway, such as webui/ada"`
}

// Recorder records acts in the transaction that it belongs to.
type Recorder interface {
	Record(ctx context.Context, action Action, object string) error
}

// Actor is who acts.
type Actor struct {
	Kind    Kind
	KeyID   int64  // of Key and Operator
	Account string // of the operating system, of CLI; of a gateway with its user, of Operator
	Request string // ID of the HTTP request
	Address string // of the client
	// Console reports that a person acts in the web console, whose edits are recorded, too.
	Console bool
}

// Voter names who votes: key/ID, gateway/ID, cli/ACCOUNT, or system.
func (a Actor) Voter() string {
	switch a.Kind {
	case Key:
		return fmt.Sprintf("key/%d", a.KeyID)
	case Operator: // of the keys of operators, only those of gateways send feedback
		return fmt.Sprintf("gateway/%d", a.KeyID)
	case CLI:
		return "cli/" + a.Account
	}
	return string(a.Kind)
}

type actorKey struct{}

// With returns a context of the actor.
func With(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) }

// WithKey returns a context whose actor holds a key. The request and its address stay.
func WithKey(ctx context.Context, kind Kind, id int64) context.Context {
	a := From(ctx)
	a.Kind, a.KeyID, a.Account = kind, id, ""
	return With(ctx, a)
}

// From returns the actor of a context. Without one, Cairn itself acts.
func From(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Kind: System}
}

// Filter selects events. Zero values select all.
type Filter struct {
	Action Action
	Since  time.Time // included
	Until  time.Time // not included
	Cursor int64     // ID of the last event of the previous page
}

// NewFilter parses a filter. Times are dates in UTC, or times as in RFC 3339. Empty texts select all.
func NewFilter(action, since, until string) (f Filter, err error) {
	if f.Action = Action(action); action != "" && !slices.Contains(Actions, f.Action) {
		var known []string
		for _, a := range Actions {
			known = append(known, string(a))
		}
		return f, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown action %.100q", action),
			"use one of "+strings.Join(known, ", "))
	}
	if f.Since, err = instant("since", since); err != nil {
		return f, err
	}
	if f.Until, err = instant("until", until); err != nil {
		return f, err
	}
	if since != "" && until != "" && !f.Since.Before(f.Until) {
		return f, fault.New(fault.InvalidArgument, fmt.Sprintf("since %s is not before until %s", since, until),
			"exchange the two times, or omit one")
	}
	return f, nil
}

func instant(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s %.100q", name, text),
		"use a date such as 2027-01-31, or a time such as 2027-01-31T09:00:00Z")
}
