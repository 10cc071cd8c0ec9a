package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/testkit"
)

func TestASessionThatIsSentAgainIsKeptOnce(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	first := l.session("Where is the key?", "Under the mat.")
	rows := l.longRows()
	with := append([]transcript.Message{{Role: transcript.System, Content: "Be brief."}},
		dialog("Where is the key?", "Under the mat.")...)
	with[1].ID, with[2].ID = "m1", "m2"
	again, err := l.AddHistory(t.Context(), l.Actor(agent.OriginReflection), with)
	testkit.Must(t, err)
	if again.ID != first || again.Messages != 2 {
		t.Errorf("%+v, want %s", again, first)
	}
	if got := strings.Replace(l.longRows(), "tool_op_log 2", "tool_op_log 1", 1); got != rows {
		t.Errorf("rows %s, before %s", got, rows)
	}
	other := l.Actor(agent.OriginReflection)
	other.Workspace = l.B.ID
	elsewhere, err := l.AddHistory(t.Context(), other, dialog("Where is the key?", "Under the mat."))
	testkit.Must(t, err)
	if elsewhere.ID == first {
		t.Error("two workspaces have one id")
	}
	_, err = l.AddHistory(t.Context(), l.User(), with[:1])
	wants(t, "only the system", err, fault.InvalidArgument)
}

// A stored conversation is referenced, not copied.
func TestAPartOfAConversationIsASession(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	h, err := l.AddHistory(t.Context(), l.User(), dialog("one", "two", "three", "four"))
	testkit.Must(t, err)
	messages := l.Number("select count(*) from messages")
	part, err := l.AddRange(t.Context(), l.User(), memory.Evidence{Conversation: h.Conversation, FromSeq: 2, ToSeq: 3})
	testkit.Must(t, err)
	out, err := l.ReadHistory(t.Context(), l.User(), memories.ReadArgs{IDs: []string{part.ID}})
	testkit.Must(t, err)
	if out[0].Text != "user:\nthree\nassistant:\nfour\n" || l.Number("select count(*) from messages") != messages ||
		part.ID == h.ID {
		t.Errorf("%+v", out)
	}
}

func TestPagesOfATranscriptLoseNothing(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("line %d: %s", i, strings.Repeat("汉字 words ", 1+i%7)))
	}
	lines[30] = strings.Repeat("one long line ", 200)
	id := l.session(lines...)
	want := memory.RenderedAll(dialog(lines...))
	var got strings.Builder
	offset, pages := 0, 0
	for {
		out, err := l.ReadHistory(t.Context(), l.User(),
			memories.ReadArgs{IDs: []string{id}, MaxTokens: 150, Offset: offset})
		testkit.Must(t, err)
		got.WriteString(out[0].Text)
		if pages++; out[0].NextOffset == 0 || pages > 100 {
			break
		}
		offset = out[0].NextOffset
	}
	if got.String() != want || pages < 5 {
		t.Errorf("%d pages hold %d bytes, want %d", pages, got.Len(), len(want))
	}
}

func TestAQueryReadsThePartsThatAnswerIt(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("topic %d is about gardens", i), "I see")
	}
	lines[50] = "The vault code was changed by Marta"
	id := l.session(lines...)
	out, err := l.ReadHistory(t.Context(), l.User(),
		memories.ReadArgs{IDs: []string{id}, Query: "who changed the vault code", MaxTokens: 100})
	testkit.Must(t, err)
	if !strings.Contains(out[0].Text, "Marta") || strings.Contains(out[0].Text, "topic 1 ") {
		t.Errorf("read %q", out[0].Text)
	}
	if n := l.Number(
		"select count(*) from embeddings e join search_docs d on d.doc = e.doc where d.kind = 'chunk'"); n != l.Number(
		"select count(*) from history_chunks") || n < 10 {
		t.Errorf("%d chunks have a vector", n)
	}
}

