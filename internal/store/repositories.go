package store

// Tx is a transaction that has entered a workspace. Only InWorkspace and its siblings make one. Its repositories read
// and write the rows of one subject each.
type Tx struct{ session }

// transaction returns the transaction of a repository, for the repositories of other subjects.
func (s session) transaction() Tx { return Tx{s} }

// Each repository reads and writes the rows of one subject.
type (
	AgentRunRepository         struct{ session }
	BankRepository             struct{ session }
	CallRepository             struct{ session }
	CaseRepository             struct{ session }
	ConversationRepository     struct{ session }
	ConversationViewRepository struct{ session }
	CurationRepository         struct{ session }
	DecisionRepository         struct{ session }
	DeletedSkillRepository     struct{ session }
	DocumentRepository         struct{ session }
	DumpRepository             struct{ session }
	HistoryRepository          struct{ session }
	IdentityRepository         struct{ session }
	KeyRepository              struct{ session }
	LeaseRepository            struct{ session }
	LoadRepository             struct{ session }
	LongTermRepository         struct{ session }
	OffloadRepository          struct{ session }
	OperationRepository        struct{ session }
	OutboxRepository           struct{ session }
	OutcomeRepository          struct{ session }
	PackageRepository          struct{ session }
	PendingMemoryRepository    struct{ session }
	PendingSkillRepository     struct{ session }
	ProbeRepository            struct{ session }
	PromptMemoryRepository     struct{ session }
	ReembedRepository          struct{ session }
	ReflectionRepository       struct{ session }
	RoundRepository            struct{ session }
	RunRepository              struct{ session }
	ScheduleRepository         struct{ session }
	SessionRepository          struct{ session }
	SkillRepository            struct{ session }
	SkillUseRepository         struct{ session }
	SoulRepository             struct{ session }
	SpaceRepository            struct{ session }
	StepRepository             struct{ session }
	TargetRepository           struct{ session }
	TaskRepository             struct{ session }
	TrainingRepository         struct{ session }
	TranscriptRepository       struct{ session }
	TurnRepository             struct{ session }
	UpdateRepository           struct{ session }
	VoteRepository             struct{ session }
	WorkspaceRepository        struct{ session }
)

// Adds returns the repository of adds.
func (t Tx) Adds() AddRepository { return AddRepository{t.session} }

// AgentRuns returns the repository of agent runs.
func (t Tx) AgentRuns() AgentRunRepository { return AgentRunRepository{t.session} }

// Banks returns the repository of banks.
func (t Tx) Banks() BankRepository { return BankRepository{t.session} }

// Calls returns the repository of calls.
func (t Tx) Calls() CallRepository { return CallRepository{t.session} }

// Cases returns the repository of cases.
func (t Tx) Cases() CaseRepository { return CaseRepository{t.session} }

// ConversationViews returns the repository of conversation views.
func (t Tx) ConversationViews() ConversationViewRepository {
	return ConversationViewRepository{t.session}
}

// Conversations returns the repository of conversations.
func (t Tx) Conversations() ConversationRepository { return ConversationRepository{t.session} }

// Curation returns the repository of curation.
func (t Tx) Curation() CurationRepository { return CurationRepository{t.session} }

// Decisions returns the repository of decisions.
func (t Tx) Decisions() DecisionRepository { return DecisionRepository{t.session} }

// DeletedSkills returns the repository of deleted skills.
func (t Tx) DeletedSkills() DeletedSkillRepository { return DeletedSkillRepository{t.session} }

// Documents returns the repository of documents.
func (t Tx) Documents() DocumentRepository { return DocumentRepository{t.session} }

// Dump returns the repository of dump.
func (t Tx) Dump() DumpRepository { return DumpRepository{t.session} }

// Evaluations returns the repository of evaluations.
func (t Tx) Evaluations() EvaluationRepository { return EvaluationRepository{t.session} }

// Histories returns the repository of histories.
func (t Tx) Histories() HistoryRepository { return HistoryRepository{t.session} }

// Identity returns the repository of identity.
func (t Tx) Identity() IdentityRepository { return IdentityRepository{t.session} }

