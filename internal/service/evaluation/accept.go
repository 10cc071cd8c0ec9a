package evaluation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Made is an accepted evaluation.
type Made struct {
	run.Run
	Workspace access.Workspace // in which it runs
	Manifest  Spec
	Resumed   bool // it was accepted before
}

// storedSample is a conversation of the data in the workspace of an evaluation.
type storedSample struct {
	ID           string     `json:"id"`
	Conversation int64      `json:"conversation"`
	Questions    []Question `json:"questions"` // those that are asked
}

// Plan returns the manifest of a request with its estimate. It stores nothing and calls no model.
func (s *Service) Plan(ctx context.Context, r Request) (Spec, error) {
	spec, _, err := s.plan(ctx, r)
	return spec, err
}

func (s *Service) plan(ctx context.Context, r Request) (spec Spec, banks map[string]bank.Head, err error) {
	if spec, err = r.withDefaults(); err != nil {
		return spec, nil, err
	}
	seed, err := seedBank()
	if err != nil {
		return spec, nil, err
	}
	spec.Embedder, spec.Bank = s.ports.Embedder, seed.Hash()
	banks, sizes := map[string]bank.Head{}, map[string]int{}
	for _, row := range spec.Rows {
		if name, version, named := bankOf(row); named {
			if banks[row], err = s.ports.Banks.At(ctx, r.Workspace, name, version); err != nil {
				return spec, nil, err
			}
			sizes[row] = banks[row].Bank.Len()
		}
	}
	spec.Estimate = spec.estimate(r.Data.Samples, sizes, s.ports.Prices)
	if r.MaxCost > 0 && !spec.Estimate.Priced {
		return spec, nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the price of %s or of the judge is unknown, so that the cost cannot be limited",
				spec.Model.Name), "set CAIRN_PRICES, or leave out --max-cost")
	}
	return spec, banks, nil
}

// Accept stores an evaluation with its data and starts its workflow. The same request returns the same
// evaluation. One that failed or was stopped by its budget continues.
func (s *Service) Accept(ctx context.Context, r Request) (out Made, err error) {
	spec, banks, err := s.plan(ctx, r)
	if err != nil {
		return out, err
	}
	key := r.ID
	if key == "" {
		key = spec.key()
	}
	out.Manifest = spec
	if out.Workspace, err = s.ports.Workspaces.MakeWorkspace(ctx, workspaceName(key)); err != nil {
		return out, err
	}
	now := limits{Parallel: r.Parallel, MaxCost: r.MaxCost}
	if now.Parallel == 0 {
		now.Parallel = DefaultParallel
	}
	if err := s.put(ctx, &out, key); err != nil || out.Status == run.Ended && out.Outcome == run.Completed {
		return out, err
	}
	if err := s.store(ctx, out, r.Data.Samples); err != nil {
		return out, err
	}
	for row, head := range banks {
		if _, err := s.ports.Banks.Install(ctx, out.Workspace.ID, artifact(row), bank.Draft{Bank: head.Bank,
			Policy: head.Policy, Optimizer: head.Optimizer, Prompts: &head.Version.Prompts, Action: bank.ActionImport,
			Reason: row}); err != nil {
			return out, err
		}
	}
	err = s.ports.Store.InWorkspace(ctx, out.Workspace.ID, func(ctx context.Context, tx store.Tx) error {
		out.Run, err = start(ctx, tx, out.Run, now)
		return err
	})
	if err == nil {
		bank.StartRun(ctx, s.ports.Starter, out.Workspace.Key, out.Run)
	}
	return out, err
}

// workspaceName returns the name of the workspace of an evaluation. Those of its units begin with it.
func workspaceName(key string) string { return "eval-" + contract.VisibleKey(key) }

