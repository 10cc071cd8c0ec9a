package channel

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// commandOf returns the name and the rest of a command, such as "help" for "/help" and "/help@bot". The data of a
// button is a command without the slash.
func (s *Service) commandOf(e channel.Event) (name, rest string, ok bool) {
	text := strings.TrimSpace(e.Text)
	switch e.Kind {
	case channel.Message:
		if text, ok = strings.CutPrefix(text, "/"); !ok {
			return "", "", false
		}
	case channel.Button:
	default:
		return "", "", false
	}
	name, rest, _ = strings.Cut(text, " ")
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 { // a line break ends the name, too
		name, rest = name[:i], name[i:]+" "+rest
	}
	name, _, _ = strings.Cut(strings.ToLower(name), "@")
	return name, strings.TrimSpace(rest), s.Commands.Known(name)
}

// command runs a command.
func (s *Service) command(ctx context.Context, ws access.Workspace, b channel.Burst, name, rest string,
	p channel.Profile) (
	out channel.Outcome, err error) {
	e := b.Events[0]
	_, role, _, err := s.Store.Find(ctx, e.Place.Account, KindUser, e.Sender.ID)
	if err != nil {
		return out, err
	}
	reply, err := s.Commands.Run(ctx, CommandInput{
		Workspace:    ws,
		Name:         name,
		Rest:         rest,
		Key:          e.Place.Account + "/" + e.Key,
		Conversation: b.Conversation,
		Sender:       e.Sender,
		Place:        e.Place,
		Admin:        role == RoleAdmin,
		Group:        e.Group,
		Chinese:      chinese(e.Text),
	})
	if f := fault.From(err); err != nil && !fault.Table[f.Code].Retryable && f.Code != fault.Internal {
		return channel.Outcome{Reply: explain(f)}, nil // the user can repair it
	}
	if err != nil {
		return out, fmt.Errorf("run the command /%s: %w", name, err)
	}
	if reply.Ask != "" {
		e.Text = reply.Ask
		return s.ask(ctx, ws, b, []channel.StoredEvent{e}, p)
	}
	return channel.Outcome{Reply: reply.Text, Buttons: reply.Buttons, Renew: reply.Renew, Home: reply.Home,
		Run: reply.Run}, nil
}

// Report sends the result of a run to a chat. Done is false until the run has ended.
func (s *Service) Report(ctx context.Context, ws access.Workspace, route int64, id string) (done bool, err error) {
	text, done, err := s.Commands.Report(ctx, run.Ref{Workspace: ws.ID, Run: id})
	if fault.CodeOf(err) == fault.NotFound { // erased: there is nothing to report
		text, done, err = "", true, nil
	}
	if err != nil || !done {
		return false, err
	}
	return true, s.Store.PutResult(ctx, ws.ID, route, id, text)
}

// explain returns the text of an error for a user.
func explain(f *fault.Error) string {
	out := strings.ToUpper(f.Message[:1]) + f.Message[1:] + "."
	if f.Hint != "" {
		out += " Hint: " + f.Hint + "."
	}
	return out
}

// refusal returns the reply to a message that was not accepted.
func refusal(text string, f *fault.Error) string {
	if strings.TrimSpace(text) == "" {
		return "I can read text, and text, PDF and DOCX files of up to 20 MB."
	}
	out := "I could not accept your message: " + f.Message + "."
	if f.Hint != "" {
		out += " Please " + f.Hint + "."
	}
	return out
}

// chinese reports whether a text has Chinese characters.
func chinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
