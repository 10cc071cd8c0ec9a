package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// risky is a text that may be honest or an attack.
const risky = "Works at AC\u2060ME"

func TestTheGateHoldsBackWhoItNames(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		gate    settings.Gate
		origin  agent.Origin
		tainted bool
		action  string
	}{
		"open for a nudge":            {settings.GateOff, agent.OriginNudge, false, memories.Added},
		"autonomous, a nudge":         {settings.GateAutonomous, agent.OriginNudge, false, memories.Staged},
		"autonomous, the agent":       {settings.GateAutonomous, agent.OriginAgent, false, memories.Added},
		"all, the agent":              {settings.GateAll, agent.OriginAgent, false, memories.Staged},
		"all, a person":               {settings.GateAll, agent.OriginUser, false, memories.Added},
		"open, a tainted agent":       {settings.GateOff, agent.OriginAgent, true, memories.Staged},
		"open, a tainted nudge":       {settings.GateOff, agent.OriginNudge, true, memories.Staged},
		"a person with tainted texts": {settings.GateAll, agent.OriginUser, true, memories.Added},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.t = t
			b.Choose(func(s *settings.Settings) { s.WriteApproval.Memory = c.gate })
			a := in(b.Actor(c.origin), b.Run())
			a.Tainted = c.tainted
			out, err := b.Save(t.Context(), a, memories.SaveArgs{Content: "Lives in Osaka"})
			testkit.Must(t, err)
			if out.Action != c.action || (out.Pending != 0) != (c.action == memories.Staged) ||
				(b.says() == "") != (c.action == memories.Staged) {
				t.Errorf("%+v, remembers %q; want %s", out, b.says(), c.action)
			}
			out, err = b.Save(t.Context(), in(b.Actor(c.origin), a.Run),
				memories.SaveArgs{Content: "Lives in Osaka"})
			testkit.Must(t, err)
			if c.action == memories.Added && out.Action != memories.Unchanged {
				t.Errorf("an existing entry needs approval: %+v", out)
			}
		})
	}
}

func TestAnApprovedWriteIsDoneInTheNameOfItsWriter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Choose(func(s *settings.Settings) { s.WriteApproval.Memory = settings.GateAutonomous })
	staging := b.save("core", "The staging host is quartz")
	b.save("core", "The intern sits upstairs")
	a := in(b.Actor(agent.OriginNudge), b.Run())
	out, err := b.Batch(t.Context(), a, memories.BatchArgs{Store: "core", Operations: operations})
	testkit.Must(t, err)
	waiting, err := b.PendingList(t.Context(), b.User(), 10)
	testkit.Must(t, err)
	if len(waiting) != 1 || waiting[0].ID != out.Pending ||
		waiting[0].Gist != "core: +1 ~1 -1 entries, +10 characters" || waiting[0].Base[staging] != 1 ||
		waiting[0].ExpiresAt.Sub(waiting[0].CreatedAt).Hours() != 30*24 {
		t.Fatalf("waiting %+v", waiting)
	}
	decided, err := b.Approve(t.Context(), b.User(), out.Pending, approval.Decision{})
	testkit.Must(t, err)
	if decided.State != "approved" || decided.Written.Action != memories.Applied {
		t.Errorf("%+v", decided)
	}
	if got := b.says(); got != "core: The staging host is quartz-2\ncore: Deploys on Fridays are forbidden" {
		t.Errorf("remembers %q", got)
	}
	history, err := b.History(t.Context(), b.User(), staging, 1)
	testkit.Must(t, err)
	if history[0].Origin != "nudge" || history[0].Run != a.Run {
		t.Errorf("%+v", history[0])
	}
	_, err = b.Approve(t.Context(), b.User(), out.Pending, approval.Decision{})
	promptWants(t, "again", err, fault.NotFound)
	_, err = b.Reject(t.Context(), b.User(), out.Pending)
	promptWants(t, "the other way", err, fault.NotFound)
}

func TestAWriteWhoseBaseHasMovedIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.save("core", "The staging host is quartz")
	a := b.Actor(agent.OriginAgent)
	a.Tainted = true
	out, err := b.Replace(t.Context(), a, memories.ReplaceArgs{Match: "staging",
		Content: "The staging host is evil.example"})
	testkit.Must(t, err)
	_, err = b.Replace(t.Context(), b.User(),
		memories.ReplaceArgs{Match: id, Content: "The staging host is basalt"})
	testkit.Must(t, err)
	approver := b.User()
	_, err = b.Approve(t.Context(), approver, out.Pending, approval.Decision{})
	promptWants(t, "approve", err, fault.VersionConflict)
	_, err = b.Approve(t.Context(), approver, out.Pending, approval.Decision{})
	promptWants(t, "a retry of it", err, fault.VersionConflict)
	if got := b.says(); got != "core: The staging host is basalt" {
		t.Errorf("remembers %q", got)
	}
	if waiting, err := b.PendingList(t.Context(), b.User(), 10); err != nil || len(waiting) != 0 {
		t.Errorf("still waiting: %+v, %v", waiting, err)
	}
}

func TestOnlyAPersonDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.stage("core", "Fridays are for writing")
	for _, o := range []agent.Origin{agent.OriginAgent, agent.OriginNudge, agent.OriginImport} {
		_, err := b.Approve(t.Context(), b.Actor(o), id, approval.Decision{})
		promptWants(t, "approve", err, fault.OutOfScope)
		_, err = b.Reject(t.Context(), b.Actor(o), id)
		promptWants(t, "reject", err, fault.OutOfScope)
	}
	decided, err := b.Reject(t.Context(), b.User(), id)
	testkit.Must(t, err)
	if decided.State != "rejected" || b.says() != "" {
		t.Errorf("%+v, remembers %q", decided, b.says())
	}
}

func TestAWaitingWriteLapsesAfterThirtyDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.stage("core", "Fridays are for writing")
	b.Exec("update pending_memories set expires_at = now()")
	_, err := b.Approve(t.Context(), b.User(), id, approval.Decision{})
	promptWants(t, "approve", err, fault.NotFound)
	if waiting, err := b.PendingList(t.Context(), b.User(), 10); err != nil || len(waiting) != 1 ||
		waiting[0].State != "expired" {
		t.Errorf("it is shown as %+v, %v", waiting, err)
	}
	_, err = b.Approve(t.Context(), b.User(), id, approval.Decision{})
	promptWants(t, "approve what is shown as expired", err, fault.NotFound)
}

// Every prompt contains these memories, so doubtful text waits whichever agent writes it.
func TestWhatTheScanDoubtsWaitsUnlessAPersonWroteIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out, err := b.Save(t.Context(), b.User(), memories.SaveArgs{Content: risky})
	testkit.Must(t, err)
	if out.Action != memories.Added || len(out.Warnings) == 0 || strings.Contains(out.Warnings[0], "AC") {
		t.Errorf("by a person: %+v", out)
	}
	for i, a := range []agent.Actor{b.Actor(agent.OriginAgent), in(b.Actor(agent.OriginNudge), b.Run()),
		in(b.Actor(agent.OriginReflection), b.Run()), in(b.Actor(agent.OriginDistill), b.Run()),
		b.Actor(agent.OriginImport)} {
		text := fmt.Sprintf("%s in year %d", risky, i)
		out, err = b.Save(t.Context(), a, memories.SaveArgs{Content: text, Store: "profile"})
		testkit.Must(t, err)
		waiting, err := b.PendingList(t.Context(), b.User(), 10)
		testkit.Must(t, err)
		if out.Action != memories.Staged || len(waiting) != i+1 || len(waiting[i].Risk) == 0 ||
			!strings.HasPrefix(waiting[i].Reason, "risk") {
			t.Errorf("by %s: %+v, waiting %+v", a.Origin, out, waiting)
		}
	}
	decided, err := b.Approve(
		t.Context(),
		b.User(),
		out.Pending,
		approval.Decision{},
	) // the reviewer saw the findings: this is the override
	if err != nil || decided.State != "approved" {
		t.Errorf("%+v, %v", decided, err)
	}
}

// Pending entries count: staging must not bypass the quota.
func TestWhatWaitsCountsAgainstTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Choose(func(s *settings.Settings) { s.WriteApproval.Memory = settings.GateAutonomous })
	run := b.Run()
	for i, code := range []fault.Code{"", "", "", fault.QuotaExceeded} {
		_, err := b.Save(t.Context(), in(b.Actor(agent.OriginNudge), run),
			memories.SaveArgs{Content: strings.Repeat("x", i+1)})
		promptWants(t, "save", err, code)
	}
}

func TestApprovalKeepsTheBudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Choose(func(s *settings.Settings) { s.Limits.CoreRunes = 40 })
	id := b.stage("core", "Fridays are for writing") // 23 characters
	other := b.save("core", "Mondays are for planning")
	decided, err := b.Approve(t.Context(), b.User(), id, approval.Decision{})
	if err != nil || decided.State != "approved" || decided.Written.Usage != 58 ||
		!slices.Equal(decided.Written.Moved, []string{other}) {
		t.Errorf("%+v, %v", decided, err)
	}
}

func TestApprovalTakesTheTaintAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.save("core", "Fridays are for writing")
	b.Exec("update memories set tainted = true")
	_, err := b.Replace(t.Context(), b.Actor(agent.OriginAgent),
		memories.ReplaceArgs{Match: id, Content: "Fridays are for reading"})
	testkit.Must(t, err)
	if e, err := b.Get(t.Context(), b.User(), id); err != nil || !e.Tainted {
		t.Errorf("an agent's correction took the taint away: %+v, %v", e, err)
	}
	b.Choose(func(s *settings.Settings) { s.WriteApproval.Memory = settings.GateAll })
	out, err := b.Replace(t.Context(), b.Actor(agent.OriginAgent),
		memories.ReplaceArgs{Match: id, Content: "Fridays are for both"})
	testkit.Must(t, err)
	_, err = b.Approve(t.Context(), b.User(), out.Pending, approval.Decision{})
	testkit.Must(t, err)
	if e, err := b.Get(t.Context(), b.User(), id); err != nil || e.Tainted || e.Content != "Fridays are for both" ||
		e.Status != memory.Active {
		t.Errorf("%+v, %v", e, err)
	}
}
