package intake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
)

// want is the content of want.json.
type want struct {
	Report        string
	Conversations []wantConversation
}

type wantConversation struct {
	Title, Session, Parent string
	Reward                 *float64
	Messages               []string
}

// samples returns the samples of all formats by their path.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/sample*.*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no samples", err)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = data
	}
	return out
}

func formatOf(path string) string { return filepath.Base(filepath.Dir(path)) }

// line returns all fields of a message but its place as one line.
func line(m transcript.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role))
	if m.Origin != "" {
		b.WriteString("/" + string(m.Origin))
	}
	field := func(text, value string) {
		if value != "" {
			b.WriteString(" " + text + value)
		}
	}
	field("@", m.Thread)
	field("id=", m.ID)
	field("name=", m.Name)
	field("#", m.ToolCallID)
	if m.IsError {
		b.WriteString(" !")
	}
	if m.ExitCode != nil {
		fmt.Fprintf(&b, " exit=%d", *m.ExitCode)
	}
	field("model=", m.Model)
	if !m.Time.IsZero() {
		field("time=", m.Time.Format(time.RFC3339Nano))
	}
	if m.Reasoning != "" {
		b.WriteString(" {" + m.Reasoning + "}")
	}
	b.WriteString(" | " + m.Content)
	for _, a := range m.Media {
		b.WriteString(" | <" + strings.Join(slices.DeleteFunc([]string{a.Kind, a.MIME, a.SHA256, a.URI},
			func(s string) bool { return s == "" }), " ") + ">")
	}
	for _, c := range m.ToolCalls {
		b.WriteString(" | " + c.Name + "#" + c.ID + "(" + c.Arguments + ")")
	}
	return b.String()
}

func TestSamplesEqualWhatWasWrittenByHand(t *testing.T) {
	for path, data := range samples(t) {
		t.Run(path, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(filepath.Dir(path), strings.Replace(strings.TrimSuffix(
				filepath.Base(path), filepath.Ext(path)), "sample", "want", 1)+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var w want
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&w); err != nil {
				t.Fatal(err)
			}
			got, err := intake.Read(filepath.Base(path), bytes.NewReader(data), intake.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Report.Format != formatOf(path) {
				t.Errorf("format %s (%s)", got.Report.Format, got.Report.Reason)
			}
			if got.Report.String() != w.Report {
				t.Errorf("report\n got %s\nwant %s", got.Report, w.Report)
			}
			if len(got.Conversations) != len(w.Conversations) {
				t.Fatalf("%d conversations, want %d", len(got.Conversations), len(w.Conversations))
			}
			for i, c := range got.Conversations {
				compare(t, c, w.Conversations[i])
			}
		})
	}
}

func compare(t *testing.T, c transcript.Conversation, w wantConversation) {
	t.Helper()
	if w.Title != "" && c.Title != w.Title || c.Session != w.Session || c.Parent != w.Parent {
		t.Errorf("title %q, session %q, parent %q; want %q, %q, %q", c.Title, c.Session, c.Parent, w.Title, w.Session,
			w.Parent)
	}
	if fmt.Sprint(value(c.Reward)) != fmt.Sprint(value(w.Reward)) {
		t.Errorf("reward %v, want %v", value(c.Reward), value(w.Reward))
	}
	for i := range max(len(c.Messages), len(w.Messages)) {
		got, should := "(none)", "(none)"
		if i < len(c.Messages) {
			got = line(c.Messages[i])
			if p := c.Messages[i].Place; p == nil || p.Line == 0 || p.File == "" {
				t.Errorf("message %d has no place", i)
			}
			if c.Messages[i].Seq != i {
				t.Errorf("message %d has number %d", i, c.Messages[i].Seq)
			}
		}
		if i < len(w.Messages) {
			should = w.Messages[i]
		}
		if got != should {
			t.Errorf("message %d\n got %s\nwant %s", i, got, should)
		}
	}
}

func value(f *float64) any {
	if f == nil {
		return "none"
	}
	return *f
}
