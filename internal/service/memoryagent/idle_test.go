package memoryagent_test

import (
	"context"
	"log/slog"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/distill"
	"cairn/internal/service/feedback"
	"cairn/internal/service/library"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// idleBundle is the service over a new database.
type idleBundle struct {
	*memoryagent.IdleReader
	*db
	t    *testing.T
	days days
}

// days returns the conversations of reflections.
type days map[string][]int64

func (d days) Conversations(_ context.Context, ref run.Ref) ([]int64, error) {
	if found, ok := d[ref.Run]; ok {
		return found, nil
	}
	return nil, fault.Newf(fault.NotFound, "there is no run %s", ref.Run)
}

func idleSetup(t *testing.T) *idleBundle {
	t.Helper()
	skills := pgtest.OpenLearning(t)
	b := &idleBundle{t: t, db: skills.DB, days: days{}}
	embedder := embedding.Hashing(embedding.DefaultDims)
	agents := &memoryagent.Service{Ports: memoryagent.Ports{Store: b.Store,
		LongTerm: &memory.LongTermService{Ports: memory.Ports{Store: b.Store, Embedder: embedder}},
		Registry: memoryagent.NewRegistry()}}
	learner := feedback.New(feedback.Ports{
		Store:   b.Workspaces(),
		Answers: b.Inbox(),
		Cases:   skills.Cases,
		Skills: &library.Library{
			Ports: library.Ports{Store: b.Store},
		},
		Rounds:  skills.Rounds,
		Updates: skills.Updates,
		Spec:    skills.Spec,
		Log:     slog.New(slog.DiscardHandler),
	})
	gate := transcript.Gate{Policy: transcript.GateAuto, MinToolMessages: 4, MinMessages: 6}
	b.IdleReader = memoryagent.NewIdleReader(memoryagent.IdleReaderPorts{Store: b.Store, Agents: agents,
		Builder: skills.Builds, Learner: learner,
		Distiller: &distill.Service{Ports: distill.Ports{Store: b.Store, Embedder: embedder}}, Days: b.days,
		Specs: memoryagent.Specs{Build: skills.Spec,
			Agents:  func() agentrun.Spec { return agentrun.Spec{Model: "scripted"} },
			Distill: func() distill.Spec { return distill.Spec{Gate: gate} }}})
	return b
}

// talk appends n exchanges to a conversation.
func (b *idleBundle) talk(name string, from, n int) (id int64) {
	b.t.Helper()
	for i := range n {
		id = b.Exchange(name, string(rune('a'+from+i)), "Deploy service number "+string(rune('a'+from+i)),
			"Deployed it, and probed it before the change.").Conversation
	}
	return id
}

func (b *idleBundle) input(conversation int64) contract.IdleInput {
	return contract.IdleInput{Workspace: b.A.ID, WorkspaceKey: b.A.Key, Conversation: conversation}
}

func (b *idleBundle) read(conversation int64) contract.IdleResult {
	b.t.Helper()
	out, err := b.Read(b.t.Context(), b.input(conversation))
	testkit.Must(b.t, err)
	return out
}

// pinned returns the first and last message of a distillation, from its row.
func (b *idleBundle) pinned(id string) (from, to int) {
	b.t.Helper()
	return b.Number("select coalesce((spec->>'from')::int, 0) from runs where id = $1", id),
		b.Number("select (spec->>'to')::int from runs where id = $1", id)
}

func TestAnIdleConversationIsRememberedAndDistilledOnce(t *testing.T) {
	t.Parallel()
	b := idleSetup(t)
	c := b.talk("c", 0, 3)
	first := b.read(c)
	if first.Summarize == "" || first.Distill == "" || first.Build != "" {
		t.Fatalf("%+v", first)
	}
	if n := b.Number("select count(*) from outbox where kind = 'drive' and key in ($1, $2)", first.Summarize,
		first.Distill); n != 2 {
		t.Errorf("%d runs are to be driven to their end, want 2", n)
	}
	if again := b.read(c); again != (contract.IdleResult{}) {
		t.Errorf("read again: %+v", again)
	}
	b.talk("c", 3, 3)
	second := b.read(c)
	if from, to := b.pinned(second.Distill); second.Distill == first.Distill || from != 6 || to != 11 {
		t.Errorf("%+v distills messages %d to %d, want 6 to 11", second, from, to)
	}
}

func TestWhatIsTooLittleToDistillCountsWhenMoreIsSaid(t *testing.T) {
	t.Parallel()
	b := idleSetup(t)
	c := b.talk("c", 0, 1)
	if out := b.read(c); out.Summarize == "" || out.Distill != "" {
		t.Fatalf("of two messages: %+v", out)
	}
	b.talk("c", 1, 2)
	out := b.read(c)
	if out.Distill == "" {
		t.Fatalf("of six messages: %+v", out)
	}
	if from, to := b.pinned(out.Distill); from != 0 || to != 5 {
		t.Errorf("messages %d to %d are distilled, want 0 to 5", from, to)
	}
}

func TestAWorkspaceThatChoseMemorySkillsHasThemRemember(t *testing.T) {
	t.Parallel()
	b := idleSetup(t)
	b.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	c := b.talk("c", 0, 1)
	if out := b.read(c); out.Build == "" || out.Summarize != "" {
		t.Errorf("%+v", out)
	}
	if again, err := b.Build(t.Context(), b.input(c)); err != nil || again != "" {
		t.Errorf("again: run %s, %v", again, err)
	}
}

func TestAConversationThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b := idleSetup(t)
	of := b.input(b.talk("c", 0, 3))
	other := of
	other.Workspace, other.WorkspaceKey = b.B.ID, b.B.Key
	for name, in := range map[string]contract.IdleInput{"unknown": b.input(of.Conversation + 100),
		"of another": other} {
		if out, err := b.Read(t.Context(), in); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	if n := b.Number("select count(*) from runs where kind in ('summarize', 'distill')"); n != 0 {
		t.Errorf("%d runs were made", n)
	}
}

// forgetful loses the first mark, like a crash between a run and its mark.
type forgetful struct {
	memoryagent.Agents
	lost bool
}

func (f *forgetful) Read(ctx context.Context, ws, conversation int64, kind run.Kind, to int, id string) error {
	if !f.lost {
		f.lost = true
		return fault.New(fault.Unavailable, "the database went away", "")
	}
	return f.Agents.Read(ctx, ws, conversation, kind, to, id)
}

func TestACrashBeforeTheMarkMakesNoSecondDistillation(t *testing.T) {
	t.Parallel()
	b := idleSetup(t)
	b.Agents = &forgetful{Agents: b.Agents}
	c := b.talk("c", 0, 3)
	if _, err := b.Read(t.Context(), b.input(c)); fault.CodeOf(err) != fault.Unavailable {
		t.Fatal(err)
	}
	if out := b.read(c); out.Distill == "" {
		t.Errorf("%+v", out)
	}
	if n := b.Number("select count(*) from runs where kind = 'distill'"); n != 1 {
		t.Errorf("%d distillations", n)
	}
}

func TestADaysConversationsAreDistilledButThoseThatAreGone(t *testing.T) {
	t.Parallel()
	b := idleSetup(t)
	long, short := b.talk("long", 0, 3), b.talk("short", 0, 1)
	reflection := run.Ref{Workspace: b.A.ID, Run: "run_7"}
	b.days[reflection.Run] = []int64{long + 100, short, long}
	day := contract.RunRef{Workspace: reflection.Workspace, WorkspaceKey: b.A.Key, Run: reflection.Run}
	out, err := b.ReadDay(t.Context(), day)
	testkit.Must(t, err)
	if len(out.Distills) != 1 || out.Distills[0].Conversation != long ||
		out.Distills[0].Input.WorkflowID != out.Distills[0].WorkflowID || out.Distills[0].Input.Run == "" ||
		out.Distills[0].Input.WorkspaceKey != b.A.Key {
		t.Errorf("%+v", out)
	}
	// A repeated attempt creates no other run: the relay starts those that were not started.
	again, err := b.ReadDay(t.Context(), day)
	if err != nil || len(again.Distills) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	day.Run = "run_8"
	if _, err := b.ReadDay(t.Context(), day); fault.CodeOf(err) !=
		fault.NotFound {
		t.Errorf("an unknown reflection: %v", err)
	}
}
