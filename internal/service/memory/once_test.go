package memory_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// The worker dies between its commit and its reply. The retry, under the same operation ID, returns
// the result of the first attempt.
func TestARetryAfterALostAnswerChangesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]func(*bundle, *memories.PromptService, agent.Actor) (any, error){
		"save": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.Save(b.t.Context(), a, memories.SaveArgs{Content: "Deploys on Fridays are forbidden"})
		},
		"replace": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.Replace(b.t.Context(), a, memories.ReplaceArgs{Match: "staging",
				Content: "The staging host is quartz-2"})
		},
		"remove": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.Remove(b.t.Context(), a, memories.RemoveArgs{Match: "intern"})
		},
		"batch": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.Batch(b.t.Context(), a, memories.BatchArgs{Store: "core", Operations: operations})
		},
		"staged batch": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			a.Origin, a.Tainted = agent.OriginAgent, true
			return k.Batch(b.t.Context(), a, memories.BatchArgs{Store: "core", Operations: operations})
		},
		"soul": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.SoulUpdate(b.t.Context(), a, memories.SoulArgs{Content: "Be brief.", Mode: "append"})
		},
		"soul rollback": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.SoulRollback(b.t.Context(), a, memories.RollbackArgs{Version: 0})
		},
		"approve": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.Approve(b.t.Context(), a, 1, approval.Decision{})
		},
		"reject": func(b *bundle, k *memories.PromptService, a agent.Actor) (any, error) {
			return k.Reject(b.t.Context(), a, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.t = t
			b.save("core", "The staging host is quartz")
			b.save("core", "The intern sits upstairs")
			_, err := b.SoulUpdate(t.Context(), b.User(), memories.SoulArgs{Content: "Be kind."})
			testkit.Must(t, err)
			b.stage("core", "Fridays are for writing")

			a := b.User()
			crashing := *b.PromptService
			crashing.Store = promptLosing(b.PromptService.Store)
			if _, err := c(b, &crashing, a); !errors.Is(err, errPromptLost) {
				t.Fatalf("the crash: %v", err)
			}
			once, said := b.rows(), b.says()
			first, err := c(b, b.PromptService, a)
			testkit.Must(t, err)
			second, err := c(b, b.PromptService, a)
			testkit.Must(t, err)
			if !reflect.DeepEqual(first, second) || reflect.ValueOf(first).IsZero() {
				t.Errorf("the retries give %+v and %+v", first, second)
			}
			if got := b.rows(); got != once || b.says() != said {
				t.Errorf("rows after the crash %s, after the retries %s", once, got)
			}
		})
	}
}

// stage creates a pending write.
func (b *bundle) stage(store, content string) int64 {
	b.t.Helper()
	a := b.Actor(agent.OriginAgent)
	a.Tainted = true
	out, err := b.Save(b.t.Context(), a, memories.SaveArgs{Content: content, Store: store})
	testkit.Must(b.t, err)
	if out.Action != memories.Staged || out.Pending == 0 {
		b.t.Fatalf("stage %q: %+v", content, out)
	}
	return out.Pending
}

func TestAnOperationIDServesOneCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.User()
	_, err := b.Save(t.Context(), a, memories.SaveArgs{Content: "one"})
	testkit.Must(t, err)
	_, err = b.Save(t.Context(), a, memories.SaveArgs{Content: "two"})
	promptWants(t, "other arguments", err, fault.OpReused)
	_, err = b.SoulUpdate(t.Context(), a, memories.SoulArgs{Content: "one"})
	promptWants(t, "another call", err, fault.OpReused)
	if got := b.says(); got != "core: one" {
		t.Errorf("remembers %q", got)
	}
}

func TestARefusedCallMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Choose(func(s *settings.Settings) { s.WriteApproval.Memory = settings.GateAutonomous })
	a := in(b.Actor(agent.OriginNudge), b.Run())
	_, err := b.Replace(t.Context(), a, memories.ReplaceArgs{Store: "core", Match: "later", Content: "now"})
	promptWants(t, "what is not there yet", err, fault.NoMatch)
	b.save("core", "later")
	a.Origin = agent.OriginUser
	out, err := b.Replace(t.Context(), a, memories.ReplaceArgs{Store: "core", Match: "later", Content: "now"})
	testkit.Must(t, err)
	if out.Action != memories.Replaced {
		t.Errorf("%+v", out)
	}
}

func TestTwoAttemptsSideBySideHaveOneEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.save("core", "The staging host is quartz")
	b.save("core", "The intern sits upstairs")
	a := b.User()
	results := make([]memories.WriteResult, 8)
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() {
			var err error
			results[i], err = b.Batch(t.Context(), a, memories.BatchArgs{Store: "core", Operations: operations})
			testkit.Must(t, err)
		})
	}
	wait.Wait()
	for _, r := range results {
		if !reflect.DeepEqual(r, results[0]) || r.Action != memories.Applied {
			t.Errorf("results %+v and %+v", r, results[0])
		}
	}
	if n := b.Number("select count(*) from memory_revisions"); n != 2+3 {
		t.Errorf("%d revisions, want 5", n)
	}
}

// The app role can add to the history, but cannot change it.
func TestEveryVersionIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.save("core", "v1")
	for _, v := range []string{"v2", "v3"} {
		_, err := b.Replace(t.Context(), b.User(), memories.ReplaceArgs{Match: id, Content: v})
		testkit.Must(t, err)
	}
	_, err := b.Remove(t.Context(), b.User(), memories.RemoveArgs{Match: id})
	testkit.Must(t, err)
	history, err := b.History(t.Context(), b.User(), id, 10)
	testkit.Must(t, err)
	var said []string
	for _, r := range history {
		said = append(said, string(r.Action)+" "+r.Content)
	}
	if want := []string{"remove v3", "replace v3", "replace v2", "add v1"}; !reflect.DeepEqual(said, want) {
		t.Errorf("history %q, want %q", said, want)
	}
	if e, err := b.Get(t.Context(), b.User(), id); err != nil || e.Status != memory.Removed || e.Version != 4 {
		t.Errorf("%+v, %v", e, err)
	}
	if b.says() != "" {
		t.Errorf("remembers %q", b.says())
	}
}
