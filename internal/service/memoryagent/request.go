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
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/longterm"
)

// Request asks for a session to be summarised: messages, a text, or trajectories
// of an agent, one of the three.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // the caller's id of the request; empty takes it from the content
	Messages     []transcript.Message
	Query        string // a text to be remembered; it wins over messages
	Trajectories []Trajectory
	Targets      []memory.Task // registered before the agent begins
	KnownOnly    bool          // the agent registers no targets of its own
	Choices      RequestOptions
	Metadata     map[string]any // facts about the session, given back with its report
	Fresh        bool           // do it again although the request was made before, and pay again
	Spec         agentrun.Spec  // configuration to pin
}

// Trajectory is one attempt of an agent at a task.
type Trajectory struct {
	Task     string // id or name, for those who compare attempts
	Score    *float64
	Metadata memory.Metadata // facts about it that its messages do not say
	Messages []transcript.Message
}

// mostMetadata bounds what is kept beside a session, in bytes of JSON.
const mostMetadata = 8 << 10

// importChannel is the channel of sessions that are handed in as a whole.
const importChannel = "import"

// session is the request's messages as one session.
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
	out = memory.Said(out)
	switch n := len(out); {
	case n == 0:
		return nil, fault.New(fault.InvalidArgument, "there is nothing to summarise",
			"send messages, a query or trajectories")
	case n > longterm.SessionMessages:
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("the session has %d messages, at most %d are taken at once", n, longterm.SessionMessages),
			"send it in parts")
	}
	return numbered(out), nil
}

// trajectory is the name under which a heading stands.
const trajectory = "trajectory"

// attempts are trajectories as one thread, each under its heading.
func attempts(all []Trajectory) (out []transcript.Message) {
	for i, t := range all {
		out = append(out, transcript.Message{Role: transcript.User, Name: trajectory, Content: heading(i+1, t)})
		out = append(out, t.Messages...)
	}
	return out
}

// numbered gives messages of several threads places in one.
func numbered(messages []transcript.Message) []transcript.Message {
	for i := range messages {
		messages[i].Seq, messages[i].ID = i, ""
	}
	return messages
}

func checkMetadata(facts map[string]any) error {
	if raw, err := json.Marshal(facts); err != nil || len(raw) > mostMetadata {
		return fault.New(fault.TooLarge, fmt.Sprintf("the metadata is larger than %d bytes", mostMetadata),
			"send what memory is to be made of as messages")
	}
	return nil
}

// heading says of which attempt the messages that follow are, and how it went:
// what made the difference is what is to be learnt.
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

// Summarize makes a session durable with the run that makes memories of it, and
// has its workflow started. The same request gives the same run.
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
	args, err := json.Marshal(struct {
		Messages  []transcript.Message
		Targets   []memory.Task
		KnownOnly bool
		Choices   *RequestOptions `json:",omitempty"`
		Metadata  map[string]any  `json:",omitempty"`
	}{messages, r.Targets, r.KnownOnly, r.Choices.orNil(), r.Metadata})
	if err != nil {
		return out, fmt.Errorf("encode the request: %w", err)
	}
	sha := sha256.Sum256(args)
	if r.ID == "" {
		r.ID = fmt.Sprintf("%x", sha[:10])
	}
	sum, err := memory.HistorySum(r.Workspace, messages)
	if err != nil {
		return out, err
	}
	conversation := transcript.Conversation{ID: "session/" + memory.HistoryID(sum, 0), Messages: messages}
	err = s.Store.WithProgressive(ctx, r.Workspace, func(ctx context.Context, tx Tx) error {
		before, found, err := tx.Runs().RunOf(ctx, run.Summarize, r.ID)
		if err != nil {
			return err
		}
		if found && before.ArgsSHA != sha {
			return fault.New(fault.OpReused, fmt.Sprintf("request %q was made before for other messages or options",
				r.ID), "use another request id")
		}
		if found && !r.Fresh {
			out = before
			return nil
		}
		id, err := tx.Transcripts().PutConversation(ctx, conversation, importChannel)
		if err != nil {
			return err
		}
		out, err = s.accept(ctx, tx, r, id, messages,
			NewRun{Kind: run.Summarize, Key: r.ID, Generation: before.Generation + 1, ArgsSHA: sha, Conversation: id,
				WorkflowID: contract.SummarizeID(r.WorkspaceKey, contract.VisibleKey(r.ID), before.Generation+1)},
			false)
		return err
	})
	if err == nil && out.Status != run.Ended {
		s.start(ctx, r.WorkspaceKey, out)
	}
	return out, err
}

// accept records a run over messages of a conversation, with the duty to drive it.
func (s *Service) accept(ctx context.Context, tx Tx, r Request, conversation int64, messages []transcript.Message,
	n NewRun, idle bool) (out run.Run, err error) {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil {
		return out, err
	}
	d, err := s.Registry.chosen(run.Summarize, "", chosen.Memory, r.Choices.over)
	if err != nil {
		return out, err
	}
	d = r.Choices.agent(d)
	if r.KnownOnly {
		d.Profile.Names = slices.DeleteFunc(d.Profile.Names, func(name string) bool {
			return name == "add_meta_memory"
		})
	}
	spec := r.Spec
	spec.Lang = lang.OfMessages(messages)
	spec.FromSeq, spec.ToSeq = messages[0].Seq, messages[len(messages)-1].Seq
	spec.Tainted = slices.ContainsFunc(messages, func(m transcript.Message) bool {
		return m.Role == transcript.Tool && len(guard.Scan(m.Content, guard.Context)) > 0
	})
	p := PinnedSpec{Workspace: r.WorkspaceKey, Targets: r.Targets, Idle: idle, Choices: r.Choices.orNil(),
		Metadata: r.Metadata, Parts: divide(messages, spec.Limits.ResultChars, partTokens(spec.Limits))}
	if n := p.parts(run.Summarize); n > 1 { // each has the time and the responses of a session
		d.Steps, d.Wall = d.Steps*n, d.Wall*time.Duration(n)
	}
	if spec, err = pin(spec, d, p, chosen.Memory); err != nil {
		return out, err
	}
	if n.Spec, err = json.Marshal(spec); err != nil {
		return out, fmt.Errorf("encode the configuration: %w", err)
	}
	if out, err = tx.Runs().PutAgentRun(ctx, n); err != nil || out.Status == run.Ended {
		return out, err
	}
	return out, tx.Runs().EnqueueRun(ctx, out.Ref.Run)
}

// start saves the wait for the relay, which starts what this could not.
func (s *Service) start(ctx context.Context, workspaceKey string, r run.Run) {
	if s.Starter != nil {
		_ = s.Starter.Start(ctx, workspaceKey, importChannel, r) // the relay notes what is wrong
	}
}
