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
		Use: "replay --workflow-id ID", Short: "Replay a workflow history against this program's code",
		Long: "Download the history of a workflow and replay it against the workflow code of this program. If the " +
			"history is encrypted, set CAIRN_PAYLOAD_KEYS to the value of the workers.",
		Example: "  cairn replay --workflow-id distill/w0123456789abcdef/f00d\n  cairn replay --workflow-id " +
			"distill/w0123456789abcdef/f00d --save history.json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runReplay(cmd.Context(), id, runID, save) },
	}
	cmd.Flags().StringVar(&id, "workflow-id", "", "ID of the workflow, from cairn distill or cairn runs show "+
		"(required)")
	cmd.Flags().StringVar(&runID, "run-id", "", "Temporal run ID of one execution (default the latest)")
	cmd.Flags().StringVar(&save, "save", "", "also write the history to this file as JSON (default none)")
	return cmd
}

func (c *cli) runReplay(ctx context.Context, id, runID, save string) error {
	if id == "" {
		return usageError{errors.New("missing --workflow-id: the ID of the workflow to replay")}
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
			return fault.Wrap(err, fault.InvalidArgument, "write the history to "+save,
				"pass the path of a file in an existing folder")
		}
	}
	if err := s.readable(h); err != nil {
		return err
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(
		worker.WorkflowReplayerOptions{DataConverter: s.Payloads, FailureConverter: s.Failures})
	if err != nil {
		return fmt.Errorf("create the replayer: %w", err)
	}
	workflows.Register(replayer)
	quiet := temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	if err := replayer.ReplayWorkflowHistory(quiet, h); err != nil {
		return fault.Wrap(err, fault.VersionConflict, "the history does not match this program's workflow code",
			"replay it with the program version that recorded it; `cairn version` shows the version of this program")
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
				"find the ID with `cairn runs list -o json`; Temporal deletes old workflows")
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Unavailable, "read the history", "")
		}
		h.Events = append(h.Events, e)
	}
	return &h, nil
}

// readable returns an error if the history is encrypted with an unknown key. Without this check the
// replay would fail as if the code had changed.
func (s *session) readable(h *history.History) error {
	input := h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
	if !slices.ContainsFunc(input, payloadcodec.Encrypted) {
		return nil
	}
	err := errors.New("no key configured")
	if s.Codec != nil {
		_, err = s.Codec.Decode(input)
	}
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "the history is encrypted",
			"set CAIRN_PAYLOAD_KEYS to the keys of the workers, including the key in use when the history was "+
				"written")
	}
	return nil
}
