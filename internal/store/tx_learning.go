package store

import (
	"context"

	"cairn/internal/domain/audit"
	"cairn/internal/service/evaluation/memskill"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/adaptation"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/decision"
	"cairn/internal/service/learning/evolution"
	"cairn/internal/service/learning/extraction"
	"cairn/internal/service/learning/probe"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/learning/training"
)

// Learning returns the store of the services for memory skills.
func (s *Store) Learning() learning.Store { return learningStore{s} }

type learningStore struct{ store *Store }

func (s learningStore) Banks() bank.Store {
	return learningTransactions[bank.Tx]{s.store, func(t learningTx) bank.Tx { return t }}
}

func (s learningStore) Builds() build.Store {
	return learningTransactions[build.Tx]{s.store, func(t learningTx) build.Tx { return t }}
}

func (s learningStore) Cases() cases.Store {
	return learningTransactions[cases.Tx]{s.store, func(t learningTx) cases.Tx { return t }}
}

func (s learningStore) Trainings() training.Store {
	return learningTransactions[training.Tx]{s.store, func(t learningTx) training.Tx { return t }}
}

func (s learningStore) Rounds() evolution.Store {
	return learningTransactions[evolution.Tx]{s.store, func(t learningTx) evolution.Tx { return t }}
}

func (s learningStore) Updates() adaptation.Store {
	return learningTransactions[adaptation.Tx]{s.store, func(t learningTx) adaptation.Tx { return t }}
}

func (s learningStore) Probes() probe.Store {
	return learningTransactions[probe.Tx]{s.store, func(t learningTx) probe.Tx { return t }}
}

// Evaluations returns the store of evaluations.
func (s *Store) Evaluations() memskill.Store {
	return learningTransactions[memskill.Tx]{s, func(t learningTx) memskill.Tx { return t }}
}

// learningTransactions opens transactions for one of the services.
type learningTransactions[T any] struct {
	store *Store
	view  func(learningTx) T // the service's transaction
}

// InWorkspace runs fn in a transaction that has entered ws.
func (t learningTransactions[T]) InWorkspace(ctx context.Context, ws int64,
	fn func(ctx context.Context, tx T) error) error {
	return t.store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		return fn(ctx, t.view(learningTx(tx)))
	})
}

// learningTx is the transaction of the services for memory skills.
type learningTx struct{ session }

func (t learningTx) Banks() bank.Repository { return t.banks() }

func (t learningTx) BankContents() bank.ContentRepository { return t.banks() }

func (t learningTx) Leases() bank.LeaseRepository { return t.leases() }

func (t learningTx) Outcomes() decision.OutcomeRepository { return t.outcomes() }

func (t learningTx) Updates() adaptation.Repository { return t.updates() }

func (t learningTx) Probes() probe.Repository { return t.probes() }

func (t learningTx) Decisions() decision.Repository { return t.decisions() }

func (t learningTx) Steps() runspec.StepRepository { return t.training() }

func (t learningTx) Cases() cases.Repository { return t.cases() }

func (t learningTx) Rounds() evolution.Repository { return t.rounds() }

func (t learningTx) Runs() runspec.RunRepository {
	return struct {
		runRepository
		agentRunRepository
	}{t.runs(), t.agentRuns()}
}

func (t learningTx) Workspace() runspec.WorkspaceRepository {
	return struct {
		workspaceRepository
		agentRunRepository
		conversationRepository
	}{t.workspaces(), t.agentRuns(), t.conversations()}
}

func (t learningTx) Transcripts() extraction.TranscriptRepository {
	return struct {
		transcriptRepository
		turnRepository
	}{t.transcripts(), t.turns()}
}

func (t learningTx) Memories() extraction.MemoryRepository {
	return struct {
		longTermRepository
		documentRepository
	}{t.longTerm(), t.documents()}
}

func (t learningTx) Votes() cases.VoteRepository { return t.votes() }

func (t learningTx) Operations() cases.OperationRepository { return t.operations() }

// Audit records acts in this transaction.
func (t learningTx) Audit() audit.Recorder { return t.operations() }
