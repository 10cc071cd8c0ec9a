package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// world is a running Cairn with the offline rules, and a folder with the files
// that the commands' examples name.
type world struct {
	*apptest.Bundle
	environ []string
	folder  string
	retired int // candidates that examples have decided about
}

func open(t *testing.T, change ...func(*config.Config)) *world {
	t.Helper()
	w := idle(t, change...)
	w.Start()
	return w
}

// idle is open without workers, for commands that need none.
func idle(t *testing.T, change ...func(*config.Config)) *world {
	t.Helper()
	w := &world{folder: t.TempDir()}
	w.Bundle = apptest.OpenIdle(t, append(change, func(c *config.Config) {
		c.BaseURL, c.APIKey, c.Model, c.NameStyle = "", "", "", "hyphen"
		c.Channels = filepath.Join(w.folder, "channels.yaml")
	})...)
	c := w.Config
	w.environ = []string{"HOME=" + w.folder, "DATABASE_URL=" + c.DatabaseURL, "TEMPORAL_ADDRESS=" + c.TemporalAddress,
		"TEMPORAL_NAMESPACE=" + c.TemporalNamespace,
		"TEMPORAL_UI_URL=http://ui.example", "CAIRN_HOME=" + filepath.Join(w.folder, "home"),
		"SKILLS_LOCAL_DIR=" + c.SkillsDir, "CAIRN_WORKSPACE=test", "CAIRN_CONFIG=" + os.DevNull,
		"CAIRN_CHANNELS=" + c.Channels}
	w.write("conversation.json", string(samples.Airline))
	w.write("airline.json", `[{"messages":[{"role":"user","content":"hello"}]},`+string(samples.Airline)+`]`)
	w.write("weather-report.zip", string(weather(t, "weather-report", "Look at the sky")))
	w.write("channels.yaml", "accounts:\n  ada:\n    platform: webhook\n    secret: whsec_"+
		base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n    url: http://127.0.0.1:1/messages\n")
	w.write("memories.ndjson", "")
	w.write("events.ndjson", "")
	w.write("message.txt", "I always want short answers.\n")
	w.write("fact.txt", "Works at night.\n")
	w.write("soul.txt", "Say du, not Sie.\n")
	w.write("settings.json", `{"nudge":{"daily_cap":20}}`)
	w.write("chat-lines.txt", "Hello, I am Ada.\n\nI always cook with olive oil.\n/quit\nThis is not said.\n")
	w.write("locomo10.json", `[{"sample_id": "s", "conversation": {"session_1": [{"speaker": "Ann", "dia_id": `+
		`"D1:1", "text": "I bought a kite."}]}, "qa": [{"question": "Who has a kite?", "answer": "Ann has the `+
		`kite", "evidence": ["D1:1"], "category": 4}]}]`)
	w.write("report.html", "")
	w.write("traces.json", `[{"id": "t1", "messages": [{"role": "user", "name": "Vera", "content": "I planted a `+
		`lemon tree behind the shed."}], "questions": [{"question": "What did Vera plant?", "answers": ["lemon `+
		`tree"], "evidence": [0]}]},
{"id": "t2", "messages": [{"role": "user", "name": "Otto", "content": "I bought a schooner in May."}], "questions": `+
		`[{"question": "What did Otto buy?", "answers": ["schooner"], "evidence": [0]}]}]`)
	w.write("chat.txt", "user: How do I roll back?\nassistant: First probe the service.\nuser: And then?\n"+
		"assistant: Roll back to the last good release.\nuser: Good, always probe twice.\nassistant: Understood.\n")
	return w
}

func (w *world) write(name, content string) {
	testkit.Must(w.T, os.WriteFile(filepath.Join(w.folder, name), []byte(content), 0o644))
}

// run executes a command line and returns what it printed.
func (w *world) run(in string, args ...string) (code int, out, errs string) {
	w.T.Helper()
	for i, a := range args { // files are named relative to the folder
		if _, err := os.Stat(filepath.Join(w.folder, a)); err == nil && a != "." && !strings.HasPrefix(a, "-") {
			args[i] = filepath.Join(w.folder, a)
		}
		if a == "." {
			args[i] = w.folder
		}
	}
	var o, e bytes.Buffer
	code = execute(w.T.Context(), args, w.environ, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestDistillPrintsEachTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	code, out, errs := w.run("", "distill", "conversation.json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"completed", "update-reservation-flights, version 1, draft", "quality ", " of 10",
		"SKILL.md", ".zip", "model", "tokens", "http://ui.example/namespaces/", "distill%2F"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(errs, "offline rules") {
		t.Errorf("the offline model is not mentioned: %q", errs)
	}

	first := out
	code, out, errs = w.run("", "distill", "conversation.json", "-o", "json")
	var printed struct {
		Runs []struct {
			Run   string
			Tasks []struct {
				Outcome, Skill, Package, Link string
				SkillMD                       string `json:"skill_md"`
				WorkflowID                    string `json:"workflow_id"`
				Version                       int
				ModelCalls                    int `json:"model_calls"`
				Tokens                        int
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &printed); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s %s", code, err, out, errs)
	}
	if len(printed.Runs) != 1 || !strings.Contains(first, "run "+printed.Runs[0].Run+" ") {
		t.Fatalf("the same file is another run: %s", out)
	}
	task := printed.Runs[0].Tasks[0]
	if task.Outcome != "created" || task.Version != 1 || task.ModelCalls == 0 || task.Tokens == 0 ||
		task.WorkflowID == "" || task.Link == "" {
		t.Errorf("task %+v", task)
	}
	for _, path := range []string{task.Package, task.SkillMD} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestBadInputIsOneClearErrorAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	w := idle(t)
	huge := filepath.Join(w.folder, "huge.json")
	testkit.Must(t, os.WriteFile(huge, []byte(`[{"role":"user","content":"`), 0o644))
	testkit.Must(t, os.Truncate(huge, 100<<20))
	for name, c := range map[string]struct{ content, code, position string }{
		"broken.json": {`[{"role":"user","content":"hi"`, "invalid_argument", "broken.json:1:31"},
		"empty.json":  {`[]`, "invalid_argument", "no messages"},
		"role.json": {`[{"role":"user","content":"hi"},{"role":"robot","content":"hi"}]`, "invalid_argument",
			"robot"},
		"binary.bin":   {"PK\x03\x04\x00\x00", "invalid_argument", "zip"},
		"nothing.json": {"", "invalid_argument", ""},
		"prose.txt":    {"just some prose\nwithout any speaker\n", "invalid_argument", "name: text"},
		"huge.json":    {"", "too_large", "64"},
		"missing.json": {"", "not_found", ""},
	} {
		if name != "huge.json" && name != "missing.json" {
			w.write(name, c.content)
		}
		code, out, errs := w.run("", "distill", name)
		if name == "missing.json" {
			code, out, errs = w.run("", "distill", filepath.Join(w.folder, name))
		}
		if code == 0 || out != "" || strings.Count(errs, "cairn: ") != 1 || !strings.Contains(errs, "["+c.code+"]") ||
			!strings.Contains(errs, c.position) || !strings.Contains(errs, "hint: ") {
			t.Errorf("%s: exit %d, printed %q, said %q", name, code, out, errs)
		}
	}
	if code, out, _ := w.run("", "runs", "list"); code != 0 || !strings.Contains(out, "no runs") {
		t.Errorf("something was written: %s", out)
	}
}

func TestErrorsAreJSONWhenAskedFor(t *testing.T) {
	t.Parallel()
	w := idle(t)
	code, _, errs := w.run("", "skills", "view", "no-such-skill", "-o", "json")
	var printed struct {
		Error struct{ Code, Message, Hint string }
	}
	if err := json.Unmarshal([]byte(errs), &printed); err != nil || code != 3 || printed.Error.Code != "not_found" ||
		printed.Error.Hint == "" {
		t.Errorf("exit %d, %v: %s", code, err, errs)
	}
	if code, _, errs := w.run("", "skills", "view"); code != 2 || !strings.Contains(errs, "exactly 1 argument") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := w.run("", "nonsense"); code != 2 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Every command has a summary in one sentence and an example that works.
func TestEveryExampleWorks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := open(t)
	if code, _, errs := w.run("", "distill", "conversation.json"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	_, out, _ := w.run("", "runs", "list", "-o", "json")
	var listed struct {
		Runs []listedRun
	}
	testkit.Must(t, json.Unmarshal([]byte(out), &listed))
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		if cmd.HasSubCommands() && cmd.Example == "" {
			return
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: summary %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			w.example(t, strings.TrimSpace(line), listed.Runs[0])
		}
	}
	visit((&cli{}).root())
}

// words splits a line as a shell would that knows double quotes only.
func words(line string) (out []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// listedRun is a run that the examples use in place of their own.
type listedRun struct {
	Run        string
	WorkflowID string `json:"workflow_id"`
}

func (w *world) example(t *testing.T, line string, known listedRun) {
	t.Helper()
	if strings.HasPrefix(line, "cairn bank promote") {
		return // needs an update that waits: TestOneAccountPromotesByHand runs it
	}
	if strings.HasSuffix(line, " --rollback") {
		return // needs another embedding model: TestReembedFromTheCommandLine has one
	}
	if strings.HasPrefix(line, "cairn import watch") {
		return // needs a gateway: TestTheFirstWatchListsAndNeedsConsent runs it
	}
	in := ""
	if file, command, piped := strings.Cut(line, " | "); piped {
		raw, err := os.ReadFile(filepath.Join(w.folder, strings.TrimPrefix(file, "cat ")))
		testkit.Must(t, err)
		in, line = string(raw), command
	}
	args := w.prepared(t, words(line)[1:])
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "distill/"):
			args[i] = known.WorkflowID
		case run.ValidID(a):
			args[i] = known.Run
		case a == "history.json":
			args[i] = filepath.Join(w.folder, a)
		}
	}
	if args[0] == "dev" || args[0] == "gateway" ||
		strings.HasPrefix(line, "cairn serve --listen") { // run until interrupted
		w.untilReady(t, args, func(string) {})
		return
	}
	works := func() {
		if code, out, errs := w.run(in, args...); code != 0 {
			t.Errorf("%s: exit %d\n%s%s", line, code, out, errs)
		}
	}
	if args[0] == "console" { // its link needs a gateway
		w.served(t, works)
		return
	}
	works()
	if args[0] == "bank" && args[1] == "freeze" { // later examples change the bank
		args = slices.Replace(slices.Clone(args), 1, 2, "unfreeze")
		works()
	}
}

// served calls fn while a gateway runs at CAIRN_LISTEN.
func (w *world) served(t *testing.T, fn func()) {
	t.Helper()
	before := w.environ
	defer func() { w.environ = before }()
	w.untilReady(t, []string{"serve", "--listen", "127.0.0.1:0"}, func(ready string) {
		address, _, _ := strings.Cut(strings.TrimPrefix(ready, "ready: http://"), " ")
		w.environ = append(slices.Clone(before), "CAIRN_LISTEN="+address)
		fn()
	})
}

// untilReady runs a command until it prints that it is ready, calls then with that line, and stops
// the command.
func (w *world) untilReady(t *testing.T, args []string, then func(ready string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready: ") {
				then(lines.Text())
				cancel()
			}
		}
	}()
	var errs bytes.Buffer
	code := execute(ctx, args, w.environ, strings.NewReader(""), in, &errs)
	in.Close()
	if code != 0 || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("cairn %s: exit %d, %v: %s", strings.Join(args, " "), code, ctx.Err(), errs.String())
	}
}

func TestAKeyOpensTheGatewayUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	w := idle(t)
	code, key, errs := w.run("", "keys", "create", "--name", "me", "--scopes", "read")
	if code != 0 || !strings.HasPrefix(key, "cairn_") || strings.Count(key, "\n") != 1 ||
		!strings.Contains(errs, "shown this once") {
		t.Fatalf("exit %d: %q, %s", code, key, errs)
	}
	_, listed, _ := w.run("", "keys", "list")
	if strings.Contains(listed, strings.TrimSpace(key)) || !strings.Contains(listed, key[:12]) {
		t.Errorf("listed as %s", listed)
	}
	w.untilReady(t, []string{"serve", "--listen", "127.0.0.1:0"}, func(ready string) {
		address, _, _ := strings.Cut(strings.TrimPrefix(ready, "ready: http://"), " ")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/skills", nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%v, %+v", err, res)
			return
		}
		res.Body.Close()
		if code, out, errs := w.run("", "serve", "--check", "--listen", address); code != 0 || out != "ready\n" {
			t.Errorf("check: exit %d: %s", code, errs)
		}
	})
	if code, _, errs := w.run("", "serve", "--check", "--listen", "127.0.0.1:1"); code != 7 ||
		!strings.Contains(errs, "[unavailable]") {
		t.Errorf("check of nothing: exit %d: %s", code, errs)
	}
	for _, c := range []struct {
		code int
		args []string
	}{{0, []string{"keys", "revoke", "1"}}, {3, []string{"keys", "revoke", "1"}}, {2, []string{"keys", "revoke", "me"}},
		{2, []string{"keys", "create"}},
		{2, []string{"keys", "create", "--name", "x", "--scopes", "everything"}},
		{8, []string{"serve", "--listen", "nowhere"}}} {
		if code, _, errs := w.run("", c.args...); code != c.code {
			t.Errorf("%v: exit %d, want %d: %s", c.args, code, c.code, errs)
		}
	}
}

