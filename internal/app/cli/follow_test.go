package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// provoked is an error that a user can cause. follow does what its hint says and returns the command
// line that then succeeds.
type provoked struct {
	code   fault.Code
	in     string
	args   []string
	follow func(t *testing.T, w *world, hint string) (in string, args []string)
}

// then returns a follow that changes the command line and nothing else.
func then(in string, args ...string) func(*testing.T, *world, string) (string, []string) {
	return func(*testing.T, *world, string) (string, []string) { return in, args }
}

// The user causes an error, does what the hint says, and the command succeeds.
func TestFollowingTheHintOfACommandHelps(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.prepareErrors(t)
	for name, c := range map[string]provoked{
		"unknown flag": {fault.InvalidArgument, "", []string{"runs", "list", "--maximum", "5"},
			func(t *testing.T, w *world, _ string) (string, []string) {
				w.succeeds(t, "", "runs", "list", "--help")
				return "", []string{"runs", "list", "--max", "5"}
			}},
		"unknown command": {fault.InvalidArgument, "", []string{"nonsense"},
			func(t *testing.T, w *world, hint string) (string, []string) { return "", w.commands(t, hint)[0] }},
		"unknown setting": {fault.InvalidArgument, "", []string{"settings", "set", "nudge.each=5"},
			func(t *testing.T, w *world, hint string) (string, []string) {
				out := ""
				for _, args := range w.commands(t, hint) {
					out += w.succeeds(t, "", args...)
				}
				if !strings.Contains(out, `"every"`) {
					t.Errorf("the commands of the hint %q do not list the settings: %s", hint, out)
				}
				return "", []string{"settings", "set", "nudge.every=5"}
			}},
		"unknown skill": {fault.NotFound, "", []string{"skills", "view", "deploy-the-web"},
			func(t *testing.T, w *world, _ string) (string, []string) {
				if !strings.Contains(w.succeeds(t, "", "skills", "list"), "deploy-web") {
					t.Error("the list does not have the skill")
				}
				return "", []string{"skills", "view", "deploy-web"}
			}},
		"existing skill": {fault.AlreadyExists, howTo("deploy-web"),
			[]string{"skills", "save", "-", "--mode", "create"},
			then(howTo("deploy-web"), "skills", "save", "-", "--mode", "update")},
		"old version": {fault.VersionConflict, howTo("deploy-web") + "- Slow disks\n",
			[]string{"skills", "save", "-", "--expected-version", "7"},
			func(t *testing.T, w *world, _ string) (string, []string) {
				var shown struct {
					Version int `json:"head_version"`
				}
				w.must(&shown, "", "skills", "view", "deploy-web")
				version := fmt.Sprint(shown.Version)
				return howTo("deploy-web"), []string{"skills", "save", "-", "--expected-version", version}
			}},
		"text without a match": {fault.NoMatch, "", []string{"skills", "patch", "deploy-patch", "--old", "Probe that.",
			"--new", "x"},
			then("", "skills", "patch", "deploy-patch", "--old", "Probe it.", "--new", "Probe it twice.")},
		"text with many matches": {fault.AmbiguousMatch, "", []string{"skills", "patch", "deploy-many", "--old", "it",
			"--new", "x"},
			then("", "skills", "patch", "deploy-many", "--old", "Build deploy-many", "--new", "Build it")},
		"long text": {fault.TooLarge, strings.Repeat("x ", maxText), []string{"soul", "set", "-"},
			then("Be brief.", "soul", "set", "-")},
		"secret": {fault.SecretDetected, "", []string{"memories", "add", "The key is AKIAIOSFODNN7EXAMPLE."},
			then("", "memories", "add", "The key is {{secret:AWS_KEY}}.")},
		"wrong name": {fault.Cancelled, "tset\n", []string{"erase", "unused"},
			then("unused\n", "erase", "unused")},
		"turned off":      {fault.TurnedOff, "", []string{"reflect", "now", "-w", "quiet"}, nil},
		"bad environment": {fault.Misconfigured, "", []string{"config"}, nil},
		"reused message": {fault.OpReused, "",
			[]string{"turn", "Something else.", "--conversation", "c", "--message-id", "m1"},
			then("", "turn", "Something else.", "--conversation", "c", "--message-id", "m2")},
	} {
		t.Run(name, func(t *testing.T) { w.follows(t, name, c) })
	}
}

// prepareErrors creates what the errors need.
func (w *world) prepareErrors(t *testing.T) {
	t.Helper()
	for _, name := range []string{"deploy-web", "deploy-patch", "deploy-many"} {
		w.succeeds(t, howTo(name), "skills", "save", "-", "--allow-similar")
	}
	w.succeeds(t, "", "workspaces", "create", "quiet")
	w.succeeds(t, "", "settings", "set", "reflection=false", "-w", "quiet")
	w.succeeds(t, "", "workspaces", "create", "unused")
	w.succeeds(t, "", "turn", "Hello.", "--conversation", "c", "--message-id", "m1")
}

func (w *world) follows(t *testing.T, name string, c provoked) {
	t.Helper()
	plain := w.environ
	if name == "bad environment" {
		w.environ = append(plain[:len(plain):len(plain)], "SKILL_MODE=fast")
		c.follow = func(t *testing.T, w *world, hint string) (string, []string) {
			_, first, _ := strings.Cut(hint, "use one of: ")
			first, _, _ = strings.Cut(first, ",")
			w.environ = append(plain[:len(plain):len(plain)], "SKILL_MODE="+first)
			return "", c.args
		}
	}
	if name == "turned off" {
		c.follow = func(t *testing.T, w *world, hint string) (string, []string) {
			for _, args := range w.commands(t, hint) {
				w.succeeds(t, "", append(args, "-w", "quiet")...)
			}
			return "", c.args
		}
	}
	code, _, errs := w.run(c.in, append([]string{"-o", "json"}, c.args...)...)
	var printed struct {
		Error struct {
			Code fault.Code
			Hint string
		}
	}
	_, problem, _ := strings.Cut(errs, `{"error":`) // warnings can come first
	if err := json.Unmarshal([]byte(`{"error":`+problem), &printed); err != nil || printed.Error.Code != c.code ||
		code != fault.Table[c.code].Exit {
		t.Fatalf("%v: exit %d, %s", c.args, code, errs)
	}
	in, args := c.follow(t, w, printed.Error.Hint)
	w.succeeds(t, in, args...)
	w.environ = plain
}

