// Package profiles measures how the agents of long-term memory work with other
// names of tools, other ways to think and one or several items in a call: what
// each way costs in calls and tokens, and what comes of it. The conversation and
// the questions are made for it. With the offline rules, which keep what users say
// plainly of themselves, a measurement tells what the rounds cost and that each way
// remembers and answers; how well a model does with it they do not tell.
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
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/curate"
	"cairn/internal/service/memoryagent"
)

// Profile is one way for all agents of a workspace to work.
type Profile struct {
	Tools    string `json:"tools"`    // usual or typed
	Thinking string `json:"thinking"` // native, none, param or tool
	Calls    string `json:"calls"`    // multiple or single; typed tools take one item anyway
}

// Name is the name of a profile in reports.
func (p Profile) Name() string { return p.Tools + "/" + p.Thinking + "/" + p.Calls }

// All are the ways that differ.
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

// Named are those of All that are named; none names all of them.
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
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no profile %q", name),
				"use some of "+strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Row is what came of one profile.
type Row struct {
	Profile
	ModelCalls int     `json:"model_calls"`
	Tokens     int64   `json:"tokens"`     // in and out, as the endpoint counts them
	ToolCalls  int     `json:"tool_calls"` // of the session's agents, and of those that answer
	Failed     int     `json:"failed_tool_calls"`
	Memories   int     `json:"memories"` // made
	Status     string  `json:"status"`   // of the session: ok, no_memory, partial or failed
	Answered   int     `json:"answered"` // questions whose memories or answer hold what is asked for
	Questions  int     `json:"questions"`
	Seconds    float64 `json:"seconds"`
}

// session is what was said, and questions are asked about it.
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

// Workspaces are where profiles are measured, each in one of its own.
type Workspaces interface {
	// MakeWorkspace makes a workspace whose agents work as modes say.
	MakeWorkspace(ctx context.Context, name string, modes settings.Modes) (id int64, key string, err error)
	// Insights tells what the workspace used within some days up to now.
	Insights(ctx context.Context, ws int64, days int) (curate.Insights, error)
	// ToolCalls counts the calls of tools in all runs of the workspace.
	ToolCalls(ctx context.Context, ws int64) (all, failed int, err error)
}

// Agents are those of long-term memory.
type Agents interface {
	Summarize(ctx context.Context, r memoryagent.Request) (run.Run, error)
	Report(ctx context.Context, ref run.Ref) (memoryagent.Report, error)
	Retrieve(ctx context.Context, q memoryagent.Question) (memoryagent.Answer, error)
}

// Cairn is what is measured.
type Cairn struct {
	Workspaces Workspaces
	Agents     Agents
	Wait       func(ctx context.Context, workflowID string) error // until a workflow has ended
	Spec       agentrun.Spec                                      // of every run
}

// Measure has each profile remember the session and answer the questions, in a
// workspace of its own.
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
		said := a.Text
		for _, m := range a.Memories {
			said += "\n" + m.Content
		}
		if strings.Contains(strings.ToLower(said), strings.ToLower(q.want)) {
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

// remember has the session remembered and waits for what comes of it.
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
