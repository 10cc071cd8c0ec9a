package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// talk is a workspace with conversations, and a finder over it.
type talk struct {
	*bundle
	finder search.Finder
}

func openTalk(t *testing.T) *talk {
	t.Helper()
	k := &talk{bundle: setup(t)}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := k.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	k.EmbedTurns(space, embedding.HashingVectors(embedding.DefaultDims))
	k.finder = search.Finder{Index: k.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35,
		VectorShare: 0.1}
	return k
}

var spring = time.Date(2023, 5, 8, 13, 0, 0, 0, time.UTC)

// say stores a conversation of "name: text" lines, a minute apart; an empty line
// is two hours of silence.
func (k *talk) say(ws access.Workspace, id string, from time.Time, lines ...string) {
	k.t.Helper()
	c := transcript.Conversation{ID: id}
	for _, line := range lines {
		if line == "" {
			from = from.Add(2 * time.Hour)
			continue
		}
		name, text, _ := strings.Cut(line, ": ")
		role := transcript.User
		if name == "Ben" {
			role = transcript.Assistant
		}
		from = from.Add(time.Minute)
		c.Messages = append(c.Messages, transcript.Message{Seq: len(c.Messages), Role: role, Name: name, Content: text,
			Time: from})
	}
	k.in(ws, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(ctx, c, "import")
		return err
	})
}

// remember stores a memory as the service does.
func (k *talk) remember(ws access.Workspace, kind memory.Type, target, content string) string {
	k.t.Helper()
	e := &memory.Entry{Type: kind, Target: target}
	k.in(ws, func(ctx context.Context, q store.Tx) error {
		return q.PromptMemory().WriteMemories(ctx,
			memory.Plan{Steps: []memory.Step{{Action: memory.Add, Entry: e, Content: content}}},
			memory.Writer{Origin: "user", Op: "op-" + content, Space: k.finder.Space})
	})
	return e.ID
}

func (k *talk) find(ws access.Workspace, r search.Request) []string {
	k.t.Helper()
	found, err := k.finder.Find(k.t.Context(), ws.ID, r)
	testkit.Must(k.t, err)
	ids := []string{}
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids
}

func (k *talk) chat() {
	k.say(k.a, "garden", spring,
		"Ann: Shall we talk about the balcony?", "Ben: What did you plant there?",
		"Ann: Three pots of basil and a dwarf lemon tree.", "Ben: Lovely, mine died of frost.",
		"", "Ann: My sister Carla married in Lisbon.", "Ben: Who came to the wedding in Lisbon?",
		"Ann: Everybody, even uncle Otto.")
	k.say(k.a, "trip", spring.AddDate(0, 2, 0), "Ann: We rode the night train to Vienna.",
		"Ben: I went by boat to Vienna in winter.")
	k.say(k.a, "中文", spring.AddDate(0, 3, 0), "Ann: 我昨天在杭州学会了做龙井虾仁。", "Ben: 听起来很好吃。")
}

func TestFindRanksTurnsMemoriesAndSkillsTogether(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	id := k.remember(k.a, "personal", "ann", "Ann keeps a dwarf lemon tree on her balcony")
	got := k.find(k.a, search.Request{Query: "dwarf lemon tree"})
	if len(got) < 2 || !slices.Contains(got[:2], id) || !slices.Contains(got[:2], "garden#2") {
		t.Errorf("found %v, want %s and garden#2 first", got, id)
	}
	found, err := k.finder.Find(t.Context(), k.a.ID,
		search.Request{Query: "dwarf lemon tree", Kinds: []string{index.KindTurn}})
	testkit.Must(t, err)
	if f := found[0]; f.Kind != "turn" || f.Conversation != "garden" || f.FromSeq != 2 || f.Target != "Ann" ||
		f.EventTime == nil || !f.EventTime.Equal(spring.Add(3*time.Minute)) || !strings.Contains(f.Text, "basil") {
		t.Errorf("the turn is shown as %+v", f)
	}
}

