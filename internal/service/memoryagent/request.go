package memoryagent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Request is a request to summarize a session. The session is a list of messages, a text, or
// trajectories of an agent.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // request ID of the caller; empty derives it from the content
	ByID         bool   // the ID alone identifies the request, because the conversation may have grown since
	Messages     []transcript.Message
	Query        string // text to remember; replaces the messages
	Trajectories []Trajectory
	Targets      []memory.Task // registered before the agent starts
	KnownOnly    bool          // the agent cannot register targets
	Choices      RequestOptions
	Metadata     map[string]any // returned with the report
	Fresh        bool           // run the request again, even if it has a run
	Add          string         // auto, fast or agents; empty means the setting of the workspace
	Spec         agentrun.Spec  // configuration to pin
	Bulk         bool           // of a batch, which is limited by its bytes and not by the number of open adds
}

// Trajectory is one attempt of an agent at a task.
type Trajectory struct {
	Task     string // ID or name; groups attempts
	Score    *float64
	Metadata memory.Metadata // additional facts about the attempt
	Messages []transcript.Message
}

// maxMetadata is the maximum size of the metadata of a session, in bytes of JSON.
const maxMetadata = 8 << 10

// importChannel is the channel of sessions that are sent as a whole.
const importChannel = "import"

// session returns the messages of the request as one session.
func (r Request) session() ([]transcript.Message, error) {
	var out []transcript.Message
	switch {
	case strings.TrimSpace(r.Query) != "":
		out = []transcript.Message{{Role: transcript.User, Content: strings.TrimSpace(r.Query)}}
	case len(r.Trajectories) > 0:
		out = attempts(r.Trajectories)
	default:
		out = slices.Clone(r.Messages)
	}
	out = memory.Dialogue(out)
	switch n := len(out); {
	case n == 0:
		return nil, fault.New(fault.InvalidArgument, "request has no messages",
			"send messages, a query or trajectories")
	case n > memories.SessionMessages:
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("session has %d messages, want at most %d", n, memories.SessionMessages),
			"split it into several requests")
	}
	return numbered(out), nil
}

// trajectory is the message name of a heading.
const trajectory = "trajectory"

// attempts joins trajectories into one session, each with a heading.
func attempts(all []Trajectory) (out []transcript.Message) {
	for i, t := range all {
		out = append(out, transcript.Message{Role: transcript.User, Name: trajectory, Content: heading(i+1, t)})
		out = append(out, t.Messages...)
	}
	return out
}

// numbered assigns consecutive sequence numbers to the messages of several threads.
func numbered(messages []transcript.Message) []transcript.Message {
	for i := range messages {
		messages[i].Seq, messages[i].ID = i, ""
	}
	return messages
}

func checkMetadata(facts map[string]any) error {
	if raw, err := json.Marshal(facts); err != nil || len(raw) > maxMetadata {
		return fault.New(fault.TooLarge, fmt.Sprintf("metadata is larger than %d bytes", maxMetadata),
			"send text to remember as messages")
	}
	return nil
}

// heading returns the heading of a trajectory, with its task and score. The differences between
// attempts are what agents learn from.
func heading(n int, t Trajectory) string {
	text := fmt.Sprintf("Trajectory %d", n)
	if t.Task != "" {
		text += fmt.Sprintf(" of task %q", t.Task)
	}
	if t.Score != nil {
		text += fmt.Sprintf(", score %g", *t.Score)
	}
	if facts := t.Metadata.Text(); facts != "" {
		text += ", " + facts
	}
	return text
}

// Summarize stores a session and its run, and starts the workflow. The same request returns the
// same run.
func (s *Service) Summarize(ctx context.Context, r Request) (out run.Run, err error) {
	messages, err := r.session()
	if err != nil {
		return out, err
	}
	if err := r.Choices.check(memory.HandOffTypes); err != nil {
		return out, err
	}
	if err := checkMetadata(r.Metadata); err != nil {
		return out, err
	}
	sha, err := r.identify(messages)
	if err != nil {
		return out, err
	}
	sum, err := memory.HistorySum(r.Workspace, messages)
	if err != nil {
		return out, err
	}
	conversation := transcript.Conversation{ID: "session/" + memory.HistoryID(sum, 0), Messages: messages}
	err = s.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		before, found, err := tx.Runs().RunOf(ctx, run.Summarize, r.ID)
		if err != nil {
			return err
		}
		if found && before.ArgsSHA != sha {
			return fault.New(fault.OpReused, fmt.Sprintf("request ID %q was used with other messages or options",
				r.ID), "use a new request ID")
		}
		if found && !r.Fresh {
			out = before
			return nil
		}
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		if !r.Bulk {
			if err := s.admit(ctx, tx, chosen.Memory); err != nil {
				return err
			}
		}
		id, err := tx.Transcripts().PutConversation(ctx, conversation, importChannel)
		if err != nil {
			return err
		}
		out, err = s.accept(ctx, tx, r, chosen.Memory, messages,
			run.NewAgentRun{Kind: run.Summarize, Key: r.ID, Generation: before.Generation + 1, ArgsSHA: sha,
				Conversation: id,
				WorkflowID:   contract.SummarizeID(r.WorkspaceKey, contract.VisibleKey(r.ID), before.Generation+1)},
			false)
		return err
	})
	if err == nil && out.Status != run.Ended {
		s.start(ctx, r.WorkspaceKey, out)
	}
	return out, err
}

