package offload_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/offload"
	"cairn/internal/testkit"
)

// away creates working memory with three tool results offloaded in session s.
func away(t *testing.T) (w *working, out offload.ShortenedThread) {
	t.Helper()
	w = setup(t)
	out = w.shorten(w.request(thread(4), compacting()))
	if len(out.Away) != 3 {
		t.Fatalf("%d put away", len(out.Away))
	}
	return w, out
}

func by(name string) workingmemory.Session { return workingmemory.Session{Name: name} }

func pattern(text string) workingmemory.Pattern {
	return workingmemory.Pattern{Pattern: text, Before: 1, Limit: 10}
}

var unknown = "offload://" + strings.Repeat("0", 64)

func TestFetchGivesWhatStandsBehindAHandle(t *testing.T) {
	t.Parallel()
	w, out := away(t)
	for _, session := range []workingmemory.Session{{}, by("s")} {
		got, err := w.Fetch(t.Context(), w.A.ID, workingmemory.Where{Handle: out.Away[1].Handle, Session: session})
		testkit.Must(t, err)
		if got.Text != thread(4)[6].Content || got.Kind != workingmemory.Text || got.Handle != out.Away[1].Handle {
			t.Errorf("%+v", got)
		}
	}
}

func TestReadAndGrepLookIntoWhatWasPutAway(t *testing.T) {
	t.Parallel()
	w, out := away(t)
	at := workingmemory.Where{Handle: out.Away[2].Handle}
	page, err := w.Read(t.Context(), w.A.ID, at, 20, 5)
	testkit.Must(t, err)
	if len(page.Lines) != 1 || page.Lines[0] != "listening on port 8002" || page.From != 21 || page.Total != 21 {
		t.Errorf("read %+v", page)
	}
	hits, err := w.Grep(t.Context(), w.A.ID, at, pattern("LISTENING"))
	testkit.Must(t, err)
	if hits.Total != 1 || hits.Hits[0].Line != 21 || len(hits.Hits[0].Before) != 1 {
		t.Errorf("found %+v", hits)
	}
	hits, err = w.Grep(t.Context(), w.A.ID, workingmemory.Where{Session: by("s")}, pattern("listening"))
	testkit.Must(t, err)
	if hits.Total != 3 || hits.Hits[0].Handle != out.Away[0].Handle || hits.Hits[2].Text != "listening on port 8002" {
		t.Errorf("found in the session %+v", hits)
	}
}

func TestNobodyReadsWhatAnotherHasPutAway(t *testing.T) {
	t.Parallel()
	w, out := away(t)
	for what, c := range map[string]struct {
		ws int64
		at workingmemory.Where
	}{
		"another workspace": {w.B.ID, workingmemory.Where{Handle: out.Away[0].Handle}},
		"another session":   {w.A.ID, workingmemory.Where{Handle: out.Away[0].Handle, Session: by("other")}},
		"nothing there":     {w.A.ID, workingmemory.Where{Handle: unknown}},
	} {
		_, err := w.Fetch(t.Context(), c.ws, c.at)
		wants(t, "fetch: "+what, err, fault.NotFound)
		_, err = w.Read(t.Context(), c.ws, c.at, 0, 10)
		wants(t, "read: "+what, err, fault.NotFound)
		_, err = w.Grep(t.Context(), c.ws, c.at, pattern("port"))
		wants(t, "grep: "+what, err, fault.NotFound)
	}
	_, err := w.Reload(t.Context(), w.B.ID, out.Messages)
	wants(t, "reload", err, fault.NotFound)
	for _, session := range []workingmemory.Session{by("other"), {Conversation: 1}} {
		_, err := w.Grep(t.Context(), w.A.ID, workingmemory.Where{Session: session}, pattern("port"))
		wants(t, "a session without anything", err, fault.NotFound)
	}
}

func TestWhatHasExpiredIsGone(t *testing.T) {
	t.Parallel()
	w, out := away(t)
	w.Exec("update offload_blobs set expires_at = now() - interval '1 second'")
	_, err := w.Fetch(t.Context(), w.A.ID, workingmemory.Where{Handle: out.Away[0].Handle})
	wants(t, "fetch", err, fault.NotFound)
	_, err = w.Reload(t.Context(), w.A.ID, out.Messages)
	wants(t, "reload", err, fault.NotFound)
	_, err = w.Grep(t.Context(), w.A.ID, workingmemory.Where{Session: by("s")}, pattern("port"))
	wants(t, "grep", err, fault.NotFound)
	w.shorten(w.request(thread(4), compacting())) // put away again, it lives again
	_, err = w.Reload(t.Context(), w.A.ID, out.Messages)
	testkit.Must(t, err)
}

func TestReadingChecksWhatItIsGiven(t *testing.T) {
	t.Parallel()
	w, out := away(t)
	at := workingmemory.Where{Handle: out.Away[0].Handle}
	for _, handle := range []string{"", "/etc/passwd", "offload://12"} {
		_, err := w.Fetch(t.Context(), w.A.ID, workingmemory.Where{Handle: handle})
		wants(t, "no handle", err, fault.InvalidArgument)
	}
	_, err := w.Fetch(t.Context(), w.A.ID, workingmemory.Where{Handle: at.Handle, Session: by("a\u0007b")})
	wants(t, "a session that cannot be shown", err, fault.InvalidArgument)
	for _, bounds := range [][2]int{{-1, 10}, {0, 0}, {0, workingmemory.MaxLines + 1}} {
		_, err := w.Read(t.Context(), w.A.ID, at, bounds[0], bounds[1])
		wants(t, "lines out of bounds", err, fault.InvalidArgument)
	}
	for what, p := range map[string]workingmemory.Pattern{
		"no pattern":       pattern(""),
		"no expression":    {Pattern: "(", Regex: true, Limit: 10},
		"no limit":         {Pattern: "port"},
		"too much context": {Pattern: "port", Limit: 10, After: workingmemory.MaxContext + 1},
	} {
		_, err := w.Grep(t.Context(), w.A.ID, at, p)
		wants(t, what, err, fault.InvalidArgument)
	}
	_, err = w.Grep(t.Context(), w.A.ID, workingmemory.Where{}, pattern("port"))
	wants(t, "nowhere to look", err, fault.InvalidArgument)
	for _, ms := range [][]transcript.Message{nil, make([]transcript.Message, offload.MaxMessages+1)} {
		_, err := w.Reload(t.Context(), w.A.ID, ms)
		wants(t, "no thread", err, fault.InvalidArgument)
	}
}

// A user message that looks like a handle is not replaced.
func TestReloadChangesToolResultsOnly(t *testing.T) {
	t.Parallel()
	w, out := away(t)
	said := []transcript.Message{{Role: transcript.User, Content: out.Messages[2].Content}}
	got, err := w.Reload(t.Context(), w.A.ID, said)
	if err != nil || got[0].Content != said[0].Content {
		t.Errorf("%v, %v", got, err)
	}
}