// Keys returns the repository of keys.
func (t Tx) Keys() KeyRepository { return KeyRepository{t.session} }

// Leases returns the repository of leases.
func (t Tx) Leases() LeaseRepository { return LeaseRepository{t.session} }

// Load returns the repository of load.
func (t Tx) Load() LoadRepository { return LoadRepository{t.session} }

// LongTerm returns the repository of long term.
func (t Tx) LongTerm() LongTermRepository { return LongTermRepository{t.session} }

// Offloads returns the repository of offloads.
func (t Tx) Offloads() OffloadRepository { return OffloadRepository{t.session} }

// Operations returns the repository of operations.
func (t Tx) Operations() OperationRepository { return OperationRepository{t.session} }

// Outbox returns the repository of outbox.
func (t Tx) Outbox() OutboxRepository { return OutboxRepository{t.session} }

// Outcomes returns the repository of outcomes.
func (t Tx) Outcomes() OutcomeRepository { return OutcomeRepository{t.session} }

// Packages returns the repository of packages.
func (t Tx) Packages() PackageRepository { return PackageRepository{t.session} }

// PendingMemories returns the repository of pending memories.
func (t Tx) PendingMemories() PendingMemoryRepository { return PendingMemoryRepository{t.session} }

// PendingSkills returns the repository of pending skills.
func (t Tx) PendingSkills() PendingSkillRepository { return PendingSkillRepository{t.session} }

// Probes returns the repository of probes.
func (t Tx) Probes() ProbeRepository { return ProbeRepository{t.session} }

// PromptMemory returns the repository of prompt memory.
func (t Tx) PromptMemory() PromptMemoryRepository { return PromptMemoryRepository{t.session} }

// Reembeds returns the repository of reembeds.
func (t Tx) Reembeds() ReembedRepository { return ReembedRepository{t.session} }

// Reflections returns the repository of reflections.
func (t Tx) Reflections() ReflectionRepository { return ReflectionRepository{t.session} }

// Rounds returns the repository of rounds.
func (t Tx) Rounds() RoundRepository { return RoundRepository{t.session} }

// Runs returns the repository of runs.
func (t Tx) Runs() RunRepository { return RunRepository{t.session} }

// Schedules returns the repository of schedules.
func (t Tx) Schedules() ScheduleRepository { return ScheduleRepository{t.session} }

// Sessions returns the repository of sessions.
func (t Tx) Sessions() SessionRepository { return SessionRepository{t.session} }

// SkillUses returns the repository of skill uses.
func (t Tx) SkillUses() SkillUseRepository { return SkillUseRepository{t.session} }

// Skills returns the repository of skills.
func (t Tx) Skills() SkillRepository { return SkillRepository{t.session} }

// Souls returns the repository of souls.
func (t Tx) Souls() SoulRepository { return SoulRepository{t.session} }

// Spaces returns the repository of spaces.
func (t Tx) Spaces() SpaceRepository { return SpaceRepository{t.session} }

// Steps returns the repository of steps.
func (t Tx) Steps() StepRepository { return StepRepository{t.session} }

// Targets returns the repository of targets.
func (t Tx) Targets() TargetRepository { return TargetRepository{t.session} }

// Tasks returns the repository of tasks.
func (t Tx) Tasks() TaskRepository { return TaskRepository{t.session} }

// Training returns the repository of training.
func (t Tx) Training() TrainingRepository { return TrainingRepository{t.session} }

// Transcripts returns the repository of transcripts.
func (t Tx) Transcripts() TranscriptRepository { return TranscriptRepository{t.session} }

// Turns returns the repository of turns.
func (t Tx) Turns() TurnRepository { return TurnRepository{t.session} }

// Updates returns the repository of updates.
func (t Tx) Updates() UpdateRepository { return UpdateRepository{t.session} }

// Votes returns the repository of votes.
func (t Tx) Votes() VoteRepository { return VoteRepository{t.session} }

// Workspaces returns the repository of workspaces.
func (t Tx) Workspaces() WorkspaceRepository { return WorkspaceRepository{t.session} }
