package browsertest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/browsertest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// A person makes a task, changes it, has it fire, and removes it.
func TestATaskIsManaged(t *testing.T) {
	f, b := signedIn(t)
	task := func() httpapi.ScheduledTask { return read[httpapi.ScheduledTask](f, "/v1/schedules/tea") }
	button := func(verb string) string { return "form[action$='/schedules/tea/" + verb + "'] button" }
	b.Visit(f.At("schedules"))
	b.Enter("#add-name", "tea")
	b.Enter("#add-cron", "0 16 1 1 *")
	b.Enter("#add-prompt", "Remind me of the tea.")
	b.Act("form[action$='/schedules'] button", "Saved.")
	shows(b, "0 16 1 1 *", "Remind me of the tea.")
	if got := task(); got.Cron != "0 16 1 1 *" || got.Prompt != "Remind me of the tea." || got.PausedAt != nil {
		t.Errorf("the task is %+v", got)
	}
	b.Act(button("pause"), "Paused.")
	if got := task(); got.PausedAt == nil || has(b, button("pause")) {
		t.Errorf("after the pause: %+v", got)
	}
	b.Act(button("resume"), "Resumed.")
	if got := task(); got.PausedAt != nil || has(b, button("resume")) {
		t.Errorf("after the end of the pause: %+v", got)
	}
	b.Visit(f.At("schedules", "tea"))
	b.Enter("#change-cron", "30 7 2 2 *")
	b.Enter("#change-zone", "Asia/Shanghai")
	b.Enter("#change-prompt", "Remind me of the coffee.")
	b.Act("form[action$='/schedules/tea'] button", "Saved.")
	shows(b, "30 7 2 2 *", "07:30:00 CST", "Remind me of the coffee.")
	if got := task(); got.Cron != "30 7 2 2 *" || got.Zone != "Asia/Shanghai" ||
		got.Prompt != "Remind me of the coffee." {
		t.Errorf("after the change: %+v", got)
	}
	b.Visit(f.At("schedules"))
	b.Act(button("remove"), "Removed.")
	hides(b, "Remind me of the coffee.")
	if status, answer := ask(f, http.MethodGet, "/v1/schedules/tea", ""); status != http.StatusNotFound {
		t.Errorf("after the removal: %d %s", status, answer)
	}
}

// A task fires at once, and for a past day. It does not fire while its previous turn has no reply.
func TestATaskFires(t *testing.T) {
	f, b := signedIn(t)
	f.AddSchedule("tea", "0 16 * * *", "UTC")
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "It is time for tea.", Barrier: "tea"})
	b.Visit(f.At("schedules"))
	trigger := "form[action$='/schedules/tea/trigger'] button"
	b.Act(trigger, "Started.")
	testkit.Eventually(t, "the turn has begun", func() bool { return len(fired(f)) == 1 })
	b.Act(trigger, "Nothing was started: the previous turn has no reply yet, or there is nothing to do.")
	f.Model.Release("tea")
	replied := func(n int) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("the task has fired %d times", n), func() bool {
			turns := fired(f)
			return len(turns) == n && turns[0].Status == "ended" && turns[n-1].Status == "ended"
		})
	}
	replied(1)
	b.Visit(f.At("schedules", "tea"))
	shows(b, "Next firings")
	day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	b.Choose("#backfill-from", day)
	b.Choose("#backfill-until", day)
	b.Act("form[action$='/schedules/tea/backfill'] button", "Started.")
	replied(2)
	b.Click("a[href*='/conversations/schedule']")
	b.Await("#thread")
	if n := strings.Count(b.Text(), "It is time for tea."); n != 2 {
		t.Errorf("the conversation has %d replies: %s", n, b.Text())
	}
}

// fired returns the turns of a task.
func fired(f *browsertest.Fixture) (out []httpapi.ConversationTurn) {
	f.T.Helper()
	for _, c := range read[httpapi.ConversationList](f, "/v1/conversations").Conversations {
		if strings.HasPrefix(c.Name, "schedule/tea/") {
			out = read[httpapi.TurnList](f, "/v1/conversations/"+url.PathEscape(c.Name)+"/turns").Turns
		}
	}
	return out
}
