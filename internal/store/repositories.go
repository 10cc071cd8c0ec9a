package store

// Tx is a transaction that has entered a workspace. Only InWorkspace and its siblings make one. Its repositories read
// and write the rows of one subject each.
type Tx struct{ session }

// transaction returns the transaction of a repository, for the repositories of other subjects.
func (s session) transaction() Tx { return Tx{s} }

// Adds returns the repository of the queue of adds.
func (t Tx) Adds() AddRepository { return AddRepository(t) }

// AgentRunRepository reads and writes runs of agents.
type AgentRunRepository struct{ session }

// AgentRuns returns the repository of runs of agents.
func (t Tx) AgentRuns() AgentRunRepository { return AgentRunRepository(t) }

// BankRepository reads and writes banks of memory skills and their versions.
type BankRepository struct{ session }

// Banks returns the repository of banks of memory skills and their versions.
func (t Tx) Banks() BankRepository { return BankRepository(t) }

// CallRepository reads and writes model calls.
type CallRepository struct{ session }

// Calls returns the repository of model calls.
func (t Tx) Calls() CallRepository { return CallRepository(t) }

// CaseRepository reads and writes hard cases.
type CaseRepository struct{ session }

// Cases returns the repository of hard cases.
func (t Tx) Cases() CaseRepository { return CaseRepository(t) }

// ConversationRepository reads and writes conversations.
type ConversationRepository struct{ session }

// Conversations returns the repository of conversations.
func (t Tx) Conversations() ConversationRepository { return ConversationRepository(t) }

// ConversationViewRepository reads and writes what is shown of conversations.
type ConversationViewRepository struct{ session }

// ConversationViews returns the repository of what is shown of conversations.
func (t Tx) ConversationViews() ConversationViewRepository {
	return ConversationViewRepository(t)
}

// CurationRepository reads and writes the use of skills.
type CurationRepository struct{ session }

// Curation returns the repository of the use of skills.
func (t Tx) Curation() CurationRepository { return CurationRepository(t) }

// DecisionRepository reads and writes decisions about memory skills.
type DecisionRepository struct{ session }

// Decisions returns the repository of decisions about memory skills.
func (t Tx) Decisions() DecisionRepository { return DecisionRepository(t) }

// DeletedSkillRepository reads and writes deleted skills.
type DeletedSkillRepository struct{ session }

// DeletedSkills returns the repository of deleted skills.
func (t Tx) DeletedSkills() DeletedSkillRepository { return DeletedSkillRepository(t) }

// DocumentRepository reads and writes documents of the search index.
type DocumentRepository struct{ session }

// Documents returns the repository of documents of the search index.
func (t Tx) Documents() DocumentRepository { return DocumentRepository(t) }

// DumpRepository reads and writes the rows of a dump.
type DumpRepository struct{ session }

// Dump returns the repository of the rows of a dump.
func (t Tx) Dump() DumpRepository { return DumpRepository(t) }

// Evaluations returns the repository of evaluations.
func (t Tx) Evaluations() EvaluationRepository { return EvaluationRepository(t) }

// HistoryRepository reads and writes added sessions.
type HistoryRepository struct{ session }

// Histories returns the repository of added sessions.
func (t Tx) Histories() HistoryRepository { return HistoryRepository(t) }

// IdentityRepository reads and writes the agent's identity.
type IdentityRepository struct{ session }

// Identity returns the repository of the agent's identity.
func (t Tx) Identity() IdentityRepository { return IdentityRepository(t) }

// KeyRepository reads and writes API keys.
type KeyRepository struct{ session }

// Keys returns the repository of API keys.
func (t Tx) Keys() KeyRepository { return KeyRepository(t) }

// LeaseRepository reads and writes leases.
type LeaseRepository struct{ session }

// Leases returns the repository of leases.
func (t Tx) Leases() LeaseRepository { return LeaseRepository(t) }

// LoadRepository reads and writes the rows of a loaded dump.
type LoadRepository struct{ session }

// Load returns the repository of the rows of a loaded dump.
func (t Tx) Load() LoadRepository { return LoadRepository(t) }

// LongTermRepository reads and writes long-term memories.
type LongTermRepository struct{ session }

// LongTerm returns the repository of long-term memories.
func (t Tx) LongTerm() LongTermRepository { return LongTermRepository(t) }

// OffloadRepository reads and writes offloaded content.
type OffloadRepository struct{ session }

// Offloads returns the repository of offloaded content.
func (t Tx) Offloads() OffloadRepository { return OffloadRepository(t) }

// OperationRepository reads and writes the log of operations.
type OperationRepository struct{ session }

// Operations returns the repository of the log of operations.
func (t Tx) Operations() OperationRepository { return OperationRepository(t) }

// OutboxRepository reads and writes outbox tasks.
type OutboxRepository struct{ session }

// Outbox returns the repository of outbox tasks.
func (t Tx) Outbox() OutboxRepository { return OutboxRepository(t) }

// OutcomeRepository reads and writes outcomes of decisions.
type OutcomeRepository struct{ session }

// Outcomes returns the repository of outcomes of decisions.
func (t Tx) Outcomes() OutcomeRepository { return OutcomeRepository(t) }

// PackageRepository reads and writes packages of skills.
type PackageRepository struct{ session }

