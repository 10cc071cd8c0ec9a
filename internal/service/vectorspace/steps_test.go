package vectorspace_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/search"
	"cairn/internal/service/vectorspace"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// starter records what was started and steered.
type starter struct {
	started []contract.ReembedInput
	steered []string
	running bool
}

func (s *starter) Reembed(_ context.Context, in contract.ReembedInput) error {
	s.started = append(s.started, in)
	return nil
}

func (s *starter) SteerReembed(_ context.Context, id, action string) (bool, error) {
	s.steered = append(s.steered, action+" "+id)
	return s.running, nil
}

// bundle is a service whose configured model is served by an endpoint. Workspace A has vectors of
// hashing.
type bundle struct {
	*vectorspace.Service
	db       *pgtest.Store
	t        *testing.T
	endpoint *openaitest.Server
	starter  *starter
	old      index.Space
	to       index.Space
	ref      contract.ReembedRef
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, db: pgtest.Open(t), endpoint: openaitest.New(t), starter: &starter{}}
	b.old = index.Space{Model: embedding.HashingModel, Dims: 32}
	b.to = index.Space{Model: "scripted-embedding", Dims: openaitest.DefaultDims}
	var err error
	for _, s := range []*index.Space{&b.old, &b.to} {
		s.ID, err = b.db.Space(t.Context(), s.Model, s.Dims)
		testkit.Must(t, err)
	}
	embedders := map[index.Space]search.Embedder{b.old: embedding.Hashing(32), b.to: embedding.New(
		embedding.Config{BaseURL: b.endpoint.URL, Model: b.to.Model, Dims: b.to.Dims})}
	registry := vectorspace.NewRegistry(vectorspace.RegistryPorts{Pointers: b.db, Configured: b.to,
		Serve: func(s index.Space) (search.Space, bool) {
			e, ok := embedders[s]
			return search.Space{ID: s.ID, Embedder: e}, ok
		}, Log: slog.New(slog.DiscardHandler)})
	b.Service = vectorspace.New(vectorspace.Ports{Store: b.db.VectorSpaces(), Registry: registry,
		Starter: b.starter, Log: slog.New(slog.DiscardHandler)})
	b.ref = contract.ReembedRef{Workspace: b.db.A.ID, WorkspaceKey: b.db.A.Key, Space: b.to.ID}
	b.db.Exec("update workspaces set space_id = $1", b.old.ID)
	return b
}

// write adds documents with the vectors of the old space.
func (b *bundle) write(texts ...string) {
	b.t.Helper()
	first := b.db.Number("select count(*) from search_docs")
	docs := make([]index.Doc, len(texts))
	for i, text := range texts {
		docs[i] = index.NewDoc(index.KindMemory, int64(first+i+1), "active", text)
	}
	vectors, err := embedding.Hashing(b.old.Dims).Embed(b.t.Context(), texts)
	testkit.Must(b.t, err)
	testkit.Must(b.t, b.db.InWorkspace(b.t.Context(), b.db.A.ID, func(ctx context.Context, q store.Tx) error {
		ids, err := q.Documents().IndexNew(ctx, docs)
		if err != nil {
			return err
		}
		return q.Documents().PutEmbeddings(ctx, ids, b.old.ID, vectors)
	}))
}

func (b *bundle) many(n int) {
	b.t.Helper()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("note number%d", i)
	}
	b.write(texts...)
}

func (b *bundle) begin() {
	b.t.Helper()
	testkit.Must(b.t, b.Begin(b.t.Context(), contract.ReembedInput{ReembedRef: b.ref}))
}

// batches embeds until no document is left, and returns the numbers of documents.
func (b *bundle) batches() (sizes []int) {
	b.t.Helper()
	for again := true; ; again = false {
		out, err := b.Batch(b.t.Context(), contract.ReembedBatchInput{ReembedRef: b.ref, Again: again})
		testkit.Must(b.t, err)
		if out.Documents == 0 {
			return sizes
		}
		sizes = append(sizes, out.Documents)
	}
}

func (b *bundle) change(handOver bool) bool {
	b.t.Helper()
	out, err := b.Switch(b.t.Context(), contract.ReembedSwitchInput{ReembedRef: b.ref, HandOver: handOver})
	testkit.Must(b.t, err)
	return out.Done
}

func (b *bundle) vectors(space index.Space) int {
	b.t.Helper()
	return b.db.Number("select count(*) from embeddings where space = $1", space.ID)
}

func (b *bundle) status() vectorspace.Report {
	b.t.Helper()
	r, err := b.Status(b.t.Context(), b.db.A.ID)
	testkit.Must(b.t, err)
	return r
}

func TestAReembeddingChangesTheSpace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(300)
	estimate, err := b.Estimate(t.Context(), b.db.A.ID, vectorspace.Options{Rate: 100})
	if err != nil || estimate.Documents != 300 || estimate.Requests != 3 || estimate.Seconds != 3 ||
		estimate.Model != b.to.Model || estimate.Characters == 0 {
		t.Errorf("%+v, %v", estimate, err)
	}
	b.begin()
	if b.change(false) {
		t.Fatal("changed the space without vectors")
	}
	sizes := b.batches()
	if !slices.Equal(sizes, []int{256, 44}) || len(b.endpoint.Requests()) != 3 {
		t.Errorf("batches of %v documents with %d requests", sizes, len(b.endpoint.Requests()))
	}
	r := b.status()
	if r.Reembed.State != index.ReembedRunning || r.Reembed.Done != 300 || r.Reembed.Total != 300 ||
		r.Spaces[0].State != "active" || r.Spaces[1].State != "building" || r.Spaces[1].Coverage != 1 {
		t.Errorf("%+v, %+v", r, r.Reembed)
	}
	if !b.change(false) || b.vectors(b.old) != 300 || b.vectors(b.to) != 300 {
		t.Errorf("%d and %d vectors", b.vectors(b.old), b.vectors(b.to))
	}
	r = b.status()
	if r.Reembed.State != vectorspace.Completed || r.Reembed.FinishedAt == nil || r.Spaces[0].State != "previous" ||
		r.Spaces[1].State != "active" || !r.Spaces[1].Configured || r.Documents != 300 || r.Vector != "" {
		t.Errorf("%+v, %+v", r, r.Reembed)
	}
	if used, err := b.Registry.Of(t.Context(), b.db.A.ID); err != nil || used.ID != b.to.ID {
		t.Errorf("space %d, %v", used.ID, err)
	}
}

