package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/temporalproto"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"cairn/internal/adapter/payloadcodec"
	"cairn/internal/domain/fault"
	"cairn/workflows"
)

func (c *cli) replay() *cobra.Command {
	var id, runID, save string
	cmd := &cobra.Command{
		Use: "replay --workflow-id ID", Short: "Download a workflow's history and replay it against this program's " +
			"workflow code",
		Long: "Download a workflow's history and replay it against this program's workflow code. An encrypted " +
			"history needs\nCAIRN_PAYLOAD_KEYS as the workers have it.",
		Example: "  cairn replay --workflow-id distill/w0123456789abcdef/f00d\n  cairn replay --workflow-id " +
			"distill/w0123456789abcdef/f00d --save history.json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runReplay(cmd.Context(), id, runID, save) },
	}
	cmd.Flags().StringVar(&id, "workflow-id", "", "the workflow's id, as distill and runs show it")
	cmd.Flags().StringVar(&runID, "run-id", "", "one execution of it (default: the latest)")
	cmd.Flags().StringVar(&save, "save", "", "also write the history to this file, as JSON")
	return cmd
}

func (c *cli) runReplay(ctx context.Context, id, runID, save string) error {
	if id == "" {
		return usageError{errors.New("--workflow-id is missing")}
	}
	s, err := c.open(ctx, needs{temporal: true})
	if err != nil {
		return err
	}
	defer s.close()
	h, err := s.history(ctx, id, runID)
	if err != nil {
		return err
	}
	if save != "" {
		raw, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
		if err != nil {
			return fmt.Errorf("encode the history: %w", err)
		}
		if err := os.WriteFile(save, raw, 0o644); err != nil {
			return fault.Wrap(err, fault.InvalidArgument, "the history cannot be written",
				"give the path of a file in a folder that exists")
		}
	}
	if err := s.readable(h); err != nil {
		return err
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(
		worker.WorkflowReplayerOptions{DataConverter: s.Payloads, FailureConverter: s.Failures})
	if err != nil {
		return fmt.Errorf("make the replayer: %w", err)
	}
	workflows.Register(replayer)
	quiet := temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	if err := replayer.ReplayWorkflowHistory(quiet, h); err != nil {
		return fault.Wrap(err, fault.VersionConflict, "the history does not replay on this program's code",
			"run the program version that recorded it; a change to a workflow records the histories again: "+
				"docs/development.md")
	}
	if c.output == "json" {
		return c.printJSON(map[string]any{"workflow_id": id, "events": len(h.Events), "replayed": true})
	}
	fmt.Fprintf(c.out, "%s: %d events replayed, same decisions\n", id, len(h.Events))
	return nil
}

// history downloads the events of a workflow.
func (s *session) history(ctx context.Context, id, runID string) (*history.History, error) {
	var h history.History
	events := s.Temporal.GetWorkflowHistory(ctx, id, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		var missing *serviceerror.NotFound
		if errors.As(err, &missing) {
			return nil, fault.New(fault.NotFound, fmt.Sprintf("Temporal has no workflow %q", id),
				"`cairn runs list -o json` shows the ids; Temporal forgets old ones")
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Unavailable, "the history cannot be read", "")
		}
		h.Events = append(h.Events, e)
	}
	return &h, nil
}

// readable refuses a history that is encrypted with a key that is not here: it would
// look as if the code had changed.
func (s *session) readable(h *history.History) error {
	input := h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	if !slices.ContainsFunc(input, payloadcodec.Encrypted) {
		return nil
	}
	err := errors.New("no key is set")
	if s.Codec != nil {
		_, err = s.Codec.Decode(input)
	}
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "the history is encrypted",
			"set CAIRN_PAYLOAD_KEYS as the workers have it, with the key of that time among its keys")
	}
	return nil
}
