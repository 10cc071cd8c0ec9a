package dump_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/dump"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// dumps is the service over a fresh database; workspace A has memories.
type dumps struct {
	*dump.Service
	*db
	t    *testing.T
	long *memories.LongTermService
}

func setup(t *testing.T) *dumps {
	t.Helper()
	d := &dumps{t: t, db: pgtest.Open(t)}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := d.db.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	d.long = &memories.LongTermService{Ports: memories.Ports{Store: d.db.Store, Embedder: embedder, Space: space,
		Finder: search.Finder{Index: d.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}
	d.Service = &dump.Service{Ports: dump.Ports{Store: d.Dumps(), Embedder: embedder, Model: embedder.Model(),
		Dims: embedder.Dims(), Space: space}}
	d.remember()
	return d
}

// remember fills workspace A: a session with a digest, memories of two types of which
// one says something else now, the identity and the soul.
func (d *dumps) remember() {
	d.t.Helper()
	ctx := d.t.Context()
	said := []transcript.Message{{Role: transcript.User, Content: "Ann keeps bees near Osaka."},
		{Role: transcript.Assistant, Content: "Noted: Ann keeps bees.",
			Details: transcript.Details{Reasoning: "She told us.", Model: "m@1"}}}
	session, err := d.long.AddHistory(ctx, d.User(), said)
	testkit.Must(d.t, err)
	about := func(t memory.Type, target string) agent.Actor {
		a := d.User()
		a.Subject = agent.MemoryScope{Type: string(t), Target: target, History: session.ID, Author: "m@1"}
		return a
	}
	_, err = d.long.AddSummary(ctx, about("", ""), memories.SummaryArgs{Content: "They talked about bees."})
	testkit.Must(d.t, err)
	items, err := d.long.AddMemories(ctx, about(memory.Personal, "Ann"), []memories.NewMemory{
		{Content: "Keeps bees: 蜂蜜 \"quoted\" <tag>.", Metadata: memory.Metadata{"hives": 4.0}}, {Content: "Sails."}})
	testkit.Must(d.t, err)
	_, err = d.long.UpdateMemories(ctx, about(memory.Personal, "Ann"),
		[]memories.ChangedMemory{{ID: items[1].ID, Content: "Sails on Sundays."}})
	testkit.Must(d.t, err)
	_, err = d.long.AddMemories(ctx, about(memory.Procedural, "bees"),
		[]memories.NewMemory{{Content: "Wear a veil.", WhenToUse: "near hives"}})
	testkit.Must(d.t, err)
	_, err = d.long.UpdateIdentity(ctx, d.User(), memories.IdentityArgs{Content: "I help a bee keeper."})
	testkit.Must(d.t, err)
	prompts := &memories.PromptService{PromptPorts: memories.PromptPorts{Store: d.db.Store, Embedder: d.long.Embedder,
		Space:  d.Service.Space,
		Finder: d.long.Finder}}
	_, err = prompts.SoulUpdate(ctx, d.User(), memories.SoulArgs{Content: "Answer briefly."})
	testkit.Must(d.t, err)
}

// dumped is the file of a workspace.
func (d *dumps) dumped(ws access.Workspace, o dump.Options) string {
	d.t.Helper()
	var out bytes.Buffer
	testkit.Must(d.t, d.Dump(d.t.Context(), ws.ID, &out, o))
	return out.String()
}

// inB is a user in workspace B with a new operation ID.
func (d *dumps) inB() agent.Actor {
	a := d.User()
	a.Workspace = d.B.ID
	return a
}

func (d *dumps) load(a agent.Actor, file string) dump.LoadResult {
	d.t.Helper()
	out, err := d.Load(d.t.Context(), a, strings.NewReader(file))
	testkit.Must(d.t, err)
	return out
}

// refused checks that a load into workspace B fails with a code, a hint and a text, and that it
// leaves no rows.
func (d *dumps) refused(file string, code fault.Code, says string) {
	d.t.Helper()
	_, err := d.Load(d.t.Context(), d.inB(), strings.NewReader(file))
	if f := fault.From(err); err == nil || f.Code != code || f.Hint == "" || !strings.Contains(f.Message, says) {
		d.t.Errorf("%+v, want %s with %q", err, code, says)
	}
	if got := d.remembers(d.B); got != nothing {
		d.t.Errorf("it leaves %s", got)
	}
}

const nothing = "targets 0, memories 0, sessions 0, conversations 0, messages 0, identities 0, souls 0"

// remembers counts what a workspace holds.
func (d *dumps) remembers(ws access.Workspace) (out string) {
	d.t.Helper()
	testkit.Must(d.t, d.Dumps().InSnapshot(d.t.Context(), ws.ID, func(ctx context.Context, s store.Tx) error {
		c, err := s.Dump().Counts(ctx)
		out = fmt.Sprintf("targets %d, memories %d, sessions %d, conversations %d, messages %d, "+
			"identities %d, souls %d", c.Targets, c.Memories, c.Histories, c.Conversations, c.Messages,
			c.Identities, c.Souls)
		return err
	}))
	return out
}

// content is a file without the lines that name its workspace and its bytes.
func content(file string) string {
	lines := strings.Split(strings.TrimSpace(file), "\n")
	return strings.Join(lines[1:len(lines)-1], "\n")
}
