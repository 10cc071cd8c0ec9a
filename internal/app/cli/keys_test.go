package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/testkit"
)

// listedKeys are the keys that a command lists as JSON.
func (w *world) listedKeys(t *testing.T, args ...string) []access.Key {
	t.Helper()
	var out struct {
		Keys []access.Key `json:"keys"`
	}
	testkit.Must(t, json.Unmarshal([]byte(w.succeeds(t, "", append([]string{"keys", "list", "-o", "json"},
		args...)...)), &out))
	return out.Keys
}

func TestKeysExpireAndAreRotated(t *testing.T) {
	t.Parallel()
	w := idle(t)
	var made struct {
		ID      int64     `json:"id"`
		Key     string    `json:"key"`
		Expires time.Time `json:"expires_at"`
	}
	testkit.Must(
		t,
		json.Unmarshal([]byte(w.succeeds(t, "", "keys", "create", "--name", "shop", "--expires", "90d", "-o",
			"json")), &made),
	)
	if left := time.Until(made.Expires); left < 90*24*time.Hour-time.Hour || left > 90*24*time.Hour {
		t.Errorf("90d is %s", left)
	}
	w.succeeds(t, "", "keys", "create", "--name", "night job", "--expires", "2199-01-31")
	if all := w.listedKeys(t); len(all) != 2 || !all[1].ExpiresAt.Equal(time.Date(2199, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("listed %+v", all)
	}
	code, key, errs := w.run("", "keys", "rotate", "1", "--overlap", "0")
	if code != 0 || !strings.HasPrefix(key, "cairn_") || strings.TrimSpace(key) == made.Key ||
		!strings.Contains(errs, `"shop"`) || !strings.Contains(errs, "until ") {
		t.Errorf("exit %d: %s, %s", code, key, errs)
	}
	all := w.listedKeys(t)
	if len(all) != 3 || all[0].ExpiresAt.After(time.Now().Add(time.Second)) || all[2].Name != "shop" {
		t.Errorf("after the rotation: %+v", all)
	}
	if table := w.succeeds(t, "", "keys", "list"); !strings.Contains(table, "LAST USED") ||
		!strings.Contains(table, localTime(all[0].ExpiresAt)) {
		t.Errorf("listed as %s", table)
	}
	for _, c := range []struct {
		code int
		args []string
	}{{2, []string{"rotate", "x"}}, {2, []string{"rotate"}}, {3, []string{"rotate", "1"}},
		{3, []string{"rotate", "99"}},
		{2, []string{"rotate", "2", "--overlap", "soon"}}, {2, []string{"rotate", "2", "--overlap", "100d"}},
		{2, []string{"rotate", "2", "--overlap", "-1h"}},
		{2, []string{"create", "--name", "x", "--expires", "tomorrow"}},
		{2, []string{"create", "--name", "x", "--expires", "-90d"}},
		{2, []string{"create", "--name", "x", "--expires", "0d"}},
		{2, []string{"create", "--name", "x", "--expires", "2020-01-31"}},
		{2, []string{"create", "--name", "x", "--expires", "99999999d"}}} {
		if code, _, errs := w.run("", append([]string{"keys"}, c.args...)...); code != c.code {
			t.Errorf("%v: exit %d, want %d: %s", c.args, code, c.code, errs)
		}
	}
	if after := w.listedKeys(t); len(after) != 3 {
		t.Errorf("%d keys after the refusals", len(after))
	}
}

func TestOperatorKeysAreManagedAtTheCommandLine(t *testing.T) {
	t.Parallel()
	w := idle(t)
	if all := w.listedKeys(t, "--operator"); len(all) != 0 {
		t.Errorf("listed %+v", all)
	}
	code, key, errs := w.run("", "keys", "create", "--operator", "--name", "temporal-ui", "--scopes", "codec")
	if code != 0 || !strings.HasPrefix(key, "cairn_op_") || !strings.Contains(errs, "for operators") {
		t.Fatalf("exit %d: %s, %s", code, key, errs)
	}
	if all := w.listedKeys(t, "--operator"); len(all) != 1 || all[0].Name != "temporal-ui" {
		t.Errorf("listed %+v", all)
	}
	if all := w.listedKeys(t); len(all) != 0 {
		t.Errorf("the workspace lists %+v", all)
	}
	for _, c := range []struct {
		code int
		args []string
	}{{2, []string{"create", "--operator", "--name", "x"}},
		{2, []string{"create", "--operator", "--name", "x", "--scopes", "admin"}},
		{2, []string{"create", "--name", "x", "--scopes", "codec"}}, {3, []string{"revoke", "1"}},
		{0, []string{"revoke", "--operator", "1"}}, {3, []string{"revoke", "--operator", "1"}}} {
		if code, _, errs := w.run("", append([]string{"keys"}, c.args...)...); code != c.code {
			t.Errorf("%v: exit %d, want %d: %s", c.args, code, c.code, errs)
		}
	}
}
