package distill_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/objectstore"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/service/ledger"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// distilling is the service over a fresh database, with a scripted model.
type distilling struct {
	*distill.Service
	*db
	t     *testing.T
	model *model
	blobs *objectstore.LocalStore
}

func setup(t *testing.T) *distilling {
	t.Helper()
	d := &distilling{t: t, db: pgtest.Open(t), model: &model{answers: map[string]answer{}}}
	for role, text := range map[string]string{
		"segment": `{"tasks":[{"task_name":"Service Operations","message_indices":[[0,5]],` +
			`"query":"Roll a failing service back","outcome":"success","proof":[4,5],"open":false}]}`,
		"extract": draft("Probe before every change"),
		"merge":   draft("Merged by a model"),
		"files":   `{"check.py":"print('healthy')\n","checklist.md":"# Checklist\n\n- probe\n"}`,
		"judge":   judgment(14),
		"compare": `{"reason":"The same.","better":"tie"}`,
	} {
		d.model.says(role, text)
	}
	var err error
	d.blobs, err = objectstore.Local(t.TempDir())
	testkit.Must(t, err)
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := d.db.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	calls := &ledger.Ledger{Ports: ledger.Ports{Store: d.db.Store, Model: d.model, Lease: time.Minute,
		StoreRetryFor: time.Minute}}
	d.Service = &distill.Service{Ports: distill.Ports{Store: d.Store, Ledger: calls, Embedder: embedder,
		Space: space, Blobs: d.blobs}}
	return d
}

// judgment is a judge's reply with a sum of points, whose quotes are in every draft and in every talk.
func judgment(points int) string {
	return testkit.Judgment(points, "Service Deployment Rollback", "since the last deploy", "Nothing is checked.")
}

// draft is a model's draft of one skill with a lesson of its own.
func draft(lesson string, change ...func(map[string]any)) string {
	out := map[string]any{"name": "Service Deployment Rollback",
		"description": "Restore a failing service to its last healthy release", "trigger": []string{"rollback"},
		"procedure": "1. Confirm the symptom\n2. Roll back\n3. Probe again", "experience": []string{lesson},
		"preference": []string{}, "examples": []string{}, "tool": []string{"kubectl"},
		"scripts": []any{map[string]any{"file": "check.py", "purpose": "probe", "inputs": "url", "outputs": "code"}},
		"others":  map[string]any{"checklist.md": "short checklist"}, "update": false, "old_memory_id": ""}
	for _, f := range change {
		f(out)
	}
	raw, _ := json.Marshal(out)
	return string(raw)
}

