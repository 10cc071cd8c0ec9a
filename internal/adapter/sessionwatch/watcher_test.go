package sessionwatch_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/adapter/sessionwatch"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/testkit"
)

func TestAppendedMessagesAreStoredOnce(t *testing.T) {
	m := open(t)
	m.write("p/s1.jsonl", lines("s1", 1, 2))
	if events := m.pass(); len(events) != 1 || events[0].Records != 4 || events[0].New != 4 || events[0].Revision != 1 {
		t.Errorf("first %+v", events)
	}
	m.wants(1, 4)
	if events := m.pass(); len(events) != 0 {
		t.Errorf("an unchanged file: %+v", events)
	}
	m.write("p/s1.jsonl", lines("s1", 1, 3)+`{"type":"user","uuid":"cut`)
	if events := m.pass(); len(events) != 1 || events[0].Records != 6 || events[0].New != 2 || events[0].Revision != 1 {
		t.Errorf("after two records, and one that is being written: %+v", events)
	}
	m.wants(1, 6)
	m.write("p/s1.jsonl", lines("s1", 1, 3))
	if events := m.pass(); len(events) != 0 {
		t.Errorf("without a new record: %+v", events)
	}
	if len(m.bodies) != 2 {
		t.Errorf("%d files were sent", len(m.bodies))
	}
}

func TestARotatedFileIsStoredOnce(t *testing.T) {
	m := open(t)
	m.write("s.jsonl", lines("s1", 1, 2))
	m.pass()
	testkit.Must(t, os.Rename(m.path("s.jsonl"), m.path("s-old.jsonl")))
	m.write("s.jsonl", lines("s2", 1, 3))
	events := m.pass()
	if len(events) != 2 || events[1].Revision != 2 || events[1].New != 6 {
		t.Errorf("after the rotation %+v", events)
	}
	m.wants(2, 4+6)
	m.pass()
	m.wants(2, 4+6)
}

func TestACompactedSessionIsStoredOnce(t *testing.T) {
	m := open(t)
	m.write("s.jsonl", lines("s1", 1, 2))
	m.pass()
	m.write("s.jsonl", lines("s1", 1, 2)+compacted("s1", 2))
	if events := m.pass(); len(events) != 1 || events[0].Err != nil || events[0].New != 3 || events[0].Revision != 1 {
		t.Errorf("after the compaction %+v", events)
	}
	if n := m.db.Number(`select count(*) from messages where content = 'question 1'`); n != 1 {
		t.Errorf("the first message is stored %d times", n)
	}
	m.wants(1, 6)
	m.write("s.jsonl", strings.Replace(lines("s1", 1, 2), "question 2", "another question", 1))
	if events := m.pass(); len(events) != 1 || events[0].Revision != 2 {
		t.Errorf("after a rewrite %+v", events)
	}
	m.wants(2, 6+4)
}

func TestSecretsAreMaskedBeforeTheyAreSent(t *testing.T) {
	m := open(t)
	const key, password = "sk-proj-Abc123Def456Ghi789Jkl012Mno345Pqr678Stu901", "hunter2-Q8xv"
	text := strings.Replace(lines("s1", 1, 2), "question 1", "my key is "+key, 1)
	text = strings.Replace(text, `"message":{"id":"m2"`, `"toolUseResult":{"password":"`+password+
		`"},"message":{"id":"m2"`, 1)
	m.write("s.jsonl", text)
	if events := m.pass(); len(events) != 1 || events[0].Err != nil || events[0].Masked < 2 {
		t.Fatalf("sent %+v", events)
	}
	if body := m.bodies[0]; strings.Contains(body, key) || strings.Contains(body, password) ||
		!strings.Contains(body, "{{secret:") || !strings.Contains(body, "s1-u2") {
		t.Errorf("sent %s", body)
	}
	m.wants(1, 4)
}

func TestMaskedSessionsOfEachAgentAreReadCompletely(t *testing.T) {
	m := open(t)
	const samples = "../../domain/transcript/intake/testdata/"
	messages := 0
	for _, name := range []string{"claude-code/sample.jsonl", "codex/sample.jsonl", "gemini/sample-cli.jsonl",
		"gemini/sample.json"} {
		raw, err := os.ReadFile(samples + name)
		testkit.Must(t, err)
		result, err := intake.Read(filepath.Base(name), bytes.NewReader(raw), intake.Options{})
		testkit.Must(t, err)
		messages += result.Report.Messages
		m.write(name, string(raw))
	}
	for _, e := range m.pass() {
		if e.Err != nil {
			t.Errorf("%s: %v", e.Path, e.Err)
		}
	}
	m.wants(4, messages)
}

