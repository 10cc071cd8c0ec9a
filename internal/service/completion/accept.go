package completion

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
)

// Request is a request of a client.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	Conversation string               // the client's ID of the conversation, or empty
	Message      string               // the client's ID of the message, or empty
	Whole        bool                 // Messages are the whole conversation
	Repeated     bool                 // the client states that it sends the request again
	Task         bool                 // one reply of the model, without a conversation and memory
	After        string               // run of the turn that the request follows, or empty
	Messages     []transcript.Message // of users, assistants and the client's tools, the oldest first
	Body         [32]byte             // hash of the request
	Spec         agentrun.Spec
}

// Accepted is an accepted request.
type Accepted struct {
	conversation.AcceptedTurn
	Request conversation.Request // names the conversation and the message; a task has no conversation
}

// Ref returns the run of the turn.
func (a Accepted) Ref() run.Ref { return a.Run.Ref }

// Times within which an equal request is a repetition.
const (
	repeatedWithin = 10 * time.Minute // if the client states that it repeats it
	sameWithin     = 30 * time.Second // after the end of the turn, if it does not
)

// moves is how often a request is placed again because its conversation has changed in the meantime.
const moves = 5

// Accept stores a request as a turn of the conversation that it continues, or returns the turn of an
// equal request that it repeats.
func (s *Service) Accept(ctx context.Context, r Request) (out Accepted, err error) {
	if r.Task {
		return s.acceptTask(ctx, r)
	}
	d := divide(r.Messages)
	if err := d.check(r.After != ""); err != nil {
		return out, err
	}
	for range moves {
		if out.Request, err = s.place(ctx, r, d); err != nil {
			return out, err
		}
		out.AcceptedTurn, err = s.Inbox.Accept(ctx, out.Request)
		if !errors.Is(err, domainconversation.ErrMoved) {
			return out, err
		}
	}
	return out, fault.New(fault.Unavailable, "conversation changed during each attempt to continue it", "")
}

// check returns an error if there is nothing to answer. Results of calls of an earlier response are checked
// with it.
func (d divided) check(follows bool) error {
	if len(d.now) == 0 {
		return fault.New(fault.InvalidArgument, "no message to answer", "end messages with a user or tool message")
	}
	if follows {
		return nil
	}
	return answers(d.now, d.called())
}

// called returns the calls of the last reply.
func (d divided) called() (all []transcript.ToolCall) {
	for _, m := range d.reply {
		all = append(all, m.ToolCalls...)
	}
	return all
}

// place returns the request for the conversation that r belongs to.
func (s *Service) place(ctx context.Context, r Request, d divided) (out conversation.Request, err error) {
	same, err := s.Store.Same(ctx, r.Workspace, r.Body)
	if err != nil {
		return out, err
	}
	out = conversation.Request{
		Workspace:    r.Workspace,
		WorkspaceKey: r.WorkspaceKey,
		Inputs:       d.now,
		Spec:         r.Spec,
		History: &domainconversation.History{
			Thread: r.thread(),
			SHA:    historySHA(r.Messages),
			Body:   r.Body,
			Times:  same.Times + 1,
		},
	}
	out.Spec.Lang = lang.OfMessages(r.Messages)
	if repeats(r, same) {
		out.Conversation, out.MessageID = same.Conversation, same.Message
		return out, nil
	}
	out.MessageID = cmp.Or(r.Message, fmt.Sprintf("api-%s-%d", hex.EncodeToString(r.Body[:8]), out.History.Times))
	if r.After != "" {
		return out, s.follow(ctx, r, &out)
	}
	if !r.Whole {
		out.Conversation = r.Conversation
		return out, nil
	}
	last, found, err := s.continued(ctx, r, d)
	if err != nil {
		return out, err
	}
	if found {
		out.Conversation, out.History.Turn = last.Conversation, last.Number+1
		return out, nil
	}
	out.History.Turn, out.History.Earlier = 1, d.earlier()
	out.Conversation, out.History.Indexed, err = s.opened(ctx, r, out.MessageID)
	return out, err
}

// imported is the maximum number of messages that a request brings into a new conversation.
const imported = 400

// earlier returns the messages before those of the new turn, without the oldest ones of a long history.
func (d divided) earlier() []transcript.Message {
	all := slices.Concat(d.before, d.reply)
	from := max(0, len(all)-imported)
	for from > 0 && from < len(all) && all[from].Role != transcript.User {
		from++
	}
	return all[from:]
}

// repeats reports whether r repeats an earlier request.
func repeats(r Request, s domainconversation.SameRequest) bool {
	switch {
	case s.Times == 0:
		return false
	case r.Message != "" || !s.Ended: // the ID of the message is part of the hash
		return true
	case s.Failed:
		return false
	case r.Repeated && s.Age < repeatedWithin:
		return true
	}
	return r.Whole && s.EndedFor < sameWithin
}