// start makes an evaluation run, or continue, with the limits of the latest request.
func start(ctx context.Context, tx store.Tx, r run.Run, now limits) (run.Run, error) {
	attempt := r.Attempt
	if r.Status == run.Ended {
		attempt++
		if err := tx.Evaluations().Reopen(ctx, r, contract.NextAttemptID(r.WorkflowID, attempt)); err != nil {
			return r, err
		}
	} else if err := tx.Runs().EnqueueRun(ctx, r.Ref.Run); err != nil {
		return r, err
	}
	if err := tx.Training().DropStepResults(ctx, r.Ref.Run, limitsStep(attempt)); err != nil {
		return r, err
	}
	if err := bank.SaveStep(ctx, tx, r.Ref.Run, limitsStep(attempt), 0, now); err != nil {
		return r, err
	}
	return tx.Runs().Run(ctx, r.Ref.Run)
}

// put stores the run of an evaluation, or reads it.
func (s *Service) put(ctx context.Context, out *Made, key string) error {
	return s.ports.Store.InWorkspace(ctx, out.Workspace.ID, func(ctx context.Context, tx store.Tx) error {
		before, found, err := tx.Runs().RunOf(ctx, run.Evaluate, key)
		if err != nil {
			return err
		}
		sha := sha256.Sum256([]byte(out.Manifest.key()))
		if found {
			out.Run, out.Resumed = before, true
			if before.ArgsSHA != sha {
				return fault.New(fault.OpReused, fmt.Sprintf("evaluation %q exists with another manifest", key),
					"use another --request-id")
			}
			out.Manifest, err = bank.DecodeReply[Spec](before)
			return err
		}
		// frozen: an evaluation learns from its training conversations alone
		if err := freeze(ctx, tx); err != nil {
			return err
		}
		raw, err := json.Marshal(out.Manifest)
		if err != nil {
			return err
		}
		out.Run, err = tx.AgentRuns().PutAgentRun(ctx, run.NewAgentRun{Kind: run.Evaluate, Key: key, Generation: 1,
			ArgsSHA: sha, Spec: raw, WorkflowID: contract.EvaluateID(out.Workspace.Key, contract.VisibleKey(key))})
		return err
	})
}

// freeze stops live learning in a workspace, so that builds choose greedily, and its daily reflection,
// which would cost model calls.
func freeze(ctx context.Context, tx store.Tx) error {
	chosen, err := tx.Evaluations().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen {
		return err
	}
	chosen.Memory.Learning.Frozen, chosen.Memory.Learning.ExplorePerDay = true, 0
	chosen.Memory.Learning.ProbesPerDay, chosen.Reflection = 0, false
	return tx.Evaluations().SetSettings(ctx, chosen)
}

// store stores the conversations that an evaluation uses.
func (s *Service) store(ctx context.Context, m Made, samples []Sample) error {
	split := m.Manifest.Split
	for n, id := range slices.Concat(split.Train, split.Validation, split.Test) {
		i := slices.IndexFunc(samples, func(one Sample) bool { return one.ID == id })
		err := s.ports.Store.InWorkspace(ctx, m.Workspace.ID, func(ctx context.Context, tx store.Tx) error {
			done, err := bank.IsDone(ctx, tx, m.Ref.Run, sampleStep(n))
			if err != nil || done {
				return err
			}
			conversation, err := tx.Transcripts().PutConversation(ctx,
				transcript.Conversation{ID: "eval/" + id, Messages: samples[i].Messages}, "import")
			if err != nil {
				return err
			}
			return bank.SaveStep(ctx, tx, m.Ref.Run, sampleStep(n), conversation,
				storedSample{ID: id, Conversation: conversation, Questions: m.Manifest.asked(samples[i])})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// artifact returns the name of the bank of a row in the workspace of the evaluation.
func artifact(row string) string {
	if name, version, named := bankOf(row); named {
		return fmt.Sprintf("%s-v%d", name, version)
	}
	if row == EvolvedLearned {
		return "evolved"
	}
	return row
}

// readSample reads a conversation of the data.
func readSample(ctx context.Context, tx store.Tx, e evaluation, id string) (storedSample, error) {
	split := e.spec.Split
	n := slices.Index(slices.Concat(split.Train, split.Validation, split.Test), id)
	if n < 0 {
		return storedSample{}, fmt.Errorf("conversation %q is not in the split", id)
	}
	return bank.NeedStep[storedSample](ctx, tx, e.run.Ref.Run, sampleStep(n))
}
