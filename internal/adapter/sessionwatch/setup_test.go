package sessionwatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/sessionwatch"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/service/intake"
	"cairn/internal/testkit"
)

type distills struct{}

func (distills) Accept(context.Context, distill.Request) (run.Run, bool, error) {
	return run.Run{}, true, nil
}

// machine is a folder with sessions, and a gateway that stores imports in a database.
type machine struct {
	t       *testing.T
	db      *pgtest.Store
	service *intake.Service
	folder  string
	state   string
	server  *httptest.Server

	mu     sync.Mutex
	stored func()     // called after a file is stored, before the response
	fails  fault.Code // the response to all requests; empty means to import
	bodies []string   // that were received, without their compression
	events []sessionwatch.Event
}

func open(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, db: pgtest.Open(t), folder: t.TempDir(), state: filepath.Join(t.TempDir(), "sub", "state.json")}
	m.service = intake.New(intake.Ports{Store: m.db.Imports(), Distills: distills{},
		DistillSpec: func() distill.Spec { return distill.Spec{} }})
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.server.Close)
	return m
}

// serve is POST /v1/imports with the relay.
func (m *machine) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != "" {
		w.WriteHeader(fault.Table[m.fails].HTTP)
		fmt.Fprintf(w, `{"code":%q,"message":"refused","hint":"x"}`, m.fails)
		return
	}
	files := intake.Reader{}
	testkit.Must(m.t, files.Read(r.URL.Query().Get("name"), r.Body, func(f intake.File) error {
		m.bodies = append(m.bodies, string(f.Content))
		return nil
	}))
	body := m.bodies[len(m.bodies)-1]
	made, err := m.service.Import(r.Context(), intake.Upload{Workspace: m.db.A.ID, Name: r.URL.Query().Get("name"),
		Content: strings.NewReader(body)})
	testkit.Must(m.t, err)
	for _, one := range made.Imports {
		testkit.Must(m.t, m.service.StoreConversations(m.t.Context(), m.db.A, one.ID))
	}
	if m.stored != nil {
		m.stored()
	}
	w.WriteHeader(http.StatusAccepted)
	testkit.Must(m.t, json.NewEncoder(w).Encode(made))
}

// watcher starts a new watcher, as after a restart.
func (m *machine) watcher(idle time.Duration) *sessionwatch.Watcher {
	m.t.Helper()
	w, err := sessionwatch.Open(sessionwatch.Options{Folders: []string{m.folder}, Idle: idle, State: m.state,
		Server: m.server.URL, Upload: &sessionwatch.Gateway{URL: m.server.URL, Key: "k"},
		Report: func(e sessionwatch.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.events = append(m.events, e)
		}})
	testkit.Must(m.t, err)
	return w
}

// pass sends all files with a new watcher, and returns its events.
func (m *machine) pass() []sessionwatch.Event {
	m.t.Helper()
	m.mu.Lock()
	m.events = nil
	m.mu.Unlock()
	_, err := m.watcher(0).Pass(m.t.Context())
	testkit.Must(m.t, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.events
}

func (m *machine) path(name string) string { return filepath.Join(m.folder, name) }

// write replaces a file. Its time is long ago, and changes with its content.
func (m *machine) write(name, text string) {
	m.t.Helper()
	testkit.Must(m.t, os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	testkit.Must(m.t, os.WriteFile(m.path(name), []byte(text), 0o644))
	at := time.Now().Add(-time.Hour + time.Duration(len(text))*time.Millisecond)
	testkit.Must(m.t, os.Chtimes(m.path(name), at, at))
}

// wants checks the numbers of stored conversations and messages.
func (m *machine) wants(conversations, messages int) {
	m.t.Helper()
	c, n := m.db.Number(`select count(*) from conversations`), m.db.Number(`select count(*) from messages`)
	if c != conversations || n != messages {
		m.t.Errorf("%d conversations with %d messages, want %d with %d", c, n, conversations, messages)
	}
}

// lines are the records of a session of Claude Code with questions and answers from first to last.
func lines(session string, first, last int) (out string) {
	parent := "null"
	for i := first; i <= last; i++ {
		if i > 1 {
			parent = fmt.Sprintf("%q", fmt.Sprint(session, "-a", i-1))
		}
		at := fmt.Sprintf(`"timestamp":"2026-11-20T10:%02d:00Z","version":"2.1.0"`, i)
		out += fmt.Sprintf(`{"type":"user","uuid":"%[3]s-u%[1]d","parentUuid":%[2]s,"sessionId":%[3]q,`+
			`"message":{"role":"user","content":"question %[1]d"},%[4]s}`+"\n", i, parent, session, at)
		out += fmt.Sprintf(`{"type":"assistant","uuid":"%[2]s-a%[1]d","parentUuid":"%[2]s-u%[1]d","sessionId":%[2]q,`+
			`"message":{"id":"m%[1]d","role":"assistant","content":[{"type":"text","text":"answer %[1]d"}]},%[3]s}`+
			"\n", i, session, at)
	}
	return out
}

// compacted are the records that a compaction appends: a boundary, the summary, and a further question.
func compacted(session string, last int) string {
	at := fmt.Sprintf(`"sessionId":%q,"timestamp":"2026-11-20T11:00:00Z","version":"2.1.0"`, session)
	return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":"%[1]s-b","parentUuid":null,`+
		`"logicalParentUuid":"%[1]s-a%[2]d","content":"Conversation compacted",%[3]s}`+"\n"+
		`{"type":"user","uuid":"%[1]s-s","parentUuid":"%[1]s-b","isCompactSummary":true,"message":{"role":"user",`+
		`"content":"Summary of it."},%[3]s}`+"\n"+
		`{"type":"user","uuid":"%[1]s-q","parentUuid":"%[1]s-s","message":{"role":"user","content":"go on"},%[3]s}`+
		"\n", session, last, at)
}
