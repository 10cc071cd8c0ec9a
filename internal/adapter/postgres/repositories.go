package postgres

// Queries are a workspace's rows inside one transaction, of all repositories.
type Queries struct {
	session
	agentRunRepository
	bankRepository
	callRepository
	caseRepository
	conversationRepository
	conversationViewRepository
	curationRepository
	decisionRepository
	deletedSkillRepository
	documentRepository
	dumpRepository
	historyRepository
	identityRepository
	keyRepository
	leaseRepository
	loadRepository
	longTermRepository
	offloadRepository
	operationRepository
	outboxRepository
	outcomeRepository
	packageRepository
	pendingMemoryRepository
	pendingSkillRepository
	probeRepository
	promptMemoryRepository
	reflectionRepository
	roundRepository
	runRepository
	scheduleRepository
	sessionRepository
	skillRepository
	skillUseRepository
	soulRepository
	stepRepository
	targetRepository
	taskRepository
	trainingRepository
	transcriptRepository
	turnRepository
	updateRepository
	workspaceRepository
}

func queriesOf(s session) Queries {
	return Queries{session: s,
		agentRunRepository:         agentRunRepository{s},
		bankRepository:             bankRepository{s},
		callRepository:             callRepository{s},
		caseRepository:             caseRepository{s},
		conversationRepository:     conversationRepository{s},
		conversationViewRepository: conversationViewRepository{s},
		curationRepository:         curationRepository{s},
		decisionRepository:         decisionRepository{s},
		deletedSkillRepository:     deletedSkillRepository{s},
		documentRepository:         documentRepository{s},
		dumpRepository:             dumpRepository{s},
		historyRepository:          historyRepository{s},
		identityRepository:         identityRepository{s},
		keyRepository:              keyRepository{s},
		leaseRepository:            leaseRepository{s},
		loadRepository:             loadRepository{s},
		longTermRepository:         longTermRepository{s},
		offloadRepository:          offloadRepository{s},
		operationRepository:        operationRepository{s},
		outboxRepository:           outboxRepository{s},
		outcomeRepository:          outcomeRepository{s},
		packageRepository:          packageRepository{s},
		pendingMemoryRepository:    pendingMemoryRepository{s},
		pendingSkillRepository:     pendingSkillRepository{s},
		probeRepository:            probeRepository{s},
		promptMemoryRepository:     promptMemoryRepository{s},
		reflectionRepository:       reflectionRepository{s},
		roundRepository:            roundRepository{s},
		runRepository:              runRepository{s},
		scheduleRepository:         scheduleRepository{s},
		sessionRepository:          sessionRepository{s},
		skillRepository:            skillRepository{s},
		skillUseRepository:         skillUseRepository{s},
		soulRepository:             soulRepository{s},
		stepRepository:             stepRepository{s},
		targetRepository:           targetRepository{s},
		taskRepository:             taskRepository{s},
		trainingRepository:         trainingRepository{s},
		transcriptRepository:       transcriptRepository{s},
		turnRepository:             turnRepository{s},
		updateRepository:           updateRepository{s},
		workspaceRepository:        workspaceRepository{s},
	}
}

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
	reflectionRepository       struct{ session }
	roundRepository            struct{ session }
	runRepository              struct{ session }
	scheduleRepository         struct{ session }
	sessionRepository          struct{ session }
	skillRepository            struct{ session }
	skillUseRepository         struct{ session }
	soulRepository             struct{ session }
	stepRepository             struct{ session }
	targetRepository           struct{ session }
	taskRepository             struct{ session }
	trainingRepository         struct{ session }
	transcriptRepository       struct{ session }
	turnRepository             struct{ session }
	updateRepository           struct{ session }
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
func (s session) reflections() reflectionRepository             { return reflectionRepository{s} }
func (s session) rounds() roundRepository                       { return roundRepository{s} }
func (s session) runs() runRepository                           { return runRepository{s} }
func (s session) schedules() scheduleRepository                 { return scheduleRepository{s} }
func (s session) sessions() sessionRepository                   { return sessionRepository{s} }
func (s session) skills() skillRepository                       { return skillRepository{s} }
func (s session) skillUses() skillUseRepository                 { return skillUseRepository{s} }
func (s session) souls() soulRepository                         { return soulRepository{s} }
func (s session) steps() stepRepository                         { return stepRepository{s} }
func (s session) targets() targetRepository                     { return targetRepository{s} }
func (s session) tasks() taskRepository                         { return taskRepository{s} }
func (s session) training() trainingRepository                  { return trainingRepository{s} }
func (s session) transcripts() transcriptRepository             { return transcriptRepository{s} }
func (s session) turns() turnRepository                         { return turnRepository{s} }
func (s session) updates() updateRepository                     { return updateRepository{s} }
func (s session) workspaces() workspaceRepository               { return workspaceRepository{s} }
