package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app/cli"
	"cairn/internal/app/samples"
	"cairn/internal/testkit"
)

// TestMain runs this program as cairn-bench if command started it.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

const asProgram = "CAIRN_TEST_BENCH"

// quick lists the benchmarks whose examples are run here. Other examples are only parsed:
// they take long, need npm, or fail on a busy machine. The packages below internal/lab/bench
// test them.
var quick = []string{"isolation", "tau"}

// Every benchmark has a summary in one sentence and an example that works.
func TestEveryExampleWorks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	folder := files(t)
	for _, cmd := range (&program{}).root().Commands() {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Example == "" {
			t.Errorf("%s: summary %q, example %q", cmd.Name(), cmd.Short, cmd.Example)
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			checkExample(t, folder, strings.TrimSpace(line), cmd.Name())
		}
	}
}

// checkExample runs the example of a benchmark, or parses it.
func checkExample(t *testing.T, folder, line, name string) {
	t.Helper()
	args := strings.Fields(line)[1:]
	for i := range args {
		args[i] = strings.Trim(args[i], `"`)
	}
	cmd, rest, err := (&program{}).root().Find(args)
	if err == nil {
		if err = cmd.ParseFlags(rest); err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
	}
	if err != nil || cmd.Name() != name {
		t.Errorf("%s: %v", line, err)
		return
	}
	if !slices.Contains(quick, name) {
		return
	}
	if code, out, errs := run(t, folder, args...); code != 0 || out == "" {
		t.Errorf("%s: exit %d\n%s%s", line, code, out, errs)
	}
}

// files returns a folder with the files that examples name.
func files(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	airline := `[{"messages":[{"role":"user","content":"hello"}]},` + string(samples.Airline) + `]`
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "airline.json"), []byte(airline), 0o644))
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "chat.txt"), []byte("user: hello\n"), 0o644))
	talk := `[{"sample_id": "s", "conversation": {"session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": ` +
		`"I bought a kite."}]}, "qa": [{"question": "Who has a kite?", "answer": "Ann has the kite", ` +
		`"evidence": ["D1:1"], "category": 4}]}]`
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "locomo10.json"), []byte(talk), 0o644))
	return folder
}

// command returns a command that runs this program again, because benchmarks remove servers
// from the environment of their process. The environment names servers that must not be used.
func command(t *testing.T, folder string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Dir = folder
	c.Env = append(os.Environ(), asProgram+"=1", "CAIRN_CONFIG="+os.DevNull, "DATABASE_URL=postgres://127.0.0.1:1/none",
		"TEMPORAL_ADDRESS=127.0.0.1:1")
	return c
}

func run(t *testing.T, folder string, args ...string) (code int, out, errs string) {
	t.Helper()
	c := command(t, folder, args...)
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
	code := execute(t.Context(), []string{}, &out, &out)
	for _, name := range []string{"distill", "find", "loop", "search", "sweep", "tau", "turns", "chaos", "isolation",
		"soak", "stream-chaos", "channel-chaos", "production", "clients", "peers", "openai-sdk", "channels-sdk",
		"stream"} {
		if code != 0 || !strings.Contains(out.String(), "\n  "+name+" ") {
			t.Errorf("exit %d, no %s in\n%s", code, name, &out)
		}
	}
}

func TestABenchmarkRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	folder := files(t)
	for line, want := range map[string]int{
		"nonsense": 2, "turns --at-once 7": 2, "sweep --workspaces 1 --talking 2": 2, "search --sizes 0": 2,
		"find --sizes big":                    2,
		"tau --at-once 0 --file airline.json": 2, "tau --file missing.json": 3, "loop --talks chat.txt": 2,
		"soak now":   2,
		"chaos -n 1": 8, // the worker cannot be built outside of a clone
	} {
		if code, out, errs := run(t, folder, strings.Fields(line)...); code != want || out != "" ||
			!strings.Contains(errs, "hint: ") {
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
		{missed(errors.New("2.1 times")), []string{"2.1 times", "hint: see the results above"}},
		{held(false), []string{"a count that must be 0", "hint: see the counts above"}},
		{joined(errors.Join(errors.New("a round is lacking"), missed(errors.New("2.1 times")))),
			[]string{"a round is lacking\n2.1 times", "[internal]"}},
	} {
		var errs bytes.Buffer
		cli.PrintError(&errs, "cairn-bench", "table", c.err)
		for _, want := range c.want {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("no %q in %s", want, &errs)
			}
		}
	}
	if missed(nil) != nil || held(true) != nil || joined(nil) != nil {
		t.Error("nothing was missed, and it is an error")
	}
}

func TestABenchmarkEndsOnASignal(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := command(t, files(t), "isolation")
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