func TestAChangedSettingReordersTheNextSearch(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	personal := k.remember(k.a, "personal", "ben", "Ben likes green tea from the garden of the monastery")
	summary := k.remember(k.a, "summary", "ben", "Ben likes green tea and talked about it with Ann at length")
	ask := func(r search.Request) []string {
		r.Query, r.Kinds = "What does Ben like?", []string{index.KindMemory}
		return k.find(k.a, r)
	}
	patch := func(text string) {
		k.in(k.a, func(ctx context.Context, q store.Tx) error {
			_, err := q.Workspaces().PatchSettings(ctx, json.RawMessage(text))
			return err
		})
	}
	if got := ask(search.Request{}); !slices.Equal(got, []string{personal, summary}) {
		t.Fatalf("by default %v, want the personal memory %s first", got, personal)
	}
	patch(`{"search": {"w_type": {"summary": 3}}}`)
	if got := ask(search.Request{}); !slices.Equal(got, []string{summary, personal}) {
		t.Errorf("after the change %v, want the summary %s first", got, summary)
	}
	own := search.Request{Profile: domainsearch.Profile{WType: map[string]float64{"summary": 0.1}}}
	if got := ask(own); !slices.Equal(got, []string{personal, summary}) {
		t.Errorf("a request with its own factor finds %v, want the personal memory %s first", got, personal)
	}
	k.finder.Profile = own.Profile
	if got := ask(search.Request{}); !slices.Equal(got, []string{summary, personal}) {
		t.Errorf("the setting wins over the file: %v, want the summary %s first", got, summary)
	}
	patch(`{"search": null}`)
	if got := ask(search.Request{}); !slices.Equal(got, []string{personal, summary}) {
		t.Errorf("with the file alone %v, want the personal memory %s first", got, personal)
	}
}

func TestASearchExplainsItself(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	out, err := k.finder.Search(t.Context(), k.a.ID, search.Request{Query: "dwarf lemon tree", Explain: true})
	testkit.Must(t, err)
	if !out.Lexical.Exact || out.Vector != "" || out.Explanation == nil || len(out.Explanation.Words) != 3 ||
		out.Explanation.Parameters.RRFK == nil || *out.Explanation.Parameters.RRFK != 30 {
		t.Fatalf("explained as %+v, %+v", out.Lexical, out.Explanation)
	}
	for _, word := range out.Explanation.Words {
		if word.Word == "" || word.Documents != 1 || word.Weight <= 0 {
			t.Errorf("word %+v", word)
		}
	}
	for _, r := range out.Results {
		p := r.Explanation.Parts
		sum := p.Words + p.Vector + p.Session + p.Target + p.Date + p.When + p.Question + p.Recent + p.Utility
		if sum != r.Score {
			t.Errorf("%s: the parts sum to %f, the score is %f", r.ID, sum, r.Score)
		}
	}
	nowhere, err := k.finder.Search(t.Context(), k.a.ID,
		search.Request{Query: "dwarf lemon tree", Explain: true, Conversation: "nowhere"})
	if err != nil || len(nowhere.Results) != 0 || nowhere.Explanation == nil || !nowhere.Lexical.Exact {
		t.Errorf("in a conversation that does not exist: %+v, %v", nowhere, err)
	}
	if out.Results[0].Explanation.Covered != 1 || out.Results[0].Explanation.Lexical <= 0 {
		t.Errorf("the best result is explained as %+v", out.Results[0].Explanation)
	}
}

func TestATurnIsFoundByTheTurnsAroundIt(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	// "Everybody, even uncle Otto." shares no word with the question that it answers.
	if got := k.find(k.a, search.Request{Query: "who came to the wedding", Limit: 3}); !slices.Contains(got,
		"garden#6") {
		t.Errorf("the answer to a question is not found with it: %v", got)
	}
	// The frost of the previous period of activity is not a neighbor here.
	if got := k.find(k.a, search.Request{Query: "Lisbon wedding", Limit: 10}); slices.Contains(got, "garden#3") {
		t.Errorf("a turn of another sitting came along: %v", got)
	}
}

func TestWhoIsNamedSpeaks(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	for name, want := range map[string]string{"Ann": "trip#0", "Ben": "trip#1"} {
		if got := k.find(k.a, search.Request{Query: "how did " + name + " travel to Vienna"}); len(got) == 0 ||
			got[0] != want {
			t.Errorf("%s: %v, want %s first", name, got, want)
		}
	}
}

