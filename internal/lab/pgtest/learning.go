package pgtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/ledger"
	"cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Learning contains the services for memory skills over a fresh database, with a scripted model.
type Learning struct {
	*learning.Service
	DB     *Store
	Script *Script
}

// OpenLearning opens the services in workspace A. change may replace ports.
func OpenLearning(t testing.TB, change ...func(*learning.Ports)) *Learning {
	t.Helper()
	l := &Learning{DB: Open(t), Script: NewScript()}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := l.DB.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	memories := &memory.LongTermService{Ports: memory.Ports{Store: l.DB.Store, Embedder: embedder, Space: space,
		Finder: search.Finder{Index: l.DB.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}
	ports := learning.Ports{Store: l.DB.Store, Memories: memories, Asker: l.Script, Embedder: embedder,
		Controller: policy.PPOLearner{}, Space: space}
	for _, f := range change {
		f(&ports)
	}
	l.Service = learning.New(ports)
	return l
}

// Spec returns the specification with which runs are accepted.
func (l *Learning) Spec() bank.RunSpec { return bank.RunSpec{Model: bank.Model{Name: "scripted"}} }

// Script is a model whose answers depend on the stage of a question. Each step of a run is asked
// once; if it is asked again, it gets the same answer, as in the ledger.
type Script struct {
	mu      sync.Mutex
	replies map[prompt.Stage]func(prompt.Material) (string, error)
	known   map[string]string
	steps   []string
}

// NewScript returns a script without answers: every question fails.
func NewScript() *Script {
	return &Script{replies: map[prompt.Stage]func(prompt.Material) (string, error){}, known: map[string]string{}}
}

// On sets the answers of a stage.
func (s *Script) On(stage prompt.Stage, reply func(prompt.Material) (string, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[stage] = reply
}

// Say sets one answer for all questions of a stage.
func (s *Script) Say(stage prompt.Stage, text string) {
	s.On(stage, func(prompt.Material) (string, error) { return text, nil })
}

// Steps returns the steps that were asked, in order and without duplicates.
func (s *Script) Steps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.steps...)
}

// Ask implements runspec.Asker.
func (s *Script) Ask(_ context.Context, q ledger.Question) (text string, problem, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s/%s", q.Run.Run, q.Step)
	text, known := s.known[key]
	if !known {
		reply := s.replies[prompt.Stage(q.Request.Label.Stage)]
		if reply == nil {
			return "", nil, fmt.Errorf("the script has no answer for %s", q.Request.Label.Stage)
		}
		m, err := prompt.ReadMaterial(q.Request.Messages[0].Content)
		if err != nil {
			return "", nil, err
		}
		if text, err = reply(m); err != nil {
			return "", nil, err
		}
		s.known[key], s.steps = text, append(s.steps, q.Step)
	}
	if q.Decode != nil {
		problem = q.Decode(text)
	}
	return text, problem, nil
}

// InsertAll returns an answer that saves every message of a span unchanged.
func InsertAll(m prompt.Material) (string, error) {
	actions := []any{}
	for _, said := range m.Messages {
		actions = append(actions, map[string]any{"type": "insert", "content": said.Content, "about": "Vera",
			"evidence": []int{said.Index}})
	}
	raw, err := json.Marshal(map[string]any{"actions": actions})
	return string(raw), err
}

// Dialogue returns messages of a user, a day apart.
func Dialogue(texts ...string) (out []transcript.Message) {
	for i, text := range texts {
		out = append(out, transcript.Message{Role: transcript.User, Name: "Vera", Content: text,
			Time: time.Date(2024, 3, 1+i, 9, 0, 0, 0, time.UTC)})
	}
	return out
}

// Lessons returns conversations of small talk with two facts each, and questions about them.
func Lessons(n int) (out []bank.ImportedTrace) {
	plants := []string{"lemon", "walnut", "cherry", "juniper", "hazel", "willow"}
	for i := range n {
		plant := plants[i%len(plants)]
		out = append(out, bank.ImportedTrace{ID: fmt.Sprintf("t%d", i),
			Messages: Dialogue("Hello! How are you today?",
				fmt.Sprintf("I planted a %s tree behind the shed in March %d.", plant, 2000+i),
				"Thanks, that is nice!", fmt.Sprintf("My sister prefers %s jam.", plant)),
			Questions: []bank.ImportedQuestion{
				{Question: fmt.Sprintf("Which tree was planted behind the shed in %d?", 2000+i),
					Answers: []string{plant + " tree"}, Evidence: []int{1}},
				{Question: "Who prefers " + plant + " jam?", Answers: []string{"sister"}, Evidence: []int{3}}}})
	}
	return out
}

// Import imports lessons into the default bank of workspace A.
func (l *Learning) Import(n int) {
	l.DB.T.Helper()
	_, err := l.Cases.Import(l.DB.T.Context(), l.DB.A.ID, "", Lessons(n))
	testkit.Must(l.DB.T, err)
}

// Within runs fn in a transaction of workspace A, with the ports of all services.
func (l *Learning) Within(fn func(ctx context.Context, tx store.Tx) error) error {
	return l.Ports.Store.InWorkspace(l.DB.T.Context(), l.DB.A.ID, fn)
}

// Ref returns the reference of a run in workspace A.
func (l *Learning) Ref(id string) run.Ref { return run.Ref{Workspace: l.DB.A.ID, Run: id} }
