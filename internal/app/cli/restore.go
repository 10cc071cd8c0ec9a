package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cairn/internal/domain/erasure"
	"cairn/internal/store"
)

func (c *cli) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "restore", Short: "Begin to use a restored database", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(c.restoreAccept())
	return cmd
}

func (c *cli) restoreAccept() *cobra.Command {
	var admin string
	accept := &cobra.Command{Use: "accept", Short: "Accept a database that was restored from a backup",
		Long: "Accept a database that was restored from a backup, before gateways and workers start again. Temporal " +
			"needs no restore and keeps its namespace. The command begins a new incarnation of the database: " +
			"workflow IDs contain its number, so that a message that is sent again is answered, and workflows that " +
			"started after the backup no longer write. Runs that were open at the backup start again, and erasures " +
			"that were made after it are repeated.\n\nStop all gateways and workers first. Accepting a database " +
			"twice loses nothing; its open runs start again.",
		Example: "  cairn restore accept", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.acceptRestore(cmd.Context(), admin) }}
	accept.Flags().StringVar(&admin, "admin-url", "", "address of the database with the migration login "+
		"(default DATABASE_URL)")
	return accept
}

// acceptRestore reads the tombstones first: without the package store, nothing is accepted.
func (c *cli) acceptRestore(ctx context.Context, admin string) error {
	return c.withSession(ctx, needs{noWorkspace: true}, func(s *session) error {
		tombstones, err := s.Erase.Tombstones(ctx)
		if err != nil {
			return err
		}
		accepted, err := store.AcceptRestore(ctx, cmp.Or(admin, s.Config.DatabaseURL))
		if err != nil {
			return err
		}
		if err := s.Store.ReadIncarnation(ctx); err != nil {
			return err
		}
		repeated, err := s.Erase.Repeat(ctx, tombstones)
		if err != nil {
			return fmt.Errorf(
				"the restore is accepted, but not all erasures are repeated; run the command again: %w",
				err,
			)
		}
		for _, e := range repeated {
			if s.Temporal == nil {
				break
			}
			if err := s.Driver.Erase(ctx, e.Start()); err != nil {
				s.Log.Warn("erasure deferred to relay", "erasure", e.ID, "error", err)
			}
		}
		if c.output == "json" {
			return c.printJSON(struct {
				store.Restored
				Repeated []erasure.Erasure `json:"repeated_erasures"`
			}{accepted, append([]erasure.Erasure{}, repeated...)})
		}
		fmt.Fprintf(c.out, "accepted as incarnation %d of the database\n%d workspaces have new workflow IDs\n"+
			"%d open runs start again; %d model calls were in flight and may be paid twice\n"+
			"%d open erasures continue; %d erasures from after the backup are repeated\n", accepted.Incarnation,
			accepted.Workspaces, accepted.Runs, accepted.Calls, accepted.Erasures, len(repeated))
		fmt.Fprintln(c.out, "start a worker now, then the gateways")
		return nil
	})
}
