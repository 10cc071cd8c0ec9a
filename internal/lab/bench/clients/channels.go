package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"cairn/internal/adapter/devstack"
	"cairn/internal/domain/fault"
)

// channelSDKs are the SDKs of chat platforms, by their folder in clients/channels.
var channelSDKs = map[string]string{
	"dingtalk": "dingtalk-stream==0.24.3",
	"discord":  "discord.py==2.7.1",
	"feishu":   "lark-oapi==1.7.5",
	"slack":    "slack-sdk==3.47.0",
	"telegram": "python-telegram-bot==22.8",
	"webhook":  "standardwebhooks==1.1.0",
}

// platformLimit is the time limit of the checks of a platform.
const platformLimit = 3 * time.Minute

// channels runs the checks of chat platforms.
type channels struct {
	source string // clients/channels
	home   string // of the SDKs; has the program with the fakes, too
	log    io.Writer
}

// RunChannels runs each clients/channels/PLATFORM/check.py with the fake and the SDK of its platform. It needs the
// sources of Cairn in the working folder. SDKs stay in Cairn's cache.
func RunChannels(ctx context.Context, log io.Writer) (out Result, err error) {
	c := channels{source: filepath.Join("clients", "channels"), log: log}
	checks, err := filepath.Glob(filepath.Join(c.source, "*", "check.py"))
	if err != nil || len(checks) == 0 {
		return out, fault.New(fault.Misconfigured, "checks of chat platforms not found", "run this in a clone of Cairn")
	}
	out.Clients = len(checks)
	if c.home, err = os.MkdirTemp("", "cairn-channels"); err != nil {
		return out, err
	}
	defer os.RemoveAll(c.home)
	build := exec.CommandContext(ctx, "go", "build", "-o", c.program(), "./"+c.source)
	if said, err := build.CombinedOutput(); err != nil {
		return out, fmt.Errorf("build the fakes: %w\n%s", err, said)
	}
	for _, script := range checks {
		platform := filepath.Base(filepath.Dir(script))
		fmt.Fprintln(log, "checking", platform)
		rows, err := c.run(ctx, platform, script)
		if err == nil && len(rows) == 0 {
			err = errors.New("no check ran")
		}
		failed := slices.ContainsFunc(rows, func(row Row) bool { return row.State == Failed })
		if err != nil && !failed { // a failed check ends with an error, too
			rows = append(rows, Row{Client: platform, Call: "run", State: Failed, Detail: err.Error()})
		}
		out.Rows = append(out.Rows, rows...)
	}
	return out, ctx.Err()
}

func (c channels) program() string { return filepath.Join(c.home, "fakes") }

func (c channels) run(ctx context.Context, platform, script string) ([]Row, error) {
	sdk, ok := channelSDKs[platform]
	if !ok {
		return nil, fmt.Errorf("no SDK of %s is known", platform)
	}
	python, err := cachedPython(ctx, sdk, c.log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, platformLimit)
	defer cancel()
	url, stop, err := c.start(ctx, platform)
	if err != nil {
		return nil, fmt.Errorf("start the fake: %w", err)
	}
	defer stop()
	check := exec.CommandContext(ctx, python, script)
	check.Env = []string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + c.source,
		"PYTHONDONTWRITEBYTECODE=1", "FAKE_URL=" + url}
	return calls(platform, check, checksOf)
}

// start starts a fake and returns its URL.
func (c channels) start(ctx context.Context, platform string) (url string, stop func(), err error) {
	fake := exec.CommandContext(ctx, c.program(), platform)
	fake.Stderr = c.log
	in, err := fake.StdinPipe() // a fake ends with it
	if err != nil {
		return "", nil, err
	}
	out, err := fake.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := fake.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = fake.Process.Kill() // an error means that it has ended
		_ = fake.Wait()         // reports the kill
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimPrefix(strings.TrimSpace(line), "FAKE_URL="), stop, nil
}

// checksOf reads the lines of a check.py: the result, the name of the check, and a colon and the reason if it failed.
func checksOf(platform string, said io.Reader) (out []Row) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		result, rest, _ := strings.Cut(lines.Text(), " ")
		row := Row{Client: platform, Call: strings.TrimSpace(rest), State: OK}
		switch {
		case strings.HasPrefix(result, "FAIL"):
			row.State = Failed
			row.Call, row.Detail, _ = strings.Cut(row.Call, ": ")
		case result != "ok":
			continue // a message of the SDK
		}
		out = append(out, row)
	}
	return out
}

// PrintSummary writes the number of calls of each client as a table, and the calls that failed.
func (r Result) PrintSummary(w io.Writer) error {
	all, ok := map[string]int{}, map[string]int{}
	var failed []Row
	for _, row := range r.Rows {
		all[row.Client]++
		switch row.State {
		case OK:
			ok[row.Client]++
		case Failed:
			failed = append(failed, row)
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "platform\tchecks\tok\tSDK")
	for _, client := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\n", client, all[client], ok[client], channelSDKs[client])
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, row := range failed {
		if _, err := fmt.Fprintf(w, "%s %s: %s: %s\n", Failed, row.Client, row.Call, row.Detail); err != nil {
			return err
		}
	}
	return nil
}

// CachedPython returns the python of an environment with packages, which it installs once under a name.
func CachedPython(ctx context.Context, name string, requirements []string, log io.Writer) (python string, err error) {
	folder, err := devstack.BuildOnce(ctx, "python-"+name, func(folder string) error {
		_, err := installPackages(ctx, folder, requirements, log)
		return err
	})
	return pythonOf(folder), err
}

// cachedPython returns the python of an environment with a package, which it installs once.
func cachedPython(ctx context.Context, requirement string, log io.Writer) (python string, err error) {
	folder, err := devstack.BuildOnce(ctx, "python-"+requirement, func(folder string) error {
		_, err := installPython(ctx, folder, requirement, log)
		return err
	})
	return pythonOf(folder), err
}
