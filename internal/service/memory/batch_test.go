package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// batched returns memories of a batch, each as target: content.
func batched(lines ...string) (out []memories.BatchMemory) {
	for _, line := range lines {
		target, content, _ := strings.Cut(line, ": ")
		out = append(out, memories.BatchMemory{Type: memory.Personal, Target: target,
			NewMemory: memories.NewMemory{Content: content}})
	}
	return out
}

func TestABatchRegistersEachTargetOnce(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.add(l.about(memory.Personal, "Jin Li", "", ""), "Likes tea")
	out, err := l.AddBatch(t.Context(), l.User(), batched("Jin Li: Likes tea", "Jin Li: Sails", "jinli: Likes tea",
		"Bo: Likes tea", " bo: Likes tea", "Bo: Swims", "Bo: Swims", "Cy: "))
	testkit.Must(t, err)
	if got := statuses(out); got !=
		"already_exists added added added added added already_exists failed/invalid_argument" {
		t.Error(got)
	}
	if n := l.Number("select count(*) from memory_targets"); n != 4 {
		t.Errorf("%d targets", n)
	}
	if n := l.Number("select count(*) from memories where target = 'Jin Li'"); n != 2 {
		t.Errorf("%d memories of Jin Li", n)
	}
}

// The answer to a batch was lost after the commit: the same batch gives the same answer.
func TestABatchWhoseAnswerWasLostIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	a, store := l.User(), l.LongTermService.Store
	in := func() []memories.BatchMemory { return batched("Ann: Keeps bees", "Ann: ", "Bo: Sings") }
	l.LongTermService.Store = losing(store)
	if _, err := l.AddBatch(t.Context(), a, in()); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	l.LongTermService.Store = store
	held := l.longRows()
	out, err := l.AddBatch(t.Context(), a, in())
	testkit.Must(t, err)
	if got := statuses(out); got != "added failed/invalid_argument added" || l.longRows() != held {
		t.Errorf("%s; held\n%s\nholds\n%s", got, held, l.longRows())
	}
	_, err = l.AddBatch(t.Context(), a, batched("Ann: Keeps bees"))
	wants(t, "other memories", err, fault.OpReused)
}

// unreachable is an embedder without an endpoint.
type unreachable struct{}

func (unreachable) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("no endpoint")
}

func TestABatchWithoutAnEmbedderIsEmbeddedLater(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.LongTermService.Embedder = unreachable{}
	out, err := l.AddBatch(t.Context(), l.User(), batched("Ann: Keeps bees", "Bo: Sings", "Bo: Sings"))
	testkit.Must(t, err)
	if got := statuses(out); got != "added added already_exists" {
		t.Error(got)
	}
	if docs, owed := l.Number("select count(*) from lex_docs"),
		l.Number("select count(*) from outbox where kind = 'embed'"); docs != 2 || owed != 2 {
		t.Errorf("%d documents, %d will be embedded", docs, owed)
	}
}

func TestABatchHasALimitAndNeedsAUser(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	var lines []string
	for i := range memories.MaxBatched + 1 {
		lines = append(lines, fmt.Sprintf("Ann: Owns crate %d", i))
	}
	for what, in := range map[string][]memories.BatchMemory{"too many": batched(lines...), "none": nil} {
		_, err := l.AddBatch(t.Context(), l.User(), in)
		if f := fault.From(err); err == nil || f.Code != fault.InvalidArgument || !strings.Contains(f.Hint, "1000") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := l.AddBatch(t.Context(), l.Actor(agent.OriginAgent), batched("Ann: Keeps bees"))
	wants(t, "an agent", err, fault.OutOfScope)
	if n := l.Number("select count(*) from memories"); n != 0 {
		t.Errorf("%d memories", n)
	}
}

// A condition selects by fields of mem0.
func TestAPageHasTheEntriesOfACondition(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	_, err := l.AddBatch(t.Context(), l.User(), batched("Ann Lee: Keeps bees", "Ann Lee: Sings", "Bo: Rows"))
	testkit.Must(t, err)
	user := func(how memory.Comparison, names ...string) memory.Condition {
		c := memory.Condition{Field: memory.FieldUser, How: how}
		for _, name := range names {
			c.Values = append(c.Values, memory.Value{Text: name})
		}
		return c
	}
	for _, c := range []struct {
		where  memory.Condition
		offset int
		count  int
		want   string
	}{
		{user(memory.Equal, "Ann Lee"), 0, 2, "Keeps bees|Sings"},
		{user(memory.Equal, "Ann Lee", "ann lee"), 1, 2, "Sings"},
		{user(memory.Different, "Ann Lee"), 0, 1, "Rows"},
		{user(memory.Equal), 0, 0, ""},
		{memory.Condition{Joint: memory.None, Parts: []memory.Condition{user(memory.Present)}}, 0, 0, ""},
		{memory.Condition{Joint: memory.Any}, 0, 0, ""},
	} {
		f := memory.Filter{Where: memory.AllOf(c.where), Offset: c.offset, Limit: 2}
		entries, count, err := l.Page(t.Context(), l.User(), f)
		testkit.Must(t, err)
		var texts []string
		for _, e := range entries {
			texts = append(texts, e.Content)
		}
		if got := strings.Join(texts, "|"); got != c.want || count != c.count {
			t.Errorf("%+v: %d, %s, want %d, %s", c.where, count, got, c.count, c.want)
		}
	}
	for what, broken := range map[string]memory.Condition{"field": {Field: "color", How: memory.Equal},
		"joint": {Joint: "xor"}, "comparison": {Field: memory.FieldContent, How: "near", Values: []memory.Value{{}}}} {
		if _, _, err := l.Page(t.Context(), l.User(), memory.Filter{Where: &broken}); err == nil {
			t.Errorf("an unknown %s is accepted", what)
		}
	}
}
