package postgres

import (
	"cairn/internal/service/learning"
)

// learningTx is a transaction as the service learning sees it.
type learningTx struct{ session }

func (t learningTx) Banks() learning.BankRepository { return t.banks() }

func (t learningTx) BankContents() learning.BankContentRepository { return t.banks() }

func (t learningTx) Leases() learning.LeaseRepository { return t.leases() }

func (t learningTx) Outcomes() learning.OutcomeRepository { return t.outcomes() }

func (t learningTx) Updates() learning.UpdateRepository { return t.updates() }

func (t learningTx) Probes() learning.ProbeRepository { return t.probes() }

func (t learningTx) Decisions() learning.DecisionRepository { return t.decisions() }

func (t learningTx) Cases() learning.CaseRepository { return t.cases() }

func (t learningTx) Rounds() learning.RoundRepository { return t.rounds() }

func (t learningTx) Training() learning.TrainingRepository { return t.training() }

func (t learningTx) Runs() learning.RunRepository {
	return struct {
		runRepository
		agentRunRepository
	}{t.runs(), t.agentRuns()}
}

func (t learningTx) Workspace() learning.WorkspaceRepository {
	return struct {
		workspaceRepository
		agentRunRepository
		conversationRepository
	}{t.workspaces(), t.agentRuns(), t.conversations()}
}

func (t learningTx) Transcripts() learning.TranscriptRepository {
	return struct {
		transcriptRepository
		turnRepository
		documentRepository
	}{t.transcripts(), t.turns(), t.documents()}
}

func (t learningTx) Operations() learning.OperationRepository { return t.operations() }
