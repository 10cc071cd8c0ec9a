package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/apikey"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/testkit"
)

// rate sends feedback on a message of the canary with a key.
func (b *bundle) rate(key, message, rating string) (out httpapi.FeedbackResult) {
	b.T.Helper()
	b.do(request{method: http.MethodPost, path: "/v1/feedback", key: key, body: map[string]any{"rating": rating,
		"conversation": "canary", "message_id": message}}).into(http.StatusOK, &out)
	return out
}

// judge judges what is due, and returns the only update.
func (b *bundle) judge() httpapi.PolicyUpdateList {
	b.T.Helper()
	_, err := b.Learning.Updates.AcceptDue(b.T.Context(), runspec.Due{Workspace: b.Workspace.ID,
		WorkspaceKey: b.Workspace.Key, Least: 1000})
	testkit.Must(b.T, err)
	var list httpapi.PolicyUpdateList
	b.get("/v1/banks/default/updates").into(http.StatusOK, &list)
	if len(list.Updates) != 1 {
		b.T.Fatalf("%+v", list)
	}
	return list
}

// minute moves all votes a minute back.
func (b *bundle) minute() {
	b.T.Helper()
	b.admin("update cairn.votes set voted_at = voted_at - interval '61 seconds'")
}

// One key cannot promote an update, however it votes. Its owner can.
func TestOneKeyPromotesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	messages := b.ObserveCanary(20)
	one := b.makeKey(b.Workspace, apikey.Write)
	promote := func(update int, key string) response {
		return b.do(request{method: http.MethodPost, path: "/v1/banks/default/promote", key: key,
			body: map[string]any{"update": update}, header: map[string]string{"X-Request-Id": "req-1"}})
	}

	// 25 votes of one key on two answers are two votes.
	for range 25 {
		b.rate(one, messages[0], "good")
		b.rate(one, messages[1], "bad")
	}
	got := b.judge()
	if c := got.Updates[0].Canary; c.Candidate != 1 || c.Incumbent != 1 || c.Voters != 1 || len(got.Bursts) != 0 {
		t.Errorf("%+v, bursts %+v", c, got.Bursts)
	}
	promote(1, "").refused(fault.InvalidArgument)

	// Rated in a rush, the answers do not count, and the rush is shown.
	for i, m := range messages {
		if out := b.rate(one, m, []string{"good", "bad"}[i%2]); out.Burst != (i >= 20) ||
			!strings.HasPrefix(out.Voter, "key/") {
			t.Fatalf("vote %d: %+v", i, out)
		}
	}
	got = b.judge()
	if c := got.Updates[0].Canary; c.Candidate+c.Incumbent != 0 || len(got.Bursts) != 1 || got.Bursts[0].Votes != 40 {
		t.Errorf("%+v, bursts %+v", c, got.Bursts)
	}
	if n := b.cases(); n != 0 {
		t.Errorf("%d cases of a burst", n)
	}

	// Rated slowly, they count, and the update waits.
	for i, m := range messages {
		if i%20 == 0 {
			b.minute()
		}
		b.rate(one, m, []string{"good", "bad"}[i%2])
	}
	got = b.judge()
	u := got.Updates[0]
	if u.State != "canary" || u.Canary.Candidate != 20 || u.Canary.Voters != 1 || !u.Canary.Comparison.Promote ||
		!strings.Contains(u.Note, "cairn bank promote") || !strings.Contains(u.Note, "1 of 5 voters") ||
		len(got.Bursts) != 0 {
		t.Errorf("%+v %+v, bursts %+v", u, u.Canary, got.Bursts)
	}
	b.admin("update cairn.policy_updates set canary_at = canary_at - interval '31 days'")
	if got := b.judge(); got.Updates[0].State != "canary" {
		t.Errorf("an update that waits for its owner: %+v", got.Updates[0])
	}
	promote(2, "").refused(fault.NotFound)
	promote(0, "").refused(fault.InvalidArgument)
	promote(1, one).refused(fault.OutOfScope)
	for range 2 {
		var head httpapi.BankDetail
		promote(1, "").into(http.StatusOK, &head)
		if head.Version.Number != 2 || head.Version.Action != "adapt" {
			t.Errorf("%+v", head.Version)
		}
	}
	if got := b.judge(); got.Updates[0].State != "promoted" {
		t.Errorf("%+v", got.Updates[0])
	}
	b.once(audit.BankPromote, "update 1 of bank 1")
}

// Five voters promote an update. Another one with many votes has a quarter of the weight.
func TestFiveVotersPromoteAnUpdate(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	messages := b.ObserveCanary(25)
	var keys []string
	for range 6 {
		keys = append(keys, b.makeKey(b.Workspace, apikey.Write))
	}
	// The first rates all, the others two each: 25 and 2 + 2 + 2 + 2 are 2 + 8, of 20 that are needed.
	for i, m := range messages {
		if i%20 == 0 {
			b.minute()
		}
		b.rate(keys[0], m, "good")
	}
	for i, key := range keys[1:5] {
		for _, m := range messages[4*i : 4*i+4] {
			b.rate(key, m, "good")
		}
	}
	if got := b.judge().Updates[0]; got.State != "canary" || got.Canary.Candidate != 10 ||
		got.Canary.Incumbent != 10 || got.Canary.Voters != 5 || got.Canary.Comparison != nil {
		t.Errorf("%+v %+v", got, got.Canary)
	}
	b.minute()
	for i, key := range keys[1:] {
		for _, m := range messages[8*i : 8*i+8] {
			b.rate(key, m, "good")
		}
	}
	if got := b.judge().Updates[0]; got.State != "promoted" || got.Canary.Candidate != 20 || got.Canary.Voters < 5 ||
		!strings.Contains(fmt.Sprintf("%+v", got.Canary.Comparison), "Promote:true") {
		t.Errorf("%+v %+v", got, got.Canary)
	}
}
