package conversation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
)

// Request is one incoming message, or one exchange that a gateway's own agent
// has had.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	Conversation string // the gateway's id of the thread
	Channel      string
	MessageID    string               // the channel's id of the message: the same message is one turn
	Origin       string               // user; scheduled, heartbeat and subagent turns advance no counter
	Text         string               // what was said, in mode answer
	Messages     []transcript.Message // what was said, in mode observe
	Mode         string
	MaxTurns     int           // overrides the channel's budget, 1 to 50; 0 leaves it
	Spec         agentrun.Spec // configuration to pin; of its budget the wall clock, unless 0, replaces the channel's
}

// AcceptedTurn is a turn that is durable.
type AcceptedTurn struct {
	Run          run.Run
	Conversation int64
	Turn         agentrun.Turn
	Made         bool // now; else it was accepted before
}

// Limits of what is taken.
const (
	maxName     = 200    // runes of a conversation's or a message's id
	maxText     = 32_000 // runes of one message
	maxObserved = 200    // messages of one observed exchange
)

// imports is the channel of conversations that were brought in, not had here.
const imports = "import"

var (
	channels = []string{"voice", "sms", "chat", "scheduled"}
	roles    = []transcript.Role{transcript.User, transcript.Assistant, transcript.Tool, transcript.System}
	origins  = []string{"user", "scheduled", "heartbeat", "subagent"}
)

func (r *Request) check() error {
	if r.Mode == "" {
		r.Mode = contract.Answer
	}
	if r.Origin == "" {
		r.Origin = "user"
	}
	if r.Channel == "" {
		r.Channel = "chat"
	}
	switch {
	case !shows(r.Conversation):
		return fault.New(fault.InvalidArgument, "the conversation's id has characters that cannot be shown",
			"use letters, digits and punctuation")
	case !shows(r.MessageID):
		return fault.New(fault.InvalidArgument, "the message's id has characters that cannot be shown",
			"use letters, digits and punctuation")
	case r.Conversation == "" || utf8.RuneCountInString(r.Conversation) > maxName:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("the conversation's id has %d characters", utf8.RuneCountInString(r.Conversation)),
			fmt.Sprintf("use 1 to %d", maxName))
	case r.MessageID == "" || utf8.RuneCountInString(r.MessageID) > maxName:
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("the message's id has %d characters", utf8.RuneCountInString(r.MessageID)),
			fmt.Sprintf("use the channel's id of the message, 1 to %d characters", maxName))
	case r.Channel == imports || !shows(r.Channel) || utf8.RuneCountInString(r.Channel) > maxName:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("%.40q is no channel of messages", r.Channel),
			"use one of "+strings.Join(channels, ", ")+", or the name of another, which is treated as sms")
	case !slices.Contains(origins, r.Origin):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no origin %q", r.Origin),
			"use one of "+strings.Join(origins, ", "))
	case r.Mode != contract.Answer && r.Mode != contract.Observe:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no mode %q", r.Mode),
			"use answer, or observe when an agent of your own has answered")
	}
	if !slices.Contains(channels, r.Channel) {
		r.Channel = agent.ChannelSMS
	}
	if r.Mode == contract.Observe {
		return r.checkObserved()
	}
	if len(r.Messages) > 0 {
		return fault.New(fault.InvalidArgument, "messages are for mode observe",
			"send the text of one message, or set mode to observe")
	}
	return checkText(r.Text)
}

func shows(id string) bool {
	return utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

func (r *Request) checkObserved() error {
	if r.Text != "" {
		return fault.New(fault.InvalidArgument, "a text is for mode answer", "send the exchange as messages")
	}
	if len(r.Messages) == 0 || len(r.Messages) > maxObserved {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("an observed exchange has %d messages", len(r.Messages)),
			fmt.Sprintf("send 1 to %d", maxObserved))
	}
	if r.Messages[0].Role != transcript.User {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("an observed exchange begins with %q", r.Messages[0].Role),
			"begin with what the user said")
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles, m.Role) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("message %d has the role %q", i, m.Role),
				"use user, assistant, tool or system")
		}
		if n := utf8.RuneCountInString(m.Content); n > maxText {
			return fault.New(fault.TooLarge, fmt.Sprintf("message %d has %d characters, at most %d are taken", i, n,
				maxText), "shorten it")
		}
	}
	return nil
}

func checkText(text string) error {
	if strings.TrimSpace(text) == "" {
		return fault.New(fault.InvalidArgument, "the message is empty", "send what was said")
	}
	if n := utf8.RuneCountInString(text); n > maxText {
		return fault.New(fault.TooLarge, fmt.Sprintf("the message has %d characters, at most %d are taken", n, maxText),
			"send it in parts")
	}
	return nil
}

