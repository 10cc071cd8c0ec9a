package conversation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/media"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Request is an incoming message or, in mode observe, an exchange that the caller's agent has had.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	Conversation string // ID that the gateway uses for the conversation
	Channel      string
	MessageID    string // ID that the channel uses for the message; the same ID is the same turn
	// user; turns with origin scheduled, heartbeat and subagent do not advance the review counters
	Origin   string
	Text     string               // message in mode answer
	Speaker  string               // who wrote Text, if the conversation has several users
	Messages []transcript.Message // messages in mode observe
	Mode     string
	Inputs   []transcript.Message  // in mode answer, instead of Text: results of the client's tools, and user messages
	History  *conversation.History // of a request that carries earlier messages, else nil
	MaxTurns int                   // replaces the channel's budget, 1 to 50; 0 keeps it
	Spec     agentrun.Spec         // configuration to pin; a wall clock other than 0 replaces the channel's
}

// AcceptedTurn is a turn that is stored.
type AcceptedTurn struct {
	Run          run.Run
	Conversation int64
	Turn         conversation.Turn
	Made         bool // false if the turn was accepted before
}

// Limits of a request.
const (
	maxName     = 200    // runes of the ID of a conversation or message
	maxText     = 32_000 // runes of one message
	maxObserved = 200    // messages of one observed exchange

	// SpeakerRunes is the limit of the name of a speaker.
	SpeakerRunes = 100
)

// imports is the channel of imported conversations.
const imports = "import"

var (
	channels = []string{"voice", "sms", "chat", "scheduled"}
	roles    = []transcript.Role{transcript.User, transcript.Assistant, transcript.Tool, transcript.System}
	origins  = []string{"user", "scheduled", "heartbeat", "subagent"}
)

// Accept stores a message with its turn, its run and the outbox task that starts the run. The same
// message returns the same turn. Another text or other options under the same ID return OpReused.
func (s *Service) Accept(ctx context.Context, r Request) (out AcceptedTurn, err error) {
	if err := r.check(); err != nil {
		return out, err
	}
	spec := r.Spec
	spec.Origin, spec.Channel, spec.MessageID, spec.Mode = agent.OriginAgent, r.Channel, r.MessageID, r.Mode
	if spec.Budget, err = agent.ForChannel(r.Channel).Override(r.MaxTurns); err != nil {
		return out, err
	}
	if r.Spec.Budget.Wall > 0 {
		spec.Budget.Wall = r.Spec.Budget.Wall
	}
	messages := slices.Clone(r.Messages) // IDs are set below
	switch {
	case len(r.Inputs) > 0:
		messages = slices.Clone(r.Inputs)
	case r.Mode == contract.Answer:
		messages = []transcript.Message{{Role: transcript.User, Content: r.Text, Name: r.Speaker}}
	}
	if spec.Lang == "" {
		spec.Lang = lang.OfMessages(messages)
	}
	sha, err := r.sha()
	if err != nil {
		return out, err
	}
	err = s.Store.InWorkspaceByKeys(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		c, known, chosen, err := tx.Conversations().
			OpenConversation(ctx, r.Conversation, r.Channel, r.title(messages), r.MessageID)
		switch {
		case err != nil:
			return err
		case known != nil:
			out, err = acceptedBefore(ctx, tx, *known, sha)
		case r.History != nil && r.History.Turn > 0 && c.NextTurn != r.History.Turn:
			err = conversation.ErrMoved
		default:
			if err = r.importEarlier(ctx, tx, &c); err == nil {
				out, err = accept(ctx, tx, r, c, chosen, spec, sha, messages)
			}
		}
		return err
	})
	return out, err
}

