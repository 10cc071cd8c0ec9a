package memoryagent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Modes of retrieval.
const (
	Fast    = "fast"    // one search; needs neither model nor Temporal
	Agentic = "agentic" // an agent searches, reads and replies
	Auto    = "auto"    // fast; agentic if the results are insufficient
)

// Question is a request to retrieve memories.
type Question struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // request ID of the caller; empty creates one
	Query        string
	Messages     []transcript.Message // messages before the question
	Trajectories []Trajectory         // attempts at the task of the question; precede Messages
	Metadata     map[string]any       // returned with the answer
	Mode         string               // empty means Auto
	Targets      []memory.Task        // targets of a fast search; empty for all
	TimeFilter   string               // of a fast search: YYYYMMDD, or YYYYMMDD,YYYYMMDD with both days included
	Choices      RequestOptions
	Refine       Refine        // processing of the results of a fast search
	TopK         int           // maximum number of memories; 0 means 20, or 5 with Refine
	Spec         agentrun.Spec // configuration to pin
	Begun        func(run.Ref) // called at most once with the stored run; may be nil
}

// Found is a memory or a skill that matches a question.
type Found struct {
	ID        string      `json:"memory_id"`
	Type      memory.Type `json:"memory_type"`
	Target    string      `json:"memory_target,omitempty"`
	WhenToUse string      `json:"when_to_use,omitempty"`
	Content   string      `json:"content"`
	Score     float64     `json:"score,omitempty"`        // fast search only
	Relevance *float64    `json:"rerank_score,omitempty"` // score of a model, 0 to 1
	EventTime *time.Time  `json:"event_time,omitempty"`
	UpdatedAt time.Time   `json:"updated_at"`
	History   string      `json:"ref_memory_id,omitempty"` // session from which it was last extracted
	// what it said before changes that ended it, the earliest first
	Earlier []memory.Earlier `json:"earlier,omitempty"`

	// Fields of skills. Their type is SkillMemory and their ID is their name.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Version     int    `json:"version,omitempty"`
	View        string `json:"view,omitempty"` // API path of the complete skill
}

// Answer is the result of a question.
type Answer struct {
	Mode     string   `json:"mode"`   // fast or agentic
	Status   string   `json:"status"` // ok no_retrieval_needed no_relevant_memory partial failed
	Text     string   `json:"text,omitempty"`
	Memories []Found  `json:"memories"`
	Turns    []Turn   `json:"turns,omitempty"`    // of conversations, if no memory matches
	Sessions []string `json:"sessions,omitempty"` // transcripts that the agent read
	Run      string   `json:"run,omitempty"`
	Note     string   `json:"note,omitempty"` // why another mode was used, or turns instead of memories

	Metadata map[string]any `json:"metadata,omitempty"` // as sent with the question

	sure bool // the best result of a fast search is clearly relevant
}

// Conditions under which mode Auto accepts the results of a fast search: enough memories, and a
// best one with a high score and a similar vector. The first result by words has a score of at
// least 1.7.
const (
	enoughFound = 3
	sureScore   = 1.5
	sureCosine  = 0.3
)

// minTime is the minimum time of an agent. With less time left, fast results are returned.
const minTime = 10 * time.Second

// questionTypes are the types that a question can select.
var questionTypes = append(slices.Clone(memory.HandOffTypes), memory.Summary, skill.MemoryType)

// complete sets defaults and validates the question.
func (q Question) complete() (Question, error) {
	tried := attempts(q.Trajectories)
	q.Query = cmp.Or(strings.TrimSpace(q.Query), asked(q.Messages), asked(tried))
	if len(tried) > 0 {
		q.Messages, q.Trajectories = numbered(slices.Concat(tried, q.Messages)), nil
	}
	if q.Mode == "" {
		q.Mode = Auto
	}
	if q.TopK == 0 {
		q.TopK = memories.UsualTopK
		if q.Refine.any() {
			q.TopK = refinedTopK
		}
	}
	if err := memories.CheckQuery(q.Query); err != nil {
		return q, err
	}
	switch {
	case !slices.Contains([]string{Fast, Agentic, Auto}, q.Mode):
		return q, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid mode %q", q.Mode),
			"use \"fast\", \"agentic\" or \"auto\"")
	case q.TopK < 1 || q.TopK > memories.MaxTopK:
		return q, fault.Newf(fault.InvalidArgument, "invalid top_k %d: must be 1 to %d", q.TopK, memories.MaxTopK)
	}
	if err := checkMetadata(q.Metadata); err != nil {
		return q, err
	}
	if err := q.Choices.check(questionTypes); err != nil {
		return q, err
	}
	return q.checkFast()
}

