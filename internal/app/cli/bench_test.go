package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/testkit"
)

// quick are the benchmarks whose examples are carried out here. Of the others
// the example is only parsed: they take long, need npm, or fail when a machine is
// busy. The packages below internal/bench test what they do.
var quick = []string{"isolation", "tau"}

// benchExample carries a benchmark's example out, or sees that it could be.
func (w *world) benchExample(t *testing.T, line string, args []string) {
	t.Helper()
	cmd, rest, err := (&cli{}).root().Find(args)
	if err == nil {
		if err = cmd.ParseFlags(rest); err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
	}
	if err != nil || cmd.Name() != args[1] {
		t.Errorf("%s: %v", line, err)
		return
	}
	if !slices.Contains(quick, args[1]) {
		return
	}
	if code, out, errs := w.program(t, args...); code != 0 || out == "" {
		t.Errorf("%s: exit %d\n%s%s", line, code, out, errs)
	}
}

// command is the program itself: benchmarks forget the servers of their whole
// process, and start it again. The environment names ours, which it must not use.
func (w *world) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), devtest.Program(t, "cairn/starter"), args...)
	c.Dir, c.Env = w.folder, slices.Concat(os.Environ(), w.environ, []string{"HOME=" + os.Getenv("HOME")})
	return c
}

func (w *world) program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	c := w.command(t, args...)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}

func TestBenchAloneListsThemAll(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := execute(t.Context(), []string{"bench"}, nil, strings.NewReader(""), &out, &out)
	for _, name := range []string{"distill", "find", "loop", "search", "sweep", "tau", "turns", "chaos", "isolation", "soak", "clients"} {
		if code != 0 || !strings.Contains(out.String(), "\n  "+name+" ") {
			t.Errorf("exit %d, no %s in\n%s", code, name, &out)
		}
	}
}

func TestABenchmarkRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	w := idle(t)
	for line, want := range map[string]int{
		"bench nonsense": 2, "bench turns --at-once 7": 2, "bench sweep --workspaces 1 --talking 2": 2, "bench search --sizes 0": 2, "bench find --sizes big": 2,
		"bench tau --at-once 0 --file airline.json": 2, "bench tau --file missing.json": 3, "bench loop --talks chat.txt": 2, "bench soak now": 2,
		"bench chaos -n 1": 8, // the worker cannot be built outside of a clone
	} {
		if code, out, errs := w.program(t, strings.Fields(line)...); code != want || out != "" || !strings.Contains(errs, "hint: ") {
			t.Errorf("%s: exit %d, want %d: %s%s", line, code, want, out, errs)
		}
	}
}

func TestABenchmarkThatMissesItsGoalFailsAndSaysAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want []string
	}{
		{missed(errors.New("2.1 times")), []string{"2.1 times", "hint: what was measured"}},
		{held(false), []string{"not everything held", "hint: what was counted"}},
		{told(errors.Join(errors.New("a round is lacking"), missed(errors.New("2.1 times")))), []string{"a round is lacking\n2.1 times", "[internal]"}},
	} {
		var errs bytes.Buffer
		(&cli{errs: &errs}).printFault(asFault(c.err))
		for _, want := range c.want {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("no %q in %s", want, &errs)
			}
		}
	}
	if missed(nil) != nil || held(true) != nil || told(nil) != nil {
		t.Error("nothing was missed, and it is an error")
	}
}

func TestABenchmarkEndsOnASignal(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := idle(t).command(t, "bench", "isolation")
	pipe, err := c.StderrPipe()
	testkit.Must(t, err)
	testkit.Must(t, c.Start())
	lines := bufio.NewScanner(pipe)
	if !lines.Scan() { // its database is about to start
		t.Error("it says nothing")
	}
	testkit.Must(t, c.Process.Signal(os.Interrupt))
	said := ""
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 10 || !strings.Contains(said, "[cancelled]") {
		t.Errorf("%v: %s", err, said)
	}
}
