package library

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// decision is whether a permitted write needs approval, and why.
type decision struct {
	staged bool
	reason string
}

// decide applies ownership, pin, read-before-write and the approval gate. It returns an error for
// writes that are forbidden, and a pending decision for those that a user may approve.
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
			d = decision{true, "the skill is not managed by autonomous writers"}
		}
	}
	switch {
	case a.Tainted && a.Origin != agent.OriginUser:
		d = decision{true, "the conversation contains untrusted text"}
	case p.caution && (a.Origin.Autonomous() || p.indexed && a.Origin != agent.OriginUser):
		d = decision{true, "the security scan found a possible risk"}
	case s.Approval == ApproveAll && a.Origin != agent.OriginUser:
		d = decision{true, "every change needs approval in this workspace"}
	}
	return d, nil
}

// permitted checks pin, quarantine, what the run has read and the version that the caller expects.
func permitted(a agent.Actor, f facts, expected int) error {
	h := f.head
	if h.Pinned && a.Origin.Autonomous() {
		return fault.New(fault.Protected, fmt.Sprintf("skill %q is pinned", h.Name),
			"do not change it; only a user can")
	}
	if h.Status == skill.Quarantined && a.Origin != agent.OriginUser {
		return fault.New(fault.Protected, fmt.Sprintf("skill %q is quarantined", h.Name),
			"do not change it until a user has reviewed it")
	}
	if a.Origin.Autonomous() && f.viewed == 0 {
		return fault.New(fault.ReadRequired, fmt.Sprintf("skill %q was not viewed in this run", h.Name),
			fmt.Sprintf("view %q without a section, then repeat the change", h.Name))
	}
	if expected == 0 && a.Origin.Autonomous() {
		expected = f.viewed // autonomous writers change only the version they have seen
	}
	if expected != 0 && expected != h.Version {
		return moved(h, expected)
	}
	return nil
}

func notManaged(h skill.Head) error {
	return fault.New(fault.NotManaged, fmt.Sprintf("skill %q is owned by a user", h.Name),
		"do not change it; save new content as a new skill")
}

var unwatchedOrigins = []string{string(agent.OriginNudge), string(agent.OriginReflection), string(agent.OriginDesigner)}

func withinRates(ctx context.Context, tx store.Tx, a agent.Actor, s Settings) error {
	n, err := tx.SkillUses().RecentWrites(ctx, skill.ToolOrigins, unwatchedOrigins)
	if err != nil {
		return err
	}
	if a.Origin.Autonomous() && n.Autonomous >= s.AutonomousPerHour {
		return fault.New(fault.QuotaExceeded,
			fmt.Sprintf("autonomous runs have changed skills %d times in the last hour, the limit is %d",
				n.Autonomous, s.AutonomousPerHour), "stop changing skills in this run")
	}
	if n.All >= s.WritesPerHour {
		return fault.New(fault.QuotaExceeded,
			fmt.Sprintf("skills were changed %d times in the last hour, the limit is %d", n.All, s.WritesPerHour),
			"wait, and combine several edits into one change")
	}
	return nil
}
