package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/internal/adapter/sessionwatch"
	"cairn/internal/domain/fault"
)

// sendFlags choose the gateway that gets session files.
type sendFlags struct {
	server, state string
	yes           bool
}

func (f *sendFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "server", "", "URL of the gateway (default $CAIRN_URL, else http://127.0.0.1:8080); "+
		"$CAIRN_KEY is its key")
	flags.StringVar(&f.state, "state", "", "file that keeps what was sent (default $XDG_STATE_HOME/cairn/import.json, "+
		"else ~/.local/state/cairn/import.json)")
	flags.BoolVar(&f.yes, "yes", false, "agree to send the sessions, also later")
}

// env returns a variable of the environment.
func (c *cli) env(name string) string {
	for i := len(c.environ) - 1; i >= 0; i-- { // the last value counts
		if key, value, _ := strings.Cut(c.environ[i], "="); key == name {
			return value
		}
	}
	return ""
}

// userPath returns a path in the user's home.
func (c *cli) userPath(parts ...string) (string, error) {
	home := c.env("HOME")
	if home == "" {
		return "", fault.New(fault.Misconfigured, "HOME is not set", "set HOME, or pass the folder and --state FILE")
	}
	return filepath.Join(append([]string{home}, parts...)...), nil
}

// sender opens the watcher of folders.
func (c *cli) sender(f sendFlags, distill bool, idle time.Duration, folders ...string) (*sessionwatch.Watcher, error) {
	server := strings.TrimRight(cmp.Or(f.server, c.env("CAIRN_URL"), "http://127.0.0.1:8080"), "/")
	if u, err := url.Parse(server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError{fmt.Errorf("invalid --server %q: use a URL such as http://127.0.0.1:8080", server)}
	}
	key := c.env("CAIRN_KEY")
	if key == "" {
		return nil, fault.New(fault.Unauthenticated, "missing API key",
			"set CAIRN_KEY to a key with the scope write, from `cairn keys create` on the server")
	}
	state := f.state
	if state == "" {
		folder := c.env("XDG_STATE_HOME")
		if folder == "" {
			var err error
			if folder, err = c.userPath(".local", "state"); err != nil {
				return nil, err
			}
		}
		state = filepath.Join(folder, "cairn", "import.json")
	}
	return sessionwatch.Open(sessionwatch.Options{Folders: folders, Idle: idle, State: state, Server: server,
		Upload: &sessionwatch.Gateway{URL: server, Key: key, Distill: distill}, Report: c.printSent})
}

// printSent prints what happened to a file.
func (c *cli) printSent(e sessionwatch.Event) {
	if e.Err != nil {
		f := fault.From(e.Err)
		fmt.Fprintf(c.errs, "not sent: %s\n  hint: %s\n", strings.TrimPrefix(e.Path+": "+f.Message, ": "), f.Hint)
		return
	}
	if c.output == "json" {
		_ = json.NewEncoder(c.out).Encode(e)
		return
	}
	revision := ""
	if e.Revision > 1 {
		revision = fmt.Sprintf(", revision %d", e.Revision)
	}
	fmt.Fprintf(c.out, "sent %s: import %d, %d new of %d records, %d secrets masked%s\n", e.Path, e.Import, e.New,
		e.Records, e.Masked, revision)
}

// watchFlags are the flags of `cairn import watch`.
type watchFlags struct {
	sendFlags
	claude, codex, gemini, once, distill bool
	idle                                 time.Duration
}

func (c *cli) importWatch() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use: "watch [DIR…]", Short: "Send the sessions of agents as they end",
		Long: "Send the sessions that agents write on this machine to a gateway. A session is sent when its file has " +
			"not changed for 10 minutes, and again when it has grown: the gateway stores each message once. Secrets " +
			"are masked before a file is sent. The first run lists what would be sent, and needs --yes.\n\nDIR is a " +
			"folder with session files in formats of `cairn formats`, named *.jsonl or *.json. The command runs " +
			"until it is interrupted; --once sends what is due, and ends. To send a session as soon as it ends, " +
			"let a hook of the agent run `cairn import --hook`.",
		Example: "  cairn import watch --claude-code\n  cairn import watch --claude-code --codex --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.watchSessions(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.BoolVar(&f.claude, "claude-code", false, "watch the sessions of Claude Code in ~/.claude/projects")
	flags.BoolVar(&f.codex, "codex", false, "watch the sessions of Codex in ~/.codex/sessions")
	flags.BoolVar(&f.gemini, "gemini", false, "watch the sessions of Gemini CLI in ~/.gemini/tmp")
	flags.BoolVar(&f.once, "once", false, "send what is due, and end")
	flags.BoolVar(&f.distill, "distill", false, "distill the conversations into skills")
	flags.DurationVar(&f.idle, "idle", 10*time.Minute, "time without changes after which a session is sent")
	return cmd
}

