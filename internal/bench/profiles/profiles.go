// Package profiles measures how the agents of long-term memory work with other
// names of tools, other ways to think and one or several items in a call: what
// each way costs in calls and tokens, and what comes of it. The conversation and
// the questions are made for it. With the offline rules, which keep what users say
// plainly of themselves, a measurement tells what the rounds cost and that each way
// remembers and answers; how well a model does with it they do not tell.
//
//	rows, err := profiles.Measure(ctx, host, profiles.All(), log)
package profiles

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cairn/internal/adapter/postgres"
	"cairn/internal/app"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/memoryagent"
)

// Profile is one way for all agents of a workspace to work.
type Profile struct {
	Tools    string `json:"tools"`    // usual or typed
	Thinking string `json:"thinking"` // native, none, param or tool
	Calls    string `json:"calls"`    // multiple or single; typed tools take one item anyway
}

func (p Profile) Name() string { return p.Tools + "/" + p.Thinking + "/" + p.Calls }

// All are the ways that differ.
func All() (out []Profile) {
	for _, shape := range [][2]string{{settings.Usual, settings.MultipleCalls}, {settings.Usual, settings.SingleCalls}, {settings.Typed, settings.SingleCalls}} {
		for _, thinking := range []string{settings.Native, settings.ThinkNone, settings.ThinkParameter, settings.ThinkTool} {
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
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no profile %q", name), "use some of "+strings.Join(known, ", "))
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
		{Role: transcript.User, Content: "Hi, I'm Mira. I moved to Bergen in March and I always drink my coffee black."},
		{Role: transcript.Assistant, Content: "Welcome to Bergen, Mira! Black coffee it is."},
		{Role: transcript.User, Content: "My sister Tove is allergic to peanuts. Please remember that when we plan dinner."},
		{Role: transcript.Assistant, Content: "I will keep peanuts off the menu for Tove."},
		{Role: transcript.User, Content: "When you deploy the shop, first run the migration, then check the health page. Last week the deploy failed because the migration came second."},
		{Role: transcript.Assistant, Content: "Understood: migration first, then the health page."},
	}
	questions = []struct{ ask, want string }{
		{"Where does Mira live?", "Bergen"},
		{"What is Tove allergic to?", "peanuts"},
		{"What comes first when the shop is deployed?", "migration"},
	}
)

// Measure has each profile remember the session and answer the questions, in a
// workspace of its own.
func Measure(ctx context.Context, h *app.Host, of []Profile, log io.Writer) ([]Row, error) {
	var rows []Row
	for _, p := range of {
		fmt.Fprintf(log, "measuring %s\n", p.Name())
		row, err := measure(ctx, h, p)
		if err != nil {
			return rows, fmt.Errorf("measure %s: %w", p.Name(), err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func measure(ctx context.Context, h *app.Host, p Profile) (row Row, err error) {
	began := time.Now()
	row = Row{Profile: p, Questions: len(questions)}
	ws, err := h.Store.Workspace(ctx, "profile/"+p.Name(), true)
	if err != nil {
		return row, err
	}
	err = h.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error {
		s, err := q.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		mode := settings.Mode{Profile: p.Tools, Thinking: p.Thinking, Calls: p.Calls}
		s.Memory.Modes = settings.Modes{Summarize: mode, Retrieve: mode, Personal: mode, Procedural: mode, Tool: mode, Identity: mode}
		return q.Workspaces().SetSettings(ctx, s)
	})
	if err != nil {
		return row, err
	}
	report, err := remember(ctx, h, ws)
	if err != nil {
		return row, err
	}
	row.Status = report.Status
	for _, t := range report.Tasks {
		row.Memories += len(t.Added)
	}
	for i, q := range questions {
		a, err := h.Progressive.Retrieve(ctx, memoryagent.Question{Workspace: ws.ID, WorkspaceKey: ws.Key, ID: fmt.Sprint("q", i), Query: q.ask, Mode: memoryagent.Agentic, Spec: app.TurnSpec(h.Config)})
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
	insights, err := h.Insights(ctx, ws.ID, 1)
	if err != nil {
		return row, err
	}
	for _, c := range insights.Runs {
		row.ModelCalls += c.Calls
		row.Tokens += c.Tokens
	}
	row.Seconds = time.Since(began).Seconds()
	return row, h.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q postgres.Tx) error { return row.count(ctx, q) })
}

// mostRuns are more than one measurement has.
const mostRuns = 200

// count counts the calls of tools in all runs of the workspace.
func (r *Row) count(ctx context.Context, q postgres.Tx) error {
	runs, err := q.Runs().Runs(ctx, mostRuns)
	if err != nil {
		return err
	}
	for _, one := range runs {
		steps, err := q.Steps().Steps(ctx, one.Run.Ref.Run)
		if err != nil {
			return err
		}
		for _, s := range steps {
			for _, c := range s.Calls {
				r.ToolCalls++
				if c.Code != "" {
					r.Failed++
				}
			}
		}
	}
	return nil
}

// remember has the session remembered and waits for what comes of it.
func remember(ctx context.Context, h *app.Host, ws postgres.Workspace) (out memoryagent.Report, err error) {
	r, err := h.Progressive.Summarize(ctx, memoryagent.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, ID: "session", Messages: slices.Clone(session), Spec: app.TurnSpec(h.Config)})
	if err != nil {
		return out, err
	}
	if r.Status != run.Ended {
		if err := h.Driver.Ended(ctx, r.WorkflowID); err != nil {
			return out, err
		}
	}
	return h.Progressive.Report(ctx, r.Ref)
}