// TestMain is the process that is killed.
func TestMain(m *testing.M) {
	if folder := os.Getenv("WATCHED_FOLDER"); folder != "" {
		url := os.Getenv("WATCHED_SERVER")
		w, err := sessionwatch.Open(sessionwatch.Options{Folders: []string{folder}, State: os.Getenv("WATCHED_STATE"),
			Server: url, Upload: &sessionwatch.Gateway{URL: url, Key: "k"}})
		if err == nil {
			_, err = w.Pass(context.Background())
		}
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAProcessKilledBeforeItWritesTheCursorSendsNothingTwice(t *testing.T) {
	m := open(t)
	m.write("s1.jsonl", lines("s1", 1, 2))
	m.write("s2.jsonl", lines("s2", 1, 2))
	for _, grown := range []int{2, 3} { // unchanged, and grown before the next start
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "WATCHED_FOLDER="+m.folder, "WATCHED_SERVER="+m.server.URL,
			"WATCHED_STATE="+m.state)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		m.mu.Lock() // the process starts before its first request is served
		testkit.Must(t, c.Start())
		m.stored = func() { testkit.Must(t, c.Process.Kill()) } // before the response
		m.mu.Unlock()
		var ended *exec.ExitError
		err := c.Wait()
		if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the process ended with %v: %s", err, out.String())
		}
		if raw, err := os.ReadFile(m.state); err == nil {
			t.Errorf("a cursor was written: %s", raw)
		}
		m.write("s1.jsonl", lines("s1", 1, grown))
	}
	m.mu.Lock()
	m.stored = nil
	m.mu.Unlock()
	m.wants(1, 4)
	if events := m.pass(); len(events) != 2 {
		t.Errorf("after the kills %+v", events)
	}
	m.wants(2, 6+4)
	if left, err := filepath.Glob(filepath.Dir(m.state) + "/.import-*"); err != nil || len(left) != 0 {
		t.Errorf("temporary files %v, %v", left, err)
	}
}

func TestOnlyIdleSessionsAreDueUnlessTheyHaveEnded(t *testing.T) {
	m := open(t)
	m.write("s.jsonl", lines("s1", 1, 2))
	testkit.Must(t, os.Chtimes(m.path("s.jsonl"), time.Now(), time.Now()))
	w := m.watcher(10 * time.Minute)
	next, err := w.Pass(t.Context())
	if err != nil || next <= 9*time.Minute || next > 10*time.Minute {
		t.Errorf("the next file is due in %s, %v", next, err)
	}
	m.wants(0, 0)
	testkit.Must(t, w.Send(t.Context(), m.path("s.jsonl"))) // as a hook does
	m.wants(1, 4)
}

func TestAChangedFileIsSentWithoutAScan(t *testing.T) {
	m := open(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	m.write("s1.jsonl", lines("s1", 1, 2))
	go func() { ended <- m.watcher(time.Millisecond).Run(ctx) }()
	stored := func(n int) func() bool {
		return func() bool { return m.db.Number(`select count(*) from messages`) == n }
	}
	testkit.Eventually(t, "the first scan sends the file", stored(4))
	m.write("s1.jsonl", lines("s1", 1, 3))
	testkit.Eventually(t, "the change is sent", stored(6))
	stop()
	testkit.Must(t, <-ended)
}

func TestAFileThatCannotBeSentIsReportedOnceAndTheOthersAreSent(t *testing.T) {
	m := open(t)
	m.write("a.json", `{"plan": 1}`)
	m.write("b.jsonl", lines("s1", 1, 2))
	m.write("c.json", `{"messages": [`)
	m.write("d.txt", "not a session")
	m.write("logs.json", "[]")
	events := m.pass()
	if len(events) != 2 || fault.CodeOf(events[0].Err) != fault.InvalidArgument || events[1].Err != nil {
		t.Errorf("events %+v", events)
	}
	if events := m.pass(); len(events) != 0 {
		t.Errorf("again %+v", events)
	}
	m.wants(1, 4)
}

func TestARevokedKeyEndsTheWatchAndAnUnavailableGatewayDoesNot(t *testing.T) {
	m := open(t)
	m.write("s.jsonl", lines("s1", 1, 2))
	m.fails = fault.Unauthenticated
	if err := m.watcher(0).Run(t.Context()); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("got %v", err)
	}
	m.fails = fault.Unavailable
	if _, err := m.watcher(0).Pass(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	m.fails = ""
	m.pass()
	m.wants(1, 4)
	m.server.Close()
	m.write("s.jsonl", lines("s1", 1, 3))
	if _, err := m.watcher(0).Pass(t.Context()); fault.CodeOf(err) != fault.Unavailable ||
		!strings.Contains(fault.From(err).Hint, "--server") {
		t.Errorf("without a gateway: %v", err)
	}
}

func TestTheStateFileIsChecked(t *testing.T) {
	m := open(t)
	w := m.watcher(0)
	if w.Approved(m.folder) {
		t.Error("a folder is approved from the start")
	}
	testkit.Must(t, w.Approve(m.folder))
	if w := m.watcher(0); !w.Approved(m.folder) || !w.Approved(m.path("s.jsonl")) || w.Approved(m.folder+"-other") {
		t.Error("the approval was not kept")
	}
	o := sessionwatch.Options{State: m.state, Server: "http://other", Upload: &sessionwatch.Gateway{}}
	if _, err := sessionwatch.Open(o); !strings.Contains(fault.From(err).Hint, "--state") {
		t.Errorf("the file of another server: %v", err)
	}
	testkit.Must(t, os.WriteFile(m.state, []byte("{"), 0o600))
	if _, err := sessionwatch.Open(o); !strings.Contains(fault.From(err).Hint, "delete it") {
		t.Errorf("a damaged file: %v", err)
	}
}
