package store

// Tx is a transaction that has entered a workspace. Its repositories read and write
// the rows of one subject each.
type Tx struct{ session }

// Each repository reads and writes the rows of one subject.
type (
	agentRunRepository         struct{ session }
	bankRepository             struct{ session }
	callRepository             struct{ session }
	caseRepository             struct{ session }
	conversationRepository     struct{ session }
	conversationViewRepository struct{ session }
	curationRepository         struct{ session }
	decisionRepository         struct{ session }
	deletedSkillRepository     struct{ session }
	documentRepository         struct{ session }
	dumpRepository             struct{ session }
	historyRepository          struct{ session }
	identityRepository         struct{ session }
	keyRepository              struct{ session }
	leaseRepository            struct{ session }
	loadRepository             struct{ session }
	longTermRepository         struct{ session }
	offloadRepository          struct{ session }
	operationRepository        struct{ session }
	outboxRepository           struct{ session }
	outcomeRepository          struct{ session }
	packageRepository          struct{ session }
	pendingMemoryRepository    struct{ session }
	pendingSkillRepository     struct{ session }
	probeRepository            struct{ session }
	promptMemoryRepository     struct{ session }
	reembedRepository          struct{ session }
	reflectionRepository       struct{ session }
	roundRepository            struct{ session }
	runRepository              struct{ session }
	scheduleRepository         struct{ session }
	sessionRepository          struct{ session }
	skillRepository            struct{ session }
	skillUseRepository         struct{ session }
	soulRepository             struct{ session }
	spaceRepository            struct{ session }
	stepRepository             struct{ session }
	targetRepository           struct{ session }
	taskRepository             struct{ session }
	trainingRepository         struct{ session }
	transcriptRepository       struct{ session }
	turnRepository             struct{ session }
	updateRepository           struct{ session }
	voteRepository             struct{ session }
	workspaceRepository        struct{ session }
)

func (s session) agentRuns() agentRunRepository                 { return agentRunRepository{s} }
func (s session) banks() bankRepository                         { return bankRepository{s} }
func (s session) calls() callRepository                         { return callRepository{s} }
func (s session) cases() caseRepository                         { return caseRepository{s} }
func (s session) conversations() conversationRepository         { return conversationRepository{s} }
func (s session) conversationViews() conversationViewRepository { return conversationViewRepository{s} }
func (s session) curation() curationRepository                  { return curationRepository{s} }
func (s session) decisions() decisionRepository                 { return decisionRepository{s} }
func (s session) deletedSkills() deletedSkillRepository         { return deletedSkillRepository{s} }
func (s session) documents() documentRepository                 { return documentRepository{s} }
func (s session) dump() dumpRepository                          { return dumpRepository{s} }
func (s session) histories() historyRepository                  { return historyRepository{s} }
func (s session) identity() identityRepository                  { return identityRepository{s} }
func (s session) keys() keyRepository                           { return keyRepository{s} }
func (s session) leases() leaseRepository                       { return leaseRepository{s} }
func (s session) load() loadRepository                          { return loadRepository{s} }
func (s session) longTerm() longTermRepository                  { return longTermRepository{s} }
func (s session) offloads() offloadRepository                   { return offloadRepository{s} }
func (s session) operations() operationRepository               { return operationRepository{s} }
func (s session) outbox() outboxRepository                      { return outboxRepository{s} }
func (s session) outcomes() outcomeRepository                   { return outcomeRepository{s} }
func (s session) packages() packageRepository                   { return packageRepository{s} }
func (s session) pendingMemories() pendingMemoryRepository      { return pendingMemoryRepository{s} }
func (s session) pendingSkills() pendingSkillRepository         { return pendingSkillRepository{s} }
func (s session) probes() probeRepository                       { return probeRepository{s} }
func (s session) promptMemory() promptMemoryRepository          { return promptMemoryRepository{s} }
func (s session) reembeds() reembedRepository                   { return reembedRepository{s} }
func (s session) reflections() reflectionRepository             { return reflectionRepository{s} }
func (s session) rounds() roundRepository                       { return roundRepository{s} }
func (s session) runs() runRepository                           { return runRepository{s} }
func (s session) schedules() scheduleRepository                 { return scheduleRepository{s} }
func (s session) sessions() sessionRepository                   { return sessionRepository{s} }
func (s session) skills() skillRepository                       { return skillRepository{s} }
func (s session) skillUses() skillUseRepository                 { return skillUseRepository{s} }
func (s session) souls() soulRepository                         { return soulRepository{s} }
func (s session) spaces() spaceRepository                       { return spaceRepository{s} }
func (s session) steps() stepRepository                         { return stepRepository{s} }
func (s session) targets() targetRepository                     { return targetRepository{s} }
func (s session) tasks() taskRepository                         { return taskRepository{s} }
func (s session) training() trainingRepository                  { return trainingRepository{s} }
func (s session) transcripts() transcriptRepository             { return transcriptRepository{s} }
func (s session) turns() turnRepository                         { return turnRepository{s} }
func (s session) updates() updateRepository                     { return updateRepository{s} }
func (s session) votes() voteRepository                         { return voteRepository{s} }
func (s session) workspaces() workspaceRepository               { return workspaceRepository{s} }

