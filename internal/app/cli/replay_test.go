package cli

import (
	"encoding/base64"
	"strings"
	"testing"

	"cairn/internal/app/config"
)

// A history that is encrypted replays with its key, and says what it lacks without.
func TestAnEncryptedHistoryReplaysWithItsKey(t *testing.T) {
	t.Parallel()
	key := func(letter string) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
	}
	w := open(t, func(c *config.Config) { c.PayloadKeys = key("k") })
	plain := w.environ
	with := func(keys string, args ...string) (code int, out, errs string) {
		w.environ = append(plain[:len(plain):len(plain)], "CAIRN_PAYLOAD_KEYS="+keys)
		return w.run("", args...)
	}
	w.environ = append(plain[:len(plain):len(plain)], "CAIRN_PAYLOAD_KEYS="+key("k"))
	var runs struct {
		Runs []struct {
			Kind       string
			WorkflowID string `json:"workflow_id"`
		}
	}
	w.must(&struct{}{}, "", "turn", "Hello,", "I", "am", "Ada.", "--conversation", "c")
	if w.must(&runs, "", "runs", "list"); len(runs.Runs) != 1 || runs.Runs[0].Kind != "turn" {
		t.Fatalf("runs %+v", runs)
	}
	turn := runs.Runs[0].WorkflowID
	if code, out, errs := with(key("n")+","+key("k"), "replay", "--workflow-id", turn); code != 0 ||
		!strings.Contains(out, "same decisions") {
		t.Errorf("with its key: exit %d, %s%s", code, out, errs)
	}
	for _, keys := range []string{"", key("n")} {
		if code, out, errs := with(keys, "replay", "--workflow-id", turn); code == 0 ||
			!strings.Contains(errs, "the history is encrypted") || !strings.Contains(errs, "CAIRN_PAYLOAD_KEYS") {
			t.Errorf("with keys %q: exit %d, %s%s", keys, code, out, errs)
		}
	}
}

func TestTheUIOfADevelopmentStackIsToldWhereToDecrypt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, public, configured, flag, want string }{
		{"", "", "127.0.0.1:8080", "", ""},
		{"k", "", "127.0.0.1:8080", "", "http://127.0.0.1:8080/codec"},
		{"k", "", "127.0.0.1:8080", ":9000", "http://localhost:9000/codec"},
		{"k", "", "127.0.0.1:0", "", ""},
		{"k", "https://cairn.example/", "127.0.0.1:0", "", "https://cairn.example/codec"},
	} {
		if got := codecEndpoint(config.Config{PayloadKeys: c.keys, PublicBaseURL: c.public, Listen: c.configured},
			c.flag); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