// succeeds runs a command that must succeed and returns its output.
func (w *world) succeeds(t *testing.T, in string, args ...string) string {
	t.Helper()
	code, out, errs := w.run(in, args...)
	if code != 0 {
		t.Fatalf("cairn %s: exit %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// commands returns the command lines that a text names.
func (w *world) commands(t *testing.T, text string) (out [][]string) {
	t.Helper()
	for _, m := range commandInHint.FindAllStringSubmatch(text, -1) {
		out = append(out, words(m[1]+m[2]))
	}
	if len(out) == 0 {
		t.Fatalf("no command in %q", text)
	}
	return out
}

// Commands print how to approve a pending change, and this works.
func TestFollowingTheNoteOfAPendingChangeApprovesIt(t *testing.T) {
	t.Parallel()
	w := idle(t)
	w.write("tea.zip", string(weather(t, "tea", "Boil water")))
	w.write("more.zip", string(weather(t, "tea", "Warm the pot, boil water")))
	for _, c := range [][2]string{{"tea.zip", "tea, version 1"}, {"more.zip", "tea, version 2"}} {
		file, want := c[0], c[1]
		if file == "more.zip" {
			w.restored(t, "tea", false)
		}
		note := w.succeeds(t, "", "skills", "import", file)
		shown := w.succeeds(t, "", w.commands(t, note)[0]...)
		_, approve, _ := strings.Cut(shown, " inbox approve ")
		if out := w.succeeds(
			t,
			"",
			append([]string{"inbox", "approve"}, strings.Fields(approve)...)...); !strings.Contains(
			out,
			want,
		) {
			t.Errorf("%s: %s", note, out)
		}
	}
	w.Within(func(ctx context.Context, q store.Tx) error {
		head, err := q.Skills().SkillNamed(ctx, "tea")
		if head.Status != skill.Active {
			t.Errorf("the skill is %s", head.Status)
		}
		return err
	})
}

// A client causes an error of the HTTP API, does what the hint says, and the request succeeds.
func TestFollowingTheHintOfAResponseHelps(t *testing.T) {
	t.Parallel()
	w := idle(t)
	h := w.Handler()
	request := func(method, path, key, body string) (*httptest.ResponseRecorder, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewBufferString(body))
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		var problem struct{ Hint string }
		_ = json.Unmarshal(rec.Body.Bytes(), &problem)
		return rec, problem.Hint
	}
	key := func(scope string) string {
		return strings.TrimSpace(w.succeeds(t, "", "keys", "create", "--name", "me", "--scopes", scope))
	}
	expect := func(status int, rec *httptest.ResponseRecorder) {
		t.Helper()
		if rec.Code != status {
			t.Errorf("status %d, want %d: %s", rec.Code, status, rec.Body)
		}
	}
	rec, hint := request(http.MethodGet, "/v1/skills", "", "")
	expect(fault.Table[fault.Unauthenticated].HTTP, rec)
	if !strings.Contains(hint, "Authorization: Bearer") || !strings.Contains(hint, "cairn keys create") {
		t.Errorf("unauthenticated: %q", hint)
	}
	reader := key("read")
	rec, _ = request(http.MethodGet, "/v1/skills", reader, "")
	expect(http.StatusOK, rec)

	const patch = `{"nudge":{"every":5}}`
	rec, hint = request(http.MethodPatch, "/v1/settings", reader, patch)
	expect(fault.Table[fault.OutOfScope].HTTP, rec)
	if !strings.Contains(hint, "admin") && !strings.Contains(hint, "scope") {
		t.Errorf("out of scope: %q", hint)
	}
	rec, _ = request(http.MethodPatch, "/v1/settings", key("admin"), patch)
	expect(http.StatusOK, rec)

	rec, hint = request(http.MethodPatch, "/v1/skills", reader, "{}")
	expect(fault.Table[fault.MethodNotAllowed].HTTP, rec)
	allowed, _, _ := strings.Cut(rec.Header().Get("Allow"), ",")
	if !strings.Contains(hint, "Allow") || allowed == "" {
		t.Errorf("method not allowed: %q, Allow %q", hint, allowed)
	}
	rec, _ = request(allowed, "/v1/skills", reader, "")
	expect(http.StatusOK, rec)
}

// Without a gateway, the check says how to start one; then the check succeeds.
func TestFollowingTheHintOfTheCheckStartsAGateway(t *testing.T) {
	t.Parallel()
	w := idle(t)
	_, _, errs := w.run("", "serve", "--check", "--listen", "127.0.0.1:1")
	if !strings.Contains(errs, "["+string(fault.Unavailable)+"]") {
		t.Fatal(errs)
	}
	w.untilReady(t, append(w.commands(t, errs)[0], "--listen", "127.0.0.1:0"), func(ready string) {
		address, _, _ := strings.Cut(strings.TrimPrefix(ready, "ready: http://"), " ")
		if code, _, errs := w.run("", "serve", "--check", "--listen", address); code != 0 {
			t.Errorf("exit %d: %s", code, errs)
		}
	})
	testkit.Must(t, t.Context().Err())
}
