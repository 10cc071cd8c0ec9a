package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/media"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
)

// Access states who may write to an account.
type Access string

// Kinds of access.
const (
	AccessPairing   Access = "pairing"   // users whose code an operator has approved
	AccessAllowlist Access = "allowlist" // only known users; others get no reply
	AccessOpen      Access = "open"      // everybody; the first message makes a workspace
)

// Account is an account of the configuration with its adapter.
type Account struct {
	Name     string
	Platform string
	Access   Access
	Adapter  Adapter
	Profile  channel.Profile
}

// UsualCoalesce is the usual time within which messages of a user become one turn.
const UsualCoalesce = 1500 * time.Millisecond

// admit returns the workspace of a sender who may write, or of a group that is served.
func (s *Service) admit(ctx context.Context, a Account, e channel.Event) (ws access.Workspace, ok bool, err error) {
	ws, role, found, err := s.Store.Find(ctx, a.Name, KindUser, e.Sender.ID)
	switch {
	case err != nil:
		return ws, false, err
	case role == channel.RoleBlocked:
		return ws, false, nil
	case e.Group:
		return s.admitGroup(ctx, a, e, role == RoleAdmin)
	case found:
		return ws, true, nil
	}
	if ws, ok, err = s.link(ctx, a, e); ok || err != nil {
		return ws, ok, err
	}
	if e.Kind != channel.Message {
		return ws, false, nil
	}
	switch a.Access {
	case AccessOpen:
		ws, _, err = s.join(ctx, channel.Identity{Account: a.Name, Kind: KindUser, User: e.Sender.ID,
			Name: e.Sender.Name}, "")
		return ws, err == nil, err
	case AccessPairing:
		return ws, false, s.pair(ctx, a, e)
	}
	return ws, false, nil
}

// admitGroup returns the workspace of a group. Memories of a person never appear in it, because it is another
// workspace than theirs.
func (s *Service) admitGroup(ctx context.Context, a Account, e channel.Event, admin bool) (ws access.Workspace,
	ok bool, err error) {
	ws, role, found, err := s.Store.Find(ctx, a.Name, KindGroup, e.Place.Chat)
	if err != nil || found {
		return ws, role != channel.RoleBlocked, err
	}
	allowed := admin || a.Access == AccessOpen || slices.Contains(a.Profile.Allow, e.Place.Chat) ||
		slices.Contains(a.Profile.Allow, "*")
	if !allowed || !e.Mentioned && !a.Profile.Unasked || e.Kind != channel.Message {
		return ws, false, nil
	}
	ws, _, err = s.join(ctx, channel.Identity{Account: a.Name, Kind: KindGroup, User: e.Place.Chat}, "")
	return ws, err == nil, err
}

// Handle makes the events of a route messages of its conversation, one after another, or runs their commands.
// Repeating it has no effect, also at the same time. It leaves events that wait for others. A route that was erased has
// no events.
func (s *Service) Handle(ctx context.Context, ws access.Workspace, route int64) error {
	account, _, err := s.Store.OpenRoute(ctx, ws.ID, route)
	if err != nil {
		return err
	}
	var p channel.Profile
	if account != "" {
		if p, err = s.Store.Profile(ctx, account); err != nil {
			return err
		}
	}
	_, err = s.handleRoute(ctx, ws, route, p)
	return err
}

// handleRoute handles bursts until none is left, or the next one waits.
func (s *Service) handleRoute(ctx context.Context, ws access.Workspace, route int64,
	p channel.Profile) (wait time.Duration,
	err error) {
	for {
		b, err := s.Store.NextBurst(ctx, ws.ID, route, s.divide(p.Coalesce))
		if err != nil || len(b.Events) == 0 {
			return b.Wait, err
		}
		out, err := s.handle(ctx, ws, b, p)
		if err != nil {
			if out, err = s.surrender(b, err); err != nil {
				return 0, err
			}
		}
		if err := s.Store.EndBurst(ctx, ws.ID, b, out); err != nil {
			return 0, err
		}
	}
}

// surrenderAfter is the age of an event that fails without end, after which later events are handled.
const surrenderAfter = 10 * time.Minute

// surrender ends a burst whose error does not pass, so that it does not stop the chat. It returns other errors.
func (s *Service) surrender(b channel.Burst, err error) (out channel.Outcome, _ error) {
	head := b.Events[0]
	if head.Age < surrenderAfter || fault.Table[fault.CodeOf(err)].Retryable {
		return out, err
	}
	s.Log.Error("event given up", "account", head.Place.Account, "route", b.Route, "event", head.ID, "error", err)
	return channel.Outcome{
		Reply: "I could not handle your message because of an internal error. Please send it again.",
	}, nil
}

