package agent

import (
	"fmt"
	"time"
)

// Stage is what a run waits for.
type Stage string

const (
	stageNew   Stage = ""
	stageStep  Stage = "step"
	stageTools Stage = "tools"
	stageEnded Stage = "ended"
)

// State is the complete state of the loop. It holds counts and flags but no content, so it stays
// under 2 KB in a workflow history.
type State struct {
	Step     int       `json:"step,omitempty"` // model calls requested
	Budget   Budget    `json:"budget"`
	Deadline time.Time `json:"deadline,omitzero"` // zero means none
	Stage    Stage     `json:"stage,omitempty"`
	Ending   Reason    `json:"ending,omitempty"`  // why the current work is the last of the run
	Checked  bool      `json:"checked,omitempty"` // the model was informed of the units left
	Closed   bool      `json:"closed,omitempty"`
}

// Next returns the state and the effect that follow from an event. It is a pure function: the same
// events give the same states. After the end, every event returns End again, because a timer or a
// cancellation may still arrive. An event that cannot belong to the stage is a bug in the driver,
// and panics.
func Next(s State, event Event) (State, Effect) {
	if s.Stage == stageEnded {
		return s, End{Reason: s.Ending, Closed: s.Closed}
	}
	switch e := event.(type) {
	case Begin:
		s.expect(stageNew, event)
		s.Budget = e.Budget
		if e.Budget.Wall > 0 {
			s.Deadline = e.At.Add(e.Budget.Wall)
		}
		return s.askOrEnd("")
	case StepDone:
		s.expect(stageStep, event)
		return s.stepped(e)
	case ToolsRan:
		s.expect(stageTools, event)
		if s.Ending != "" {
			return s.end(s.Ending)
		}
		return s.askOrEnd("")
	case Failed:
		switch {
		case !e.Provider:
			return s.end(Interrupted)
		case s.Ending != "" && s.Step > 1:
			return s.end(s.Ending) // the failed call was to sum up; the work stands
		}
		return s.end(ProviderError)
	case DeadlinePassed:
		return s.end(WallClock)
	case Cancelled:
		return s.end(Interrupted)
	}
	panic(fmt.Sprintf("agent: unknown event %T", event))
}

func (s State) expect(stage Stage, event Event) {
	if s.Stage != stage {
		panic(fmt.Sprintf("agent: %T in stage %q", event, s.Stage))
	}
}

// stepped handles the report of a model call.
func (s State) stepped(e StepDone) (State, Effect) {
	if e.OverBudget {
		return s.end(OverBudget)
	}
	if e.Final {
		s.Closed = true
		switch {
		case s.Ending != "":
			return s.end(s.Ending)
		case e.Tripped:
			return s.end(Guardrail)
		}
		return s.end(Final)
	}
	if len(e.Calls) == 0 && !e.More {
		e.Unusable = true
	}
	switch {
	case e.Client && !e.Unusable:
		return s.runLast(e.Calls, ClientTools)
	case s.Ending != "":
		return s.end(s.Ending)
	case e.Tripped && !s.Budget.RunLast:
		s.Ending = Guardrail
		return s.askOrEnd(SkipGuardrail)
	case e.Tripped && e.Unusable:
		return s.end(Guardrail)
	case e.Tripped:
		return s.runLast(e.Calls, Guardrail)
	case e.Unusable:
		return s.askOrEnd("")
	case s.Budget.Left() == 0: // a review; other runs spend the last unit on a demanded reply
		return s.runLast(e.Calls, Exhausted)
	default:
		if slow := notFast(e.Calls); len(slow) > 0 {
			s.Stage = stageTools
			return s, RunTools{Calls: slow}
		}
		return s.askOrEnd("")
	}
}

// askOrEnd requests another model call. Without a unit for it, the run ends.
func (s State) askOrEnd(unrun SkipReason) (State, Effect) {
	if s.Budget.Left() == 0 {
		if s.Ending == "" {
			s.Ending = Exhausted
		}
		return s.end(s.Ending)
	}
	s.Budget.Used++
	spent := s.Budget.Left() == 0
	if s.Ending == "" && spent && !s.Budget.RunLast {
		s.Ending = Exhausted
	}
	s.Step++
	s.Stage = stageStep
	demanded := s.Ending != ""
	step := Step{N: s.Step, Toolless: demanded, Last: demanded || spent, Unrun: unrun}
	if !demanded && !s.Checked && s.Budget.atCheckpoint() {
		s.Checked, step.Left = true, s.Budget.Left()
	}
	return s, step
}

// runLast runs the calls of the last paid reply and then ends the run.
func (s State) runLast(calls []CallRef, why Reason) (State, Effect) {
	s.Stage, s.Ending = stageTools, why
	return s, RunTools{Calls: calls, Last: true}
}

func (s State) end(why Reason) (State, Effect) {
	s.Stage, s.Ending = stageEnded, why
	return s, End{Reason: why, Closed: s.Closed}
}

// notFast returns the calls that the next step does not run itself. A call to an unknown tool has
// no class; the step returns its error.
func notFast(calls []CallRef) []CallRef {
	var picked []CallRef
	for _, c := range calls {
		if c.Class == Slow || c.Class == Control || c.Class == Isolated {
			picked = append(picked, c)
		}
	}
	return picked
}
