package progressive

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/agent"
	"cairn/internal/converse"
	"cairn/internal/fault"
	"cairn/internal/memory"
	"cairn/internal/remember"
	"cairn/internal/run"
	"cairn/internal/tools"
	"cairn/internal/transcript"
)

// Statuses of runs and tasks.
const (
	OK       = "ok"
	NoMemory = "no_memory" // there was nothing to remember
	Partial  = "partial"   // some of it was done
	Failed   = "failed"

	NoRetrieval = "no_retrieval_needed" // of a question that memory has nothing to do with
	NoRelevant  = "no_relevant_memory"
)

// What agents write when there is nothing to say.
const (
	NoMemoryNeeded    = "<NO_MEMORY_NEEDED>"
	NoRetrievalNeeded = "<NO_RETRIEVAL_NEEDED>"
	NoRelevantMemory  = "<NO_RELEVANT_MEMORY>"
)

// noteRunes is how much of what a specialist says its parent is told.
const noteRunes = 200

// Operation is one thing that a tool call did, or could not do.
type Operation struct {
	Tool    string     `json:"tool"`
	Status  string     `json:"status"`
	ID      string     `json:"memory_id,omitempty"`
	Code    fault.Code `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`
}

// Made is the report of a specialist.
type Made struct {
	Type       memory.Type `json:"memory_type"`
	Target     string      `json:"memory_target"`
	Added      []string    `json:"added"`
	Updated    []string    `json:"updated"`
	Deleted    []string    `json:"deleted"`
	Operations []Operation `json:"operations"`
}