// identify returns the hash of the request, and sets its ID if it has none.
func (r *Request) identify(messages []transcript.Message) (sha [sha256.Size]byte, err error) {
	args, err := json.Marshal(struct {
		Messages  []transcript.Message
		Targets   []memory.Task
		KnownOnly bool
		Choices   *RequestOptions `json:",omitempty"`
		Metadata  map[string]any  `json:",omitempty"`
		Add       string          `json:",omitempty"`
	}{transcript.WithoutPlaces(messages), r.Targets, r.KnownOnly, r.Choices.orNil(), r.Metadata, r.Add})
	if err != nil {
		return sha, fmt.Errorf("encode the request: %w", err)
	}
	if r.ByID {
		args = []byte(r.ID)
	}
	sha = sha256.Sum256(args)
	if r.ID == "" {
		r.ID = fmt.Sprintf("%x", sha[:10])
	}
	return sha, nil
}

// accept records a run for messages of a conversation, and the outbox task that starts its
// workflow.
func (s *Service) accept(ctx context.Context, tx store.Tx, r Request, chosen settings.LongTerm,
	messages []transcript.Message, n run.NewAgentRun, idle bool) (out run.Run, err error) {
	subject, fast, err := r.fast(chosen, messages)
	if err != nil {
		return out, err
	}
	if fast {
		n, err = r.fastRun(n, subject, messages, idle)
	} else {
		n, err = s.agentsRun(n, r, chosen, messages, idle)
	}
	if err != nil {
		return out, err
	}
	if out, err = tx.AgentRuns().PutAgentRun(ctx, n); err != nil || out.Status == run.Ended {
		return out, err
	}
	return out, tx.Runs().EnqueueRun(ctx, out.Ref.Run)
}

// agentsRun completes a run of the summarizer.
func (s *Service) agentsRun(n run.NewAgentRun, r Request, chosen settings.LongTerm, messages []transcript.Message,
	idle bool) (out run.NewAgentRun, err error) {
	d, err := s.Registry.chosen(run.Summarize, "", chosen, r.Choices.over)
	if err != nil {
		return n, err
	}
	d = r.Choices.agent(d)
	if r.KnownOnly {
		d.Profile.Names = slices.DeleteFunc(d.Profile.Names, func(name string) bool {
			return name == "add_meta_memory"
		})
	}
	spec := r.specOf(messages)
	p := PinnedSpec{Workspace: r.WorkspaceKey, Targets: r.Targets, Idle: idle, Choices: r.Choices.orNil(),
		Metadata: r.Metadata, Parts: divide(messages, spec.Limits.ResultChars, partTokens(spec.Limits))}
	if n := p.parts(run.Summarize); n > 1 { // each part has the time and the responses of a session
		d.Calls, d.Wall = d.Calls*n, d.Wall*time.Duration(n)
	}
	if spec, err = pin(spec, d, p, chosen); err != nil {
		return n, err
	}
	if n.Spec, err = json.Marshal(spec); err != nil {
		return n, fmt.Errorf("encode the configuration: %w", err)
	}
	return n, nil
}

// specOf returns the configuration of a run about messages.
func (r Request) specOf(messages []transcript.Message) agentrun.Spec {
	spec := r.Spec
	spec.Lang = lang.OfMessages(messages)
	spec.FromSeq, spec.ToSeq = messages[0].Seq, messages[len(messages)-1].Seq
	spec.Tainted = slices.ContainsFunc(messages, func(m transcript.Message) bool {
		return m.Role == transcript.Tool && len(guard.Scan(m.Content, guard.Context)) > 0
	})
	return spec
}

// start starts the workflow without waiting for the relay. If it fails, the relay starts the
// workflow.
func (s *Service) start(ctx context.Context, workspaceKey string, r run.Run) {
	if s.Starter != nil {
		_ = s.Starter.Start(ctx, workspaceKey, importChannel, r) // the relay retries and logs errors
	}
}
