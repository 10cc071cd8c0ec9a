package offload_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
	"cairn/internal/service/offload"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// working is the service over a fresh database, with a scripted model and a Temporal that runs work
// at once.
type working struct {
	*offload.Service
	*db
	t        *testing.T
	model    *model
	temporal *temporal
}

func setup(t *testing.T) *working {
	t.Helper()
	w := &working{t: t, db: pgtest.Open(t), model: &model{answer: recorded}}
	calls := &ledger.Ledger{Ports: ledger.Ports{Store: w.db.Store, Model: w.model, Lease: time.Minute,
		StoreRetryFor: time.Minute}}
	w.Service = &offload.Service{Ports: offload.Ports{Store: w.db.Store, Ledger: calls}}
	w.temporal = &temporal{Service: w.Service}
	w.Starter = w.temporal
	return w
}

// spec is the configuration of a run.
func spec() offload.Spec {
	return offload.Spec{Model: "scripted", Timing: agentrun.Timing{Model: time.Minute},
		Limits: offload.Limits{ResultChars: 500, MaterialTokens: 2000, Repairs: 1, ReplyTokens: 1000}}
}

// request asks for a thread to be shortened.
func (w *working) request(ms []transcript.Message, o workingmemory.Options) offload.Request {
	return offload.Request{Workspace: w.A.ID, WorkspaceKey: w.A.Key, Session: "s", Messages: ms, Options: o,
		TTL: time.Hour, Wait: time.Minute, Spec: spec()}
}

func (w *working) shorten(r offload.Request) offload.ShortenedThread {
	w.t.Helper()
	out, err := w.Service.Offload(w.t.Context(), r)
	testkit.Must(w.t, err)
	return out
}

// compacting offloads all older results.
func compacting() workingmemory.Options {
	return workingmemory.Options{Mode: workingmemory.ByCompact, TotalTokens: 1, ToolTokens: 50, KeepRecent: 0}
}

// compressing creates records of all older messages, a few turns at a time.
func compressing() workingmemory.Options {
	return workingmemory.Options{Mode: workingmemory.ByCompress, TotalTokens: 1, KeepRecent: 0, GroupTokens: 400}
}

// thread is a long one: in each turn a tool is called, whose result has many lines.
func thread(turns int) (out []transcript.Message) {
	for n := range turns {
		id := fmt.Sprintf("call-%d", n)
		result := ""
		for ms := range 20 {
			result += fmt.Sprintf("service %d took a request in %d ms\n", n, ms) // repeated lines are removed
		}
		result += fmt.Sprintf("listening on port %d\n", 8000+n)
		for _, m := range []transcript.Message{
			{Role: transcript.User, Content: fmt.Sprintf("Please look at service %d in region north.", n)},
			{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{ID: id, Name: "read_log", Arguments: "{}"}}},
			{Role: transcript.Tool, Name: "read_log", ToolCallID: id, Content: result},
			{Role: transcript.Assistant, Content: fmt.Sprintf("Service %d answers.", n)},
		} {
			m.Seq = len(out)
			out = append(out, m)
		}
	}
	return out
}

// texts are what messages say, for comparisons.
func texts(ms []transcript.Message) string {
	raw, _ := json.Marshal(ms)
	return string(raw)
}

// started creates a run with groups and no results.
func (w *working) started(turns int) run.Ref {
	w.t.Helper()
	w.temporal.asleep = true
	r := w.request(thread(turns), compressing())
	r.Wait = 0
	out := w.shorten(r)
	if out.Run == "" || !out.Degraded {
		w.t.Fatalf("there is no run that waits: %+v", out)
	}
	return run.Ref{Workspace: w.A.ID, Run: out.Run}
}

// wants checks the code of an error and that it has a hint.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if f := fault.From(err); err == nil || f.Code != code || f.Message == "" || f.Hint == "" {
		t.Errorf("%s: %+v, want %s", what, err, code)
	}
}

// recorded is a record of messages.
func recorded(prompt.Material) (string, error) { return record("Look at each service"), nil }

func record(goal string) string {
	raw, _ := json.Marshal(workingmemory.Snapshot{Goal: goal, KeyFacts: []string{"region north"},
		RecentActions: []string{"read_log of a service"}, Pending: []string{}})
	return string(raw)
}

// model is a llm.Model made of one function.
type model struct {
	mu     sync.Mutex
	answer func(prompt.Material) (string, error)
	asked  []prompt.Material
}

func (m *model) Prepare(r llm.Request) (llm.PreparedRequest, error) {
	body, err := json.Marshal(r.Messages[0].Content)
	return llm.PreparedRequest{Model: r.Model, Body: body, Label: r.Label}, err
}

func (m *model) Send(_ context.Context, p llm.PreparedRequest) (llm.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var user string
	if err := json.Unmarshal(p.Body, &user); err != nil {
		return llm.Reply{}, err
	}
	material, err := prompt.ReadMaterial(user)
	if err != nil {
		return llm.Reply{}, err
	}
	m.asked = append(m.asked, material)
	text, err := m.answer(material)
	return llm.Reply{Text: text, Finish: "stop", Model: p.Model, Usage: llm.Usage{Input: 10, Output: 5}}, err
}

// says makes the model answer so from now on.
func (m *model) says(text string) {
	m.answer = func(prompt.Material) (string, error) { return text, nil }
}

// fails makes the model's endpoint fail from now on.
func (m *model) fails(c llm.Class) {
	m.answer = func(prompt.Material) (string, error) {
		return "", &llm.Error{Class: c, Status: 400, Message: "the endpoint says no", Sent: true}
	}
}

// temporal does the work of a run when it is started.
type temporal struct {
	*offload.Service
	asleep  bool  // no worker is there
	broken  error // what starting gives
	started []string
}

func (s *temporal) Start(ctx context.Context, _, _ string, r run.Run) error {
	s.started = append(s.started, r.WorkflowID)
	if s.broken != nil || s.asleep {
		return s.broken
	}
	return s.work(ctx, r)
}

func (s *temporal) work(ctx context.Context, r run.Run) error {
	spec, err := offload.SpecOf(r)
	if err != nil {
		return err
	}
	var reasons []string
	for group := range spec.Groups {
		out, err := s.Compress(ctx, contract.GroupInput{RunRef: contract.RefOf("", r), Group: group})
		if err != nil {
			return err
		}
		reasons = append(reasons, out.Reason)
	}
	_, err = s.Close(ctx, contract.CloseOffloadInput{RunRef: contract.RefOf("", r), Reasons: reasons})
	return err
}

func (s *temporal) Ended(ctx context.Context, _ string) error {
	if s.asleep {
		<-ctx.Done()
	}
	return ctx.Err()
}
