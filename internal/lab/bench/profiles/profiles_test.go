package profiles_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/bench/profiles"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

func names(all []profiles.Profile) (out []string) {
	for _, p := range all {
		out = append(out, p.Name())
	}
	return out
}

func TestAllProfilesDiffer(t *testing.T) {
	t.Parallel()
	all := profiles.All()
	if distinct := slices.Compact(slices.Sorted(slices.Values(names(all)))); len(distinct) != 12 || len(all) != 12 {
		t.Errorf("%v", names(all))
	}
	for _, p := range all {
		if p.Tools == settings.Typed && p.Calls != settings.SingleCalls {
			t.Errorf("%s: typed tools take one item", p.Name())
		}
	}
}

func TestProfilesAreChosenByName(t *testing.T) {
	t.Parallel()
	chosen, err := profiles.Named([]string{"typed/tool/single", "usual/native/multiple"})
	testkit.Must(t, err)
	if got := names(chosen); !slices.Equal(got, []string{"typed/tool/single", "usual/native/multiple"}) {
		t.Errorf("%v", got)
	}
	all, err := profiles.Named(nil)
	if err != nil || !slices.Equal(names(all), names(profiles.All())) {
		t.Errorf("no names: %v, %v", names(all), err)
	}
	_, err = profiles.Named([]string{"usual/native/multiple", "usual/native"})
	if f := fault.From(err); f == nil || f.Code != fault.InvalidArgument ||
		!strings.Contains(f.Message, `"usual/native"`) || !strings.Contains(f.Hint, "typed/none/single") {
		t.Errorf("a profile that there is not: %v", err)
	}
}

// stage is a Cairn with scripted results.
type stage struct {
	modes   map[string]settings.Modes // by workspace
	said    []string                  // the first message of each session
	asked   []memoryagent.Question
	waited  []string
	answers map[string]memoryagent.Answer // by question
	ended   bool                          // the sessions' runs, at once
	broken  string                        // the method that fails
}

var errBroken = errors.New("broken")

func (s *stage) fails(method string) error {
	if s.broken == method {
		return errBroken
	}
	return nil
}

func (s *stage) MakeWorkspace(_ context.Context, name string, modes settings.Modes) (int64, string, error) {
	if s.modes == nil {
		s.modes = map[string]settings.Modes{}
	}
	s.modes[name] = modes
	return int64(len(s.modes)), fmt.Sprint("key", len(s.modes)), s.fails("MakeWorkspace")
}

func (s *stage) Insights(context.Context, int64, int) (readmodel.Insights, error) {
	return readmodel.Insights{Runs: []readmodel.KindUsage{{Kind: "summarize", Calls: 3, Tokens: 100},
		{Kind: "retrieve", Calls: 4, Tokens: 50}}}, s.fails("Insights")
}

func (s *stage) ToolCalls(context.Context, int64) (all, failed int, err error) {
	return 8, 1, s.fails("ToolCalls")
}

func (s *stage) Summarize(_ context.Context, r memoryagent.Request) (run.Run, error) {
	s.said = append(s.said, r.Messages[0].Content)
	r.Messages[0].Content = "changed"
	out := run.Run{Ref: run.Ref{Workspace: r.Workspace, Run: "run_9"}, Status: run.Accepted,
		WorkflowID: "w/" + r.WorkspaceKey}
	if s.ended {
		out.Status = run.Ended
	}
	return out, s.fails("Summarize")
}

func (s *stage) Report(context.Context, run.Ref) (out memoryagent.Report, err error) {
	out.Status = memoryagent.OK
	first := memoryagent.SpecialistReport{Added: []string{"1", "2"}}
	second := memoryagent.SpecialistReport{Added: []string{"3"}, Updated: []string{"4"}}
	out.Tasks = []memoryagent.Task{{SpecialistReport: first}, {SpecialistReport: second}}
	return out, s.fails("Report")
}

func (s *stage) Retrieve(_ context.Context, q memoryagent.Question) (memoryagent.Answer, error) {
	s.asked = append(s.asked, q)
	return s.answers[q.Query], s.fails("Retrieve")
}

func (s *stage) wait(_ context.Context, workflowID string) error {
	s.waited = append(s.waited, workflowID)
	return s.fails("Wait")
}

