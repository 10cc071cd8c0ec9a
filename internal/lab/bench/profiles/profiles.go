// Package profiles measures the agents of long-term memory with different tool names, ways to
// reason, and numbers of items per call. It reports the calls, tokens and results of each profile.
// The conversation and the questions are synthetic. With the offline rules, which only store plain
// statements, a measurement shows the cost and that each profile works. It does not show the
// quality with a real model.
//
//	rows, err := profiles.Measure(ctx, cairn, profiles.All(), log)
package profiles

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memoryagent"
)

// Profile is one configuration of all agents of a workspace.
type Profile struct {
	Tools    string `json:"tools"`    // usual or typed
	Thinking string `json:"thinking"` // native, none, param or tool
	Calls    string `json:"calls"`    // multiple or single; typed tools always take one item
}

// Name returns the name of a profile in reports.
func (p Profile) Name() string { return p.Tools + "/" + p.Thinking + "/" + p.Calls }

// All returns all distinct profiles.
func All() (out []Profile) {
	for _, shape := range [][2]string{{settings.Usual, settings.MultipleCalls}, {settings.Usual, settings.SingleCalls},
		{settings.Typed, settings.SingleCalls}} {
		for _, thinking := range []string{settings.Native, settings.ThinkNone, settings.ThinkParameter,
			settings.ThinkTool} {
			out = append(out, Profile{Tools: shape[0], Thinking: thinking, Calls: shape[1]})
		}
	}
	return out
}

// Named returns the profiles with the given names. No names means all profiles.
func Named(names []string) (out []Profile, err error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Profile) bool { return p.Name() == name })
		if i < 0 {
			var known []string
			for _, p := range all {
				known = append(known, p.Name())
			}
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid profile %q", name),
				"use one or more of "+strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Row is the result of one profile.
type Row struct {
	Profile
	ModelCalls int     `json:"model_calls"`
	Tokens     int64   `json:"tokens"`     // input and output, as reported by the endpoint
	ToolCalls  int     `json:"tool_calls"` // of the session's agents and of the retrievers
	Failed     int     `json:"failed_tool_calls"`
	Memories   int     `json:"memories"` // number created
	Status     string  `json:"status"`   // of the session: ok, no_memory, partial or failed
	Answered   int     `json:"answered"` // questions whose memories or answer contain the expected text
	Questions  int     `json:"questions"`
	Seconds    float64 `json:"seconds"`
}

// The session of the measurement, and the questions about it.
var (
	session = []transcript.Message{
		{Role: transcript.User,
			Content: "Hi, I'm Mira. I moved to Bergen in March and I always drink my coffee black."},
		{Role: transcript.Assistant, Content: "Welcome to Bergen, Mira! Black coffee it is."},
		{Role: transcript.User, Content: "My sister Tove is allergic to peanuts. Please remember that when we plan " +
			"dinner."},
		{Role: transcript.Assistant, Content: "I will keep peanuts off the menu for Tove."},
		{Role: transcript.User, Content: "When you deploy the shop, first run the migration, then check the health " +
			"page. Last week the deploy failed because the migration came second."},
		{Role: transcript.Assistant, Content: "Understood: migration first, then the health page."},
	}
	questions = []struct{ ask, want string }{
		{"Where does Mira live?", "Bergen"},
		{"What is Tove allergic to?", "peanuts"},
		{"What comes first when the shop is deployed?", "migration"},
	}
)

// Workspaces creates one workspace per profile and reads its usage.
type Workspaces interface {
	// MakeWorkspace creates a workspace whose agents use the modes.
	MakeWorkspace(ctx context.Context, name string, modes settings.Modes) (id int64, key string, err error)
	// Insights returns the usage of a workspace in the last days.
	Insights(ctx context.Context, ws int64, days int) (readmodel.Insights, error)
	// ToolCalls returns the number of tool calls in all runs of a workspace.
	ToolCalls(ctx context.Context, ws int64) (all, failed int, err error)
}

// Agents runs the agents of long-term memory.
type Agents interface {
	Summarize(ctx context.Context, r memoryagent.Request) (run.Run, error)
	Report(ctx context.Context, ref run.Ref) (memoryagent.Report, error)
	Retrieve(ctx context.Context, q memoryagent.Question) (memoryagent.Answer, error)
}

// Cairn contains the services to measure.
type Cairn struct {
	Workspaces Workspaces
	Agents     Agents
	Wait       func(ctx context.Context, workflowID string) error // waits until a workflow has ended
	Spec       agentrun.Spec                                      // configuration of each run
}

// Measure summarizes the session and asks the questions with each profile, each in a new workspace.
// It writes its progress to log.
func Measure(ctx context.Context, in Cairn, of []Profile, log io.Writer) ([]Row, error) {
	var rows []Row
	for _, p := range of {
		fmt.Fprintf(log, "measuring %s\n", p.Name())
		row, err := measure(ctx, in, p)
		if err != nil {
			return rows, fmt.Errorf("measure %s: %w", p.Name(), err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func measure(ctx context.Context, in Cairn, p Profile) (row Row, err error) {
	began := time.Now()
	row = Row{Profile: p, Questions: len(questions)}
	mode := settings.Mode{Profile: p.Tools, Thinking: p.Thinking, Calls: p.Calls}
	modes := settings.Modes{Summarize: mode, Retrieve: mode, Personal: mode, Procedural: mode, Tool: mode,
		Identity: mode}
	ws, key, err := in.Workspaces.MakeWorkspace(ctx, "profile/"+p.Name(), modes)
	if err != nil {
		return row, err
	}
	report, err := remember(ctx, in, ws, key)
	if err != nil {
		return row, err
	}
	row.Status = report.Status
	for _, t := range report.Tasks {
		row.Memories += len(t.Added)
	}
	for i, q := range questions {
		a, err := in.Agents.Retrieve(ctx, memoryagent.Question{Workspace: ws, WorkspaceKey: key, ID: fmt.Sprint("q", i),
			Query: q.ask, Mode: memoryagent.Agentic, Spec: in.Spec})
		if err != nil {
			return row, err
		}
		reply := a.Text
		for _, m := range a.Memories {
			reply += "\n" + m.Content
		}
		if strings.Contains(strings.ToLower(reply), strings.ToLower(q.want)) {
			row.Answered++
		}
	}
	insights, err := in.Workspaces.Insights(ctx, ws, 1)
	if err != nil {
		return row, err
	}
	for _, c := range insights.Runs {
		row.ModelCalls += c.Calls
		row.Tokens += c.Tokens
	}
	row.Seconds = time.Since(began).Seconds()
	row.ToolCalls, row.Failed, err = in.Workspaces.ToolCalls(ctx, ws)
	return row, err
}

// remember summarizes the session and waits for the result.
func remember(ctx context.Context, in Cairn, ws int64, key string) (out memoryagent.Report, err error) {
	r, err := in.Agents.Summarize(ctx, memoryagent.Request{Workspace: ws, WorkspaceKey: key, ID: "session",
		Messages: slices.Clone(session), Spec: in.Spec})
	if err != nil {
		return out, err
	}
	if r.Status != run.Ended {
		if err := in.Wait(ctx, r.WorkflowID); err != nil {
			return out, err
		}
	}
	return in.Agents.Report(ctx, r.Ref)
}
