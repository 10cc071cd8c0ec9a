package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/learning/bank"
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
	_, err := b.Learning.Updates.AcceptDue(b.T.Context(), bank.Due{Workspace: b.Workspace.ID,
		WorkspaceKey: b.Workspace.Key, Least: 1000})
	testkit.Must(b.T, err)
	var list httpapi.PolicyUpdateList
	b.get("/v1/banks/default/updates").into(http.StatusOK, &list)
	if len(list.Updates) != 1 {
		b.T.Fatalf("%+v", list)
	}
	return list
}

// prefers is the rating of message i by someone who prefers the update.
func prefers(i int) string { return []string{"good", "bad"}[i%2] }

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
	one := b.makeKey(b.Workspace, access.Write)
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
		if out := b.rate(one, m, prefers(i)); out.Burst != (i >= 20) ||
			!strings.HasPrefix(out.Voter, "key/") {
			t.Fatalf("vote %d: %+v", i, out)
		}
	}
	got = b.judge()
	if c := got.Updates[0].Canary; c.Candidate+c.Incumbent != 0 || len(got.Bursts) != 1 ||
		got.Bursts[0].Votes != 40 {
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
		b.rate(one, m, prefers(i))
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
	var items httpapi.InboxList
	b.get("/v1/inbox").into(http.StatusOK, &items)
	if len(items.Items) != 1 || items.Items[0].ID != "u1" || items.Items[0].Kind != "update" {
		t.Errorf("%+v", items)
	}
	var item httpapi.InboxDetail
	b.get("/v1/inbox/u1").into(http.StatusOK, &item)
	if !strings.Contains(item.Diff, "effective sample size 38.2") ||
		!strings.Contains(item.Diff, "20 replies with") {
		t.Errorf("%+v", item)
	}
	for edit, body := range map[string]object{ // an update of a policy has no text
		"edit":    {"sha": item.SHA, "text": object{"content": "x"}},
		"preview": {"content": "x"},
	} {
		p := b.post("/v1/inbox/u1/"+edit, body).refused(fault.InvalidArgument)
		if !strings.Contains(p.Message, "no text") {
			t.Errorf("%s: %+v", edit, p)
		}
	}
	b.do(request{method: http.MethodPost, path: "/v1/inbox/u1/approve",
		body: map[string]any{"sha": strings.Repeat("0", 64)}}).refused(fault.VersionConflict)
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
	b.get("/v1/inbox/u1").refused(fault.NotFound)
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
		keys = append(keys, b.makeKey(b.Workspace, access.Write))
	}
	// The first rates all, the others two each: 25 and 2 + 2 + 2 + 2 are 2 + 8, of 20 that are needed.
	for i, m := range messages {
		if i%20 == 0 {
			b.minute()
		}
		b.rate(keys[0], m, prefers(i))
	}
	for i, key := range keys[1:5] {
		for j, m := range messages[4*i : 4*i+4] {
			b.rate(key, m, prefers(j))
		}
	}
	if got := b.judge().Updates[0]; got.State != "canary" || got.Canary.Candidate != 10 ||
		got.Canary.Incumbent != 10 || got.Canary.Voters != 5 || got.Canary.Comparison != nil {
		t.Errorf("%+v %+v", got, got.Canary)
	}
	b.minute()
	for i, key := range keys[1:] {
		for j, m := range messages[8*i : 8*i+8] {
			b.rate(key, m, prefers(j))
		}
	}
	if got := b.judge().Updates[0]; got.State != "promoted" || got.Canary.Candidate != 20 ||
		got.Canary.Voters < 5 ||
		!strings.Contains(fmt.Sprintf("%+v", got.Canary.Comparison), "Promote:true") {
		t.Errorf("%+v %+v", got, got.Canary)
	}
}