func TestFindFilters(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	personal := k.remember(k.a, "personal", "ann", "Ann likes Vienna")
	note := k.remember(k.a, memory.Note, "", "A day about Vienna")
	for name, c := range map[string]struct {
		r    search.Request
		want []string
	}{
		"kind": {search.Request{Kinds: []string{"memory"}}, []string{personal, note}},
		"kinds": {search.Request{Kinds: []string{"memory", "turn"}, Types: []memory.Type{memory.Note}},
			[]string{note}},
		"of a kind":  {search.Request{Kinds: []string{"memory"}, Types: []memory.Type{memory.Note}}, []string{note}},
		"about whom": {search.Request{Kinds: []string{"memory"}, Targets: []string{"ann"}}, []string{personal}},
		"too late":   {search.Request{Kinds: []string{"memory"}, Before: spring.AddDate(0, 1, 0)}, nil},
		"target":     {search.Request{Targets: []string{"ann"}}, []string{personal}},
		"speaker":    {search.Request{Targets: []string{"Ben"}}, []string{"trip#1"}},
		"after": {search.Request{Kinds: []string{"turn"}, After: spring.AddDate(0, 1, 0)},
			[]string{"trip#0", "trip#1"}},
		"before":       {search.Request{Before: spring.AddDate(0, 1, 0)}, nil},
		"conversation": {search.Request{Conversation: "trip"}, []string{"trip#0", "trip#1"}},
		"elsewhere":    {search.Request{Conversation: "nowhere"}, nil},
		"no skill":     {search.Request{Kinds: []string{"skill"}}, nil},
	} {
		c.r.Query = "Vienna"
		got := k.find(k.a, c.r)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The same words have the same score, in whatever order they are added up.
func TestMemoriesOfTheSameWordsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	var want []string
	for i := range 9 {
		words := strings.Fields("lantern harbour pebble thistle orchard velvet cobble marble")
		words = append(words[i%len(words):], words[:i%len(words)]...)
		want = append(want, k.remember(k.a, "personal", fmt.Sprint("someone", i), strings.Join(words, " ")))
	}
	k.finder.Embedder = down{} // words alone
	if got := k.find(k.a,
		search.Request{Query: "velvet lantern marble pebble harbour cobble orchard thistle"}); !slices.Equal(got,
		want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestTheDayThatIsNamedComesFirst(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.say(k.a, "may", spring, "Ann: My run along the river went well.")
	k.say(k.a, "june", spring.AddDate(0, 1, 3), "Ann: My run along the river went well.")
	for query, want := range map[string]string{"what did Ann run on 8 May 2023": "may#0",
		"what did Ann run on 11 June": "june#0", "what did Ann run in June 2023": "june#0"} {
		if got := k.find(k.a, search.Request{Query: query}); len(got) == 0 || got[0] != want {
			t.Errorf("%q: %v, want %s first", query, got, want)
		}
	}
}

func TestTheExactIdComesFirst(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	id := k.remember(k.a, "personal", "ann", "quite something else")
	for _, want := range []string{id, "garden#3"} {
		found, err := k.finder.Find(t.Context(), k.a.ID, search.Request{Query: want})
		testkit.Must(t, err)
		if len(found) == 0 || found[0].ID != want || !found[0].Exact {
			t.Errorf("%s: found %+v", want, found)
		}
		if got := k.find(k.b, search.Request{Query: want}); len(got) != 0 {
			t.Errorf("%s is found in another workspace: %v", want, got)
		}
	}
}

func TestFindSpeaksChinese(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	if got := k.find(k.a, search.Request{Query: "Ann在哪里学会了做龙井虾仁"}); len(got) == 0 || got[0] != "中文#0" {
		t.Errorf("found %v", got)
	}
}

func TestFindOfAnUnrelatedQueryIsEmpty(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	for _, query := range []string{"quantum chromodynamics lecture", "量子力学讲座", "the of and",
		"invoice reimbursement procedure Q3"} {
		if got := k.find(k.a, search.Request{Query: query}); len(got) != 0 {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

func TestWhatWasSaidIsFoundInItsWorkspaceOnly(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	for _, query := range []string{"dwarf lemon tree", "Vienna", "Ann"} {
		if got := k.find(k.b, search.Request{Query: query}); len(got) != 0 {
			t.Errorf("another workspace finds %v", got)
		}
	}
}

func TestFindWithoutVectorsGoesByWords(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	k.finder.Embedder = down{}
	if got := k.find(k.a, search.Request{Query: "night train to Vienna"}); len(got) == 0 || got[0] != "trip#0" {
		t.Errorf("found %v", got)
	}
}

// The index is written in the transaction of the messages: both or neither.
func TestMessagesAndTheirIndexAreOneEffect(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	boom := errors.New("boom")
	err := k.InWorkspace(t.Context(), k.a.ID, func(_ context.Context, q store.Tx) error {
		if _, err := q.Transcripts().PutConversation(t.Context(),
			transcript.Conversation{ID: "c", Messages: []transcript.Message{
				{Role: transcript.User, Content: "the lighthouse keeper's dog"}}}, "import"); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if n := k.number("select (select count(*) from messages) + (select count(*) from search_docs) + (select " +
		"count(*) from lex_docs) + (select count(*) from lex_terms) + (select count(*) from embeddings)"); n != 0 {
		t.Errorf("%d rows of a transaction that failed", n)
	}
	k.counts()
}

func TestOnlyWhatPeopleAndAgentsSayIsIndexed(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	var ms []transcript.Message
	for i, role := range []transcript.Role{transcript.System, transcript.User, transcript.Tool, transcript.Assistant,
		transcript.User} {
		ms = append(ms, transcript.Message{Seq: i, Role: role, Content: fmt.Sprintf("lighthouse %d", i)})
	}
	ms[4].Content = "  "
	k.in(k.a, func(ctx context.Context, q store.Tx) error {
		_, err := q.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "c", Messages: ms}, "import")
		return err
	})
	got := k.find(k.a, search.Request{Query: "lighthouse"})
	slices.Sort(got)
	if !slices.Equal(got, []string{"c#1", "c#3"}) {
		t.Errorf("found %v", got)
	}
	if n := k.number("select count(*) from embeddings"); n != 2 {
		t.Errorf("%d vectors", n)
	}
}

func TestADistantEmbedderIsOwedTheTurns(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.EmbedTurns(k.finder.Space, nil)
	k.chat()
	turns := k.number("select count(*) from search_docs where kind = 'turn'")
	if pending := k.number("select count(*) from outbox where kind = 'embed' and key in (select doc::text from " +
		"search_docs)"); pending != turns || turns == 0 {
		t.Errorf("%d duties for %d turns", pending, turns)
	}
}

// speakers compares the counts of speakers' names with a recount.
func (k *talk) speakers() {
	k.t.Helper()
	for _, wrong := range k.texts(`
with real as (select workspace_id, t.term, count(*) as n from search_docs, unnest(target_terms) t(term) where kind ` +
		`= 'turn' group by 1, 2)
select format('term %s: %s speakers, counted %s', term, real.n, kept.speakers) from real full join (select * from ` +
		`lex_terms where speakers <> 0) kept using (workspace_id, term) where real.n is distinct from kept.speakers`) {
		k.t.Error(wrong)
	}
}

// Postings, frequencies and counts of speakers are updated when a turn is removed.
func TestAForgottenTurnLeavesNoTrace(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	k.remember(k.a, "personal", "ann", "Ann likes Vienna")
	k.counts()
	k.speakers()
	garden := int64(k.number("select id from conversations where external_id = 'garden'"))
	k.in(k.a, func(ctx context.Context, q store.Tx) error {
		var gone []index.Doc
		for seq := range 7 {
			gone = append(gone, index.Doc{Kind: index.KindTurn, Owner: garden, Seq: seq, Gone: true})
		}
		_, err := q.Documents().IndexAll(ctx, gone)
		return err
	})
	k.counts()
	k.speakers()
	if got := k.find(k.a, search.Request{Query: "dwarf lemon tree"}); len(got) != 0 {
		t.Errorf("what is gone is found: %v", got)
	}
	if n := k.number("select count(*) from embeddings e left join search_docs d using (workspace_id, doc) where " +
		"d.doc is null"); n != 0 {
		t.Errorf("%d vectors of nothing", n)
	}
}

// A search is one round trip, including its commit. A refused search ends the same way, and its
// connection serves the next.
func TestASearchThatIsRefusedLeavesItsConnectionClean(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	one, err := store.Open(t.Context(), k.url, store.Options{MaxConns: 1})
	testkit.Must(t, err)
	defer one.Close()
	finder := k.finder
	finder.Index = one.SearchIndex()
	k.exec("update workspaces set state = 'erasing' where id = $1", k.b.ID)
	for range 3 {
		for ws, want := range map[int64]fault.Code{1 << 40: fault.NotFound, k.b.ID: fault.Erasing} {
			if _, err := finder.Find(t.Context(), ws, search.Request{Query: "Vienna"}); fault.CodeOf(err) != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		found, err := finder.Find(t.Context(), k.a.ID, search.Request{Query: "night train to Vienna"})
		if err != nil || len(found) == 0 || found[0].ID != "trip#0" {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	if n := k.number("select count(*) from pg_stat_activity where application_name = 'cairn_app' and datname = " +
		"current_database() and state <> 'idle' and pid <> pg_backend_pid()"); n != 0 {
		t.Errorf("%d connections are left in a transaction", n)
	}
}

// A name that no remaining speaker has is an ordinary word again.
func TestAnErasedConversationTakesItsSpeakersAlong(t *testing.T) {
	t.Parallel()
	k := openTalk(t)
	k.chat()
	k.say(k.a, "solo", spring, "Zoe: Nobody else was there.", "Zoe: The kettle sang.")
	if n := k.number("select count(*) from lex_terms where speakers = 2"); n == 0 {
		t.Fatal("Zoe is not counted as a speaker")
	}
	before := k.number("select count(*) from lex_terms")
	k.erase(erasure.Target{Workspace: k.a.ID,
		Conversation: int64(k.number("select id from conversations where external_id = 'solo'")),
		Derived:      erasure.Keep})
	k.counts()
	k.speakers()
	if after := k.number("select count(*) from lex_terms"); after >= before {
		t.Errorf("%d terms before, %d after", before, after)
	}
	if n := k.number("select count(*) from lex_terms where speakers > 0"); n != 2 {
		t.Errorf("%d names speak, want Ann and Ben", n)
	}
}
