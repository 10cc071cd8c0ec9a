package e2e_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/erasure"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/bench/production"
	"cairn/internal/lab/devtest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// operator runs the commands of docs/operations/backup.md.
type operator struct {
	b       *apptest.Bundle
	folder  string
	environ []string
	backup  []string // the commands of each section
	restore []string
}

func openRunbook(b *apptest.Bundle) *operator {
	b.T.Helper()
	page, err := production.ReadPage("../../..", "docs/operations/backup.md")
	testkit.Must(b.T, err)
	r := &operator{b: b, folder: b.T.TempDir()}
	r.backup, err = page.Blocks("Back up", 2)
	testkit.Must(b.T, err)
	r.restore, err = page.Blocks("Restore", 3)
	testkit.Must(b.T, err)
	var programs string // of this server's version
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), "select setting from pg_config where name = 'BINDIR'").
		Scan(&programs))
	testkit.Must(b.T, os.Symlink(devtest.Program(b.T, "starter"), filepath.Join(r.folder, "cairn")))
	c, err := pgx.ParseConfig(b.AdminURL)
	testkit.Must(b.T, err)
	for _, s := range b.Config.Settings() {
		r.environ = append(r.environ, s.Name+"="+s.Value)
	}
	r.environ = append(r.environ, "PATH="+strings.Join([]string{r.folder, programs, os.Getenv("PATH")}, ":"),
		"HOME="+r.folder, "CAIRN_CONFIG=/dev/null", "DATABASE_URL="+b.Config.DatabaseURL,
		"ADMIN_DATABASE_URL="+b.AdminURL, "DATABASE_NAME="+c.Database,
		"SERVER_URL="+strings.Replace(b.AdminURL, c.Database, "postgres", 1), "SKILLS_LOCAL_DIR="+b.Packages)
	return r
}

// run executes commands and returns what they print.
func (r *operator) run(commands string) string {
	r.b.T.Helper()
	out, err := production.PageRunner{Folder: r.folder, Environ: r.environ}.Run(r.b.T.Context(), commands)
	testkit.Must(r.b.T, err)
	return out
}

// A database is restored from a dump, onto the same Temporal. Messages that are sent again are answered
// once, runs that were open at the dump end, nothing of the lost timeline writes, and what was erased
// after the dump stays erased.
func TestARestoredDatabaseAnswersMessagesAgain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	r := openRunbook(b)
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "^hold on", Barrier: "held", Reply: "from the lost timeline"})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "I see."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.ScriptR1()
	b.Start()
	for n := range 3 {
		b.Say("a", n, "before the dump")
	}
	b.Say("secret", 1, "the bees are in the shed")
	distilled := b.Distill(apptest.C1())
	b.Stop()
	open := b.Message("open", "m1", "accepted before the dump")
	send(b, open)
	testkit.Eventually(t, "the message is accepted", func() bool {
		return count(b, "select count(*) from cairn.runs where status <> 'ended'") == 1
	})
	for _, commands := range r.backup {
		r.run(commands)
	}

	b.Start()
	answered(b, "open", "m1")
	for n := range 10 {
		b.Say("a", 3+n, "after the dump")
		b.Say(fmt.Sprintf("new-%d", n), 1, "after the dump")
		b.Say(fmt.Sprintf("new-%d", n), 2, "after the dump")
	}
	erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: conversationNumber(b, "secret")})
	send(b, b.Message("held", "m1", "hold on"))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "held", 1))
	lost := b.Workspace
	b.Stop()

	r.run(r.restore[0])
	r.run(r.restore[1])
	b.Start() // too early: the restore is not accepted
	b.Model.Release("held")
	testkit.Eventually(t, "a lost commit is counted", func() bool {
		_, open, err := b.Store.LostCommits(t.Context())
		return err == nil && open > 0
	})
	b.Stop()
	doctor := osexec.CommandContext(t.Context(), filepath.Join(r.folder, "cairn"), "doctor")
	doctor.Env = r.environ
	if out, err := doctor.CombinedOutput(); doctor.ProcessState.ExitCode() != 8 ||
		!strings.Contains(string(out), "cairn restore accept") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	if out := r.run(r.restore[2]); !strings.Contains(out, "incarnation 2") ||
		!strings.Contains(out, "1 erasures from after the backup are repeated") {
		t.Errorf("accepted: %s", out)
	}

	testkit.Must(t, b.Store.ReadIncarnation(t.Context()))
	var err error
	b.Workspace, err = b.Store.Workspace(context.WithoutCancel(t.Context()), lost.Name, false)
	testkit.Must(t, err)
	if b.Workspace.Key != "i2/"+lost.Key {
		t.Errorf("the key is %s", b.Workspace.Key)
	}
	b.Start()
	for n := range 10 {
		b.Say("a", 3+n, "after the dump")
		b.Say(fmt.Sprintf("new-%d", n), 1, "after the dump")
		b.Say(fmt.Sprintf("new-%d", n), 2, "after the dump")
	}
	for n := range 3 {
		b.Say("a", n, "before the dump") // again, which changes nothing
	}
	answered(b, "open", "m1")
	testkit.Eventually(t, "the erasure is repeated", func() bool {
		return count(b, "select count(*) from cairn.erasures where state = 'ended'") == 1
	})
	for query, want := range map[string]int{
		"select count(*) from cairn.messages where role = 'user' and content ~ 'the dump$'":   13 + 20 + 1,
		"select count(*) from cairn.messages where role = 'assistant' and content = 'I see.'": 13 + 20 + 1,
		"select count(*) from cairn.messages where content ~ 'bees' or content ~ 'timeline'":  0,
		"select count(*) from cairn.runs where status <> 'ended' and kind = 'turn'":           0,
		"select count(*) from cairn.conversations where external_id = 'held'":                 0,
	} {
		if got := count(b, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if again := b.Distill(apptest.C1()); len(again.Tasks) != len(distilled.Tasks) ||
		again.Tasks[0].Skill != distilled.Tasks[0].Skill || again.Tasks[0].Version != distilled.Tasks[0].Version {
		t.Errorf("the distillation is another one: %+v", again)
	}
}