func TestAMemoryLeadsToItsSession(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	history := l.session("I moved to Kyoto", "Noted")
	id := l.add(l.about(memory.Personal, "alice", "", history), "Lives in Kyoto")[0].ID
	bare := l.add(l.about(memory.Personal, "alice", "", ""), "Likes tea")[0].ID
	core := l.save("core", "Private to the prompt")
	out, err := l.ReadHistory(t.Context(), l.about(memory.Personal, "alice", "", ""),
		memories.ReadArgs{IDs: []string{id, bare, core}})
	testkit.Must(t, err)
	if out[0].ID != history || !strings.Contains(out[0].Text, "I moved to Kyoto") || out[1].Code != fault.NotFound ||
		out[2].Code != fault.NotFound {
		t.Errorf("%+v", out)
	}
	_, err = l.ReadHistory(t.Context(), l.User(), memories.ReadArgs{IDs: []string{"a", "b", "c", "d"}})
	wants(t, "four at once", err, fault.InvalidArgument)
	other := l.User()
	other.Workspace = l.B.ID
	_, err = l.ReadHistory(t.Context(), other, memories.ReadArgs{IDs: []string{history}})
	wants(t, "of another workspace", err, fault.NotFound)
}

func TestASessionHasOneSummary(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	run, history := l.Run(), l.session("Alice moved", "Noted")
	a := func() agent.Actor { return l.about("", "", run, history) }
	_, err := l.AddTargets(t.Context(), a(), []memories.NewTarget{{Type: memory.Personal, Target: "alice"}})
	testkit.Must(t, err)
	first, err := l.AddSummary(t.Context(), a(), memories.SummaryArgs{Content: "Alice moved house"})
	testkit.Must(t, err)
	second, err := l.AddSummary(t.Context(), a(), memories.SummaryArgs{Content: "Alice moved to Kyoto"})
	testkit.Must(t, err)
	if statuses(first)+" "+statuses(second) != "added replaced" || first[0].ID != second[0].ID {
		t.Errorf("%+v, %+v", first, second)
	}
	same := l.about("", "", "", l.session("Bob moved", "Noted"))
	third, err := l.AddSummary(t.Context(), same, memories.SummaryArgs{Content: "Alice moved to Kyoto"})
	testkit.Must(t, err)
	if statuses(third) != "added" || third[0].ID == second[0].ID {
		t.Errorf("the same words about another session: %+v", third)
	}
	l.add(l.about(memory.Procedural, "deploy", "", ""), "Run the tests")
	_, err = l.SummaryTargets(t.Context(), a(), []memory.Task{{Type: memory.Procedural, Target: "deploy"}})
	testkit.Must(t, err)
	if got := strings.Join(l.entry(second[0].ID).Targets, " "); got != "personal/alice procedural/deploy" {
		t.Errorf("targets %q", got)
	}
}

// A search shows a summary with the first better result from the same messages.
func TestASummaryIsContextOfWhatItSummarizes(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	history := l.session("I moved to Kyoto in May", "Noted")
	fact := l.add(l.about(memory.Personal, "alice", "", history), "Alice moved to Kyoto in May")
	summary, err := l.AddSummary(t.Context(), l.about("", "", "", history),
		memories.SummaryArgs{Content: "A talk about a move to Kyoto"})
	testkit.Must(t, err)
	elsewhere, err := l.AddSummary(t.Context(), l.about("", "", "", l.session("Bob moved", "Noted")),
		memories.SummaryArgs{Content: "Another talk about Kyoto"})
	testkit.Must(t, err)
	find := func(r search.Request) (listed, context []string) {
		found, err := l.Finder.Find(t.Context(), l.A.ID, r)
		testkit.Must(t, err)
		for i, one := range found {
			listed = append(listed, one.ID)
			if i == 0 && len(one.Context) > 0 {
				context = append(context, one.Context[0].ID)
			}
		}
		return listed, context
	}
	listed, context := find(search.Request{Query: "Kyoto in May", Kinds: []string{index.KindMemory}})
	if !slices.Equal(listed, []string{fact[0].ID, elsewhere[0].ID}) || !slices.Equal(context, []string{summary[0].ID}) {
		t.Errorf("listed %v with %v; want %s and %s, with %s", listed, context, fact[0].ID, elsewhere[0].ID,
			summary[0].ID)
	}
	listed, _ = find(search.Request{Query: "Kyoto in May", Types: []memory.Type{memory.Summary, memory.Personal}})
	if len(listed) != 3 {
		t.Errorf("with types requested, listed %v", listed)
	}
}