// thread identifies the requests that can continue each other: those with the ID of a conversation, or
// with the same instructions and the same first message.
func (r Request) thread() string {
	of := []string{"conversation", r.Conversation}
	if r.Conversation == "" {
		first := slices.IndexFunc(r.Messages, func(m transcript.Message) bool { return m.Role == transcript.User })
		of = []string{"instructions", r.Spec.Client.Instructions, "message"}
		if first >= 0 {
			of = append(of, plain(r.Messages[first].Content))
		}
	}
	sha := shaOf(of)
	return hex.EncodeToString(sha[:])
}

// candidates is the maximum number of conversations that a request is compared with.
const candidates = 20

// continued returns the last turn of the conversation that a request continues.
func (s *Service) continued(ctx context.Context, r Request, d divided) (domainconversation.EarlierTurn, bool, error) {
	if len(d.reply) == 0 {
		return domainconversation.EarlierTurn{}, false, nil
	}
	turns, err := s.Store.Before(ctx, r.Workspace, r.thread(), historySHA(d.before), candidates)
	if err != nil {
		return domainconversation.EarlierTurn{}, false, err
	}
	for _, t := range turns {
		if same, err := s.replied(ctx, r.Workspace, t, d.reply); err != nil || same {
			return t, same, err
		}
	}
	if r.Conversation == "" {
		return domainconversation.EarlierTurn{}, false, nil
	}
	// The client may have left out the oldest messages, or the turn came from another API.
	last, _, err := s.Store.Last(ctx, r.Workspace, r.Conversation)
	if err != nil || last.Number == 0 || !last.Ended || len(d.before) == 0 ||
		plain(last.Said) != plain(d.before[len(d.before)-1].Content) {
		return domainconversation.EarlierTurn{}, false, err
	}
	same, err := s.replied(ctx, r.Workspace, last, d.reply)
	return last, same, err
}

// replied reports whether messages of the assistant are the reply of a turn.
func (s *Service) replied(ctx context.Context, ws int64, t domainconversation.EarlierTurn,
	said []transcript.Message) (bool, error) {
	if t.Run == "" { // observed or imported
		return matches(said, t.Reply, nil, false), nil
	}
	out, err := s.Reply(ctx, run.Ref{Workspace: ws, Run: t.Run}, t.Reply)
	return err == nil && matches(said, out.Text, out.Calls, t.Interrupted), err
}

// opened returns the name of a new conversation, and whether the messages of the request are new. A
// conversation with the client's ID exists if the client changed a message, or asked for another reply.
func (s *Service) opened(ctx context.Context, r Request, message string) (name string, fresh bool, err error) {
	sha := shaOf([]string{r.thread(), message})
	if r.Conversation == "" {
		return "chat-" + hex.EncodeToString(sha[:10]), true, nil
	}
	last, known, err := s.Store.Last(ctx, r.Workspace, r.Conversation)
	if err != nil || !known || last.Number == 0 {
		return r.Conversation, true, err
	}
	const most = 180 // runes of a conversation's ID, without the suffix
	id := []rune(r.Conversation)
	return string(id[:min(len(id), most)]) + "~" + hex.EncodeToString(sha[:4]), false, nil
}

// Reply is what a client gets of a turn.
type Reply struct {
	domainconversation.TurnOutcome
	Text   string // of all model responses of the turn
	Reason agent.Reason
}

// Between is the text between two model responses of a turn.
const Between = "\n\n"

// Reply returns what a client gets of an ended turn with a reply.
func (s *Service) Reply(ctx context.Context, ref run.Ref, reply string) (out Reply, err error) {
	if out.TurnOutcome, err = s.Store.Outcome(ctx, ref); err != nil {
		return out, err
	}
	deltas, err := s.Replies.Follow(ref, domainconversation.ReplyPosition{}).Finish(ctx, reply)
	var parts []string
	for _, d := range deltas {
		if text := strings.TrimSpace(d.Text); text != "" {
			parts = append(parts, text)
		}
	}
	out.Text = strings.Join(parts, Between)
	return out, err
}

// Status returns the status of an accepted request.
func (s *Service) Status(ctx context.Context, a Accepted) (domainconversation.TurnStatus, error) {
	if a.Request.Conversation == "" {
		return s.taskStatus(ctx, a.Ref())
	}
	return s.Inbox.Answer(ctx, a.Request.Workspace, a.Request.Conversation, a.Request.MessageID)
}

// Watch records that a request waits for the reply of a turn, and returns an ID of it.
func (s *Service) Watch(ctx context.Context, ref run.Ref) (watcher string, err error) {
	watcher = rand.Text()
	return watcher, s.Store.Watch(ctx, ref, watcher)
}

// Watches reports whether a request is the latest one that waits for the reply.
func (s *Service) Watches(ctx context.Context, ref run.Ref, watcher string) (bool, error) {
	now, err := s.Store.Watcher(ctx, ref)
	return now == watcher, err
}
