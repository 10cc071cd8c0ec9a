package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn/internal/adapter/devstack"
	"cairn/internal/adapter/postgres"
	"cairn/internal/adapter/sandbox"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

func (c *cli) migrate() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the database at DATABASE_URL to this program's schema",
		Example: "  cairn migrate", Args: cobra.NoArgs,
		Long: "Make the five database roles and bring the schema to this program's version. The login of " +
			"DATABASE_URL must be\nable to create roles. The development stack does this by itself.",
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
	applied, err := postgres.Migrate(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"applied": append([]int64{}, applied...)})
	}
	if len(applied) == 0 {
		fmt.Fprintln(c.out, "the schema is up to date")
		return nil
	}
	fmt.Fprintf(c.out, "applied migrations %v\n", applied)
	return nil
}

func (c *cli) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Tell what this machine has, its versions, and what to do about each missing part",
		Example: "  cairn doctor", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runDoctor(cmd.Context()) },
	}
}

func (c *cli) runDoctor(ctx context.Context) error {
	cfg, err := c.load(nil)
	if err != nil {
		return err
	}
	found := devstack.Doctor(ctx, cfg.Home)
	model := devstack.Found{Part: "model", Status: "ok", Version: cfg.Model, Where: cfg.BaseURL}
	if cfg.Offline() {
		model = devstack.Found{Part: "model", Status: "ok", Version: "offline rules", Where: "in this program",
			Hint: "set OPENAI_API_KEY or OPENAI_BASE_URL, and CAIRN_MODEL, to use a real one"}
	}
	found = append(found, model, examineSandbox(ctx, cfg))
	if c.output == "json" {
		return c.printJSON(map[string]any{"found": found})
	}
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PART\tSTATUS\tVERSION\tWHERE\tWHAT TO DO")
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
		return fault.New(fault.Unavailable, fmt.Sprintf("%d parts are missing", missing),
			"the last column tells what to do about each")
	}
	return nil
}

// examineSandbox tells whether commands of skills could be run here.
func examineSandbox(ctx context.Context, cfg config.Config) devstack.Found {
	f := devstack.Found{Part: "sandbox", Status: "ok", Where: "CAIRN_SHELL=off",
		Hint: "commands of skills are not run; set CAIRN_SHELL=on to have them run in sandboxes"}
	if cfg.Shell {
		f.Where, f.Hint = "CAIRN_SHELL=on", "commands of skills are run by `worker --queues "+contract.QueueSandbox+
			"`, and by cairn dev"
	}
	if err := sandbox.Probe(ctx); err != nil {
		f.Hint = err.Error() + "; " + fault.From(err).Hint
		if cfg.Shell { // what is not asked for is not missing
			f.Status = "missing"
		}
	}
	return f
}

func (c *cli) config() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Print the settings in force, secrets masked", Example: "  cairn config -o json",
		Args: cobra.NoArgs,
		Long: "Print the settings in force, secrets masked. Each has the name of its environment variable; the file " +
			"cairn.env\n" +
			"(or $CAIRN_CONFIG) holds NAME=value lines with the same names, which the environment overrides.",
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