// The summary of a session without other memories is found under its targets, before summaries
// without targets.
func TestSummariesAreTheWayToASessionWithoutMemories(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.add(l.about(memory.Personal, "alice", "", ""), "Likes the harbour festival")
	l.add(l.about(memory.Personal, "bob", "", ""), "Likes the harbour festival, too")
	sum := func(history, content string, targets ...memory.Task) string {
		out, err := l.AddSummary(t.Context(), l.about("", "", "", history),
			memories.SummaryArgs{Content: content, Targets: targets})
		testkit.Must(t, err)
		return out[0].ID
	}
	untargeted := sum(l.session("c"), "The harbour festival was discussed")
	hers := sum(l.session("a"), "Alice visited the harbour festival",
		memory.Task{Type: memory.Personal, Target: "alice"})
	his := sum(l.session("b"), "Bob visited the harbour festival", memory.Task{Type: memory.Personal, Target: "bob"})
	in := memories.RetrieveArgs{Wants: []memories.Query{{Query: "harbour festival"}}, Summaries: true}
	got := l.lines(l.about(memory.Personal, "alice", "", ""), in)
	if !strings.Contains(got, hers) || strings.Contains(got, his) ||
		!strings.HasPrefix(lastLine(got), "memory_id="+untargeted) || strings.Count(got, "\n") != 2 {
		t.Errorf("found\n%s\nhers %s, his %s, untargeted %s", got, hers, his, untargeted)
	}
	in.Summaries = false
	if got := l.lines(l.about(memory.Personal, "alice", "", ""), in); strings.Contains(got, "(summary/") ||
		strings.Contains(got, "\n") {
		t.Errorf("without summaries: %s", got)
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

func TestWhatARunHasSeenIsNotShownAgain(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	run := l.Run()
	l.add(l.about(memory.Personal, "alice", "", ""), "Likes green tea")
	in := memories.RetrieveArgs{Wants: []memories.Query{{Query: "green tea"}}, NoRepeats: true}
	call := l.about(memory.Personal, "alice", run, "")
	first := l.lines(call, in)
	if again := l.lines(call, in); again != first || !strings.Contains(first, "green tea") {
		t.Errorf("a retry finds %q, the call %q", again, first)
	}
	if next := l.lines(l.about(memory.Personal, "alice", run, ""), in); next != memories.NothingFound {
		t.Errorf("the next call finds %q", next)
	}
}

func TestATimeFilterHoldsBothDays(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	var in []memories.NewMemory
	for i, day := range []string{"2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z", "2026-03-03T23:59:59Z",
		"2026-03-04T00:00:00Z"} {
		at, err := time.Parse(time.RFC3339, day)
		testkit.Must(t, err)
		in = append(in, memories.NewMemory{Index: i, Content: fmt.Sprintf("Went running, number %d", i),
			EventTime: &at})
	}
	_, err := l.AddMemories(t.Context(), l.about(memory.Personal, "alice", "", ""), in)
	testkit.Must(t, err)
	find := func(filter string) (memories.RetrieveResult, error) {
		return l.Retrieve(t.Context(), l.about(memory.Personal, "alice", "", ""),
			memories.RetrieveArgs{Wants: []memories.Query{{Query: "went running", TimeFilter: filter}}})
	}
	for filter, want := range map[string]int{"": 4, "20260301": 1, "20260301,20260303": 2, "20270101": 0} {
		if out, err := find(filter); err != nil || len(out.Found) != want {
			t.Errorf("%q finds %d, want %d, %v", filter, len(out.Found), want, err)
		}
	}
	for _, filter := range []string{"2026", "20261301", "20260303,20260301", "x"} {
		_, err := find(filter)
		wants(t, filter, err, fault.InvalidArgument)
	}
}
