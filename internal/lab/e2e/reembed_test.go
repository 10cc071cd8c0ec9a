package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/app/config"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/service/vectorspace"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// changedModel opens a Cairn whose workspace has n documents with hashing vectors, and whose
// configured model is another one.
func changedModel(t *testing.T, n int, change ...func(*config.Config)) (b *apptest.Bundle, old int16) {
	t.Helper()
	b = apptest.OpenIdle(t, append(change, func(c *config.Config) {
		c.EmbeddingModel, c.EmbeddingDimensions = "scripted-embedding", openaitest.DefaultDims
	})...)
	old, err := b.Store.Space(t.Context(), embedding.HashingModel, embedding.DefaultDims)
	testkit.Must(t, err)
	hashed := embedding.HashingVectors(embedding.DefaultDims)
	for first := 0; first < n; first += 500 {
		var docs []index.Doc
		var texts []string
		for i := first; i < min(first+500, n); i++ {
			texts = append(texts, fmt.Sprintf("Crate number%d stands in hall%d.", i, i%17))
			docs = append(docs, index.NewDoc(index.KindMemory, int64(1_000_000+i), "active", texts[len(texts)-1]))
		}
		b.Within(func(ctx context.Context, q store.Tx) error {
			ids, err := q.Documents().IndexNew(ctx, docs)
			testkit.Must(t, err)
			return q.Documents().PutEmbeddings(ctx, ids, old, hashed(texts))
		})
	}
	exec(b, "update cairn.workspaces set space_id = $1 where id = $2", old, b.Workspace.ID)
	return b, old
}

// foundIn returns what queries find, in order.
func foundIn(b *apptest.Bundle) (out []string) {
	b.T.Helper()
	for i := range 10 {
		r, err := b.Finder.Search(b.T.Context(), b.Workspace.ID,
			search.Request{Query: fmt.Sprintf("number%d hall%d", 31*i, i), Limit: 10})
		testkit.Must(b.T, err)
		if r.Vector != "" || len(r.Results) == 0 {
			b.T.Errorf("vectors are %q, %d results", r.Vector, len(r.Results))
		}
		for _, one := range r.Results {
			out = append(out, one.Text)
		}
	}
	return out
}

// searching searches until it is stopped, and fails the test if a search fails or finds nothing.
// Vectors of two spaces have different dimensions: comparing them is an error of the database.
func searching(b *apptest.Bundle) (stop func()) {
	ctx, cancel := context.WithCancel(b.T.Context())
	var working sync.WaitGroup
	working.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			r, err := b.Finder.Search(ctx, b.Workspace.ID,
				search.Request{Query: fmt.Sprintf("number%d hall%d", i%100, i%17)})
			if ctx.Err() == nil && (err != nil || len(r.Results) == 0) {
				b.T.Errorf("search %d: %v, %d results", i, err, len(r.Results))
			}
			time.Sleep(time.Millisecond) // leaves the processors to the workers
		}
	})
	return func() { cancel(); working.Wait() }
}

func reembedded(b *apptest.Bundle, o vectorspace.Options) vectorspace.Report {
	b.T.Helper()
	started, err := b.Reembed.Start(b.T.Context(), b.Workspace, o)
	testkit.Must(b.T, err)
	return endedReembed(b, started.Space)
}

func endedReembed(b *apptest.Bundle, space int16) vectorspace.Report {
	b.T.Helper()
	id := contract.ReembedID(b.Workspace.Key, space)
	_ = b.Temporal.GetWorkflow(b.T.Context(), id, "").Get(b.T.Context(), nil) // the report has the outcome
	r, err := b.Reembed.Status(b.T.Context(), b.Workspace.ID)
	testkit.Must(b.T, err)
	return r
}

// usesSpace waits until this process has read that the workspace uses a space.
func usesSpace(b *apptest.Bundle, space int16) {
	b.T.Helper()
	testkit.Eventually(b.T, "the process to use the space", func() bool {
		used, err := b.Spaces.Of(b.T.Context(), b.Workspace.ID)
		return err == nil && used.ID == space
	})
}

