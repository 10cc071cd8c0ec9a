package library

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// decision is whether a permitted write waits for a person, and why.
type decision struct {
	staged bool
	reason string
}

// decide applies ownership, pin, read-before-write and the approval gate. What
// it refuses nobody can make good by asking again; what may be right waits.
func decide(a agent.Actor, s Settings, f facts, p plan) (decision, error) {
	d := decision{}
	if f.found {
		if err := permitted(a, f, p.expected); err != nil {
			return d, err
		}
		if a.Origin.Autonomous() && !f.head.Managed {
			if s.Approval == ApproveNone {
				return d, notManaged(f.head)
			}
			d = decision{true, "it is not managed by autonomous writers"}
		}
	}
	switch {
	case a.Tainted && a.Origin != agent.OriginUser:
		d = decision{true, "untrusted text had entered the conversation"}
	case p.caution && a.Origin.Autonomous():
		d = decision{true, "the scan asks for a second look"}
	case s.Approval == ApproveAll && a.Origin != agent.OriginUser:
		d = decision{true, "every change waits for approval here"}
	}
	return d, nil
}

// permitted checks pin, quarantine, what the run has read and the version that
// the caller has seen.
func permitted(a agent.Actor, f facts, expected int) error {
	h := f.head
	if h.Pinned && a.Origin.Autonomous() {
		return fault.New(fault.Protected, fmt.Sprintf("skill %q is pinned", h.Name),
			"leave it as it is; only a person changes it")
	}
	if h.Status == skill.Quarantined && a.Origin != agent.OriginUser {
		return fault.New(fault.Protected, fmt.Sprintf("skill %q is quarantined", h.Name),
			"leave it as it is until a person has looked at it")
	}
	if a.Origin.Autonomous() && f.viewed == 0 {
		return fault.New(fault.ReadRequired, fmt.Sprintf("this run has not viewed skill %q", h.Name),
			fmt.Sprintf("call skill_view with name %q, the whole of it, then send the change again", h.Name))
	}
	if expected == 0 && a.Origin.Autonomous() {
		expected = f.viewed // nobody watches: what was not seen is not changed
	}
	if expected != 0 && expected != h.Version {
		return moved(h, expected)
	}
	return nil
}

func notManaged(h skill.Head) error {
	return fault.New(fault.NotManaged, fmt.Sprintf("skill %q belongs to its user", h.Name),
		"leave it as it is, or save what is new as a skill of its own")
}

// toolOrigins are the writers whose changes count against the hourly limits;
// imports and distillations have limits of their own.
var toolOrigins = []string{string(agent.OriginUser), string(agent.OriginAgent), string(agent.OriginNudge),
	string(agent.OriginReflection), string(agent.OriginDesigner)}

// CountedOrigins are the writers whose versions of the last hour are counted.
func CountedOrigins() []string { return toolOrigins }

var unwatchedOrigins = []string{string(agent.OriginNudge), string(agent.OriginReflection), string(agent.OriginDesigner)}

func withinRates(ctx context.Context, tx Tx, a agent.Actor, s Settings) error {
	n, err := tx.Uses().RecentWrites(ctx, toolOrigins, unwatchedOrigins)
	if err != nil {
		return err
	}
	if a.Origin.Autonomous() && n.Autonomous >= s.AutonomousPerHour {
		return fault.New(fault.QuotaExceeded,
			fmt.Sprintf("runs that nobody watches have changed skills %d times within an hour, at most %d are allowed",
				n.Autonomous, s.AutonomousPerHour), "stop changing skills in this run")
	}
	if n.All >= s.WritesPerHour {
		return fault.New(fault.QuotaExceeded,
			fmt.Sprintf("skills were changed %d times within an hour, at most %d are allowed", n.All, s.WritesPerHour),
			"wait, and put several edits into one change")
	}
	return nil
}