// folders returns the absolute paths of the folders to watch.
func (c *cli) folders(dirs []string, f watchFlags) (out []string, err error) {
	for _, known := range []struct {
		chosen   bool
		variable string // that names the agent's folder
		own, sub string
	}{{f.claude, "CLAUDE_CONFIG_DIR", ".claude", "projects"}, {f.codex, "CODEX_HOME", ".codex", "sessions"},
		{f.gemini, "", ".gemini", "tmp"}} {
		if !known.chosen {
			continue
		}
		folder := c.env(known.variable)
		if folder == "" {
			if folder, err = c.userPath(known.own); err != nil {
				return nil, err
			}
		}
		out = append(out, filepath.Join(folder, known.sub))
	}
	for _, dir := range dirs {
		folder, err := filepath.Abs(dir)
		if err != nil {
			return nil, fault.Wrap(err, fault.InvalidArgument, "find the folder "+dir, "")
		}
		out = append(out, folder)
	}
	if len(out) == 0 {
		return nil, usageError{errors.New("nothing to watch: add --claude-code, --codex, --gemini or a folder")}
	}
	return out, nil
}

func (c *cli) watchSessions(ctx context.Context, dirs []string, f watchFlags) error {
	if f.idle < 0 {
		return usageError{fmt.Errorf("invalid --idle %s: use a time such as 10m", f.idle)}
	}
	folders, err := c.folders(dirs, f)
	if err != nil {
		return err
	}
	w, err := c.sender(f.sendFlags, f.distill, f.idle, folders...)
	if err != nil {
		return err
	}
	if err := c.agree(w, folders, f.yes); err != nil {
		return err
	}
	if f.once {
		_, err := w.Pass(ctx)
		return err
	}
	fmt.Fprintf(c.errs, "watching %s\n", strings.Join(folders, ", "))
	return w.Run(ctx)
}

// agree lists what would be sent, unless a person has agreed for all folders.
func (c *cli) agree(w *sessionwatch.Watcher, folders []string, yes bool) error {
	missing := false
	for _, folder := range folders {
		missing = missing || !w.Approved(folder)
	}
	if !missing {
		return nil
	}
	unsent, err := w.Unsent()
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(c.errs, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SESSION\tBYTES\tCHANGED")
	for _, found := range unsent {
		fmt.Fprintf(tw, "%s\t%d\t%s\n", found.Path, found.Size, found.Modified.Format(time.DateTime))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if !yes {
		return usageError{fmt.Errorf("nothing was sent to %s: add --yes to send the listed sessions (%d), and later "+
			"ones of %s", w.Server, len(unsent), strings.Join(folders, ", "))}
	}
	return w.Approve(folders...)
}

// maxHook is the maximum size of a hook's input, in bytes.
const maxHook = 1 << 20

// importHook sends the session that a hook of Claude Code or Codex names on standard input.
func (c *cli) importHook(ctx context.Context, f sendFlags, distill bool) error {
	var hook struct {
		Path string `json:"transcript_path"`
	}
	raw, err := io.ReadAll(io.LimitReader(c.in, maxHook))
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "read standard input", "")
	}
	if err := json.Unmarshal(raw, &hook); err != nil || hook.Path == "" {
		return fault.New(fault.InvalidArgument, "standard input is not JSON with transcript_path",
			"let the hook SessionEnd of Claude Code or Codex run `cairn import --hook`")
	}
	if rest, home := strings.CutPrefix(hook.Path, "~/"); home {
		if hook.Path, err = c.userPath(rest); err != nil {
			return err
		}
	}
	if hook.Path, err = filepath.Abs(hook.Path); err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "find "+hook.Path, "")
	}
	w, err := c.sender(f, distill, 0)
	if err != nil {
		return err
	}
	if !w.Approved(hook.Path) {
		if !f.yes {
			return usageError{fmt.Errorf("nothing was sent to %s: add --yes to send this session and later ones of %s",
				w.Server, filepath.Dir(hook.Path))}
		}
		if err := w.Approve(filepath.Dir(hook.Path)); err != nil {
			return err
		}
	}
	// Claude Code writes the sessions of sub-agents next to the session.
	session := strings.TrimSuffix(hook.Path, filepath.Ext(hook.Path))
	paths, err := filepath.Glob(globEscape(session) + "/subagents/*.jsonl")
	if err != nil {
		return fault.Wrap(err, fault.InvalidArgument, "find the sub-agents of "+hook.Path, "")
	}
	for _, path := range append([]string{hook.Path}, paths...) {
		if err := w.Send(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// globEscape quotes what has a meaning in patterns.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