// Documents that are written while a re-embedding runs are embedded before the space changes.
func TestDocumentsWrittenMeanwhileGetTheirVectors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(5)
	b.begin()
	b.batches()
	b.write("late")
	if b.change(false) {
		t.Fatal("changed the space without a vector")
	}
	if sizes := b.batches(); !slices.Equal(sizes, []int{1}) {
		t.Errorf("batches of %v documents", sizes)
	}
	b.write("later", "latest")
	if !b.change(true) {
		t.Fatal("does not hand over two documents")
	}
	if n := b.db.Number("select count(*) from outbox where kind = 'embed'"); n != 2 || b.vectors(b.to) != 6 {
		t.Errorf("%d documents owe a vector, %d have one", n, b.vectors(b.to))
	}
}

func TestManyMissingDocumentsAreNotHandedOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(300)
	b.begin()
	if b.change(true) {
		t.Error("handed over 300 documents")
	}
}

func TestAWriterInProgressDelaysTheChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(3)
	b.begin()
	b.batches()
	changed := make(chan bool)
	testkit.Must(t, b.db.InWorkspace(t.Context(), b.db.A.ID, func(ctx context.Context, q store.Tx) error {
		_, err := q.Documents().IndexNew(ctx, []index.Doc{index.NewDoc(index.KindMemory, 99, "active", "slow")})
		testkit.Must(t, err)
		go func() {
			out, err := b.Switch(t.Context(), contract.ReembedSwitchInput{ReembedRef: b.ref})
			changed <- out.Done || err != nil
		}()
		testkit.Eventually(t, "the change to wait", func() bool {
			return b.db.Number("select count(*) from pg_stat_activity where datname = current_database() and "+
				"wait_event_type = 'Lock'") == 1
		})
		return nil
	}))
	if <-changed {
		t.Error("the change did not see the document")
	}
}

// Two attempts of one batch, one of which was believed dead, count once.
func TestABatchCountsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(100)
	b.begin()
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			if _, err := b.Batch(t.Context(), contract.ReembedBatchInput{ReembedRef: b.ref}); err != nil {
				t.Error(err)
			}
		})
	}
	working.Wait()
	if r := b.status(); r.Reembed.Done != 100 || b.vectors(b.to) != 100 {
		t.Errorf("counted %d, stored %d", r.Reembed.Done, b.vectors(b.to))
	}
}

func TestARefusedDocumentIsRecordedAndSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(9)
	b.write("poison")
	b.endpoint.On(openaitest.Rule{Stage: "embed", Match: "poison", Status: http.StatusBadRequest, Reply: "too odd"})
	b.begin()
	if b.batches(); !b.change(false) {
		t.Fatal("the refused document prevents the change")
	}
	r := b.status().Reembed
	if r.Done != 9 || r.Failed != 1 || len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Reason, "too odd") {
		t.Errorf("%+v", r)
	}
	b.db.Exec("update workspaces set space_id = $1", b.old.ID)
	testkit.Must(t, b.endpoint.Script(openaitest.Script{}))
	b.begin() // another start tries it again
	if b.batches(); !b.change(false) || b.status().Reembed.Failed != 0 || b.vectors(b.to) != 10 {
		t.Errorf("%+v, %d vectors", b.status().Reembed, b.vectors(b.to))
	}
}

// Failures of the endpoint change nothing. Temporary ones are retried.
func TestAFailedBatchStoresNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(4)
	b.begin()
	for name, c := range map[string]struct {
		script openaitest.Script
		want   fault.Code
	}{
		"busy":   {embedFault(http.StatusTooManyRequests), fault.Unavailable},
		"broken": {embedFault(http.StatusInternalServerError), fault.Unavailable},
		"denied": {embedFault(http.StatusUnauthorized), fault.ModelAuth},
		// a model that refuses every text is not a reason to skip all documents
		"refuses everything": {embedFault(http.StatusBadRequest), fault.ModelRejected},
		"wrong dimensions":   {openaitest.Script{WrongDimension: true}, fault.Misconfigured},
	} {
		testkit.Must(t, b.endpoint.Script(c.script))
		_, err := b.Batch(t.Context(), contract.ReembedBatchInput{ReembedRef: b.ref})
		if got := codeOf(err); got != c.want {
			t.Errorf("%s: %q (%v), want %s", name, got, err, c.want)
		}
		if r := b.status().Reembed; r.Done+r.Failed != 0 || b.vectors(b.to) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	testkit.Must(t, b.endpoint.Script(openaitest.Script{}))
	if b.batches(); b.vectors(b.to) != 4 {
		t.Errorf("%d vectors", b.vectors(b.to))
	}
}

func embedFault(status int) openaitest.Script {
	return openaitest.Script{Rules: []openaitest.Rule{{Stage: "embed", Status: status}}}
}