func TestAnUnknownCommandNamesTheHelpThatListsTheKnownOnes(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"`cairn --help`":        {"nonsense"},
		"`cairn skills --help`": {"skills", "lst"},
	} {
		if _, errs, code := plain(t, "", args...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %s: %s", args, code, want, errs)
		}
	}
}

// The demo shows its draft, the criteria that it misses, the approval and the search. It ends with commands, each of
// which works.
func TestTheDemoSuggestsCommandsThatWork(t *testing.T) {
	t.Parallel()
	w := open(t)
	var out string
	w.served(t, func() { out = w.succeeds(t, "", "demo") })
	if n := strings.Count(out, "\n"); n > 100 || strings.Contains(out, "%!") {
		t.Errorf("%d lines:\n%s", n, out)
	}
	rest := out
	for _, want := range []string{"wrote the draft update-reservation-flights", "Not for: cancel reservation",
		"- payment_id: from `get_user_details` (required)", "call `get_reservation_details` with the same " +
			"`reservation_id` " +
			"first", "Check: ", "`Error: payment method not found` → ", "## Verification", "judging it", "reusable  " +
			"    1 of 2",
		"review: fixed rules wrote this draft", "s1 approved", "searching for", "update-reservation-flights, " +
			"version 1"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("no %q, or not in order, in\n%s", want, out)
		}
		rest = after
	}
	_, next, _ := strings.Cut(out, "Try next\n")
	next, open, _ := strings.Cut(next, "\nOpen the skill in the web console")
	if !strings.Contains(open, "/console/link?code=") ||
		!strings.Contains(open, "%2Fskills%2Fupdate-reservation-flights") {
		t.Errorf("it ends with %q", open)
	}
	lines := strings.Split(strings.TrimSpace(next), "\n")
	if len(lines) != 5 {
		t.Fatalf("it suggests %q", lines)
	}
	for _, line := range lines {
		_, command, found := strings.Cut(strings.TrimSpace(line), "  ")
		_, command, _ = strings.Cut(strings.TrimSpace(command), " ") // without the program
		if !found || !strings.Contains(command, "--workspace demo-") {
			t.Errorf("it suggests %q", line)
		}
		out := w.succeeds(t, "Hello, I am Ada.\n", words(command)...)
		for verb, want := range map[string]string{"skills archive": "archived",
			"search": "update-reservation-flights"} {
			if strings.HasPrefix(command, verb) && !strings.Contains(out, want) {
				t.Errorf("%s: %s", command, out)
			}
		}
	}
}
