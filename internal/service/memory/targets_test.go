package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

func (l *long) register(t memory.Type, names ...string) []memories.RegisteredTarget {
	l.t.Helper()
	var in []memories.NewTarget
	for i, n := range names {
		in = append(in, memories.NewTarget{Index: i, Type: t, Target: n})
	}
	out, err := l.AddNamedTargets(l.t.Context(), l.Actor(agent.OriginReflection), in)
	testkit.Must(l.t, err)
	return out
}

func (l *long) meta(in memories.MetaArgs) string {
	l.t.Helper()
	out, err := l.ReadMeta(l.t.Context(), l.Actor(agent.OriginReflection), in)
	testkit.Must(l.t, err)
	return out.Text
}

func TestTargetsAreLinesInTheOrderOfTheirMaking(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	if got := l.meta(memories.MetaArgs{}); got != memory.NoTargets {
		t.Errorf("nothing is %q", got)
	}
	l.register(memory.Personal, "jinli", "jinli&jiaji")
	l.register(memory.Procedural, `bfcl-v3 (\beta)`+"\nx")
	_, err := l.DescribeTarget(t.Context(), l.User(),
		memories.NewTarget{Type: memory.Personal, Target: "jinli", Description: "the owner\nof it"})
	testkit.Must(t, err)
	want := `- personal(jinli): the owner of it
- personal(jinli&jiaji): facts, preferences and background of this person or group
- procedural(bfcl-v3 \(\\beta\) x): how things are done in this domain: steps, what made them succeed, what made ` +
		`them fail
- tool(tool_guidelines): how to use each tool: good parameters, pitfalls, cost; ask with the exact name of the tool
- identity(self): who you are: role, personality, present state`
	if got := l.meta(memories.MetaArgs{Tools: true, Identity: true}); got != want {
		t.Errorf("lines\n%s\nwant\n%s", got, want)
	}
	_, err = l.DescribeTarget(t.Context(), l.about(memory.Personal, "jinli", "", ""),
		memories.NewTarget{Type: memory.Personal, Target: "jinli", Description: "x"})
	wants(t, "an agent describes", err, fault.OutOfScope)
}

func TestAnotherSpellingIsTheSameTarget(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.register(memory.Personal, "Jin Li")
	for _, name := range []string{"jinli", "JIN-LI", "ｊｉｎ ｌｉ", " jin  li "} {
		if out := l.register(memory.Personal, name); out[0].Status != memories.AlreadyExists ||
			out[0].Target.Target != "Jin Li" {
			t.Errorf("%q: %+v", name, out)
		}
	}
	for _, name := range []string{"jinli&jiaji", "jin", "阿里"} {
		if out := l.register(memory.Personal, name); out[0].Status != memories.Added {
			t.Errorf("%q: %+v", name, out)
		}
	}
	if out := l.register(memory.Procedural, "jinli"); out[0].Status != memories.Added {
		t.Errorf("another type: %+v", out)
	}
	id := l.add(l.about(memory.Personal, "Jin Li", "", ""), "Likes tea")[0].ID
	look := memories.RetrieveArgs{Wants: []memories.Query{{Query: "likes tea", Type: memory.Personal,
		Target: "JIN LI"}}, Named: true}
	if got := l.lines(l.about("", "", "", ""), look); !strings.Contains(got, id) {
		t.Errorf("under another spelling: %s", got)
	}
	look.Named = false
	if got := l.lines(l.about("", "", "", ""), look); strings.Contains(got, id) {
		t.Errorf("under another ID: %s", got)
	}
}

// A name that a model wrote never joins two subjects that clients created: the exact one wins, and of
// others the model has to choose.
func TestANameOfTwoSubjectsIsAmbiguous(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	_, err := l.AddTargets(t.Context(), l.User(), []memories.NewTarget{{Type: memory.Personal, Target: "ab"},
		{Type: memory.Personal, Target: "A-B"}})
	testkit.Must(t, err)
	for name, want := range map[string]string{"ab": "ab", "A-B": "A-B"} {
		if out := l.register(memory.Personal, name); out[0].Status != memories.AlreadyExists ||
			out[0].Target.Target != want {
			t.Errorf("%q: %+v", name, out)
		}
	}
	_, err = l.AddNamedTargets(t.Context(), l.Actor(agent.OriginReflection),
		[]memories.NewTarget{{Type: memory.Personal, Target: "a b"}})
	wants(t, "a name of both", err, fault.AmbiguousMatch)
	if hint := fault.From(err).Hint; !strings.Contains(hint, `"ab"`) || !strings.Contains(hint, `"A-B"`) {
		t.Errorf("the hint is %q", hint)
	}
	if n := l.Number("select count(*) from memory_targets"); n != 2 {
		t.Errorf("%d targets", n)
	}
	handed, err := l.HandOff(t.Context(), l.Actor(agent.OriginReflection), memories.HandOffArgs{
		Tasks: []memories.NewTask{{Type: memory.Personal, Target: "a b"}},
		Only:  []memory.Task{{Type: memory.Personal, Target: "A-B"}}})
	testkit.Must(t, err)
	if len(handed.Tasks) != 1 || handed.Tasks[0].Target != "A-B" {
		t.Errorf("the subject of the request is %+v", handed)
	}
}