// AgentRuns returns the agent run repository.
func (t Tx) AgentRuns() agentRunRepository { return t.session.agentRuns() }

// Banks returns the bank repository.
func (t Tx) Banks() bankRepository { return t.session.banks() }

// Calls returns the call repository.
func (t Tx) Calls() callRepository { return t.session.calls() }

// Cases returns the case repository.
func (t Tx) Cases() caseRepository { return t.session.cases() }

// Conversations returns the conversation repository.
func (t Tx) Conversations() conversationRepository { return t.session.conversations() }

// ConversationViews returns the conversation view repository.
func (t Tx) ConversationViews() conversationViewRepository { return t.session.conversationViews() }

// Curation returns the curation repository.
func (t Tx) Curation() curationRepository { return t.session.curation() }

// Decisions returns the decision repository.
func (t Tx) Decisions() decisionRepository { return t.session.decisions() }

// DeletedSkills returns the deleted skill repository.
func (t Tx) DeletedSkills() deletedSkillRepository { return t.session.deletedSkills() }

// Documents returns the document repository.
func (t Tx) Documents() documentRepository { return t.session.documents() }

// Dump returns the dump repository.
func (t Tx) Dump() dumpRepository { return t.session.dump() }

// Histories returns the history repository.
func (t Tx) Histories() historyRepository { return t.session.histories() }

// Identity returns the identity repository.
func (t Tx) Identity() identityRepository { return t.session.identity() }

// Keys returns the key repository.
func (t Tx) Keys() keyRepository { return t.session.keys() }

// Leases returns the lease repository.
func (t Tx) Leases() leaseRepository { return t.session.leases() }

// Load returns the load repository.
func (t Tx) Load() loadRepository { return t.session.load() }

// LongTerm returns the long term repository.
func (t Tx) LongTerm() longTermRepository { return t.session.longTerm() }

// Offloads returns the offload repository.
func (t Tx) Offloads() offloadRepository { return t.session.offloads() }

// Operations returns the operation repository.
func (t Tx) Operations() operationRepository { return t.session.operations() }

// Outbox returns the outbox repository.
func (t Tx) Outbox() outboxRepository { return t.session.outbox() }

// Outcomes returns the outcome repository.
func (t Tx) Outcomes() outcomeRepository { return t.session.outcomes() }

// Packages returns the package repository.
func (t Tx) Packages() packageRepository { return t.session.packages() }

// PendingMemories returns the pending memory repository.
func (t Tx) PendingMemories() pendingMemoryRepository { return t.session.pendingMemories() }

// PendingSkills returns the pending skill repository.
func (t Tx) PendingSkills() pendingSkillRepository { return t.session.pendingSkills() }

// Probes returns the probe repository.
func (t Tx) Probes() probeRepository { return t.session.probes() }

// PromptMemory returns the prompt memory repository.
func (t Tx) PromptMemory() promptMemoryRepository { return t.session.promptMemory() }

// Reflections returns the reflection repository.
func (t Tx) Reflections() reflectionRepository { return t.session.reflections() }

// Rounds returns the round repository.
func (t Tx) Rounds() roundRepository { return t.session.rounds() }

// Runs returns the run repository.
func (t Tx) Runs() runRepository { return t.session.runs() }

// Schedules returns the schedule repository.
func (t Tx) Schedules() scheduleRepository { return t.session.schedules() }

// Sessions returns the session repository.
func (t Tx) Sessions() sessionRepository { return t.session.sessions() }

// Skills returns the skill repository.
func (t Tx) Skills() skillRepository { return t.session.skills() }

// SkillUses returns the skill use repository.
func (t Tx) SkillUses() skillUseRepository { return t.session.skillUses() }

// Souls returns the soul repository.
func (t Tx) Souls() soulRepository { return t.session.souls() }

// Steps returns the step repository.
func (t Tx) Steps() stepRepository { return t.session.steps() }

// Targets returns the target repository.
func (t Tx) Targets() targetRepository { return t.session.targets() }

// Tasks returns the task repository.
func (t Tx) Tasks() taskRepository { return t.session.tasks() }

// Training returns the training repository.
func (t Tx) Training() trainingRepository { return t.session.training() }

// Transcripts returns the transcript repository.
func (t Tx) Transcripts() transcriptRepository { return t.session.transcripts() }

// Turns returns the turn repository.
func (t Tx) Turns() turnRepository { return t.session.turns() }

// Updates returns the update repository.
func (t Tx) Updates() updateRepository { return t.session.updates() }

// Workspaces returns the workspace repository.
func (t Tx) Workspaces() workspaceRepository { return t.session.workspaces() }

// Adds returns the add repository.
func (t Tx) Adds() addRepository { return addRepository{t.session} }

// Evaluations returns the evaluation repository.
func (t Tx) Evaluations() evaluationRepository { return evaluationRepository{t.session} }

// Reembeds returns the reembed repository.
func (t Tx) Reembeds() reembedRepository { return t.session.reembeds() }

// Spaces returns the space repository.
func (t Tx) Spaces() spaceRepository { return t.session.spaces() }

// Votes returns the vote repository.
func (t Tx) Votes() voteRepository { return t.session.votes() }