// asked returns the last user message, which is the question of a conversation.
func asked(messages []transcript.Message) string {
	for _, m := range slices.Backward(messages) {
		if text := strings.TrimSpace(m.Content); m.FromHuman() && text != "" && m.Name != trajectory {
			return clip(text, memories.QueryRunes)
		}
	}
	return ""
}

// Retrieve answers a question from memory. If the model or Temporal fails, it returns the results
// of a fast search with a note.
func (s *Service) Retrieve(ctx context.Context, q Question) (Answer, error) {
	q, err := q.complete()
	if err != nil {
		return Answer{}, err
	}
	out, err := s.retrieve(ctx, q)
	out.Metadata = q.Metadata
	if err == nil && s.OnNoAnswer != nil && len(out.Memories) == 0 && out.Status != NoRetrieval {
		err = s.OnNoAnswer(context.WithoutCancel(ctx), q, out)
	}
	if err != nil {
		return out, err
	}
	return s.withTurns(ctx, q.Workspace, q.Query, q.turns(), out)
}

func (s *Service) retrieve(ctx context.Context, q Question) (_ Answer, err error) {
	var fast Answer
	if q.Mode != Agentic {
		if fast, err = s.fast(ctx, q); err != nil {
			return fast, err
		}
		if q.Mode == Fast || len(fast.Memories) >= min(enoughFound, q.TopK) && fast.sure || q.skillsOnly() {
			return s.refined(ctx, q, fast)
		}
	}
	if until, bound := ctx.Deadline(); bound && q.Mode == Auto && time.Until(until) < minTime {
		fast = q.narrow(fast)
		fast.Note = "no time left for an agent"
		return fast, nil
	}
	deep, err := s.agentic(ctx, q)
	if err == nil && deep.Status != Failed {
		return deep, nil
	}
	if code := fault.CodeOf(err); err != nil && (code == fault.InvalidArgument || code == fault.OpReused) {
		return deep, err
	}
	// A fast search needs only the database, even if ctx has ended.
	plain := context.WithoutCancel(ctx)
	if q.Mode == Agentic {
		if fast, err = s.fast(plain, q); err != nil {
			return fast, err
		}
	}
	fast = q.narrow(fast)
	fast.Note, fast.Run = "the agent failed", deep.Run
	return fast, nil
}

// agentic answers the question with an agent. If the workspace has no memories, it does not call a
// model.
func (s *Service) agentic(ctx context.Context, q Question) (out Answer, err error) {
	out = Answer{Mode: Agentic, Status: NoRelevant, Memories: []Found{}}
	any := false
	err = s.Store.InWorkspace(ctx, q.Workspace, func(ctx context.Context, tx store.Tx) error {
		any, err = tx.AgentRuns().AnyLongTerm(ctx)
		return err
	})
	if err != nil || !any {
		return out, err
	}
	if s.Starter == nil {
		return out, fault.New(fault.Unavailable, "Temporal is not configured", "use mode \"fast\"")
	}
	r, err := s.ask(ctx, q)
	if err != nil {
		return out, err
	}
	out.Run = r.Ref.Run
	q.begun(r.Ref)
	if r.Status != run.Ended {
		if err := s.Starter.Start(ctx, q.WorkspaceKey, importChannel, r); err != nil {
			return out, err
		}
		if err := s.Starter.Ended(ctx, r.WorkflowID); err != nil {
			return out, err
		}
	}
	return s.answer(ctx, r.Ref)
}

func (q Question) begun(ref run.Ref) {
	if q.Begun != nil {
		q.Begun(ref)
	}
}

// Ask stores a question for an agent and starts its workflow. It does not wait for the answer.
func (s *Service) Ask(ctx context.Context, q Question) (run.Run, error) {
	q, err := q.complete()
	if err != nil {
		return run.Run{}, err
	}
	r, err := s.ask(ctx, q)
	if err == nil && r.Status != run.Ended {
		s.start(ctx, q.WorkspaceKey, r)
	}
	return r, err
}

// Answered returns the answer to a question of Ask. Its Status is empty until the run has ended.
func (s *Service) Answered(ctx context.Context, ref run.Ref) (Answer, error) {
	out, err := s.answer(ctx, ref)
	if err != nil {
		return out, err
	}
	r, err := s.run(ctx, ref)
	if err != nil || r.Status != run.Ended {
		out.Status = ""
		return out, err
	}
	_, p, err := pinnedOf(r)
	if err != nil {
		return out, err
	}
	filter := turnFilter{}
	if p.Turns != nil {
		filter = *p.Turns
	}
	return s.withTurns(ctx, ref.Workspace, p.Question, filter, out)
}

