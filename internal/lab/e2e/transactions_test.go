package e2e

import (
	"context"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/fetch"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Each adapter that uses a network is called inside an open transaction. None of them reaches
// its network.
func TestTransactionsMakeNoNetworkCalls(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	distant := embedding.New(embedding.Config{Model: "m", Dims: 2, BaseURL: "https://127.0.0.1:1"})
	calls := map[string]func(context.Context) error{
		"the model": func(ctx context.Context) error {
			_, err := b.App.Distill.Ledger.Model.Send(ctx, llm.PreparedRequest{Model: "m", Body: []byte("{}")})
			return err
		},
		"an embedding endpoint": func(ctx context.Context) error {
			_, err := distant.Embed(ctx, []string{"a"})
			return err
		},
		"the embedder": func(ctx context.Context) error {
			_, err := b.App.Embedder.Embed(ctx, []string{"a"})
			return err
		},
		"putting an object": func(ctx context.Context) error { return b.App.Blobs.Put(ctx, "w/1/a.zip", nil) },
		"reading an object": func(ctx context.Context) error {
			_, err := b.App.Blobs.Get(ctx, "w/1/a.zip")
			return err
		},
		"looking for an object": func(ctx context.Context) error {
			_, err := b.App.Blobs.Exists(ctx, "w/1/a.zip")
			return err
		},
		"deleting an object": func(ctx context.Context) error { return b.App.Blobs.Delete(ctx, "w/1/a.zip") },
		"a download": func(ctx context.Context) error {
			_, err := fetch.Get(ctx, "https://example.org/skill.zip", fetch.Options{})
			return err
		},
		"starting a workflow": func(ctx context.Context) error {
			return b.App.Driver.Start(ctx, b.Workspace.Key, "chat", run.Run{Kind: run.Distill, WorkflowID: "w"})
		},
		"signalling a workflow": func(ctx context.Context) error {
			return b.App.Driver.CancelTurn(ctx, b.Workspace.Key, run.Run{Kind: run.Turn})
		},
	}
	b.Within(func(ctx context.Context, _ store.Tx) error {
		for name, call := range calls {
			if err := call(ctx); err == nil || fault.From(err).Message != "network call inside a transaction" {
				t.Errorf("%s: %v, want %s", name, err, fault.Internal)
			}
		}
		return nil
	})
}