// Packages returns the repository of packages of skills.
func (t Tx) Packages() PackageRepository { return PackageRepository(t) }

// PendingMemoryRepository reads and writes memory writes that wait for approval.
type PendingMemoryRepository struct{ session }

// PendingMemories returns the repository of memory writes that wait for approval.
func (t Tx) PendingMemories() PendingMemoryRepository { return PendingMemoryRepository(t) }

// PendingSkillRepository reads and writes changes of skills that wait for approval.
type PendingSkillRepository struct{ session }

// PendingSkills returns the repository of changes of skills that wait for approval.
func (t Tx) PendingSkills() PendingSkillRepository { return PendingSkillRepository(t) }

// ProbeRepository reads and writes probes of memory.
type ProbeRepository struct{ session }

// Probes returns the repository of probes of memory.
func (t Tx) Probes() ProbeRepository { return ProbeRepository(t) }

// PromptMemoryRepository reads and writes core and profile memories.
type PromptMemoryRepository struct{ session }

// PromptMemory returns the repository of core and profile memories.
func (t Tx) PromptMemory() PromptMemoryRepository { return PromptMemoryRepository(t) }

// ReembedRepository reads and writes the progress of re-embeddings.
type ReembedRepository struct{ session }

// Reembeds returns the repository of the progress of re-embeddings.
func (t Tx) Reembeds() ReembedRepository { return ReembedRepository(t) }

// ReflectionRepository reads and writes reflections and their notes.
type ReflectionRepository struct{ session }

// Reflections returns the repository of reflections and their notes.
func (t Tx) Reflections() ReflectionRepository { return ReflectionRepository(t) }

// RoundRepository reads and writes rounds of the designer.
type RoundRepository struct{ session }

// Rounds returns the repository of rounds of the designer.
func (t Tx) Rounds() RoundRepository { return RoundRepository(t) }

// RunRepository reads and writes runs.
type RunRepository struct{ session }

// Runs returns the repository of runs.
func (t Tx) Runs() RunRepository { return RunRepository(t) }

// ScheduleRepository reads and writes scheduled tasks.
type ScheduleRepository struct{ session }

// Schedules returns the repository of scheduled tasks.
func (t Tx) Schedules() ScheduleRepository { return ScheduleRepository(t) }

// SessionRepository reads and writes prompt sessions.
type SessionRepository struct{ session }

// Sessions returns the repository of prompt sessions.
func (t Tx) Sessions() SessionRepository { return SessionRepository(t) }

// SkillRepository reads and writes skills and their versions.
type SkillRepository struct{ session }

// Skills returns the repository of skills and their versions.
func (t Tx) Skills() SkillRepository { return SkillRepository(t) }

// SkillUseRepository reads and writes uses of skills.
type SkillUseRepository struct{ session }

// SkillUses returns the repository of uses of skills.
func (t Tx) SkillUses() SkillUseRepository { return SkillUseRepository(t) }

// SoulRepository reads and writes souls.
type SoulRepository struct{ session }

// Souls returns the repository of souls.
func (t Tx) Souls() SoulRepository { return SoulRepository(t) }

// SpaceRepository reads and writes embedding spaces.
type SpaceRepository struct{ session }

// Spaces returns the repository of embedding spaces.
func (t Tx) Spaces() SpaceRepository { return SpaceRepository(t) }

// StepRepository reads and writes the steps of agent runs.
type StepRepository struct{ session }

// Steps returns the repository of the steps of agent runs.
func (t Tx) Steps() StepRepository { return StepRepository(t) }

// TargetRepository reads and writes targets of memories.
type TargetRepository struct{ session }

// Targets returns the repository of targets of memories.
func (t Tx) Targets() TargetRepository { return TargetRepository(t) }

// TaskRepository reads and writes the tasks of distillations.
type TaskRepository struct{ session }

// Tasks returns the repository of the tasks of distillations.
func (t Tx) Tasks() TaskRepository { return TaskRepository(t) }

// TrainingRepository reads and writes trainings.
type TrainingRepository struct{ session }

// Training returns the repository of trainings.
func (t Tx) Training() TrainingRepository { return TrainingRepository(t) }

// TranscriptRepository reads and writes messages.
type TranscriptRepository struct{ session }

// Transcripts returns the repository of messages.
func (t Tx) Transcripts() TranscriptRepository { return TranscriptRepository(t) }

// TurnRepository reads and writes turns.
type TurnRepository struct{ session }

// Turns returns the repository of turns.
func (t Tx) Turns() TurnRepository { return TurnRepository(t) }

// UpdateRepository reads and writes updates of a policy.
type UpdateRepository struct{ session }

// Updates returns the repository of updates of a policy.
func (t Tx) Updates() UpdateRepository { return UpdateRepository(t) }

// VoteRepository reads and writes votes about answers.
type VoteRepository struct{ session }

// Votes returns the repository of votes about answers.
func (t Tx) Votes() VoteRepository { return VoteRepository(t) }

// WorkspaceRepository reads and writes the workspace itself.
type WorkspaceRepository struct{ session }

// Workspaces returns the repository of the workspace itself.
func (t Tx) Workspaces() WorkspaceRepository { return WorkspaceRepository(t) }