// handle handles a burst. It may be repeated: messages and commands have the keys of their events.
func (s *Service) handle(ctx context.Context, ws access.Workspace, b channel.Burst,
	p channel.Profile) (out channel.Outcome, err error) {
	head := b.Events[0]
	if name, rest, ok := s.commandOf(head.Event); ok {
		return s.command(ctx, ws, b, name, rest, p)
	}
	switch head.Kind {
	case channel.Button: // of a command that is not known any more
		return out, nil
	case channel.Deleted:
		return channel.Outcome{Withdraw: []string{head.MessageID}}, nil
	case channel.Edited:
		head.Text = "(edited an earlier message) " + head.Text
		return s.observe(ctx, ws, b, []channel.StoredEvent{head}, p)
	}
	said := withoutOpenFiles(compose(b.Events))
	switch {
	case len(said) == 0:
		return out, nil
	case head.Group && !head.Mentioned && !p.Unasked:
		return s.observe(ctx, ws, b, said, p)
	}
	return s.ask(ctx, ws, b, said, p)
}

// request returns the request with the messages of a burst. Members of a group are named.
func (s *Service) request(ws access.Workspace, b channel.Burst, said []channel.StoredEvent, p channel.Profile,
	mode string) (
	r conversation.Request) {
	head := b.Events[0]
	r = conversation.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: b.Conversation,
		Channel: cmp.Or(p.Channel, agent.ChannelChat), MessageID: head.Place.Account + "/" + head.Key,
		MaxTurns: p.Budget, Spec: s.TurnSpec()}
	r.Spec.Deliver, r.Spec.Lang, r.Spec.Denied = true, p.Language, p.Deny
	r.Spec.Redirect = p.Redirect && !head.Group
	r.Spec.Stream = p.Partial
	for _, e := range said {
		r.Spec.Tainted = r.Spec.Tainted || len(e.Attachments) > 0 // files are not written by the user
		m := messageOf(e, mode == contract.Observe)
		if e.Group {
			m.Name = speakerOf(e.Sender)
		}
		r.Inputs = append(r.Inputs, m)
	}
	return r
}

// speakerOf returns the name of a sender, else the ID.
func speakerOf(s channel.Sender) string {
	return transcript.Clip(cmp.Or(inOneLine(s.Name), inOneLine(s.ID)), conversation.SpeakerRunes)
}

// ask makes a burst a turn.
func (s *Service) ask(ctx context.Context, ws access.Workspace, b channel.Burst, said []channel.StoredEvent,
	p channel.Profile) (out channel.Outcome,
	err error) {
	files, rest := unread(said)
	if !rest && len(files) > 0 {
		return channel.Outcome{Reply: media.Notice(p.LanguageOf(said), files)}, nil
	}
	r := s.request(ws, b, said, p, contract.Answer)
	r.Spec.Unread = files
	turn, err := s.Inbox.Accept(ctx, r)
	switch code := fault.CodeOf(err); {
	case code == fault.InvalidArgument || code == fault.TooLarge:
		return channel.Outcome{Reply: refusal(said[0].Text, fault.From(err))}, nil
	case code == fault.OpReused: // accepted before, with another profile of the account
		return channel.Outcome{Messages: named(r, said)}, nil
	case err != nil:
		return out, fmt.Errorf("accept a message of %s: %w", said[0].Place.Account, err)
	}
	s.start(ctx, ws, r.Channel, turn.Run)
	if r.Spec.Redirect && s.Driver != nil {
		if err := s.Driver.CancelEarlier(ctx, ws.Key, turn.Run); err != nil { // they are answered as usual
			s.Log.Warn("earlier turns not cancelled", "run", turn.Run.Ref.Run, "error", err)
		}
	}
	s.stream(streamed{turn.Run.Ref, b.Route, said[0].Place})
	return channel.Outcome{Messages: named(r, said)}, nil
}

// start starts a turn. If it fails, the relay starts it.
func (s *Service) start(ctx context.Context, ws access.Workspace, channel string, turn run.Run) {
	if s.Driver == nil {
		return
	}
	if err := s.Driver.Start(ctx, ws.Key, channel, turn); err != nil {
		s.Log.Warn("turn start deferred to relay", "run", turn.Ref.Run, "error", err)
	}
}

// observe adds a burst to the conversation without a reply.
func (s *Service) observe(ctx context.Context, ws access.Workspace, b channel.Burst, said []channel.StoredEvent,
	p channel.Profile) (
	out channel.Outcome, err error) {
	r := s.request(ws, b, said, p, contract.Observe)
	r.Mode, r.Messages, r.Inputs, r.Spec.Deliver, r.Spec.Stream = contract.Observe, r.Inputs, nil, false, false
	turn, err := s.Inbox.Accept(ctx, r)
	switch fault.CodeOf(err) {
	case fault.InvalidArgument, fault.TooLarge: // an empty or a long text
		return out, nil
	case fault.OpReused: // accepted before
		return channel.Outcome{Messages: named(r, said)}, nil
	}
	if err != nil {
		return out, fmt.Errorf("record a message of %s: %w", b.Events[0].Place.Account, err)
	}
	s.start(ctx, ws, r.Channel, turn.Run)
	return channel.Outcome{Messages: named(r, said)}, nil
}

// named returns the IDs of the messages of a request by their events.
func named(r conversation.Request, said []channel.StoredEvent) map[int64]string {
	out := map[int64]string{}
	for i, e := range said {
		out[e.ID] = agentrun.MessageID(r.MessageID, i)
	}
	return out
}