// Accept makes a message durable, with its turn, its run and the duty to drive
// it. The same message gives the same turn; another text under its id is
// OpReused.
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
	messages := slices.Clone(r.Messages) // they get ids here
	if r.Mode == contract.Answer {
		messages = []transcript.Message{{Role: transcript.User, Content: r.Text}}
	}
	if spec.Lang == "" {
		spec.Lang = lang.OfMessages(messages)
	}
	sha, err := r.sha()
	if err != nil {
		return out, err
	}
	err = s.Store.WithConversations(ctx, r.Workspace, func(ctx context.Context, tx Tx) error {
		c, known, chosen, err := tx.Conversations().
			OpenConversation(ctx, r.Conversation, r.Channel, title(messages), r.MessageID)
		switch {
		case err != nil:
			return err
		case known != nil:
			out, err = acceptedBefore(ctx, tx, *known, sha)
		default:
			out, err = accept(ctx, tx, r, c, chosen, spec, sha, messages)
		}
		return err
	})
	return out, err
}

func acceptedBefore(ctx context.Context, tx Tx, t agentrun.Turn, sha [32]byte) (AcceptedTurn, error) {
	if t.ArgsSHA != sha {
		return AcceptedTurn{}, fault.New(fault.OpReused,
			fmt.Sprintf("message %q was accepted before with another text or other options", t.MessageID),
			"give each message the id that its channel gave it")
	}
	r, err := tx.Runs().Run(ctx, t.Run)
	return AcceptedTurn{Run: r, Conversation: t.Conversation, Turn: t}, err
}

func accept(ctx context.Context, tx Tx, r Request, c agentrun.Conversation, chosen settings.Settings,
	spec agentrun.Spec, sha [32]byte, messages []transcript.Message) (out AcceptedTurn, err error) {
	spec.Number, spec.Settings, spec.Agent = c.NextTurn, chosen.Nudge, chosen.Agent
	spec.Toolsets = chosen.Tools.Chosen()
	spec.Budget.Checkpoint = chosen.ScheduledCheckpoint && spec.Channel == agent.ChannelScheduled
	spec.Idle = time.Duration(chosen.Memory.IdleMinutes) * time.Minute
	raw, err := spec.Encode()
	if err != nil {
		return out, err
	}
	out = AcceptedTurn{Conversation: c.ID, Made: true}
	out.Turn = agentrun.Turn{Conversation: c.ID, Number: c.NextTurn, MessageID: r.MessageID, Mode: r.Mode,
		Origin: r.Origin, ArgsSHA: sha, FirstSeq: c.NextSeq, ReplySeq: -1,
		Facts: nudge.Turn{Origin: agent.Origin(r.Origin), Role: "user"}}
	if r.Mode == contract.Observe {
		out.Turn.ReplySeq, out.Turn.Facts = observed(out.Turn, messages)
	}
	for i := range messages {
		messages[i].ID = agentrun.MessageID(r.MessageID, i)
	}
	out.Run, err = tx.Turns().PutTurn(ctx, out.Turn,
		agentrun.NewRun{Key: fmt.Sprintf("%d/%s", c.ID, r.MessageID), ArgsSHA: sha, Conversation: c.ID, Spec: raw,
			WorkflowID: contract.TurnID(r.WorkspaceKey, c.ID, contract.VisibleKey(r.MessageID), 1)})
	if err != nil {
		return out, err
	}
	out.Turn.Run = out.Run.Ref.Run
	agentrun.Number(messages, c.NextSeq)
	if err := tx.Transcripts().PutMessages(ctx, c, c.NextTurn, messages); err != nil {
		return out, err
	}
	if r.Mode == contract.Observe { // what is answered here is indexed with its answer
		if err := tx.Transcripts().IndexSaid(ctx, c, messages); err != nil {
			return out, err
		}
	}
	c.NextSeq, c.NextTurn = c.NextSeq+len(messages), c.NextTurn+1
	return out, tx.Conversations().SaveSequence(ctx, c)
}

// observed tells what a gateway's own agent did: the answer's place, and what
// the counters follow from.
func observed(t agentrun.Turn, messages []transcript.Message) (reply int, facts nudge.Turn) {
	reply, facts = -1, t.Facts
	called := map[string]string{}
	var writes []agentrun.Write
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
	}{r.Mode, r.Origin, r.Text, r.Messages, r.MaxTurns})
	if err != nil {
		return sum, fmt.Errorf("encode the message: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// titleRunes is how much of the first message names a conversation in lists.
const titleRunes = 60

func title(messages []transcript.Message) string {
	line, _, _ := strings.Cut(strings.TrimSpace(messages[0].Content), "\n")
	if runes := []rune(line); len(runes) > titleRunes {
		return string(runes[:titleRunes-1]) + "…"
	}
	return line
}
