package longterm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/testkit"
)

// batched returns memories of a batch, each as target: content.
func batched(lines ...string) (out []longterm.BatchMemory) {
	for _, line := range lines {
		target, content, _ := strings.Cut(line, ": ")
		out = append(out, longterm.BatchMemory{Type: memory.Personal, Target: target,
			NewMemory: longterm.NewMemory{Content: content}})
	}
	return out
}

func TestABatchRegistersEachTargetOnce(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	l.add(l.about(memory.Personal, "Jin Li", "", ""), "Likes tea")
	out, err := l.AddBatch(t.Context(), l.User(), batched("jinli: Likes tea", "Jin Li: Sails", "jinli: Sings",
		"Bo: Likes tea", " bo: Likes tea", "B-o: Swims", "Cy: "))
	testkit.Must(t, err)
	if got := statuses(out); got != "already_exists added added added already_exists added failed/invalid_argument" {
		t.Error(got)
	}
	if n := l.Number("select count(*) from memory_targets"); n != 2 {
		t.Errorf("%d targets", n)
	}
	if n := l.Number("select count(*) from memories where target = 'jin li'"); n != 3 {
		t.Errorf("%d memories of Jin Li", n)
	}
}

// The answer to a batch was lost after the commit: the same batch gives the same answer.
func TestABatchWhoseAnswerWasLostIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	l := setupLong(t)
	a, store := l.User(), l.Service.Store
	in := func() []longterm.BatchMemory { return batched("Ann: Keeps bees", "Ann: ", "Bo: Sings") }
	l.Service.Store = lostLong{store}
	if _, err := l.AddBatch(t.Context(), a, in()); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	l.Service.Store = store
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
	l.Service.Embedder = unreachable{}
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
	for i := range longterm.MostBatched + 1 {
		lines = append(lines, fmt.Sprintf("Ann: Owns crate %d", i))
	}
	for what, in := range map[string][]longterm.BatchMemory{"too many": batched(lines...), "none": nil} {
		_, err := l.AddBatch(t.Context(), l.User(), in)
		if f := fault.From(err); err == nil || f.Code != fault.InvalidArgument ||
			!strings.Contains(f.Hint, fmt.Sprint(longterm.MostBatched)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := l.AddBatch(t.Context(), l.Actor(agent.OriginAgent), batched("Ann: Keeps bees"))
	wants(t, "an agent", err, fault.OutOfScope)
	if n := l.Number("select count(*) from memories"); n != 0 {
		t.Errorf("%d memories", n)
	}
}
