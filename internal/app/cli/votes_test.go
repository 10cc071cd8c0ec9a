package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/testkit"
)

// A person at the command line is one voter: its votes promote nothing, and it can promote an
// update itself.
func TestOneAccountPromotesByHand(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := open(t)
	messages := w.ObserveCanary(20)
	rate := func(message, rating string) string {
		t.Helper()
		return w.succeeds(t, "", "feedback", rating, "--conversation", "canary", "--message", message)
	}
	minute := func() {
		t.Helper()
		_, err := w.Admin().Exec(t.Context(), "update cairn.votes set voted_at = voted_at - interval '61 seconds'")
		testkit.Must(t, err)
	}
	for _, m := range messages[:20] {
		rate(m, "good")
	}
	if out := rate(messages[20], "bad"); !strings.Contains(out, "does not count") {
		t.Errorf("the 21st vote within a minute: %q", out)
	}
	listed := w.succeeds(t, "", "bank", "updates")
	if !strings.Contains(listed, "21 votes of cli/"+account()+" do not count") {
		t.Errorf("updates\n%s", listed)
	}
	code, _, errs := w.run("", "bank", "promote", "1")
	if code == 0 || !strings.Contains(errs, "0 and 0 scored replies") || !strings.Contains(errs, "hint: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
	for i, m := range messages {
		if i%20 == 0 {
			minute()
		}
		rate(m, []string{"good", "bad"}[i%2])
	}
	out := w.succeeds(t, "", "bank", "updates")
	if !strings.Contains(out, "waits for `cairn bank promote`: 1 of 5 voters") || !strings.Contains(out, "38.2") ||
		strings.Contains(out, "do not count") {
		t.Errorf("updates\n%s", out)
	}
	for range 2 {
		if out := w.succeeds(t, "", "bank", "promote", "1"); !strings.Contains(out, "version 2 (adapt)") {
			t.Errorf("promoted\n%s", out)
		}
	}
	if out := w.succeeds(t, "", "bank", "updates"); !strings.Contains(out, "promoted") {
		t.Errorf("updates\n%s", out)
	}
	for _, bad := range []string{"0", "one", "99999999999"} {
		if code, _, errs := w.run(
			"",
			"bank",
			"promote",
			bad,
		); code != 2 ||
			!strings.Contains(errs, "cairn bank updates") {
			t.Errorf("%s: exit %d: %s", bad, code, errs)
		}
	}
	if code, _, errs := w.run("", "bank", "promote", "2"); code != 3 || !strings.Contains(errs, "hint: ") {
		t.Errorf("exit %d: %s", code, errs)
	}
	var voted struct {
		Voter string
		Burst bool
	}
	testkit.Must(
		t,
		json.Unmarshal([]byte(w.succeeds(t, "", "feedback", "good", "--question", "Who is Ada?", "-o", "json")),
			&voted),
	)
	if voted.Voter != "cli/"+account() {
		t.Errorf("%+v", voted)
	}
}