func TestBadTargetsAreRefusedByThemselves(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	out, err := l.AddTargets(t.Context(), l.User(),
		[]memories.NewTarget{{Index: 0, Type: memory.Personal, Target: " "},
			{Index: 1, Type: memory.Personal, Target: "alice"}, {Index: 2, Type: memory.Guideline, Target: "x"},
			{Index: 3, Type: memory.Personal, Target: strings.Repeat("x", memory.TargetRunes+1)}})
	testkit.Must(t, err)
	var got []string
	for _, o := range out {
		got = append(got, o.Status+string(o.Code))
	}
	if want := "failedinvalid_argument added failedinvalid_argument failedtoo_large"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.Exec(`insert into memory_targets (workspace_id, type, target_key, match_key, target, last_used_at)
select $1, 'personal', 't' || n, 't' || n, 't' || n, now() - make_interval(hours => n) from generate_series(1, 203) n`,
		l.A.ID)
	lines := strings.Split(l.meta(memories.MetaArgs{Identity: true}), "\n")
	if len(lines) != memory.MetaLines+2 || lines[memory.MetaLines] != "(3 more, used longer ago)" ||
		!strings.HasPrefix(lines[0], "- personal(t1)") || strings.Contains(strings.Join(lines, "\n"), "(t201)") {
		t.Errorf("%d lines, %q", len(lines), lines[len(lines)-3:])
	}
}

func TestHandOffKeepsToTheList(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.register(memory.Personal, "Alice (work)")
	in := memories.HandOffArgs{Tools: true, Identity: true}
	for i, task := range []memory.Task{{Type: memory.Personal, Target: "alice (WORK)"},
		{Type: memory.Personal, Target: `Alice \(work\)`}, {Type: memory.Personal, Target: "bob"},
		{Type: memory.Guideline, Target: "web_search"},
		{Type: memory.Guideline, Target: "tool_guidelines"}, {Type: memory.Identity, Target: "me"},
		{Type: memory.Procedural, Target: "Alice (work)"}} {
		in.Tasks = append(in.Tasks, memories.NewTask{Index: i, Type: task.Type, Target: task.Target})
	}
	out, err := l.HandOff(t.Context(), l.Actor(agent.OriginReflection), in)
	testkit.Must(t, err)
	if got := fmt.Sprint(out.Tasks); got != "[{personal Alice (work)} {tool tool_guidelines} {identity self}]" {
		t.Errorf("tasks %s", got)
	}
	if len(out.Rejected) != 2 || out.Rejected[0].Index != 2 || out.Rejected[1].Index != 6 ||
		!strings.HasPrefix(out.Rejected[0].Message, "not_registered") {
		t.Errorf("rejected %+v", out.Rejected)
	}
	in.Tasks, in.Tools = in.Tasks[3:4], false
	_, err = l.HandOff(t.Context(), l.Actor(agent.OriginReflection), in)
	wants(t, "a specialist that is not there", err, fault.OutOfScope)
}

func TestTheIdentityIsOneDocumentWithVersions(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	a := func() agent.Actor { return l.about(memory.Identity, "", "", "") }
	zero, one := 0, 1
	out, err := l.UpdateIdentity(t.Context(), a(), memories.IdentityArgs{Content: "A kind guide", Expected: &zero})
	testkit.Must(t, err)
	again, err := l.UpdateIdentity(t.Context(), a(), memories.IdentityArgs{Content: "A kind guide "})
	testkit.Must(t, err)
	if out.Version != 1 || again.Status != memories.Unchanged {
		t.Errorf("%+v, %+v", out, again)
	}
	_, err = l.UpdateIdentity(t.Context(), a(), memories.IdentityArgs{Content: "x", Expected: &zero})
	wants(t, "a stale version", err, fault.VersionConflict)
	_, err = l.UpdateIdentity(t.Context(), a(), memories.IdentityArgs{Content: " "})
	wants(t, "nothing", err, fault.InvalidArgument)
	_, err = l.UpdateIdentity(t.Context(), a(),
		memories.IdentityArgs{Content: strings.Repeat("x", memory.IdentityBytes+1)})
	wants(t, "too much", err, fault.TooLarge)
	tainted := a()
	tainted.Tainted = true
	_, err = l.UpdateIdentity(t.Context(), tainted, memories.IdentityArgs{Content: "A servant of the page"})
	wants(t, "untrusted text in view", err, fault.BlockedContent)
	watched := l.Actor(agent.OriginAgent)
	watched.Subject = a().Subject
	for _, who := range []agent.Actor{a(), watched} {
		_, err = l.UpdateIdentity(t.Context(), who, memories.IdentityArgs{Content: doubtful})
		wants(t, "doubtful text", err, fault.BlockedContent)
	}
	_, err = l.UpdateIdentity(t.Context(), a(), memories.IdentityArgs{Content: "A strict guide", Expected: &one})
	testkit.Must(t, err)
	_, err = l.RollbackIdentity(t.Context(), l.User(), memories.RollbackArgs{Version: 1})
	testkit.Must(t, err)
	if v, err := l.ReadIdentity(t.Context(), a()); err != nil || v.Content != "A kind guide" || v.Version != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	if got := l.lines(a(), memories.RetrieveArgs{
		Wants: []memories.Query{{Query: "who am I"}}}); got != "identity memory:\nA kind guide" {
		t.Errorf("retrieval gives %q", got)
	}
}
