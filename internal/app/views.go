package app

import (
	"cairn/internal/domain/contract"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
	"cairn/internal/service/feedback"
	"cairn/internal/service/inspect"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/reflection"
	"cairn/internal/service/schedule"
)

// buildViews wires the read models of gateways and commands, and the services for feedback and
// reflection requests.
func (h *App) buildViews() {
	h.buildCompletions()
	h.Keys = apikey.New(apikey.Ports{Store: h.Store.Keys(), Operators: h.Store.OperatorKeys()})
	h.buildConsole()
	h.Audit = inspect.NewAudit(inspect.AuditPorts{Store: h.Store.Audit()})
	h.Runs = inspect.NewRuns(inspect.RunPorts{Store: h.Store, Distill: h.Distill})
	h.Conversations = inspect.NewConversations(
		inspect.ConversationPorts{Store: h.Store, Closer: h.Inbox})
	h.Workspaces = inspect.NewWorkspaces(inspect.WorkspacePorts{Store: h.Store.Workspaces(),
		Check: h.Progressive.Registry.Check})
	h.Waiter = inspect.Waiter{Endings: h.Store}
	h.Messages = conversation.NewSender(conversation.SenderPorts{Service: h.Inbox, Waiter: h.Waiter,
		Timeout: h.Config.DatabaseStep, Log: h.Log})
	h.Feedback = feedback.New(feedback.Ports{Store: h.Store.Workspaces(), Answers: h.Inbox,
		Cases: h.Learning.Cases, Skills: h.Library, Rounds: h.Learning.Rounds, Updates: h.Learning.Updates,
		Spec: h.learnSpec, Log: h.Log})
	h.Progressive.OnNoAnswer = h.Feedback.Missed
	h.Reflections = reflection.NewRequests(reflection.RequestPorts{Service: h.Reflect,
		Workspaces: h.Store.Workspaces(), Spec: h.reflectionSpec, Log: h.Log})
	if h.Temporal != nil {
		h.Runs.Workflows = h.Driver
		h.Conversations.Workflows, h.Messages.Workflows, h.Reflections.Starter = h.Driver, h.Driver, h.Driver
	}
}

// buildConsole wires what only people need: sign-ins of the web console, and read models.
func (h *App) buildConsole() {
	h.Sessions = apikey.NewConsoleSessions(apikey.ConsoleSessionsPorts{Store: h.Store.ConsoleSessions()})
	h.Explore = inspect.New(inspect.Ports{Store: h.Store.Explorer()})
	h.Support = apikey.NewSupport(apikey.SupportPorts{Store: h.Store.Support()})
	h.buildHealth()
}

// dispatcher returns the service that starts due tasks.
func (h *App) dispatcher() *schedule.Dispatcher {
	p := schedule.DispatcherPorts{Store: h.Store, Rounds: h.Learning.Rounds, Updates: h.Learning.Updates,
		Messages: h.Inbox, TurnSpec: h.turnSpec, LearnSpec: h.learnSpec, Log: h.Log,
		Timeouts: contract.StepTimeouts{Database: h.Config.DatabaseStep, Heartbeat: h.Config.Heartbeat, GiveUp: giveUp}}
	if h.Temporal != nil {
		p.Workflows = h.Driver
	}
	return schedule.NewDispatcher(p)
}

// The configuration of a new run is read when the run is created, so tests can change it between runs.

func (h *App) turnSpec() agentrun.Spec { return TurnSpec(h.Config) }

func (h *App) learnSpec() bank.RunSpec { return EvolveSpec(h.Config) }

func (h *App) reflectionSpec() agentrun.Spec { return ReflectionSpec(h.Config) }
