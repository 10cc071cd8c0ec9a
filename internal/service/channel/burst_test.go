package channel

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/run"
)

// noCommands knows /help only.
type noCommands struct{}

func (noCommands) Known(name string) bool { return name == "help" }

func (noCommands) List() []channel.Command { return nil }

func (noCommands) Run(context.Context, CommandInput) (CommandReply, error) {
	return CommandReply{}, nil
}

func (noCommands) Report(context.Context, run.Ref) (string, bool, error) { return "", false, nil }

// open returns messages of a user with the given ages, oldest first. A text may name another user, or an edit or
// deletion of a message: "ben: text", "edit 1: text", "delete 1".
func open(ages []time.Duration, texts ...string) (out []channel.StoredEvent) {
	for i, text := range texts {
		e := channel.StoredEvent{ID: int64(i + 1), Age: ages[min(i, len(ages)-1)]}
		e.Kind, e.Sender.ID, e.MessageID, e.Text = channel.Message, "ada", string(rune('1'+i)), text
		head, rest, _ := strings.Cut(text, ": ")
		switch {
		case head == "ben":
			e.Sender.ID, e.Text = head, rest
		case strings.HasPrefix(head, "edit "):
			e.Kind, e.MessageID, e.Text = channel.Edited, strings.TrimPrefix(head, "edit "), rest
		case strings.HasPrefix(head, "delete "):
			e.Kind, e.MessageID, e.Text = channel.Deleted, strings.TrimPrefix(head, "delete "), ""
		}
		out = append(out, e)
	}
	return out
}

func TestMessagesOfAUserAreOneBurst(t *testing.T) {
	t.Parallel()
	const window = time.Second
	old, young := []time.Duration{3 * time.Second}, []time.Duration{200 * time.Millisecond}
	many := make([]string, 30)
	for i := range many {
		many[i] = "m"
	}
	s := &Service{Ports: Ports{Commands: noCommands{}}}
	late := []time.Duration{9500 * time.Millisecond, 0}
	for name, c := range map[string]struct {
		window time.Duration
		open   []channel.StoredEvent
		want   int // events of the burst
		wait   time.Duration
	}{
		"no window":               {0, open(young, "a", "b"), 1, 0},
		"young":                   {window, open(young, "a", "b"), 0, 800 * time.Millisecond},
		"old":                     {window, open(old, "a", "b"), 2, 0},
		"another user":            {window, open(young, "a", "ben: b"), 1, 0},
		"a command ends it":       {window, open(young, "a", "/help"), 1, 0},
		"a command is alone":      {window, open(young, "/help", "a"), 1, 0},
		"unknown commands":        {window, open(old, "/nonsense", "a"), 2, 0},
		"an edit":                 {window, open(old, "a", "edit 1: A", "b"), 3, 0},
		"an edit without window":  {0, open(young, "a", "edit 1: A", "b"), 2, 0},
		"an edit of another one":  {window, open(old, "a", "edit 9: A"), 1, 0},
		"too many":                {window, open(young, many...), 20, 0},
		"too long":                {window, open([]time.Duration{11 * time.Second, 0}, "a", "b"), 2, 0},
		"the end of the time":     {window, open(late, "a", "b"), 0, 500 * time.Millisecond},
		"only an edit":            {window, open(young, "edit 9: A", "b"), 1, 0},
		"mentioned and not":       {window, mentioned(open(old, "a", "b")), 1, 0},
		"selected before a crash": {window, chosen(open(young, "a", "b", "c"), 2), 2, 0},
	} {
		got, wait := s.divide(c.window)(c.open)
		if len(got) != c.want || wait != c.wait {
			t.Errorf("%s: %d events, wait %s; want %d, %s", name, len(got), wait, c.want, c.wait)
		}
	}
}

// mentioned makes the first message one that mentions the bot.
func mentioned(all []channel.StoredEvent) []channel.StoredEvent {
	all[0].Mentioned = true
	return all
}

// chosen makes the first n events a burst.
func chosen(all []channel.StoredEvent, n int) []channel.StoredEvent {
	for i := range n {
		all[i].First = all[0].ID
	}
	return all
}

func TestABurstHasTheLastEdits(t *testing.T) {
	t.Parallel()
	age := []time.Duration{0}
	for name, c := range map[string]struct {
		burst []channel.StoredEvent
		want  []string
	}{
		"plain":    {open(age, "a", "b"), []string{"a", "b"}},
		"edited":   {open(age, "a", "edit 1: A", "b", "edit 1: AA"), []string{"AA", "b"}},
		"deleted":  {open(age, "a", "b", "delete 1"), []string{"b"}},
		"all gone": {open(age, "a", "delete 1"), nil},
		"after it": {open(age, "a", "delete 1", "edit 1: A"), nil},
	} {
		var got []string
		for _, e := range compose(c.burst) {
			got = append(got, e.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCommandsAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	s := &Service{Ports: Ports{Commands: noCommands{}}}
	for text, want := range map[string]string{"/help": "help", "/help@bot": "help", " /HELP me ": "help",
		"/help\nme": "help",
		"help":      "", "/nonsense": "", "/": "", "": ""} {
		name, _, known := s.commandOf(channel.Event{Kind: channel.Message, Text: text})
		if known != (want != "") || known && name != want {
			t.Errorf("%q is %q, %t", text, name, known)
		}
	}
	if _, rest, known := s.commandOf(channel.Event{Kind: channel.Button, Text: "help now"}); !known || rest != "now" {
		t.Errorf("a button: %q, %t", rest, known)
	}
}
