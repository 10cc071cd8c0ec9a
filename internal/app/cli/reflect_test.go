package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/store"
	"cairn/internal/testkit"
)

// alone runs a command without database, server or configuration file.
func alone(t *testing.T, args ...string) (code int, out, errs, home string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	var o, e bytes.Buffer
	code = execute(t.Context(), args, []string{"CAIRN_CONFIG=" + os.DevNull, "CAIRN_HOME=" + home},
		strings.NewReader(""), &o, &e)
	return code, o.String(), e.String(), home
}

type previewed struct {
	Cron     string
	TimeZone string `json:"time_zone"`
	More     bool
	Firings  []struct {
		Key, At, Local, Offset, Meeting, Note string
		LocalDate                             string `json:"local_date"`
	}
}

func TestAPreviewNeedsNoServerAndMarksClockChanges(t *testing.T) {
	t.Parallel()
	args := []string{"reflect", "preview", "--cron", "0 23 * * *", "--tz", "America/Nuuk", "--from", "2026-03-01",
		"--days", "400"}
	code, out, errs, home := alone(t, append(args, "-o", "json")...)
	var p previewed
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 || errs != "" {
		t.Fatalf("exit %d, %v: %s", code, err, errs)
	}
	if p.Cron != "0 23 * * *" || p.TimeZone != "America/Nuuk" || p.More || len(p.Firings) != 400 {
		t.Fatalf("%q in %q, %d firings", p.Cron, p.TimeZone, len(p.Firings))
	}
	dates, marked := map[string]bool{}, map[string]string{}
	for _, f := range p.Firings {
		if dates[f.LocalDate] = true; f.Key != f.LocalDate {
			t.Errorf("%s has the key %s", f.LocalDate, f.Key)
		}
		if f.Meeting != "" {
			marked[f.LocalDate] = f.Meeting + " " + f.At + " " + f.Local
		}
	}
	if len(dates) != 400 || len(marked) != 3 ||
		marked["2027-03-27"] != "skipped 2027-03-28T01:00:00Z 2027-03-28T00:00:00" ||
		marked["2026-10-24"] != "doubled 2026-10-25T00:00:00Z 2026-10-24T23:00:00" {
		t.Errorf("%d dates, marked %v", len(dates), marked)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}

	code, table, _, _ := alone(t, args...)
	if code != 0 || strings.Count(table, "\n") != 403 || !strings.Contains(table, "the clock skips 23:00") ||
		!strings.Contains(table, "clock back 1h") || !strings.Contains(table, "400 firings") {
		t.Errorf("exit %d: %s", code, table)
	}
	code, text, errs, _ := alone(t, append(args, "-o", "text", "--max", "2")...)
	if want := "2026-03-01T23:00:00-02:00\t2026-03-01\t\n2026-03-02T23:00:00-02:00\t2026-03-02\t\n"; code != 0 ||
		text != want || !strings.Contains(errs, "only the first 2 firings") {
		t.Errorf("exit %d, %q: %s", code, text, errs)
	}
}

func TestAPreviewWithoutADatabaseSaysItsZone(t *testing.T) {
	t.Parallel()
	code, out, errs, home := alone(t, "reflect", "preview", "--days", "3", "-o", "json")
	var p previewed
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 || p.TimeZone != "UTC" ||
		p.Cron != "0 23 * * *" || len(p.Firings) != 3 || !strings.Contains(errs, "the time zone is UTC") {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}

func TestAPreviewTakesTheWorkspacesZone(t *testing.T) {
	t.Parallel()
	w := idle(t)
	testkit.Must(t, w.Store.InWorkspace(t.Context(), w.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		s, err := q.Workspaces().Settings(t.Context())
		if err != nil {
			return err
		}
		s.TimeZone = "Asia/Kathmandu"
		return q.Workspaces().SetSettings(t.Context(), s)
	}))
	code, out, errs := w.run("", "reflect", "preview", "--days", "2", "-o", "json")
	var p previewed
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 || p.TimeZone != "Asia/Kathmandu" ||
		p.Firings[0].Offset != "+05:45" {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
}

func TestAPreviewOfWhatCannotBeMeantIsOneClearError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--cron", "0 23 1 * 1", "--tz", "UTC"}, `"0 23 * * 1"`},
		{[]string{"--cron", "0 23 * * 7", "--tz", "UTC"}, "use SUN"},
		{[]string{"--tz", "berlin"}, "Europe/Berlin"},
		{[]string{"--tz", "Local"}, "Asia/Shanghai"},
		{[]string{"--tz", "UTC", "--days", "0"}, "1 to 3660"},
		{[]string{"--tz", "UTC", "--max", "0"}, "1 to 100000"},
		{[]string{"--tz", "UTC", "--from", "tomorrow"}, "2026-03-01"},
	} {
		code, out, errs, _ := alone(t, append([]string{"reflect", "preview"}, c.args...)...)
		if code != 2 || out != "" || !strings.Contains(errs, "[invalid_argument]") || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d, %q, %s", c.args, code, out, errs)
		}
	}
}
