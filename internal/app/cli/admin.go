package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/devstack"
	"cairn/internal/adapter/sandbox"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

func (c *cli) migrate() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Update the database schema to this program's version",
		Example: "  cairn migrate", Args: noArguments,
		Long: "Create the six database roles and update the schema of the database at DATABASE_URL to this " +
			"program's version. The login of DATABASE_URL must be able to create roles. You do not need this " +
			"command for the development stack, which updates its schema at each start.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runMigrate(cmd.Context()) },
	}
}

func (c *cli) runMigrate(ctx context.Context) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	var s session
	if _, err := s.findServers(ctx, &cfg, needs{}, c.errs); err != nil {
		return err
	}
	defer s.close()
	applied, err := store.Migrate(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"applied": append([]int64{}, applied...)})
	}
	if len(applied) == 0 {
		fmt.Fprintln(c.out, "schema is up to date")
		return nil
	}
	fmt.Fprintf(c.out, "applied migrations %v\n", applied)
	return nil
}

func (c *cli) doctor() *cobra.Command {
	var connections bool
	var b budget
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check required dependencies",
		Example: "  cairn doctor\n  cairn doctor --output json\n  cairn doctor --connections --workers 2 --gateways 1",
		Args:    noArguments,
		Long: "Check the dependencies of this machine (Postgres with pgvector, Temporal, the model, the embedder, " +
			"the sandbox), print their versions, and print how to install each missing one. If the database " +
			"responds, it also prints the embedding spaces of the workspace. The exit code is not " +
			"0 if a required dependency is missing, and 8 if the embedder returns vectors of another dimension " +
			"than configured, or if the database was restored from a backup and the restore was not accepted.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if connections {
				return c.checkConnections(cmd.Context(), b)
			}
			return c.runDoctor(cmd.Context())
		},
	}
	b.flags(cmd, &connections)
	return cmd
}