func with(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

// talk is a conversation about an incident; the word makes it differ from others.
func talk(word string) transcript.Conversation {
	c := transcript.Conversation{ID: word, Title: "About " + word}
	for i, line := range []string{
		"user: " + word + " answers 502 since the last deploy, bring it back.", "assistant: Checking health.",
		"tool: kubectl: GET /healthz of " + word + " -> 502", "assistant: Rolling back to r41.",
		"tool: 3/3 replicas ready",
		"assistant: Recovered."} {
		role, text, _ := strings.Cut(line, ": ")
		c.Messages = append(c.Messages, transcript.Message{Seq: i, Role: transcript.Role(role), Content: text})
	}
	return c
}

// request asks for a conversation to be distilled.
func (d *distilling) request(c transcript.Conversation, change ...func(*distill.Request)) distill.Request {
	models := map[string]string{}
	for _, role := range []string{"segment", "notes", "extract", "merge", "files", "judge", "compare"} {
		models[role] = "scripted"
	}
	r := distill.Request{Workspace: d.A.ID, WorkspaceKey: d.A.Key, Conversation: c, Channel: "import",
		Spec: distill.Spec{Options: distill.Options{Mode: distill.Full, Outcome: transcript.Success},
			NameStyle: "underscore", Redact: true,
			Gate: transcript.Gate{Policy: transcript.GateOff}, Models: models,
			Limits: distill.Limits{MaxTasks: 10, ToolOutputChars: 2000, RecallTopK: 3,
				RecallMinSim: 0.35, MergeSim: 0.95, MinConfidence: 0.5, Repairs: 1, Parallel: 4, MinQuality: 6},
			Timing: distill.Timing{Model: time.Minute, Heartbeat: time.Minute, Database: time.Minute,
				GiveUp: time.Hour}}}
	for _, f := range change {
		f(&r)
	}
	return r
}

func (d *distilling) accept(r distill.Request) run.Run {
	d.t.Helper()
	out, _, err := d.Accept(d.t.Context(), r)
	testkit.Must(d.t, err)
	return out
}

// chunked creates a run with one task.
func (d *distilling) chunked(r distill.Request) (run.Ref, string) {
	d.t.Helper()
	ref := d.accept(r).Ref
	divided, err := d.Segment(d.t.Context(), pgtest.RunRef(ref))
	testkit.Must(d.t, err)
	if len(divided.Tasks) != 1 {
		d.t.Fatalf("divided into %q", divided.Tasks)
	}
	return ref, divided.Tasks[0]
}

// drafted creates a run whose task has its draft.
func (d *distilling) drafted(r distill.Request) (run.Ref, string) {
	d.t.Helper()
	ref, key := d.chunked(r)
	out, err := d.Draft(d.t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(d.t, err)
	if out.Ended {
		d.t.Fatalf("the task is over: %+v", d.report(ref).Tasks)
	}
	return ref, key
}

// written creates a run whose task has its files.
func (d *distilling) written(r distill.Request) (run.Ref, string) {
	d.t.Helper()
	ref, key := d.drafted(r)
	_, err := d.Write(d.t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(d.t, err)
	return ref, key
}

// endTask ends a task of the first attempt.
func endTask(ref run.Ref, key, code, reason string) contract.EndTaskInput {
	return contract.EndTaskInput{TaskRef: pgtest.TaskRef(ref, key), Code: code, Reason: reason}
}

// published creates a run that has ended with a skill.
func (d *distilling) published(r distill.Request) (distill.Report, contract.PublishResult) {
	d.t.Helper()
	ref, key := d.written(r)
	c, err := d.Publish(d.t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(d.t, err)
	if c.Unseen {
		testkit.Must(d.t, d.Merge(d.t.Context(), pgtest.TaskRef(ref, key)))
		c, err = d.Publish(d.t.Context(), pgtest.TaskRef(ref, key))
		testkit.Must(d.t, err)
	}
	_, err = d.Close(d.t.Context(), pgtest.CloseInput(ref, "", ""))
	testkit.Must(d.t, err)
	return d.report(ref), c
}

func (d *distilling) report(ref run.Ref) distill.Report {
	d.t.Helper()
	out, err := d.Report(d.t.Context(), ref)
	testkit.Must(d.t, err)
	return out
}

// nowhere is a run that does not exist.
func (d *distilling) nowhere() run.Ref {
	return run.Ref{Workspace: d.A.ID, Run: "run_00000000000000000000000000"}
}

// wants checks the code of an error and that it has a hint.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if f := fault.From(err); err == nil || f.Code != code || f.Message == "" || f.Hint == "" {
		t.Errorf("%s: %+v, want %s", what, err, code)
	}
}

// failsFor checks the error of a step for a task that the run does not have. Task keys come from
// workflows, so the error needs no hint.
func failsFor(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "read the task") {
		t.Errorf("%s: %v", what, err)
	}
}

type answer func(prompt.Material) (string, error)

// model replies by role.
type model struct {
	mu      sync.Mutex
	answers map[string]answer
	counts  map[string]int
	last    map[string]prompt.Material

	usage    llm.Usage              // of each reply; if zero, 10 tokens in and 5 out
	requests map[string]llm.Request // the last of each role
	all      []llm.Request          // that were sent, in order
	prepared map[string]llm.Request // by body
}

func (m *model) Prepare(r llm.Request) (llm.PreparedRequest, error) {
	body, err := json.Marshal(r.Messages[0].Prefix + r.Messages[0].Content)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prepared == nil {
		m.prepared, m.requests = map[string]llm.Request{}, map[string]llm.Request{}
	}
	m.prepared[string(body)] = r
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
	if m.counts == nil {
		m.counts, m.last = map[string]int{}, map[string]prompt.Material{}
	}
	m.counts[p.Label.Stage]++
	m.last[p.Label.Stage] = material
	sent := m.prepared[string(p.Body)]
	m.requests[p.Label.Stage], m.all = sent, append(m.all, sent)
	text, err := m.answers[p.Label.Stage](material)
	return llm.Reply{
		Text:   text,
		Finish: "stop",
		Model:  p.Model,
		Usage:  cmp.Or(m.usage, llm.Usage{Input: 10, Output: 5}),
	}, err
}

// says sets the answer of a role.
func (m *model) says(role, text string) {
	m.answers[role] = func(prompt.Material) (string, error) { return text, nil }
}

// fails makes the endpoint of a role fail.
func (m *model) fails(role string, c llm.Class) {
	m.answers[role] = func(prompt.Material) (string, error) {
		return "", &llm.Error{Class: c, Status: 400, Message: "the endpoint says no", Sent: true}
	}
}

// asked returns the number of requests by role, for example "segment 1, extract 2".
func (m *model) asked() string {
	var out []string
	for _, role := range slices.Sorted(maps.Keys(m.counts)) {
		out = append(out, fmt.Sprintf("%s %d", role, m.counts[role]))
	}
	return strings.Join(out, ", ")
}

// paid checks the number of requests by role.
func (d *distilling) paid(want string) {
	d.t.Helper()
	if got := d.model.asked(); got != want {
		d.t.Errorf("asked %s, want %s", got, want)
	}
}