// A worker that is killed three times while it embeds, and an endpoint that is busy and fails: each
// document has one vector, searches never fail, and a rollback restores their results.
func TestAReembeddingSurvivesCrashes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const n = 20_000
	b, old := changedModel(t, n)
	before := foundIn(b)
	for i, rule := range []openaitest.Rule{{Nth: 1, Barrier: "first", Drop: true}, {Nth: 3, Status: 429},
		{Nth: 5, Barrier: "second"}, {Nth: 7, Status: 500}, {Nth: 9, Barrier: "third", Drop: true}} {
		rule.Stage = "embed"
		if b.Model.On(rule); i == 0 {
			defer searching(b)()
		}
	}
	worker := b.StartProcess()
	started, err := b.Reembed.Start(t.Context(), b.Workspace, vectorspace.Options{})
	testkit.Must(t, err)
	for i, barrier := range []string{"first", "second", "third"} {
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), barrier, 1))
		if i == 1 {
			_, err = b.Memory.Save(t.Context(), agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser,
				Op: "op-late"}, memory.SaveArgs{Content: "The late crate stands outside."})
			testkit.Must(t, err)
		}
		if _, err := b.Reembed.Start(t.Context(), b.Workspace, vectorspace.Options{}); err != nil {
			t.Errorf("started again: %v", err)
		}
		worker.Kill()
		b.Model.Release(barrier)
		worker = b.StartProcess()
	}
	r := endedReembed(b, started.Space)
	if r.Reembed.State != vectorspace.Completed || r.Reembed.Failed != 0 || r.Documents != n+1 {
		t.Fatalf("%+v, %+v", r, r.Reembed)
	}
	for space, want := range map[int16]int{started.Space: n + 1, old: n + 1} {
		if got := count(b, fmt.Sprintf("select count(*) from cairn.embeddings where space = %d", space)); got != want {
			t.Errorf("%d vectors in space %d, want %d", got, space, want)
		}
	}
	usesSpace(b, started.Space)
	foundIn(b)

	back := reembedded(b, vectorspace.Options{Rollback: true})
	usesSpace(b, old)
	if after := foundIn(b); back.Reembed.State != vectorspace.Completed || back.Reembed.Done != 0 ||
		!slices.Equal(before, after) {
		t.Errorf("the rollback (%+v) changes the results", back.Reembed)
	}
}

// Histories of the ways in which a re-embedding ends.
func TestReembedEndsInEachWay(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b, _ := changedModel(t, 10)
	b.Start()
	id := contract.ReembedID(b.Workspace.Key, b.Space)
	rate := vectorspace.Options{Rate: 1}
	steer := func(action string) { testkit.Must(t, b.Reembed.Steer(t.Context(), b.Workspace, action)) }
	until := func(state string) {
		t.Helper()
		testkit.Eventually(t, "the re-embedding is "+state, func() bool {
			r, err := b.Reembed.Status(t.Context(), b.Workspace.ID)
			testkit.Must(t, err)
			return r.Reembed != nil && r.Reembed.State == state
		})
	}
	b.Model.On(openaitest.Rule{Stage: "embed", Status: 401})
	if r := reembedded(b, rate); r.Reembed.State != vectorspace.Failed || r.Reembed.Reason == "" {
		t.Errorf("without access: %+v", r.Reembed)
	}
	b.Record(id, "Reembed/failed")
	b.Model.Forget()
	started, err := b.Reembed.Start(t.Context(), b.Workspace, rate)
	testkit.Must(t, err)
	until(index.ReembedRunning)
	steer(contract.PauseReembed)
	until(index.ReembedPaused)
	steer(contract.CancelReembed)
	if r := endedReembed(b, started.Space); r.Reembed.State != vectorspace.Cancelled {
		t.Errorf("cancelled: %+v", r.Reembed)
	}
	b.Record(id, "Reembed/cancelled")
	if err := b.Reembed.Steer(t.Context(), b.Workspace, contract.PauseReembed); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("paused after its end: %v", err)
	}
	_, err = b.Reembed.Start(t.Context(), b.Workspace, vectorspace.Options{Rate: 2})
	testkit.Must(t, err)
	until(index.ReembedRunning)
	steer(contract.PauseReembed)
	until(index.ReembedPaused)
	steer(contract.ResumeReembed)
	if r := endedReembed(b, started.Space); r.Reembed.State != vectorspace.Completed || r.Spaces[0].State != "active" {
		t.Errorf("completed: %+v, %+v", r.Reembed, r.Spaces)
	}
	b.Record(id, "Reembed/completed")
}