// RequestOf returns the latest run of a summarize or retrieve request.
func (s *Service) RequestOf(ctx context.Context, ws int64, id string) (out run.Run, err error) {
	found := false
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		for _, kind := range []run.Kind{run.Summarize, run.Retrieve} {
			if out, found, err = tx.Runs().RunOf(ctx, kind, id); err != nil || found {
				return err
			}
		}
		return nil
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, fmt.Sprintf("request %q not found", id), "use the request_id of the response")
	}
	return out, err
}

// ask records the run of a question.
func (s *Service) ask(ctx context.Context, q Question) (out run.Run, err error) {
	q.Choices = q.Choices.withoutSkills() // agents search memories only
	args, err := json.Marshal(struct {
		Query    string
		Messages []transcript.Message
		Choices  *RequestOptions `json:",omitempty"`
		Metadata map[string]any  `json:",omitempty"`
		TopK     int
		Turns    *turnFilter `json:",omitempty"`
	}{q.Query, q.Messages, q.Choices.orNil(), q.Metadata, q.TopK, q.turns().orNil()})
	if err != nil {
		return out, fmt.Errorf("encode the question: %w", err)
	}
	sha := sha256.Sum256(args)
	if q.ID == "" { // memory changes, so the same question may be asked again
		q.ID = fmt.Sprintf("%x-%d", sha[:6], time.Now().UnixNano())
	}
	err = s.Store.InWorkspace(ctx, q.Workspace, func(ctx context.Context, tx store.Tx) error {
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		d, err := s.Registry.chosen(run.Retrieve, "", chosen.Memory, q.Choices.over)
		if err != nil {
			return err
		}
		spec := q.Spec
		if spec.Lang == "" {
			spec.Lang = lang.Detect(q.Query)
		}
		d = q.Choices.agent(d)
		d.Profile.Options.TopK = q.TopK
		spec, err = pin(spec, d, PinnedSpec{Workspace: q.WorkspaceKey, Question: q.Query, Turns: q.turns().orNil(),
			Messages: material(q.Messages, spec.Limits.ResultChars, shortTokens), Metadata: q.Metadata}, chosen.Memory)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			return fmt.Errorf("encode the configuration: %w", err)
		}
		out, err = q.put(ctx, tx, sha, raw)
		return err
	})
	return out, err
}

// put records the run of a question, and its outbox task unless the run has ended. The same ID with
// other arguments is refused.
func (q Question) put(ctx context.Context, tx store.Tx, sha [sha256.Size]byte, spec json.RawMessage) (run.Run, error) {
	out, err := tx.AgentRuns().PutAgentRun(ctx,
		run.NewAgentRun{Kind: run.Retrieve, Key: q.ID, Generation: 1, ArgsSHA: sha, Spec: spec,
			WorkflowID: contract.RetrieveID(q.WorkspaceKey, contract.VisibleKey(q.ID), 1)})
	switch {
	case err != nil:
		return out, err
	case out.ArgsSHA != sha:
		return out, fault.New(fault.OpReused, fmt.Sprintf("request ID %q was used with another question", q.ID),
			"use a new request ID")
	case out.Status == run.Ended:
		return out, nil
	}
	return out, tx.Runs().EnqueueRun(ctx, out.Ref.Run)
}

// answer returns the result of an agent run.
func (s *Service) answer(ctx context.Context, ref run.Ref) (Answer, error) {
	out := Answer{Mode: Agentic, Status: Failed, Run: ref.Run, Memories: []Found{}}
	r, err := s.run(ctx, ref)
	if err != nil || r.Status != run.Ended {
		return out, err
	}
	_, p, err := pinnedOf(r)
	if err != nil {
		return out, err
	}
	out.Metadata = p.Metadata
	var e run.Result
	var l RetrievalReport
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", ref.Run, err)
	}
	if err := json.Unmarshal(e.Report, &l); err != nil {
		return out, fmt.Errorf("decode the report of run %s: %w", ref.Run, err)
	}
	if l.Refined != nil {
		return s.refinedAnswer(ctx, r, p, *l.Refined, e)
	}
	entries, err := s.entries(ctx, ref.Workspace, l.IDs)
	if err != nil {
		return out, err
	}
	out.Status, out.Text, out.Sessions = e.Status, e.Text, l.Sessions
	for _, id := range l.IDs {
		if i := slices.IndexFunc(entries, func(e memory.Entry) bool { return e.ID == id }); i >= 0 {
			out.Memories = append(out.Memories, foundOf(entries[i], 0))
		}
	}
	return out, nil
}
