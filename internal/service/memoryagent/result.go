package memoryagent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Statuses of runs and tasks.
const (
	OK       = "ok"
	NoMemory = "no_memory" // nothing to remember
	Partial  = "partial"   // incomplete
	Failed   = "failed"

	NoRetrieval = "no_retrieval_needed" // the question does not need memory
	NoRelevant  = "no_relevant_memory"
)

// Markers that agents write if there is nothing to report.
const (
	NoMemoryNeeded    = "<NO_MEMORY_NEEDED>"
	NoRetrievalNeeded = "<NO_RETRIEVAL_NEEDED>"
	NoRelevantMemory  = "<NO_RELEVANT_MEMORY>"
)

// noteRunes is the maximum length of a specialist's note for its parent, in runes.
const noteRunes = 200

// SpecialistReport is the result of a specialist run.
type SpecialistReport struct {
	Type       memory.Type `json:"memory_type"`
	Target     string      `json:"memory_target"`
	Added      []string    `json:"added"`
	Updated    []string    `json:"updated"`
	Deleted    []string    `json:"deleted"`
	Operations []Operation `json:"operations"`
}

// Task is the result of one hand-off.
type Task struct {
	SpecialistReport
	Run    string `json:"run"`
	Part   int    `json:"part,omitempty"` // of a long session, from 1
	Status string `json:"status"`
	Note   string `json:"note,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Summary is the result of a summarizer run.
type Summary struct {
	History   string        `json:"ref_memory_id"`
	MetaAdded []memory.Task `json:"meta_added"`
	Digest    string        `json:"summary_id,omitempty"`
	// The summary was written without a model, because the agent wrote none.
	Fallback   bool        `json:"fallback,omitempty"`
	Tasks      []Task      `json:"tasks"`
	Operations []Operation `json:"operations"`
	Parts      int         `json:"parts,omitempty"` // number of parts of a long session

	// Fields of a session that one model call has added.
	Joined  int            `json:"joined,omitempty"`   // number of sessions of the call, if it has several
	CallRun string         `json:"call_run,omitempty"` // run with the call in its ledger, if it is another
	Dropped map[string]int `json:"dropped,omitempty"`  // facts that were not stored, by reason
}

// RetrievalReport is the result of a retriever run.
type RetrievalReport struct {
	IDs        []string      `json:"memory_ids"`
	Sessions   []string      `json:"sessions"`
	Operations []Operation   `json:"operations"`
	Refined    *RefineReport `json:"refined,omitempty"` // of a fast search with refinement
}

// tasks returns the results of the hand-offs of a run.
func (s *Service) tasks(ctx context.Context, of run.Run) (out []Task, err error) {
	err = s.Store.InWorkspace(ctx, of.Workspace, func(ctx context.Context, tx store.Tx) error {
		children, err := tx.AgentRuns().Children(ctx, of.Ref.Run)
		if err != nil {
			return err
		}
		out = []Task{}
		for _, c := range children {
			t, err := taskOf(c)
			if err != nil {
				return err
			}
			again := func(o Task) bool { return o.Type == t.Type && o.Target == t.Target && o.Part == t.Part }
			out = append(slices.DeleteFunc(out, again), t) // a second try replaces the first
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
	t := Task{Run: r.Ref.Run, Part: p.Part, Status: Failed, Error: "the run did not finish",
		SpecialistReport: SpecialistReport{Type: p.Type, Target: p.Target, Added: []string{}, Updated: []string{},
			Deleted: []string{}}}
	if r.Status != run.Ended {
		return t, nil
	}
	var e run.Result
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return t, fmt.Errorf("decode the result of run %s: %w", r.Ref.Run, err)
	}
	if len(e.Report) > 0 {
		if err := json.Unmarshal(e.Report, &t.SpecialistReport); err != nil {
			return t, fmt.Errorf("decode the report of run %s: %w", r.Ref.Run, err)
		}
	}
	t.Status, t.Note, t.Error = e.Status, clip(strings.TrimSpace(e.Text), noteRunes), ""
	if t.Status == Failed || t.Status == Partial {
		t.Error = strings.TrimSpace(string(e.Reason) + " " + e.Detail)
	}
	return t, nil
}

// Result builds the report of a run from the results of its tool calls.
func (s AgentHooks) Result(w agentrun.RunView, finished json.RawMessage, e *run.Result) (outcome run.Outcome,
	err error) {
	done := operations(w.Steps)
	switch w.Run.Kind {
	case run.Specialist:
		e.Report, e.Status, err = specialist(w, done, e)
	case run.Summarize:
		e.Report, e.Status, err = summarized(w, done, finished, e)
	default:
		e.Report, e.Status, err = retrieved(w, done, e)
	}
	return outcomeOf(e), err
}

func outcomeOf(e *run.Result) run.Outcome {
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

// broken reports whether a run was ended by a failure or a limit.
func broken(r agent.Reason) bool {
	return r == agent.ProviderError || r == agent.Interrupted || r == agent.OverBudget || r == agent.WallClock ||
		r == agent.Lost
}

func specialist(w agentrun.RunView, done []Operation, e *run.Result) (json.RawMessage, string, error) {
	p, err := pinned(w)
	if err != nil {
		return nil, "", err
	}
	out := SpecialistReport{Type: p.Type, Target: p.Target, Added: []string{}, Updated: []string{}, Deleted: []string{},
		Operations: done}
	identity := false
	for _, o := range done {
		switch o.Status {
		case memories.Added:
			out.Added = append(out.Added, o.ID)
		case memories.Updated, memories.Merged, memories.Replaced:
			if o.ID != "" {
				out.Updated = append(out.Updated, o.ID)
			}
			identity = identity || o.Tool == "update_identity_memory"
		case memories.Deleted:
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

func summarized(w agentrun.RunView, done []Operation, finished json.RawMessage, e *run.Result) (json.RawMessage,
	string, error) {
	out := Summary{}
	if err := json.Unmarshal(finished, &out); err != nil {
		return nil, "", fmt.Errorf("decode the summary of run %s: %w", w.Run.Ref.Run, err)
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

func retrieved(w agentrun.RunView, done []Operation, e *run.Result) (json.RawMessage, string, error) {
	out := RetrievalReport{IDs: []string{}, Sessions: []string{}, Operations: done}
	for _, s := range w.Steps {
		for _, c := range s.Calls {
			var r struct {
				IDs      []string `json:"memory_ids"`
				Sessions []struct {
					ID     string `json:"memory_id"`
					Status string `json:"status"`
				} `json:"sessions"`
			}
			_ = json.Unmarshal([]byte(c.Result), &r) // other results contain no memories
			for _, id := range r.IDs {
				if !slices.Contains(out.IDs, id) {
					out.IDs = append(out.IDs, id)
				}
			}
			for _, one := range r.Sessions {
				if one.Status != memories.Failed {
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
