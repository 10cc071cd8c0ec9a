package app

import (
	"cairn/internal/domain/contract"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/conversation"
	"cairn/internal/service/feedback"
	"cairn/internal/service/inspect"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/reflection"
	"cairn/internal/service/schedule"
)

// buildViews makes the services that gateways and commands look through, and those that
// take what users ask for beside messages.
func (h *App) buildViews() {
	h.Keys = &apikey.Service{Store: h.Store.Keys()}
	h.Runs = &inspect.Runs{Store: h.Store.Runs(), Distill: h.Distill}
	h.Conversations = &inspect.Conversations{Store: h.Store.Threads(), Closer: h.Inbox}
	h.Workspaces = &inspect.Workspaces{Store: h.Store.Workspaces(), Check: h.Progressive.Registry.Check}
	h.Waiter = inspect.Waiter{Endings: h.Store}
	h.Messages = &conversation.Sender{Service: h.Inbox, Waiter: h.Waiter, Timeout: h.Config.DatabaseStep, Log: h.Log}
	h.Feedback = &feedback.Service{Store: h.Store.Workspaces(), Answers: h.Inbox,
		Cases: h.Learning.Cases, Rounds: h.Learning.Rounds, Updates: h.Learning.Updates, Spec: h.learnSpec, Log: h.Log}
	h.Progressive.OnNoAnswer = h.Feedback.Missed
	h.Reflections = &reflection.Requests{Service: h.Reflect, Workspaces: h.Store.Workspaces(), Spec: h.reflectionSpec,
		Log: h.Log}
	if h.Temporal != nil {
		h.Conversations.Workflows, h.Messages.Workflows, h.Reflections.Starter = h.Driver, h.Driver, h.Driver
	}
}

// dispatcher starts what schedules have due.
func (h *App) dispatcher() *schedule.Dispatcher {
	pace := contract.StepTimeouts{Database: h.Config.DatabaseStep, Heartbeat: h.Config.Heartbeat, GiveUp: giveUp}
	d := &schedule.Dispatcher{Store: h.Store.Slots(), Rounds: h.Learning.Rounds, Updates: h.Learning.Updates,
		Messages: h.Inbox, Timeouts: pace,
		TurnSpec: h.turnSpec, LearnSpec: h.learnSpec, Log: h.Log}
	if h.Temporal != nil {
		d.Workflows = h.Driver
	}
	return d
}

// The configuration that new runs are pinned to is read when they are made: a test may
// change it between two runs.

func (h *App) turnSpec() agentrun.Spec { return TurnSpec(h.Config) }

func (h *App) learnSpec() runspec.Spec { return EvolveSpec(h.Config) }

func (h *App) reflectionSpec() agentrun.Spec { return ReflectionSpec(h.Config) }
