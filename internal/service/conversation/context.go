package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
)

// loadMemoryContext reads, for a turn that is answered from long-term memory, who the agent
// is and whom there are memories about: its context tells what its session does not.
func (s *Service) loadMemoryContext(ctx context.Context, j *runState) (err error) {
	if j.run.Kind != run.Turn || j.turn.Context != "" || j.spec.Agent != settings.Remy {
		return nil
	}
	if j.identity, j.meta, err = s.Memory.About(ctx, j.run.Workspace); err != nil {
		return fmt.Errorf("read what there are memories about: %w", err)
	}
	return nil
}

// pinContext gives a turn, once, what is volatile and so may not stand in its
// session: the time at which it was accepted, and what has changed since the
// session was frozen. It is told with the message in every request of the turn.
func (j *runState) pinContext(ctx context.Context, tx Tx, news SessionChanges) error {
	zone, err := time.LoadLocation(news.Zone)
	if err != nil {
		return fmt.Errorf("load the workspace's time zone: %w", err)
	}
	m := prompt.Moment{Now: j.turn.AcceptedAt.In(zone), Zone: news.Zone, Changed: news.Changed, Approved: news.Approved, Rejected: news.Rejected, Memories: news.Memories}
	if !strings.Contains(j.session.Rendered, strings.TrimSpace(j.identity)) {
		m.Identity = j.identity
	}
	if !strings.Contains(j.session.Rendered, strings.TrimSpace(j.meta)) {
		m.Meta = j.meta
	}
	j.turn.Context, err = tx.Turns().PinContext(ctx, j.turn, prompt.Context(j.spec.Lang, m))
	return err
}
