package devstack

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/testkit"
)

// orphanLimit is the time in which servers must end after their parent was killed: two seconds for
// the gentle stop, and the rest for a busy machine.
const orphanLimit = 30 * time.Second

func TestKilledParentLeavesNothing(t *testing.T) {
	t.Parallel()
	leavesNothing(t, startHolder(t, program(t), "", self()))
}

func TestOrdinaryUserStartsAndLeavesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: every other test here runs as an ordinary user already")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("this system has no account nobody")
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	who := account{name: "nobody", uid: uid, gid: gid, dropped: true}
	folder := openFolder(t)
	copied := copyProgram(t, folder)
	if err := os.Chown(folder, uid, gid); err != nil {
		t.Fatal(err)
	}
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	start(t, Options{SkipTemporal: true}) // so that root's cache is filled
	environment := []string{"HOME=" + folder, "CAIRN_CACHE=" + cache}
	leavesNothing(t, startHolder(t, copied, "", who, environment...))

	lasting := filepath.Join(folder, "data")
	held := startHolder(t, copied, lasting, who, environment...)
	execute(t, held.DatabaseURL, "CREATE TABLE note ()")
	if owner := ownerOf(filepath.Join(lasting, "postgres", "data")); owner != uid {
		t.Errorf("the cluster belongs to uid %d, want %d", owner, uid)
	}
	socket := socketOf(t, held.DatabaseURL)
	held.kill()
	until(t, orphanLimit, "PostgreSQL ends", func() bool { return len(processes(t, lasting)) == 0 })
	if err := os.Remove(socket); err != nil { // empty, and the same for the next start
		t.Error(err)
	}
}

func TestAccountThatNobodyKnowsIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run as another account")
	}
	stranger := account{uid: 424242, gid: 424242, dropped: true}
	attempt := exec.Command(copyProgram(t, openFolder(t)))
	attempt.Env, attempt.Dir = []string{holdVariable + "=-", "PATH=" + os.Getenv("PATH"), "HOME=/tmp"}, "/"
	attempt.SysProcAttr = &syscall.SysProcAttr{Credential: stranger.credential()}
	if output, err := attempt.CombinedOutput(); err == nil ||
		!strings.Contains(string(output), "uid 424242 has no account name") {
		t.Errorf("got %v\n%s", err, output)
	}
}

// leavesNothing kills the holder of a throw-away stack.
func leavesNothing(t *testing.T, h holder) {
	t.Helper()
	execute(t, h.DatabaseURL, "CREATE TABLE note ()")
	socket, port := socketOf(t, h.DatabaseURL), "--port\x00"+portOf(h.TemporalAddress)
	if len(processes(t, socket)) == 0 || len(processes(t, port)) == 0 {
		t.Fatal("the servers cannot be found among the processes")
	}
	h.kill()
	until(t, orphanLimit, "servers and watchdogs end and the folders go", func() bool {
		return len(processes(t, socket)) == 0 && len(processes(t, port)) == 0 && !exists(socket)
	})
}

func TestKilledParentKeepsLastingData(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := settledFolder(t)
	h := startHolder(t, program(t), dir, self())
	if found, ok := Running(dir); !ok || found != h.Addresses {
		t.Errorf("Running gives %v %v, want %v", found, ok, h.Addresses)
	}
	execute(t, h.DatabaseURL, "CREATE TABLE note AS SELECT 'kept' AS text")
	h.kill()
	if _, ok := Running(dir); ok {
		t.Error("Running finds the stack of a killed process")
	}
	// At once: the old servers are still ending.
	stack := start(t, Options{Dir: dir})
	if text := ask[string](t, stack.DatabaseURL(), "SELECT text FROM note"); text != "kept" {
		t.Errorf("after the kill: %q", text)
	}
	h.PID = os.Getpid()
	if stack.addresses() != h.Addresses {
		t.Errorf("the addresses were %v and are %v", h.Addresses, stack.addresses())
	}
}

func TestStaleLockOfAnotherProcessIsRemoved(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	path := filepath.Join(data, "postmaster.pid")
	// Our own process number: certainly alive, and not a PostgreSQL on this data.
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"+data+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clearPredecessor(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if exists(path) {
		t.Error("the stale lock is still there")
	}
}
