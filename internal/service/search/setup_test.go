package search_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/objectstore"
	"cairn/internal/domain/fault"
	domainindex "cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/library"
	promptmemory "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps it apart from Finder.Index.
type db = pgtest.Store

// bundle is a finder over a fresh database, with what is found in it.
type bundle struct {
	search.Finder
	*db
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, db: pgtest.Open(t)}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := b.db.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	b.EmbedTurns(space, embedding.HashingVectors(embedder.Dims()))
	b.Finder = search.Finder{Index: b.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35,
		VectorShare: 0.1}
	return b
}

// fill gives workspace A a skill, a memory, and a conversation of two messages about the boathouse.
func (b *bundle) fill() {
	b.t.Helper()
	b.skill("open-boathouse", "Open the boathouse in the morning")
	memories := &promptmemory.PromptService{PromptPorts: promptmemory.PromptPorts{Store: b.db.Store,
		Embedder: b.Finder.Embedder,
		Space:    b.Finder.Space}}
	fact := promptmemory.SaveArgs{Content: "The boathouse opens at eight."}
	_, err := memories.Save(b.t.Context(), b.User(), fact)
	testkit.Must(b.t, err)
	c := transcript.Conversation{ID: "harbour", Messages: []transcript.Message{
		{Seq: 0, Role: transcript.User, Content: "Who paints the boathouse?", Time: spring},
		{Seq: 1, Role: transcript.Assistant, Content: "Otto paints the boathouse in May.",
			Time: spring.Add(time.Minute)}}}
	testkit.Must(b.t, b.InWorkspace(b.t.Context(), b.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Transcripts().PutConversation(ctx, c, "import")
		return err
	}))
}

var spring = time.Date(2024, 5, 8, 13, 0, 0, 0, time.UTC)

// skill saves a skill as a person.
func (b *bundle) skill(name, description string) {
	b.t.Helper()
	packages, err := objectstore.Local(b.t.TempDir())
	testkit.Must(b.t, err)
	chosen := func(context.Context, int64) (library.Settings, error) { return library.DefaultSettings(), nil }
	skills := &library.Library{Ports: library.Ports{Store: b.db.Store, Embedder: b.Finder.Embedder,
		Space: b.Finder.Space,
		Blobs: packages, Finder: b.Finder, Settings: chosen}}
	_, err = skills.Save(b.t.Context(), b.User(), library.SaveArgs{Name: name, Description: description,
		Content: "## When to Use\n" + description + ".\n\n## Procedure\n1. Turn the key\n"})
	testkit.Must(b.t, err)
}

// finds looks in workspace A.
func (b *bundle) finds(r search.Request) []domainindex.Result {
	b.t.Helper()
	found, err := b.Find(b.t.Context(), b.A.ID, r)
	testkit.Must(b.t, err)
	return found
}

// names returns the skills of workspace A that match a text.
func (b *bundle) names(f search.Finder, text string, limit int) []string {
	b.t.Helper()
	found, err := f.Skills(b.t.Context(), b.A.ID, text, limit)
	testkit.Must(b.t, err)
	names := []string{}
	for _, s := range found {
		names = append(names, s.Skill.Name)
	}
	return names
}

// away is an embedder that is unavailable.
type away struct{}

func (away) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("no answer")
}

// index is an index that keeps what it was asked, and answers as a test says.
type index struct {
	names []domainindex.NameQuery
	near  []domainindex.NearestQuery
	query domainindex.Query
	name  string
	named []int64
	hits  []domainindex.SkillHit
	err   error
}

func (x *index) Read(ctx context.Context, _ int64, read func(context.Context, domainindex.Reader) error) error {
	return read(ctx, x)
}

func (x *index) Statistics(context.Context, []int32) (domainindex.Statistics, error) {
	return domainindex.Statistics{}, x.err
}

func (x *index) Candidates(context.Context, domainindex.CandidateQuery) ([]domainsearch.WordHit, error) {
	return nil, nil
}

func (x *index) Nearest(_ context.Context, q domainindex.NearestQuery) ([]domainindex.Neighbor, error) {
	x.near = append(x.near, q)
	return nil, nil
}

func (x *index) Documents(context.Context, []int64) ([]domainsearch.Document, error) { return nil, nil }

func (x *index) Named(_ context.Context, n domainindex.NameQuery) ([]int64, error) {
	x.names = append(x.names, n)
	return x.named, nil
}

func (x *index) Results(_ context.Context, ids []int64) ([]domainindex.Result, error) {
	return make([]domainindex.Result, len(ids)), nil
}

func (x *index) Matching(_ context.Context, _ memory.Filter, docs []int64) ([]int64, error) {
	return docs, x.err
}

func (x *index) Among(context.Context, []int64, map[int32]float32, int) ([]domainsearch.WordHit, error) {
	return nil, x.err
}

func (x *index) Around(context.Context, []int64, int) (map[int64][]int64, error) { return nil, nil }

func (x *index) Conversation(context.Context, string) (int64, error) { return 1, nil }

func (x *index) FindSkills(_ context.Context, _ int64, q domainindex.Query, name string) ([]domainindex.SkillHit,
	error) {
	x.query, x.name = q, name
	return x.hits, x.err
}

var errAway = fault.New(fault.Unavailable, "the database is away", "")