func (c *cli) runDoctor(ctx context.Context) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	found := devstack.Doctor(ctx, cfg.Home)
	model := devstack.Found{Part: "model", Status: "ok", Version: cfg.Model, Where: cfg.BaseURL}
	if cfg.Offline() {
		model = devstack.Found{Part: "model", Status: "ok", Version: "offline rules", Where: "built in",
			Hint: "to use a real model, set CAIRN_MODEL and OPENAI_API_KEY or OPENAI_BASE_URL"}
	}
	unpriced, err := app.Unpriced(cfg)
	if err != nil {
		return err
	}
	if len(unpriced) > 0 {
		model.Hint = "the price of " + strings.Join(unpriced, ", ") + " is unknown, so micros_per_day does not count " +
			"its calls; set CAIRN_PRICES, or limit tokens with `cairn settings set tokens_per_day=2000000`"
	}
	vectors, embedderErr := examineEmbedder(ctx, cfg)
	found = append(found, model, vectors, examineMedia(cfg))
	rows, restoreErr := examineDatabase(ctx, cfg)
	found = append(append(found, rows...), examineSandbox(ctx, cfg))
	if c.output == "json" {
		return cmp.Or(c.printJSON(map[string]any{"found": found}), embedderErr, restoreErr)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PART\tSTATUS\tVERSION\tWHERE\tHINT")
	missing := 0
	for _, f := range found {
		if f.Status == "missing" || f.Status == "too old" {
			missing++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", f.Part, f.Status, f.Version, f.Where, f.Hint)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if missing > 0 {
		return fault.New(fault.Unavailable, fmt.Sprintf("%d required dependencies are missing", missing),
			"follow the hint in the last column of each missing dependency")
	}
	return cmp.Or(embedderErr, restoreErr)
}

// examineMedia reports which models read the images and voice messages of users.
func examineMedia(cfg config.Config) devstack.Found {
	f := devstack.Found{Part: "media", Status: "ok", Version: cfg.TranscribeModel,
		Where: cmp.Or(cfg.TranscribeBaseURL, cfg.BaseURL)}
	var hints []string
	if cfg.TranscribeModel == "" {
		f.Where = ""
		hints = append(hints, "to read voice messages, set CAIRN_TRANSCRIBE_MODEL")
	}
	if cfg.ImageModels == "" {
		hints = append(hints, "to read images, set CAIRN_IMAGE_MODELS")
	} else if !cfg.Offline() && !cfg.TakesImages(cfg.Model) {
		hints = append(hints, "CAIRN_IMAGE_MODELS does not name CAIRN_MODEL, so it gets no images")
	}
	f.Hint = strings.Join(hints, "; ")
	return f
}

// embedderPatience bounds the probe of the embedding endpoint, which may have to load its model.
const embedderPatience = 30 * time.Second

// examineEmbedder embeds a short text. The error is set if the configuration must be corrected. An
// endpoint that does not respond is only reported, because searches then compare words.
func examineEmbedder(ctx context.Context, cfg config.Config) (devstack.Found, error) {
	if cfg.EmbeddingModel == "" {
		return devstack.Found{Part: "embedder", Status: "ok", Version: "hashing", Where: "built in",
			Hint: "to find paraphrases, set CAIRN_EMBEDDING_MODEL; see docs/how-to/embedding-model.md"}, nil
	}
	f := devstack.Found{Part: "embedder", Status: "ok", Version: cfg.EmbeddingModel,
		Where: cmp.Or(cfg.EmbeddingBaseURL, cfg.BaseURL), Hint: fmt.Sprintf("%d dimensions", cfg.EmbeddingDimensions)}
	ctx, cancel := context.WithTimeout(ctx, embedderPatience)
	defer cancel()
	err := app.ProbeEmbedder(ctx, cfg)
	if err == nil {
		return f, nil
	}
	f.Status, f.Hint = "failed", err.Error()
	if fault.CodeOf(err) != fault.Misconfigured {
		return f, nil
	}
	f.Hint = fault.From(err).Hint
	return f, err
}

// examineDatabase reports the incarnation of the database and the embedding spaces of the workspace, if
// the database responds. The error is set if a restore was not accepted.
func examineDatabase(ctx context.Context, cfg config.Config) (found []devstack.Found, err error) {
	cfg.TemporalAddress = ""
	if running, ok := devstack.Running(cfg.Home); ok && cfg.DatabaseURL == "" {
		cfg.DatabaseURL = running.DatabaseURL
	}
	if cfg.DatabaseURL == "" {
		return nil, nil
	}
	a, err := app.Open(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil { // the other rows show why
		return nil, nil
	}
	defer a.Close()
	if _, open, lost := a.Store.LostCommits(ctx); lost == nil && open > 0 {
		err = fault.New(fault.Misconfigured,
			fmt.Sprintf("the database was restored from a backup, and %d activities did not find their run", open),
			"stop all gateways and workers, run `cairn restore accept`, and start them again")
		found = append(
			found,
			devstack.Found{Part: "restore", Status: "failed", Version: fmt.Sprint(open, " lost commits"),
				Where: "database", Hint: fault.From(err).Hint},
		)
	}
	return append(found, examineSpaces(ctx, a, cfg.Workspace)...), err
}

// examineSpaces reports which embedding spaces the documents of the workspace have vectors in, if the
// workspace exists.
func examineSpaces(ctx context.Context, a *app.App, workspace string) (found []devstack.Found) {
	ws, err := a.Store.Workspace(ctx, workspace, false)
	if err != nil {
		return nil
	}
	report, err := a.Reembed.Status(ctx, ws.ID)
	if err != nil {
		return nil
	}
	for _, s := range report.Spaces {
		f := devstack.Found{Part: "space", Status: "ok", Version: fmt.Sprintf("%s, %d dimensions", s.Model, s.Dims),
			Where: fmt.Sprintf("%d of %d documents", s.Vectors, report.Documents), Hint: s.State}
		if s.State == "active" && report.Vector != "" {
			f.Status, f.Hint = "failed", "not configured, searches compare words only; run `cairn reembed` to use "+
				"the configured model"
		} else if s.State == "active" && !s.Configured {
			f.Hint = "active; run `cairn reembed` to use the configured model"
		}
		found = append(found, f)
	}
	return found
}

// examineSandbox reports whether this machine can run commands of skills in a sandbox.
func examineSandbox(ctx context.Context, cfg config.Config) devstack.Found {
	f := devstack.Found{Part: "sandbox", Status: "ok", Where: "CAIRN_SHELL=off",
		Hint: "commands of skills are off; to run them in sandboxes, set CAIRN_SHELL=on"}
	if cfg.Shell {
		f.Where, f.Hint = "CAIRN_SHELL=on", "`worker --queues "+contract.QueueSandbox+"` and `cairn dev` run "+
			"commands of skills; "+boundOfMemory()
	}
	if err := sandbox.Probe(ctx); err != nil {
		f.Hint = err.Error() + "; " + fault.From(err).Hint
		if cfg.Shell { // a sandbox is required only if commands of skills are on
			f.Status = "missing"
		}
	}
	return f
}

// boundOfMemory says how the memory of commands is limited.
func boundOfMemory() string {
	if _, err := sandbox.Delegated(); err != nil {
		return "their memory is added up every 20 ms: " + err.Error()
	}
	return "cgroups limit their memory"
}

func (c *cli) config() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Print the configuration in effect", Example: "  cairn config\n  cairn config " +
			"--output json",
		Args: noArguments,
		Long: "Print the configuration in effect. Secrets are masked. Each row has the name of an environment " +
			"variable. The file cairn.env (or the file that CAIRN_CONFIG names) holds NAME=value lines with the " +
			"same names. Environment variables override the file, and flags override both. To change settings of " +
			"one workspace, use `cairn settings set`.",
		RunE: func(*cobra.Command, []string) error { return c.printConfig() },
	}
}

func (c *cli) printConfig() error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	if c.output == "json" {
		values := map[string]string{}
		for _, s := range cfg.Settings() {
			values[s.Name] = s.Value
		}
		return c.printJSON(values)
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, s := range cfg.Settings() {
		fmt.Fprintf(tw, "%s\t%s\n", s.Name, s.Value)
	}
	return tw.Flush()
}