// The users of a gateway are voters of their own. One of them promotes nothing; six who prefer the
// update promote it with 60 votes. A rollback restores the bank and the policy before.
func TestSixUsersOfAGatewayPromoteAnUpdate(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	key, _, err := b.App.Keys.CreateGateway(t.Context(), "desk", "desk", nil)
	testkit.Must(t, err)
	b.Workspace, err = b.Store.Workspace(t.Context(), "person/desk/team", true)
	testkit.Must(t, err)
	b.key = b.makeKey(b.Workspace, access.Admin)
	messages := b.ObserveCanary(5)
	var before httpapi.BankDetail
	b.get("/v1/banks/default").into(http.StatusOK, &before)
	vote := func(key, message, rating string, who map[string]any) (out httpapi.FeedbackResult) {
		t.Helper()
		body := map[string]any{"rating": rating, "conversation": "canary", "message_id": message}
		maps.Copy(body, who)
		b.do(request{method: http.MethodPost, path: "/v1/feedback", key: key, body: body,
			header: map[string]string{"X-Cairn-Person": "team"}}).into(http.StatusOK, &out)
		return out
	}

	// 25 votes of one user on two answers are two votes.
	ada := map[string]any{"voter": "ada"}
	for range 25 {
		vote(key, messages[0], "good", ada)
		vote(key, messages[1], "bad", ada)
	}
	if c := b.judge().Updates[0].Canary; c.Candidate != 1 || c.Incumbent != 1 || c.Voters != 1 {
		t.Errorf("%+v", c)
	}
	// A key of the workspace votes for no other user.
	own := b.makeKey(b.Workspace, access.Write)
	for i := range 25 {
		if out := vote(own, messages[i%2], prefers(i), map[string]any{"voter": fmt.Sprint("user", i)}); out.Voter ==
			"" || !strings.HasPrefix(out.Voter, "key/") {
			t.Fatalf("%+v", out)
		}
	}
	if c := b.judge().Updates[0].Canary; c.Candidate != 2 || c.Incumbent != 2 || c.Voters != 2 {
		t.Errorf("%+v", c)
	}
	b.admin("delete from cairn.decision_outcomes where voter like 'key/%'")

	// All votes of a minute come with one key: a rush does not count, also of several users.
	for i := range 21 {
		if out := vote(
			key,
			messages[i%10],
			prefers(i%10),
			map[string]any{"voter": fmt.Sprint("user", i)},
		); i == 20 &&
			!out.Burst {
			t.Errorf("the vote %d of a key within a minute: %+v", i, out)
		}
	}
	if got := b.judge(); got.Updates[0].Canary.Candidate != 0 || len(got.Bursts) != 1 ||
		!strings.HasPrefix(got.Bursts[0].Voter, "gateway/") || got.Bursts[0].Votes < 21 {
		t.Errorf("%+v, bursts %+v", got.Updates[0].Canary, got.Bursts)
	}

	voters := map[string]bool{}
	for i, user := range []string{"ada", "ben", "cleo", "dan", "eve", "finn"} {
		b.minute()
		who := map[string]any{"voter": user}
		if i%2 == 1 {
			who = map[string]any{"speaker": map[string]any{"id": user, "name": "User " + user}}
		}
		for j, m := range messages {
			voters[vote(key, m, prefers(j), who).Voter] = true
		}
		if i == 3 {
			u := b.judge().Updates[0]
			if u.State != "canary" || u.Canary.Candidate != 20 || !u.Canary.Comparison.Promote ||
				!strings.Contains(u.Note, "4 of 5 voters") {
				t.Errorf("after four users: %+v %+v", u, u.Canary)
			}
		}
	}
	var names []string
	for voter := range voters {
		if names = append(names, voter); !strings.HasPrefix(voter, "person/") || strings.Contains(voter, "ada") {
			t.Errorf("voter %q", voter)
		}
	}
	if len(names) != 6 {
		t.Errorf("voters %q", names)
	}
	if u := b.judge().Updates[0]; u.State != "promoted" || u.Canary.Voters < 5 || u.Canary.Comparison.Lower <= 0 {
		t.Errorf("%+v %+v", u, u.Canary)
	}
	var after, back httpapi.BankDetail
	b.get("/v1/banks/default").into(http.StatusOK, &after)
	if after.Version.Action != "adapt" || after.Version.Policy == before.Version.Policy {
		t.Errorf("%+v", after.Version)
	}
	b.do(request{method: http.MethodPost, path: "/v1/banks/default/rollback", body: map[string]any{"to": 1}}).
		into(http.StatusOK, &back)
	if back.Version.Snapshot != before.Version.Snapshot || back.Version.Policy != before.Version.Policy ||
		back.Version.BankSHA != before.Version.BankSHA || back.Version.Number != 3 {
		t.Errorf("%+v, before %+v", back.Version, before.Version)
	}
}

// The owner decides in the inbox on an update that too few have voted on.
func TestTheInboxDecidesOnAnUpdate(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, decision := range []string{"approve", "reject"} {
		b := setup(t)
		for i, m := range b.ObserveCanary(20) {
			if i%20 == 0 {
				b.minute()
			}
			b.rate("", m, prefers(i))
		}
		var item httpapi.InboxDetail
		b.get("/v1/inbox/u1").into(http.StatusOK, &item)
		decide := request{method: http.MethodPost, path: "/v1/inbox/u1/" + decision,
			header: map[string]string{"X-Request-Id": "req-1"}}
		if decision == "approve" {
			decide.body = map[string]any{"sha": item.SHA}
		}
		var out httpapi.InboxOutcome
		b.do(decide).into(http.StatusOK, &out)
		want := map[string]string{"approve": "promoted", "reject": "dropped"}[decision]
		if u := b.judge().Updates[0]; u.State != want || out.Title != "default" {
			t.Errorf("%s: %+v, %+v", decision, out, u)
		}
		b.get("/v1/inbox/u1").refused(fault.NotFound)
		b.once(map[string]audit.Action{"approve": audit.BankPromote, "reject": audit.BankReject}[decision],
			"update 1 of bank 1")
	}
}