func (s *stage) cairn() profiles.Cairn {
	return profiles.Cairn{Workspaces: s, Agents: s, Wait: s.wait, Spec: agentrun.Spec{Model: "scripted"}}
}

func TestAProfileIsMeasuredInAWorkspaceOfItsOwn(t *testing.T) {
	t.Parallel()
	s := &stage{answers: map[string]memoryagent.Answer{
		"Where does Mira live?": {Text: "She lives in BERGEN now."},
		"What is Tove allergic to?": {Text: "See below.",
			Memories: []memoryagent.Found{{Content: "Likes tea."}, {Content: "No peanuts for Tove."}}},
		"What comes first when the shop is deployed?": {Text: "The health page."},
	}}
	chosen, err := profiles.Named([]string{"typed/tool/single", "usual/none/multiple"})
	testkit.Must(t, err)
	var log strings.Builder
	rows, err := profiles.Measure(t.Context(), s.cairn(), chosen, &log)
	testkit.Must(t, err)
	for i, row := range rows {
		row.Seconds = 0
		want := profiles.Row{Profile: chosen[i], ModelCalls: 7, Tokens: 150, ToolCalls: 8, Failed: 1, Memories: 3,
			Status: memoryagent.OK, Answered: 2, Questions: 3}
		if row != want {
			t.Errorf("row %d is %+v, want %+v", i, row, want)
		}
	}
	if len(rows) != 2 || log.String() != "measuring typed/tool/single\nmeasuring usual/none/multiple\n" {
		t.Errorf("%d rows, log %q", len(rows), log.String())
	}
	typed := settings.Mode{Profile: settings.Typed, Thinking: settings.ThinkTool, Calls: settings.SingleCalls}
	want := settings.Modes{Summarize: typed, Retrieve: typed, Personal: typed, Procedural: typed, Tool: typed,
		Identity: typed}
	if got := s.modes["profile/typed/tool/single"]; got != want {
		t.Errorf("its agents work as %+v", got)
	}
	if len(s.modes) != 2 || !slices.Equal(s.waited, []string{"w/key1", "w/key2"}) ||
		!strings.Contains(s.said[0], "Mira") || s.said[1] != s.said[0] {
		t.Errorf("workspaces %v, waited for %v, said %q", s.modes, s.waited, s.said)
	}
	if q := s.asked[4]; len(s.asked) != 6 || q.Workspace != 2 || q.WorkspaceKey != "key2" ||
		q.Mode != memoryagent.Agentic || q.Spec.Model != "scripted" || q.ID == s.asked[3].ID {
		t.Errorf("asked %+v", s.asked)
	}
}

// A repeated measurement finds the summarized session and does not wait.
func TestASessionThatIsRememberedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := &stage{ended: true}
	rows, err := profiles.Measure(t.Context(), s.cairn(), profiles.All()[:1], io.Discard)
	testkit.Must(t, err)
	if len(s.waited) != 0 || len(rows) != 1 || rows[0].Answered != 0 || rows[0].Memories != 3 {
		t.Errorf("waited for %v, %+v", s.waited, rows)
	}
}

func TestAMeasurementThatFailsKeepsTheRowsBeforeIt(t *testing.T) {
	t.Parallel()
	all := []string{"MakeWorkspace", "Summarize", "Wait", "Report", "Retrieve", "Insights", "ToolCalls"}
	for _, method := range all {
		s := &stage{broken: method}
		rows, err := profiles.Measure(t.Context(), s.cairn(), profiles.All()[:2], io.Discard)
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), profiles.All()[0].Name()) || len(rows) != 0 {
			t.Errorf("%s: %d rows, %v", method, len(rows), err)
		}
	}
	s := &stage{}
	in := s.cairn()
	in.Wait = func(_ context.Context, workflowID string) error {
		if workflowID == "w/key2" {
			return errBroken
		}
		return nil
	}
	rows, err := profiles.Measure(t.Context(), in, profiles.All()[:3], io.Discard)
	if !errors.Is(err, errBroken) || len(rows) != 1 || rows[0].Profile != profiles.All()[0] {
		t.Errorf("%+v, %v", rows, err)
	}
}