// importEarlier adds the earlier messages of a request to a conversation without turns. They are turns
// that no counter counts.
func (r Request) importEarlier(ctx context.Context, tx store.Tx, c *conversation.Conversation) error {
	if r.History == nil || c.NextTurn > 1 {
		return nil
	}
	before := *c
	var all []transcript.Message
	for _, exchange := range exchanges(r.History.Earlier) {
		of := fmt.Sprintf("%s/%d", r.MessageID, c.NextTurn)
		for i := range exchange {
			exchange[i].ID = agentrun.MessageID(of, i+1)
		}
		agentrun.Number(exchange, c.NextSeq)
		t := conversation.Turn{Conversation: c.ID, Number: c.NextTurn, MessageID: agentrun.MessageID(of, 1),
			Mode: contract.Observe, Origin: "user", FirstSeq: c.NextSeq, ReplySeq: -1, Reason: imports}
		if err := tx.Turns().PutImported(ctx, t); err != nil {
			return err
		}
		if err := putMessages(ctx, tx, *c, exchange); err != nil {
			return err
		}
		c.NextSeq, c.NextTurn = c.NextSeq+len(exchange), c.NextTurn+1
		all = append(all, exchange...)
	}
	if !r.History.Indexed || len(all) == 0 {
		return nil
	}
	return tx.Documents().IndexSaid(ctx, before, all)
}

// exchanges divides messages before each user message that follows a message of another role.
func exchanges(ms []transcript.Message) (out [][]transcript.Message) {
	for i, m := range slices.Clone(ms) {
		if i == 0 || m.Role == transcript.User && ms[i-1].Role != transcript.User {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], m)
	}
	return out
}

func acceptedBefore(ctx context.Context, tx store.Tx, t conversation.Turn, sha [32]byte) (AcceptedTurn, error) {
	if t.ArgsSHA != sha {
		return AcceptedTurn{}, fault.New(fault.OpReused,
			fmt.Sprintf("message %q was already accepted with another text or other options", t.MessageID),
			"use a new message ID, or repeat the original request")
	}
	r, err := tx.Runs().Run(ctx, t.Run)
	return AcceptedTurn{Run: r, Conversation: t.Conversation, Turn: t}, err
}

func accept(ctx context.Context, tx store.Tx, r Request, c conversation.Conversation, chosen settings.Settings,
	spec agentrun.Spec, sha [32]byte, messages []transcript.Message) (out AcceptedTurn, err error) {
	spec.Number, spec.Settings, spec.Agent = c.NextTurn, chosen.Nudge, chosen.Agent
	spec.Toolsets, spec.PlainTurns = chosen.Tools.Chosen(), !chosen.RedactTurns
	if r.Mode == contract.Answer {
		spec.Voice = recordings(messages)
	}
	spec.Tainted = spec.Tainted || slices.ContainsFunc(messages, func(m transcript.Message) bool {
		return len(m.Attachments) > 0 // what they show or say can be an instruction of someone else
	})
	spec.Budget.Checkpoint = chosen.ScheduledCheckpoint && spec.Channel == agent.ChannelScheduled
	spec.Idle = time.Duration(chosen.Memory.IdleMinutes) * time.Minute
	raw, err := spec.Encode()
	if err != nil {
		return out, err
	}
	out = AcceptedTurn{Conversation: c.ID, Made: true}
	out.Turn = conversation.Turn{Conversation: c.ID, Number: c.NextTurn, MessageID: r.MessageID, Mode: r.Mode,
		Origin: r.Origin, ArgsSHA: sha, FirstSeq: c.NextSeq, ReplySeq: -1,
		Facts: nudge.Turn{Origin: agent.Origin(r.Origin), Role: "user"}}
	if r.Mode == contract.Observe {
		out.Turn.ReplySeq, out.Turn.Facts = observed(out.Turn, messages)
	}
	for i := range messages {
		messages[i].ID = agentrun.MessageID(r.MessageID, i)
	}
	out.Run, err = tx.Turns().PutTurn(ctx, out.Turn,
		run.NewRun{Key: fmt.Sprintf("%d/%s", c.ID, r.MessageID), ArgsSHA: sha, Conversation: c.ID, Spec: raw,
			WorkflowID: contract.TurnID(r.WorkspaceKey, c.ID, contract.VisibleKey(r.MessageID), 1)})
	if err != nil {
		return out, err
	}
	out.Turn.Run = out.Run.Ref.Run
	agentrun.Number(messages, c.NextSeq)
	if err := putMessages(ctx, tx, c, messages); err != nil {
		return out, err
	}
	if r.History != nil {
		if err := tx.Turns().PutHistory(ctx, out.Turn, *r.History); err != nil {
			return out, err
		}
	}
	if r.Mode == contract.Observe { // in mode answer, messages are indexed with the reply
		if err := tx.Documents().IndexSaid(ctx, c, messages); err != nil {
			return out, err
		}
	}
	c.NextSeq, c.NextTurn = c.NextSeq+len(messages), c.NextTurn+1
	return out, tx.Conversations().SaveSequence(ctx, c)
}

