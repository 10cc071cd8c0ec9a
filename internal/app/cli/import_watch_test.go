package cli

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/testkit"
)

// desk is a user's machine with a gateway that keeps what it gets.
type desk struct {
	t        *testing.T
	home     string
	server   *httptest.Server
	requests []string // URL, key and body
	status   int
}

func openDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, home: t.TempDir(), status: http.StatusAccepted}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, err := gzip.NewReader(r.Body)
		testkit.Must(t, err)
		body, err := io.ReadAll(packed)
		testkit.Must(t, err)
		d.requests = append(d.requests, r.URL.String()+" "+r.Header.Get("Authorization")+"\n"+string(body))
		if w.WriteHeader(d.status); d.status == http.StatusAccepted {
			fmt.Fprintf(w, `{"imports":[{"id":%d}]}`, len(d.requests))
			return
		}
		fmt.Fprint(w, `{"code":"unauthenticated","message":"invalid API key","hint":"create a key"}`)
	}))
	t.Cleanup(d.server.Close)
	return d
}

// session writes a session of an hour ago, and returns its path.
func (d *desk) session(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.home, name)
	testkit.Must(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	record := fmt.Sprintf(`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":%q,"version":"2.1.0",`+
		`"timestamp":"2026-11-20T10:00:00Z","message":{"role":"user","content":%q}}`+"\n", name, text)
	testkit.Must(d.t, os.WriteFile(path, []byte(record), 0o644))
	at := time.Now().Add(-time.Hour)
	testkit.Must(d.t, os.Chtimes(path, at, at))
	return path
}

func (d *desk) run(in string, args ...string) (out, errs string, code int) {
	d.t.Helper()
	var o, e strings.Builder
	code = execute(d.t.Context(), args, []string{"CAIRN_CONFIG=/dev/null", "HOME=" + d.home, "CAIRN_KEY=cairn_k",
		"CAIRN_URL=" + d.server.URL}, strings.NewReader(in), &o, &e)
	return o.String(), e.String(), code
}

func TestTheFirstWatchListsAndNeedsConsent(t *testing.T) {
	d := openDesk(t)
	path := d.session(".claude/projects/shop/s1.jsonl", "my key is sk-proj-Abc123Def456Ghi789Jkl012Mno345Pqr678")
	d.session(".codex/sessions/2026/x.jsonl", "not chosen")
	watch := []string{"import", "watch", "--claude-code", "--once"}
	out, errs, code := d.run("", watch...)
	if code != 2 || out != "" || !strings.Contains(errs, path) || !strings.Contains(errs, "--yes") ||
		strings.Contains(errs, "x.jsonl") || len(d.requests) != 0 {
		t.Fatalf("%d %s%s, sent %v", code, out, errs, d.requests)
	}
	out, errs, code = d.run("", append(watch, "--yes", "--distill")...)
	if code != 0 || !strings.Contains(out, "sent "+path+": import 1, 1 new of 1 records, 1 secrets masked") {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	if r := d.requests[0]; !strings.Contains(r, "/v1/imports?distill=true&name=s1.jsonl Bearer cairn_k") ||
		strings.Contains(r, "sk-proj") || !strings.Contains(r, "{{secret:") {
		t.Errorf("sent %s", r)
	}
	d.session(".claude/projects/shop/s2.jsonl", "hello")
	if out, errs, code = d.run("", append(watch, "--output", "json")...); code != 0 ||
		!strings.Contains(out, `"import":2`) || len(d.requests) != 2 {
		t.Errorf("without asking again: %d %s%s", code, out, errs)
	}
	if out, _, code := d.run("", watch...); code != 0 || out != "" {
		t.Errorf("nothing is new: %d %s", code, out)
	}
}

func TestAHookSendsTheSessionThatHasEnded(t *testing.T) {
	d := openDesk(t)
	path := d.session(".claude/projects/[shop]/s1.jsonl", "hello")
	d.session(".claude/projects/[shop]/s1/subagents/agent-1.jsonl", "look it up")
	now := time.Now()
	testkit.Must(t, os.Chtimes(path, now, now)) // a hook does not wait
	hook := fmt.Sprintf(`{"session_id":"s1","transcript_path":%q,"hook_event_name":"SessionEnd","reason":"exit"}`, path)
	if _, errs, code := d.run(hook, "import", "--hook"); code != 2 || !strings.Contains(errs, "--yes") {
		t.Errorf("without consent: %d %s", code, errs)
	}
	out, errs, code := d.run(hook, "import", "--hook", "--yes")
	if code != 0 || len(d.requests) != 2 || !strings.Contains(out, "agent-1.jsonl") {
		t.Fatalf("%d %s%s, sent %v", code, out, errs, d.requests)
	}
	tilde := strings.Replace(hook, d.home, "~", 1)
	if _, errs, code := d.run(tilde, "import", "--hook"); code != 0 || len(d.requests) != 2 {
		t.Errorf("again: %d %s, sent %v", code, errs, d.requests)
	}
}

func TestBadInputOfAWatchIsAClearError(t *testing.T) {
	d := openDesk(t)
	d.session("s/s1.jsonl", "hello")
	for want, c := range map[string]struct {
		in   string
		args []string
	}{
		"nothing to watch":            {"", []string{"watch"}},
		"invalid --idle -1s":          {"", []string{"watch", "--codex", "--idle", "-1s"}},
		`invalid --server "ftp://x"`:  {"", []string{"watch", "--gemini", "--server", "ftp://x"}},
		"is not JSON with transcript": {"{}", []string{"--hook"}},
		"--hook reads standard input": {"", []string{"--hook", "chat.txt"}},
		"are for --hook":              {"", []string{"--yes", "chat.txt"}},
	} {
		out, errs, code := d.run(c.in, append([]string{"import"}, c.args...)...)
		if code != 2 || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "hint: ") {
			t.Errorf("%v: %d %s%s", c.args, code, out, errs)
		}
	}
	d.status = http.StatusUnauthorized
	_, errs, code := d.run("", "import", "watch", filepath.Join(d.home, "s"), "--yes")
	if code == 0 || !strings.Contains(errs, "invalid API key [unauthenticated]") {
		t.Errorf("an invalid key: %d %s", code, errs)
	}
	var o, e strings.Builder
	code = execute(t.Context(), []string{"import", "watch", "--codex"}, []string{"CAIRN_CONFIG=/dev/null", "HOME=/x"},
		strings.NewReader(""), &o, &e)
	if code == 0 || !strings.Contains(e.String(), "CAIRN_KEY") {
		t.Errorf("without a key: %d %s", code, e.String())
	}
}