// Task is what became of one hand-off.
type Task struct {
	Made
	Run    int64  `json:"run"`
	Status string `json:"status"`
	Note   string `json:"note,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Summary is the report of a session's run.
type Summary struct {
	History    string        `json:"ref_memory_id"`
	MetaAdded  []memory.Task `json:"meta_added"`
	Digest     string        `json:"summary_id,omitempty"`
	Fallback   bool          `json:"fallback,omitempty"` // the agent left no digest, so that one was made of the session's beginning
	Tasks      []Task        `json:"tasks"`
	Operations []Operation   `json:"operations"`
}

// Looked is the report of a retriever.
type Looked struct {
	IDs        []string    `json:"memory_ids"`
	Sessions   []string    `json:"sessions"`
	Operations []Operation `json:"operations"`
}

// Finish leaves a digest where the agent left none, and tells whom the session
// was about: what is known of a session stays findable.
func (s Performer) Finish(ctx context.Context, w converse.Work, e converse.Ended) (json.RawMessage, error) {
	if w.Run.Kind != run.Summarize {
		return nil, nil
	}
	p, err := pinned(w)
	if err != nil {
		return nil, err
	}
	out := Summary{}
	if out.History, err = s.history(ctx, w, p); err != nil {
		return json.Marshal(out) // the session could not be kept: there is nothing to leave a digest of
	}
	if out.Tasks, err = s.tasks(ctx, w.Run); err != nil {
		return nil, err
	}
	a := actor(w, "finish", 0)
	a.Subject = agent.Subject{History: out.History, Author: p.Author}
	var about []memory.Task
	for _, t := range out.Tasks {
		about = append(about, memory.Task{Type: t.Type, Target: t.Target})
	}
	digest := func() (found bool, err error) {
		err = s.LongTerm.Store.WithLongTerm(ctx, w.Run.Workspace, func(tx remember.LongTermTx) error {
			known, has, err := tx.DigestOf(ctx, out.History, "")
			out.Digest, found = known.ID, has
			return err
		})
		return found, err
	}
	found, err := digest()
	if err != nil {
		return nil, err
	}
	switch {
	case found && len(about) > 0:
		_, err = s.LongTerm.SummaryTargets(ctx, a, about)
	case !found && !strings.Contains(e.Text, NoMemoryNeeded):
		out.Fallback = true
		if err = s.fallback(ctx, w, a, about); err == nil {
			_, err = digest()
		}
	}
	if err != nil {
		return nil, err
	}
	if e.Reason == agent.Final || e.Reason == agent.Exhausted || e.Reason == agent.Guardrail {
		err = s.Store.WithProgressive(ctx, w.Run.Workspace, func(tx Tx) error {
			return tx.SetMark(ctx, w.Run.Conversation, run.Summarize, w.Spec.ToSeq, w.Run.Ref.Run)
		})
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// fallback is a digest that needs no model: who spoke, and how it began. What
// may not be kept of the beginning is left out.
func (s Performer) fallback(ctx context.Context, w converse.Work, a agent.Actor, about []memory.Task) error {
	said, err := s.said(ctx, w)
	if err != nil {
		return err
	}
	who, first := speakers(said)
	for call, text := range []string{fmt.Sprintf("A session of %d messages with %s. It began: %s", len(said), who, first), fmt.Sprintf("A session of %d messages.", len(said))} {
		a.Op = w.Run.Op("finish", call+1)
		if _, err = s.LongTerm.AddSummary(ctx, a, remember.SummaryArgs{Content: text, Targets: about}); err == nil || fault.Table[fault.CodeOf(err)].Retryable || fault.CodeOf(err) == fault.Internal {
			return err
		}
	}
	return nil // a session whose very digest is refused leaves none
}

// firstRunes is how much of a session's first line stands in its digest.
const firstRunes = 200

func speakers(said []transcript.Message) (who, first string) {
	var names []string
	for _, m := range said {
		name := m.Name
		if name == "" || m.Role == transcript.Tool {
			name = string(m.Role)
		}
		if !slices.Contains(names, name) && len(names) < 5 {
			names = append(names, name)
		}
		if first == "" && m.Role == transcript.User && strings.TrimSpace(m.Content) != "" {
			first, _, _ = strings.Cut(strings.TrimSpace(m.Content), "\n")
		}
	}
	return strings.Join(names, ", "), clip(first, firstRunes)
}

func clip(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes-1]) + "…"
}

// tasks are what became of a run's hand-offs.
func (s *Service) tasks(ctx context.Context, of run.Run) (out []Task, err error) {
	err = s.Store.WithProgressive(ctx, of.Workspace, func(tx Tx) error {
		children, err := tx.Children(ctx, of.Ref.Run)
		if err != nil {
			return err
		}
		out = []Task{}
		for _, c := range children {
			t, err := taskOf(c)
			if err != nil {
				return err
			}
			again := func(o Task) bool { return o.Type == t.Type && o.Target == t.Target }
			out = append(slices.DeleteFunc(out, again), t) // a second try takes the place of the first
		}
		return nil
	})
	return out, err
}

func taskOf(r run.Run) (Task, error) {
	_, p, err := pinnedOf(r)
	if err != nil {
		return Task{}, err
	}
	t := Task{Run: r.Ref.Run, Status: Failed, Error: "it did not come to its end", Made: Made{Type: p.Type, Target: p.Target, Added: []string{}, Updated: []string{}, Deleted: []string{}}}
	if r.Status != run.Ended {
		return t, nil
	}
	var e converse.Ended
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return t, fmt.Errorf("decode the result of run %d: %w", r.Ref.Run, err)
	}
	if len(e.Report) > 0 {
		if err := json.Unmarshal(e.Report, &t.Made); err != nil {
			return t, fmt.Errorf("decode the report of run %d: %w", r.Ref.Run, err)
		}
	}
	t.Status, t.Note, t.Error = e.Status, clip(strings.TrimSpace(e.Text), noteRunes), ""
	if t.Status == Failed || t.Status == Partial {
		t.Error = strings.TrimSpace(string(e.Reason) + " " + e.Detail)
	}
	return t, nil
}

// Result makes the report of a run from what its calls came to.
func (s Performer) Result(w converse.Work, finished json.RawMessage, e *converse.Ended) (outcome run.Outcome, err error) {
	done := operations(w.Steps)
	switch w.Run.Kind {
	case run.Specialist:
		e.Report, e.Status, err = specialist(w, done, e)
	case run.Summarize:
		e.Report, e.Status, err = summarised(w, done, finished, e)
	default:
		e.Report, e.Status, err = looked(w, done, e)
	}
	return outcomeOf(e), err
}

func outcomeOf(e *converse.Ended) run.Outcome {
	switch {
	case e.Reason == agent.OverBudget:
		return run.OverBudget
	case e.Reason == agent.Interrupted:
		return run.CancelledOutcome
	case e.Status == Failed:
		return run.Failed
	case e.Status == Partial:
		return run.CompletedPartial
	case e.Status == NoMemory || e.Status == NoRelevant:
		return run.NothingToExtract
	}
	return run.Completed
}

// broken tells that a run was ended from outside.
func broken(r agent.Reason) bool {
	return r == agent.ProviderError || r == agent.Interrupted || r == agent.OverBudget || r == agent.WallClock
}

func specialist(w converse.Work, done []Operation, e *converse.Ended) (json.RawMessage, string, error) {
	p, err := pinned(w)
	if err != nil {
		return nil, "", err
	}
	out := Made{Type: p.Type, Target: p.Target, Added: []string{}, Updated: []string{}, Deleted: []string{}, Operations: done}
	identity := false
	for _, o := range done {
		switch o.Status {
		case remember.Added:
			out.Added = append(out.Added, o.ID)
		case remember.Updated, remember.Merged, remember.Replaced:
			if o.ID != "" {
				out.Updated = append(out.Updated, o.ID)
			}
			identity = identity || o.Tool == "update_identity_memory"
		case remember.Deleted:
			out.Deleted = append(out.Deleted, o.ID)
		}
	}
	wrote := identity || len(out.Added)+len(out.Updated)+len(out.Deleted) > 0
	status := OK
	switch {
	case broken(e.Reason) && !wrote:
		status = Failed
	case e.Reason != agent.Final:
		status = Partial
	case !wrote:
		status = NoMemory
	}
	raw, err := json.Marshal(out)
	return raw, status, err
}

func summarised(w converse.Work, done []Operation, finished json.RawMessage, e *converse.Ended) (json.RawMessage, string, error) {
	out := Summary{}
	if err := json.Unmarshal(finished, &out); err != nil {
		return nil, "", fmt.Errorf("decode what was finished of run %d: %w", w.Run.Ref.Run, err)
	}
	out.Operations, out.MetaAdded = done, registered(w.Steps)
	if out.Tasks == nil {
		out.Tasks = []Task{}
	}
	status, worked := OK, 0
	for _, t := range out.Tasks {
		if t.Status == Failed || t.Status == Partial {
			status = Partial
		}
		if t.Status != Failed {
			worked++
		}
	}
	switch {
	case broken(e.Reason) && worked == 0:
		status = Failed
	case e.Reason != agent.Final:
		status = Partial
	case len(out.Tasks) == 0 && strings.Contains(e.Text, NoMemoryNeeded):
		status = NoMemory
	}
	raw, err := json.Marshal(out)
	return raw, status, err
}

func looked(w converse.Work, done []Operation, e *converse.Ended) (json.RawMessage, string, error) {
	out := Looked{IDs: []string{}, Sessions: []string{}, Operations: done}
	for _, s := range w.Steps {
		for _, c := range s.Calls {
			var r struct {
				IDs      []string `json:"memory_ids"`
				Sessions []struct {
					ID     string `json:"memory_id"`
					Status string `json:"status"`
				} `json:"sessions"`
			}
			_ = json.Unmarshal([]byte(c.Result), &r) // what is no such result has found nothing
			for _, id := range r.IDs {
				if !slices.Contains(out.IDs, id) {
					out.IDs = append(out.IDs, id)
				}
			}
			for _, one := range r.Sessions {
				if one.Status != remember.Failed {
					out.Sessions = append(out.Sessions, one.ID)
				}
			}
		}
	}
	status := OK
	switch {
	case broken(e.Reason):
		status = Failed
	case strings.Contains(e.Text, NoRetrievalNeeded):
		status = NoRetrieval
	case strings.Contains(e.Text, NoRelevantMemory):
		status = NoRelevant
	case e.Reason != agent.Final:
		status = Partial
	}
	raw, err := json.Marshal(out)
	return raw, status, err
}

// operations reads what calls did from what they were answered with.
func operations(steps []converse.Step) []Operation {
	out := []Operation{}
	for _, s := range steps {
		for _, c := range s.Calls {
			if c.Tool == tools.Think || c.Tool == "hands_off" {
				continue
			}
			var r struct {
				OK    bool `json:"ok"`
				Error struct{ Message string }
				Items []remember.Item `json:"items"`
				Text  string          `json:"text"`
			}
			if json.Unmarshal([]byte(c.Result), &r) != nil || !r.OK {
				out = append(out, Operation{Tool: c.Tool, Status: remember.Failed, Code: fault.Code(c.Code), Message: r.Error.Message})
				continue
			}
			for _, i := range r.Items {
				out = append(out, Operation{Tool: c.Tool, Status: i.Status, ID: i.ID, Code: i.Code, Message: i.Message})
			}
			if c.Tool == "update_identity_memory" && strings.HasPrefix(r.Text, remember.Updated) {
				out = append(out, Operation{Tool: c.Tool, Status: remember.Updated})
			}
		}
	}
	return out
}

// registered are the targets that the run has added.
func registered(steps []converse.Step) []memory.Task {
	out := []memory.Task{}
	for _, s := range steps {
		for _, c := range s.Calls {
			var r struct {
				OK      bool                        `json:"ok"`
				Targets []remember.RegisteredTarget `json:"targets"`
			}
			if json.Unmarshal([]byte(c.Result), &r) != nil || !r.OK {
				continue
			}
			for _, t := range r.Targets {
				if t.Status == remember.Added {
					out = append(out, t.Target)
				}
			}
		}
	}
	return out
}