// putMessages stores the messages of the next turn with their attachments.
func putMessages(ctx context.Context, tx store.Tx, c conversation.Conversation, messages []transcript.Message) error {
	if err := tx.Transcripts().PutMessages(ctx, c, c.NextTurn, messages); err != nil {
		return err
	}
	if !slices.ContainsFunc(messages, func(m transcript.Message) bool { return len(m.Attachments) > 0 }) {
		return nil
	}
	return tx.Transcripts().PutAttachments(ctx, c.ID, c.NextTurn, messages)
}

// recordings returns the number of recordings of messages.
func recordings(messages []transcript.Message) (n int) {
	for _, m := range messages {
		for _, a := range m.Attachments {
			if a.Kind == media.Voice {
				n++
			}
		}
	}
	return n
}

// observed returns the position of the reply in an observed exchange, -1 without one, and the facts
// for the review counters.
func observed(t conversation.Turn, messages []transcript.Message) (reply int, facts nudge.Turn) {
	reply, facts = -1, t.Facts
	called := map[string]string{}
	var writes []run.Write
	for i, m := range messages {
		if w, ok := agentrun.Wrote(called[m.ToolCallID], m.Content); ok && m.Role == transcript.Tool {
			writes = append(writes, w)
		}
		if m.Role != transcript.Assistant {
			continue
		}
		if len(m.ToolCalls) > 0 {
			facts.ToolIters++
		}
		for _, c := range m.ToolCalls {
			called[c.ID] = c.Name
		}
		if strings.TrimSpace(m.Content) != "" {
			reply, facts.Delivered = t.FirstSeq+i, true
		}
	}
	return reply, agentrun.Saves(facts, writes)
}

func (r Request) sha() (sum [32]byte, err error) {
	raw, err := json.Marshal(struct {
		Mode, Origin, Text string
		Messages           []transcript.Message
		MaxTurns           int
		Inputs             []transcript.Message `json:",omitempty"`
		Speaker            string               `json:",omitempty"`
		Files              [][32]byte           `json:",omitempty"`
	}{r.Mode, r.Origin, r.Text, r.Messages, r.MaxTurns, r.Inputs, r.Speaker, filesOf(r.Inputs)})
	if err != nil {
		return sum, fmt.Errorf("encode the message: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// filesOf returns the hashes of the new files of messages. Those of events are part of the event.
func filesOf(messages []transcript.Message) (out [][32]byte) {
	for _, m := range messages {
		for _, a := range m.Attachments {
			if a.Event == 0 {
				out = append(out, sha256.Sum256(a.Content))
			}
		}
	}
	return out
}

// titleRunes is the maximum length of a title, which is the start of the first message.
const titleRunes = 60

func (r Request) title(messages []transcript.Message) string {
	if r.History != nil && len(r.History.Earlier) > 0 {
		messages = r.History.Earlier
	}
	line, _, _ := strings.Cut(strings.TrimSpace(messages[0].Content), "\n")
	if runes := []rune(line); len(runes) > titleRunes {
		return string(runes[:titleRunes-1]) + "…"
	}
	return line
}
